"""Give back its name to channels that become pixels, which exporters and the import write as reshape, transpose, reshape.

%1 = ge.reshape %x {shape = [1, 4, 2, 2, 8, 8]} : (tensor<1x16x8x8xf32>) -> tensor<1x4x2x2x8x8xf32>
%2 = ge.transpose %1 {perm = [0, 1, 4, 2, 5, 3]} : ... -> tensor<1x4x8x2x8x2xf32>
%3 = ge.reshape %2 {shape = [1, 4, 16, 16]} : ...
// becomes
%3 = ge.depth_to_space %x {blocks = [2, 2], mode = "CRD"} : (tensor<1x16x8x8xf32>) -> tensor<1x4x16x16xf32>

PixelShuffle, and the end of a transposed convolution. Behind a convolution the channels of a pixel are brought together
(mode DCR) by putting its filters in that order, which costs nothing: so they have a form in NC1HWC0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.channels import DepthToSpaceOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.recipes import Known, computed, known, reshaped
from graph_engine.transforms.retyping import rebuilt

# The axes that C is cut into, and where they go: to N, C, (H, rows of a block), (W, columns of a block).
CUTS = {"DCR": ("rcd", (0, 3, 4, 1, 5, 2)), "CRD": ("drc", (0, 1, 4, 2, 5, 3))}


class DepthToSpaceOfTranspose(Pattern):
    """reshape(transpose(reshape(x))) -> depth_to_space(x)."""

    name = "depth-to-space-of-transpose"
    root: ClassVar[tuple[type[Operation], ...]] = (ReshapeOp,)

    def rewrite(self, op: ReshapeOp, rewriter: CountedRewriter) -> bool:
        transpose = op.x.owner
        first = transpose.x.owner if isinstance(transpose, TransposeOp) else None
        if not isinstance(transpose, TransposeOp) or not isinstance(first, ReshapeOp):
            return False
        if single_user(transpose.result) is not op or single_user(first.result) is not transpose:
            return False
        shape, split, result = shape_of(first.x), shape_of(first.result), shape_of(op.result)
        if len(shape) != 4 or len(result) != 4 or DYNAMIC in (*shape, *split, *result) or 0 in shape:
            return False
        (n, _, h, w), (batch, depth, height, width) = shape, result
        if n != batch or height % h or width % w or (height, width) == (h, w):
            return False
        sizes = {"r": height // h, "c": width // w, "d": depth}
        for mode, (cut, perm) in CUTS.items():
            whole = (n, *(sizes[axis] for axis in cut), h, w)
            if prod(whole) == prod(shape) and moves(split, transpose.ints("perm")) == moves(whole, perm):
                rewriter.replace(op, DepthToSpaceOp(first.x, blocks=(sizes["r"], sizes["c"]), mode=mode))
                return True
        return False


def moves(shape: Sequence[int], perm: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A transpose without axes of extent 1 and with those that move together as one: equal for equal movements."""
    runs: list[list[int]] = []
    place = {axis: i for i, axis in enumerate(axis for axis in range(len(shape)) if shape[axis] != 1)}
    for axis in (axis for axis in perm if shape[axis] != 1):
        if runs and place[axis] == place[runs[-1][-1]] + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    order = sorted(runs)
    return tuple(prod(shape[axis] for axis in run) for run in order), tuple(order.index(run) for run in runs)


class FiltersInOrderOfPixels(Pattern):
    """depth_to_space(conv(x)) of mode CRD -> DCR, the filters in another order; of a convolution in one group."""

    name = "filters-in-order-of-pixels"
    root: ClassVar[tuple[type[Operation], ...]] = (DepthToSpaceOp,)

    def rewrite(self, op: DepthToSpaceOp, rewriter: CountedRewriter) -> bool:
        conv = op.x.owner
        if op.mode.data != "CRD" or not isinstance(conv, Conv2dOp) or single_user(op.x) is not op:
            return False
        constants = [known(value) for value in (conv.w, conv.b) if value is not None]
        ordered = [by_pixels(constant, prod(op.ints("blocks"))) for constant in constants if constant is not None]
        if conv.group.value.data != 1 or len(ordered) < len(constants):
            return False
        made = [constant.op() for constant in ordered]
        turned = rebuilt(conv, [conv.x, *(new.result for new in made)], lambda old, _: old.result_types)
        rewriter.replace(op, [*made, turned, DepthToSpaceOp(turned.results[0], blocks=op.ints("blocks"))])
        return True


def by_pixels(rows: Known, pixels: int) -> Known:
    """A filter or bias with rows for (channel, pixel) in the order (pixel, channel)."""
    count, *rest = rows.shape
    split = reshaped(rows, (count // pixels, pixels, *rest))
    perm = [1, 0, *range(2, len(rest) + 2)]
    ty = tensor_type((pixels, count // pixels, *rest), rows.type.element_type)
    return reshaped(computed("ge.transpose", [split], ty, perm=perm), rows.shape)


@dataclass(frozen=True)
class RecogniseDepthToSpace(GePass):
    """Applies the patterns wherever they match."""

    name = "recognise-depth-to-space"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [DepthToSpaceOfTranspose(), FiltersInOrderOfPixels()])
