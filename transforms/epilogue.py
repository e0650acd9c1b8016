"""Which operators leave with the result of a Cube operator: a chain of elementwise ones, done between L0C and memory.

Every result in the chain has one reader, the type of the whole, and stays inside; another operand of a member is a
tensor of the same type (a residual), one value a channel, or one number. Of two anchors that feed one Add the later one
takes it: the other's result is then there when it is needed. A long sequence of instructions on a large tensor stays a
task of its own where the chip's instruction times say so (`epilogue_time.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Trait, element_of, shape_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.target_ascend.soc.soc import Soc
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.epilogue_time import leaving_gain_us
from graph_engine.transforms.fusion import LEAVES, gather, only_reader, single_user, why_not_single
from graph_engine.transforms.remarks import Kind, missed, wanted
from graph_engine.transforms.stored_values import FRACTAL_ROWS, is_row, is_scalar

Anchor = Conv2dOp | Conv3dOp | MatmulOp

MAX_OPERATORS = 8
"""Members behind the anchor at most: each adds instructions to every tile."""
MAX_TENSORS = 2
"""Operands of the result's size at most: a tile of each lies in the unified buffer."""


def obstacle(user: Operation, value: SSAValue, anchor: Anchor, soc: Soc) -> tuple[str, str] | None:
    """What keeps `user`, the only reader of `value`, from leaving with it: (guard, reason); None if nothing does."""
    if isinstance(user, ReturnOp):
        return "output", LEAVES
    if isinstance(user, FusedOp):
        kernel = user.anchor.data
        inside = (only_reader(value) or user).name
        left = inside not in (kernel, user.name)
        return "operator", f"its reader {inside} left with {kernel}" if left else f"its reader {kernel} is a kernel"
    if not isinstance(user, GeOp) or not user.has(Trait.ELEMENTWISE) or user.has(Trait.HOST):
        return "operator", f"{user.name} is no elementwise operator of the Vector unit"
    if isinstance(user, CastOp) or element_name(element_of(value)) not in DEVICE_FLOATS:
        return "element-type", f"{user.name} does not compute in the type of the accumulator"
    if user.result.type != value.type:
        return "shape", f"{user.name} broadcasts the result to {list(shape_of(user.result))}"
    for operand in user.operands:
        if operand is not value and not (operand.type == value.type or _repeats(operand, anchor)):
            return (
                "broadcast",
                f"the operand {list(shape_of(operand))} of {user.name} is no channel's or column's and no number",
            )
    gain = leaving_gain_us(user, soc) if DYNAMIC not in shape_of(value) else 0.0
    if gain < 0:
        return "cost", f"{user.name} is estimated to be {-gain:.1f} us faster as a task of its own"
    return None


def _repeats(operand: SSAValue, anchor: Anchor) -> bool:
    """Whether an operand is one number, or one value a channel of a feature map or a column of a matrix of whole blocks."""
    shape, result = shape_of(operand), shape_of(anchor.result)
    if not isinstance(anchor, MatmulOp):
        return is_scalar(operand) or shape == (1, result[1], *(1 for _ in result[2:]))
    return is_scalar(operand) or is_row(operand, result, FRACTAL_ROWS)


def epilogue(anchor: Anchor, soc: Soc) -> list[Operation]:
    """The anchor and what leaves with it, in order; a remark says what ended the chain."""
    members: list[Operation] = [anchor]
    value: SSAValue = anchor.result
    tensors = 0
    while True:
        user = single_user(value)
        if user is None:
            if wanted(Kind.MISSED):
                reason, readers = why_not_single(value)
                _missed(members, "single-user", reason, readers=readers)
            return members
        ended = obstacle(user, value, anchor, soc)
        if ended is not None:
            _missed(members, *ended, reader=user.name)
            return members
        tensors += sum(operand.type == value.type for operand in user.operands) - 1
        if len(members) > MAX_OPERATORS or tensors > MAX_TENSORS:
            _missed(members, "size", f"{user.name} would be one too many for the unified buffer", reader=user.name)
            return members
        members.append(user)
        value = user.results[0]


def _missed(members: Sequence[Operation], guard: str, reason: str, **args: object) -> None:
    missed("NotFused", members[-1], f"nothing more leaves with {members[0].name}: {reason}", guard=guard, **args)


def fuse_epilogues(block: Block, context: RewriteContext, kind: type[Anchor], soc: Soc) -> None:
    """Gathers the epilogue of every anchor of `kind`, from the last to the first. Linear."""
    if not context.allows("fuse-epilogue"):
        return
    anchors = [op for op in block.ops if isinstance(op, kind)]
    for anchor in reversed(anchors):
        members = epilogue(anchor, soc)
        if len(members) > 1:
            with context.rewrite("fuse-epilogue", [members[-1]]) as rewriter:
                gather(rewriter, members, anchor)
