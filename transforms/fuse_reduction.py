"""Gather elementwise operators around a softmax, normalization or reduction into its kernel.

    %1 = ge.mul %scores, %factor : ...
    %2 = ge.add %1, %mask : ...
    %3 = ge.softmax %2 : ...
    // becomes
    %3 = ge.fused ins(%scores, %factor, %mask : ...) {anchor = "ge.softmax"} { mul, add, softmax }

In front: the tree of elementwise operators that exists for the anchor's sake alone. Behind: the chain of single readers
over the anchor's own shape. Operands may be smaller and broadcast. Whole rows stand in the unified buffer, so the group
is kept small. What leaves with a matrix product (`fuse-matmul-elementwise`) is taken already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Trait, shape_of
from graph_engine.dialects.ge.normalization import GroupNormOp, LayerNormOp, RmsNormOp, SoftmaxOp
from graph_engine.dialects.ge.reduction import ReduceOp
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fuse_elementwise import explain_end, fusible, tree
from graph_engine.transforms.fusion import gather, graphs, single_user
from graph_engine.transforms.pass_base import EXACT, GePass

ANCHORS = (SoftmaxOp, LayerNormOp, RmsNormOp, GroupNormOp, ReduceOp)


def members_of(anchor: GeOp, max_ops: int, max_inputs: int) -> list[Operation]:
    """The anchor and what goes along, in dataflow order."""
    value = anchor.operands[0]
    producer = value.owner
    before: list[Operation] = []
    if isinstance(producer, GeOp) and fusible(producer) and single_user(value) is anchor:
        before = tree(producer, max_ops, max_inputs)
    members = [*before, anchor]
    inputs = {v for op in members for v in op.operands} - {r for op in members for r in op.results}
    result = anchor.results[0]
    while len(members) <= max_ops:
        user = single_user(result)
        if not isinstance(user, GeOp) or not fusible(user) or user.result.type != result.type:
            break
        others = [operand for operand in user.operands if operand is not result]
        if len(inputs | set(others)) > max_inputs:
            break
        inputs |= set(others)
        members.append(user)
        result = user.result
    return members


def fuse_block(block: Block, context: RewriteContext, max_ops: int, max_inputs: int) -> None:
    """Anchors from the first to the last; what a group has taken is in no block any more. Linear."""
    anchors: Sequence[GeOp] = [op for op in block.ops if isinstance(op, ANCHORS)]
    for anchor in anchors:
        if DYNAMIC in shape_of(anchor.operands[0]) or anchor.has(Trait.HOST):
            continue
        members = members_of(anchor, max_ops, max_inputs)
        explain_end(members[-1], max_ops, max_inputs)
        if len(members) > 1:
            with context.rewrite("fuse-reduction", [members[-1]]) as rewriter:
                gather(rewriter, members, anchor)


@dataclass(frozen=True)
class FuseReduction(GePass):
    """Fuses within limits that keep rows of all operands in the unified buffer."""

    name = "fuse-reduction"
    numerics = EXACT

    max_ops: int = field(default=8, metadata={"help": "operators in one kernel at most, beside the reduction"})
    max_inputs: int = field(default=6, metadata={"help": "operands of one kernel at most"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            fuse_block(block, context, self.max_ops, self.max_inputs)
