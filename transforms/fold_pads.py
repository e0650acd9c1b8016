"""Patterns that hand padding to the windows that read it, whose own pads cost nothing.

%0 = ge.pad %x {pads = [0, 0, 1, 1, 0, 0, 1, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x10x10xf32>
%1 = ge.conv2d %0, %w : (tensor<1x4x10x10xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
// becomes
%1 = ge.conv2d %x, %w {pads = [1, 1, 1, 1]} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>

A pad that others read too stays, unless all of them take it.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, shape_of
from graph_engine.dialects.ge.elementwise import ClipOp, ReluOp, SigmoidOp
from graph_engine.dialects.ge.interning import bool_attr, ints_attr
from graph_engine.dialects.ge.pooling import AvgPoolOp, MaxPoolOp, pool_extent
from graph_engine.dialects.ge.shape import PadOp
from graph_engine.transforms.driver import CountedRewriter, Pattern

Roots = tuple[type[Operation], ...]

LARGEST_PAD = 255
"""The hardware's pads are 8 bits wide."""


class FoldPad(Pattern):
    """What both patterns do: the pad's extents are added to the pads of its reader."""

    def rewrite(self, op: GeOp, rewriter: CountedRewriter) -> bool:
        pad = op.operands[0].owner
        if not isinstance(pad, PadOp) or any(_pads_with(use.operation, pad) is None for use in pad.result.uses):
            return False
        properties = {**op.properties, "pads": ints_attr(_pads_with(op, pad) or ())}
        if isinstance(op, AvgPoolOp):
            properties["count_include_pad"] = bool_attr(True)
        operands = [pad.x, *op.operands[1:]]
        rewriter.sources(pad)
        rewriter.replace(op, type(op).create(operands=operands, result_types=op.result_types, properties=properties))
        return True


class FoldPadIntoConv(FoldPad):
    """conv2d(pad(x)) -> conv2d with larger pads, for zeros around height and width."""

    name = "fold-pad-into-conv"
    root: ClassVar[Roots] = (Conv2dOp,)


class FoldPadIntoPool(FoldPad):
    """avg_pool(pad(x)) and max_pool(pad(x)) -> one pool, where its own pads count or lose as the padding does."""

    name = "fold-pad-into-pool"
    root: ClassVar[Roots] = (AvgPoolOp, MaxPoolOp)


def _pads_with(op: Operation, pad: PadOp) -> list[int] | None:
    """The pads of `op` on what `pad` reads; None where that would be something else."""
    if not isinstance(op, Conv2dOp | AvgPoolOp | MaxPoolOp) or pad.result in op.operands[1:]:
        return None
    n0, c0, *begin, n1, c1, h1, w1 = pad.ints("pads")
    pads = [a + b for a, b in zip(op.ints("pads"), (*begin, h1, w1), strict=True)]
    kernel = shape_of(op.w)[2:] if isinstance(op, Conv2dOp) else op.ints("kernel")
    dilations = op.ints("dilations") if "dilations" in op.properties else (1, 1)
    # A window must hold an element of the input.
    reach = [dilation * (extent - 1) for extent, dilation in zip(kernel, dilations, strict=True)]
    if any((n0, c0, n1, c1)) or max(pads) > LARGEST_PAD or any(pads[i] > reach[i % 2] for i in range(4)):
        return None
    if not _means_the_same(op, pad):
        return None
    if not isinstance(op, Conv2dOp) and op.ceil_mode.value.data:
        # Rounding up counts windows up to the end of the input, which has moved.
        source, target, strides = shape_of(pad.x)[2:], shape_of(op.result)[2:], op.ints("strides")
        extents = [
            pool_extent(source[i], kernel[i], strides[i], pads[i], pads[i + 2], dilations[i], True) for i in range(2)
        ]
        if DYNAMIC in source or tuple(extents) != target:
            return None
    return pads


def _means_the_same(op: Conv2dOp | AvgPoolOp | MaxPoolOp, pad: PadOp) -> bool:
    """Whether the own padding of `op` acts as the elements of `pad` do."""
    value = pad.value.value.data
    if isinstance(op, Conv2dOp):
        return value == 0
    if isinstance(op, AvgPoolOp):
        return value == 0 and (op.count_include_pad.value.data != 0 or not any(op.ints("pads")))
    return value <= _least(pad.x)


def _least(x: SSAValue) -> float:
    """What no element of `x` is below, as far as the operator that makes it says."""
    if isinstance(x.owner, ReluOp | SigmoidOp):
        return 0.0
    return x.owner.min.value.data if isinstance(x.owner, ClipOp) else -inf


FOLD_PADS = (FoldPadIntoConv, FoldPadIntoPool)
