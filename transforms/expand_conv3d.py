"""Convolve volumes as images: the slices in depth become images, the taps in depth channels of the filter.

%y = ge.conv3d %x, %w : (tensor<1x16x8x14x14xf32>, tensor<32x16x3x3x3xf32>) -> tensor<1x32x6x12x12xf32>
// becomes, between transpositions of channels and depth,
%y = ge.conv2d %s, %f : (tensor<6x48x14x14xf32>, tensor<32x48x3x3xf32>) -> tensor<6x32x12x12xf32>

where the 48 channels of %s are 16 of three neighbouring slices. The Cube's kernels are those of images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import computed, known


class ExpandConv3d(Pattern):
    """conv3d -> conv2d on slices, of one group and known extents."""

    name = "expand-conv3d"
    root: ClassVar[tuple[type[Operation], ...]] = (Conv3dOp,)

    def rewrite(self, op: Conv3dOp, rewriter: CountedRewriter) -> bool:
        if op.group.value.data != 1 or DYNAMIC in (*shape_of(op.x), *shape_of(op.w)):
            return False
        made: list[GeOp] = []

        def put(new: GeOp) -> SSAValue:
            made.append(new)
            return new.result

        taps = shape_of(op.w)[2]
        n, o, depth, height, width = shape_of(op.result)
        x = put(TransposeOp(op.x, perm=(0, 2, 1, 3, 4)))
        pads, strides, dilations = op.ints("pads"), op.ints("strides"), op.ints("dilations")
        if pads[0] or pads[3]:
            x = put(PadOp(x, pads=[0, pads[0], 0, 0, 0, 0, pads[3], 0, 0, 0]))
        slices = [_slices(x, tap * dilations[0], depth, strides[0]) for tap in range(taps)]
        parts = [part if isinstance(part, SSAValue) else put(part) for part in slices]
        x = parts[0] if taps == 1 else put(ConcatOp(parts, axis=2))
        images = put(ReshapeOp(x, shape=(-1, *shape_of(x)[2:])))
        w = _filter(op.w)
        w = put(w) if isinstance(w, ConstantOp) else put(ReshapeOp(put(w), shape=(o, -1, *shape_of(op.w)[3:])))
        conv = Conv2dOp(images, w, op.b, strides=strides[1:], pads=_planar(pads), dilations=dilations[1:], group=1)
        y = put(ReshapeOp(put(conv), shape=(n, depth, o, height, width)))
        put(TransposeOp(y, perm=(0, 2, 1, 3, 4), result_type=op.result.type))
        rewriter.replace(op, made)
        return True


def _filter(w: SSAValue) -> ConstantOp | TransposeOp:
    """w with the taps in depth as channels, by a recipe if it is a constant; else with them before the channels."""
    weight, perm = known(w), (0, 2, 1, 3, 4)
    if weight is None:
        return TransposeOp(w, perm=perm)
    o, c, taps, *kernel = weight.shape
    turned = computed("ge.transpose", [weight], tensor_type((o, taps, c, *kernel), element_of(w)), perm=list(perm))
    shape = (o, taps * c, *kernel)
    return computed("ge.reshape", [turned], tensor_type(shape, element_of(w)), shape=list(shape)).op()


def _slices(x: SSAValue, first: int, count: int, stride: int) -> GeOp | SSAValue:
    """Every `stride`-th slice of x[N,D,...] from `first` on, `count` of them."""
    if count == shape_of(x)[1]:
        return x
    return SliceOp(x, starts=[first], ends=[first + (count - 1) * stride + 1], axes=[1], steps=[stride])


def _planar(pads: Sequence[int]) -> list[int]:
    return [pads[1], pads[2], pads[4], pads[5]]


@dataclass(frozen=True)
class ExpandConv3dPass(GePass):
    """Applies the pattern above."""

    name = "expand-conv3d"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandConv3d()])
