"""Brings what follows a transposed convolution to its convolution, part of `fuse-conv-bn-relu`.

A transposed convolution is a convolution whose channels are the pixels of one stride, and a reshape, transpose and reshape
that spread them. What treats all pixels of a channel alike can be done in front of that, and leave with the convolution,
if its channels fill whole blocks of C0:

%0 = ge.conv2d %x, %w : (tensor<1x24x8x8xf32>, tensor<96x24x1x1xf32>) -> tensor<1x96x8x8xf32>
%1 = ge.reshape %0 {shape = [24, 2, 2, 8, 8]} : ...
%2 = ge.transpose %1 {perm = [0, 3, 1, 4, 2]} : ...
%3 = ge.reshape %2 {shape = [1, 24, 16, 16]} : ...
%4 = ge.relu %3 : (tensor<1x24x16x16xf32>) -> tensor<1x24x16x16xf32>
// becomes
%0 = ge.conv2d %x, %w : (tensor<1x24x8x8xf32>, tensor<96x24x1x1xf32>) -> tensor<1x96x8x8xf32>
%1 = ge.relu %0
%2 = ge.reshape %1 {shape = [24, 2, 2, 8, 8]} : ...
%3 = ge.transpose %2 {perm = [0, 3, 1, 4, 2]} : ...
%4 = ge.reshape %3 {shape = [1, 24, 16, 16]} : ...
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Trait, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, CastOp, MulOp, SubOp, UnaryOp
from graph_engine.dialects.ge.normalization import BatchNormOp
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.recipes import Known, known, per_channel, reshaped, spread
from graph_engine.transforms.retyping import rebuilt

FURTHEST = 8
"""Operators between the convolution and the spreading at most."""


class LiftOverSpread(Pattern):
    """op(spread(conv(x))) -> spread(op(conv(x))), where `op` treats all pixels of a channel alike."""

    name = "lift-over-spread"
    root: ClassVar[tuple[type[Operation], ...]] = (UnaryOp, BatchNormOp, AddOp, SubOp, MulOp)

    def __init__(self, c0: int):
        self.c0 = c0

    def rewrite(self, op: GeOp, rewriter: CountedRewriter) -> bool:
        if isinstance(op, CastOp) or not (op.has(Trait.ELEMENTWISE) or isinstance(op, BatchNormOp)):
            return False
        for value in op.operands if op.has(Trait.ELEMENTWISE) else op.operands[:1]:
            steps = _spreading(value)
            if steps is None or single_user(value) is not op or op.results[0].type != value.type:
                continue
            pixels = steps[0].x
            if shape_of(pixels)[1] % self.c0:  # padding lanes would be computed as well
                continue
            constants = [_repeated(operand, op, pixels) for operand in op.operands if operand is not value]
            made = [constant.op() for constant in constants if constant is not None]
            if len(made) < len(constants):
                return False
            numbers = iter(made)
            operands = [pixels if operand is value else next(numbers).result for operand in op.operands]
            lifted: Operation = type(op).create(
                operands=operands, result_types=[pixels.type], properties=op.properties, attributes=op.attributes
            )
            lifted.location = op.location
            moved: list[Operation] = [lifted]
            for step in steps:
                moved.append(rebuilt(step, [moved[-1].results[0]], lambda step, _: step.result_types))
            rewriter.replace(op, [*made, *moved])
            return True
        return False


def _spreading(value: SSAValue) -> tuple[ReshapeOp, TransposeOp, ReshapeOp] | None:
    """The reshape, transpose and reshape that spread the channels of a convolution, each read by nobody else."""
    last = value.owner
    transpose = last.x.owner if isinstance(last, ReshapeOp) else None
    first = transpose.x.owner if isinstance(transpose, TransposeOp) else None
    if not isinstance(last, ReshapeOp) or not isinstance(transpose, TransposeOp) or not isinstance(first, ReshapeOp):
        return None
    if any(single_user(step.x) is not step for step in (first, transpose, last)) or not _convolved(first.x):
        return None
    before, cut, after = shape_of(first.x), shape_of(first.result), shape_of(last.result)
    if DYNAMIC in (*before, *after) or len(before) != 4 or len(after) != 4 or before[0] != after[0]:
        return None
    # The first axes are images and channels of the result, and stay in front: a channel's pixels stay together.
    lead = next((n for n in range(len(cut) + 1) if prod(cut[:n]) == prod(after[:2])), None)
    kept = lead is not None and transpose.ints("perm")[:lead] == tuple(range(lead))
    return (first, transpose, last) if kept and before[1] % after[1] == 0 else None


def _convolved(value: SSAValue) -> bool:
    """Whether a convolution yields a value, or what it yields goes through operators that leave with it."""
    for _ in range(FURTHEST):
        owner = value.owner
        if isinstance(owner, Conv2dOp):
            return True
        if not isinstance(owner, GeOp) or not (owner.has(Trait.ELEMENTWISE) or isinstance(owner, BatchNormOp)):
            return False
        value = next((operand for operand in owner.operands if known(operand) is None), value)
    return False


def _repeated(operand: SSAValue, op: GeOp, pixels: SSAValue) -> Known | None:
    """A constant of one value, or one a channel of the result, as one a channel of the convolution."""
    constant, channels, outputs = known(operand), shape_of(pixels)[1], shape_of(op.results[0])[1]
    vector = constant if isinstance(op, BatchNormOp) else per_channel(constant, op.results[0])
    if vector is None:
        return None
    if vector.elements == outputs:
        vector = spread(reshaped(vector, (outputs, 1)), (outputs, channels // outputs))
        vector = reshaped(vector, (channels,))
    return vector if isinstance(op, BatchNormOp) else reshaped(vector, (1, vector.elements, 1, 1))
