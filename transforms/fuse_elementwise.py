"""Gather trees of elementwise operators over one shape into a single kernel.

    %1 = ge.mul %x, %factor : ...
    %2 = ge.add %1, %shift : ...
    %3 = ge.relu %2 : ...
    // becomes
    %3 = ge.fused ins(%x, %factor, %shift : ...) {anchor = "ge.relu"} { mul, add, relu }

The anchor is the last operator. Inner results have one user and the shape and type of the whole; operands may be
smaller and broadcast (per-channel constants). Casts stay outside: they mark where precision changes. Comparisons, choices
and what joins their masks belong inside, with their masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from graph_engine.dialects.ge.core import GeOp, Trait, element_of, shape_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.logic import works_on_masks
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import gather, graphs, only_reader, single_user, why_not_single
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.remarks import Kind, missed, wanted


def fusible(op: object) -> bool:
    """Whether an operator may be part of an elementwise kernel."""
    if not isinstance(op, GeOp) or isinstance(op, CastOp) or not op.has(Trait.ELEMENTWISE):
        return False
    if op.has(Trait.HOST):
        return works_on_masks(op)
    return element_name(element_of(op.result)) in DEVICE_FLOATS


def belongs(value: SSAValue, root: GeOp, floats: Attribute) -> bool:
    """Whether an inner result may stand beside that of `root`: of its shape, a mask or in the group's type of `floats`."""
    return shape_of(value) == shape_of(root.result) and element_of(value) in (floats, i1)


def tree(root: GeOp, max_ops: int, max_inputs: int) -> list[Operation]:
    """`root` and the operators that exist for its sake alone, producers first; nearest ones first if there are too many."""
    chosen: dict[Operation, None] = {root: None}
    inputs = len(set(root.operands))
    pending = [root]
    floats = next(filter(lambda element: element != i1, map(element_of, (root.result, *root.operands))), i1)
    while pending:
        user = pending.pop(0)
        for value in user.operands:
            op = value.owner
            if not isinstance(op, GeOp) or not fusible(op) or not belongs(value, root, floats):
                continue
            added = len(set(op.operands)) - 1
            if single_user(value) is user and len(chosen) < max_ops and inputs + added <= max_inputs:
                chosen[op] = None
                inputs += added
                pending.append(op)
    return _producers_first(root, chosen)


def _producers_first(root: Operation, chosen: dict[Operation, None]) -> list[Operation]:
    """Every operator of a tree comes after what it reads: reversed preorder."""
    order: list[Operation] = []
    stack = [root]
    while stack:
        op = stack.pop()
        order.append(op)
        stack += [value.owner for value in op.operands if isinstance(value.owner, Operation) and value.owner in chosen]
    return order[::-1]


def explain_end(last: Operation, max_ops: int, max_inputs: int) -> None:
    """Remarks why a group ends with `last` and does not take its reader along; a graph output needs no reason."""
    if not wanted(Kind.MISSED):
        return
    value = last.results[0]
    user = only_reader(value)
    if user is None:
        reason, readers = why_not_single(value)
        missed("NotFused", last, f"a group ends with {last.name}: {reason}", guard="single-user", readers=readers)
    elif not isinstance(user, ReturnOp):
        if not fusible(user):
            guard, reason = "operator", "is no elementwise operator in fp16 or fp32"
        elif shape_of(user.results[0]) != shape_of(value):
            guard, reason = "shape", f"broadcasts it to {list(shape_of(user.results[0]))}"
        elif i1 not in (kinds := {element_of(value), element_of(user.results[0])}) and len(kinds) > 1:
            guard, reason = "element-type", "computes in another type"
        else:
            guard, reason = "size", f"would make more than {max_ops} operators or {max_inputs} operands"
        message = f"a group ends with {last.name}: its reader {user.name} {reason}"
        missed("NotFused", last, message, guard=guard, reader=user.name)


def fuse_block(block: Block, context: RewriteContext, max_ops: int, max_inputs: int) -> None:
    """Roots from the last to the first; each operator joins at most one kernel. Linear."""
    taken: set[Operation] = set()
    candidates: Sequence[GeOp] = [op for op in block.ops if isinstance(op, GeOp) and fusible(op)]
    for root in reversed(candidates):
        if root in taken:
            continue
        members = tree(root, max_ops, max_inputs)
        explain_end(root, max_ops, max_inputs)
        if len(members) > 1:
            taken.update(members)
            with context.rewrite("fuse-elementwise", [root]) as rewriter:
                gather(rewriter, members, root)


@dataclass(frozen=True)
class FuseElementwise(GePass):
    """Fuses within limits that keep the tiles of all operands in the unified buffer."""

    name = "fuse-elementwise"
    numerics = EXACT

    max_ops: int = field(default=16, metadata={"help": "operators in one kernel at most"})
    max_inputs: int = field(default=8, metadata={"help": "operands of one kernel at most"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            fuse_block(block, context, self.max_ops, self.max_inputs)
