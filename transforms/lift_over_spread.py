"""Brings what follows a transposed convolution to its convolution, part of `fuse-conv-bn-relu`.

A transposed convolution is a convolution whose channels are the pixels of one stride, and a `depth_to_space` that spreads
them, maybe with a slice of what is wanted. What treats all pixels of a channel alike can be done in front of that, and
leave with the convolution, if its channels fill whole blocks of C0:

%0 = ge.conv2d %x, %w : (tensor<1x24x8x8xf32>, tensor<96x24x1x1xf32>) -> tensor<1x96x8x8xf32>
%1 = ge.depth_to_space %0 {blocks = [2, 2]} : (tensor<1x96x8x8xf32>) -> tensor<1x24x16x16xf32>
%2 = ge.relu %1
// becomes
%0 = ge.conv2d %x, %w : (tensor<1x24x8x8xf32>, tensor<96x24x1x1xf32>) -> tensor<1x96x8x8xf32>
%1 = ge.relu %0
%2 = ge.depth_to_space %1 {blocks = [2, 2]} : (tensor<1x96x8x8xf32>) -> tensor<1x24x16x16xf32>
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.channels import DepthToSpaceOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import GeOp, Trait, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, CastOp, MulOp, SubOp, UnaryOp
from graph_engine.dialects.ge.normalization import BatchNormOp
from graph_engine.dialects.ge.shape import SliceOp
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
            spreading, *_ = steps
            pixels = spreading.x
            if shape_of(pixels)[1] % self.c0:  # padding lanes would be computed as well
                continue
            constants = [_repeated(operand, op, spreading) for operand in op.operands if operand is not value]
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


def _spreading(value: SSAValue) -> tuple[DepthToSpaceOp] | tuple[DepthToSpaceOp, SliceOp] | None:
    """What spreads the channels of a convolution, and the slice of pixels behind it, each read by nobody else."""
    cut = value.owner if isinstance(value.owner, SliceOp) else None
    spreading = value.owner if cut is None else cut.x.owner
    if not isinstance(spreading, DepthToSpaceOp) or single_user(spreading.x) is not spreading:
        return None
    if not _convolved(spreading.x):
        return None
    if cut is None:
        return (spreading,)
    pixels = all(axis % 4 in (2, 3) for axis in cut.ints("axes"))
    return (spreading, cut) if pixels and single_user(cut.x) is cut else None


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


def _repeated(operand: SSAValue, op: GeOp, spreading: DepthToSpaceOp) -> Known | None:
    """A constant of one value, or one a channel of the result, as one a channel of the convolution."""
    constant, channels, outputs = known(operand), shape_of(spreading.x)[1], shape_of(op.results[0])[1]
    vector = constant if isinstance(op, BatchNormOp) else per_channel(constant, op.results[0])
    if vector is None:
        return None
    if vector.elements == outputs:
        pixels = channels // outputs
        together = spreading.mode.data == "CRD"
        once, often = ((outputs, 1), (outputs, pixels)) if together else ((1, outputs), (pixels, outputs))
        vector = reshaped(spread(reshaped(vector, once), often), (channels,))
    return vector if isinstance(op, BatchNormOp) else reshaped(vector, (1, vector.elements, 1, 1))
