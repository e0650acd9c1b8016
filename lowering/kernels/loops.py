"""Where an operator of a kernel stands: its enclosing loops and their running number."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.kernel import BlocksOp, LoopOp
from graph_engine.dialects.ascend.memory import AllocOp, base_of
from graph_engine.dialects.ascend.spaces import dtype_of


def enclosing_loops(op: Operation) -> list[LoopOp]:
    """The loops around `op`, outermost first, up to its `ascend.blocks`."""
    loops: list[LoopOp] = []
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, BlocksOp):
        if isinstance(parent, LoopOp):
            loops.append(parent)
        parent = parent.parent_op()
    return loops[::-1]


def running_index(op: Operation) -> Expr:
    """How often the body around `op` ran before, counted from the start of the block: affine in the counters."""
    index = Expr()
    for loop in enclosing_loops(op):
        index = index * loop.trip.value.data + loop.body.block.args[0]
    return index


def version_index(alloc: AllocOp) -> Expr:
    """Which content of its slot an alloc holds; modulo the slot's versions this picks the version."""
    index = running_index(alloc)
    if alloc.turns is not None:
        index = Expr()
        for loop, turns in zip(enclosing_loops(alloc), alloc.turns.get_values(), strict=True):
            index = index + Expr.of(loop.body.block.args[0]) * int(turns)
    return index + (alloc.phase.value.data if alloc.phase is not None else 0)


def contents_before(alloc: AllocOp, allocs: Sequence[AllocOp]) -> Expr:
    """How many contents of its slot a core fills before that of `alloc`; `allocs`: all of the slot there, in program order."""
    around, index = enclosing_loops(alloc), Expr()
    before = True
    for other in allocs:
        before = before and other is not alloc
        loops = enclosing_loops(other)
        shared = sum(1 for a, b in zip(around, loops, strict=False) if a is b)
        trips = [loop.trip.value.data for loop in loops]
        for depth, loop in enumerate(around[:shared]):
            index = index + Expr.of(loop.body.block.args[0]) * prod(trips[depth + 1 :])
        if before:
            index = index + prod(trips[shared:])
    return index


def in_turn(alloc: AllocOp, allocs: Sequence[AllocOp]) -> bool:
    """Whether `alloc` takes the version that follows the one before, whatever loops have come to."""
    apart = version_index(alloc) + contents_before(alloc, allocs) * -1
    return not any(number % alloc.version_count for number in (apart.const, *apart.terms.values()))


def alloc_of(value: SSAValue) -> AllocOp | None:
    """The alloc behind an instruction's operand, None for a launch argument."""
    owner = base_of(value).owner
    return owner if isinstance(owner, AllocOp) else None


def allocs_by_slot(root: Operation) -> dict[str, list[AllocOp]]:
    """All allocs below `root`, by slot, in program order."""
    slots: dict[str, list[AllocOp]] = {}
    for op in root.walk():
        if isinstance(op, AllocOp):
            slots.setdefault(op.slot.data, []).append(op)
    return slots


def alloc_bytes(op: AllocOp) -> int:
    """Bytes of one version of what `op` allocates."""
    count = 1
    for size in op.memory.type.get_shape():
        count *= size
    return count * dtype_of(op.memory.type).bytes


def slot_bytes(allocs: Sequence[AllocOp], align: int) -> int:
    """Bytes of one version of a slot: its largest content, rounded up to the alignment of its space."""
    return -(-max(map(alloc_bytes, allocs)) // align) * align


def instructions_of(op: AllocOp) -> list[InstructionOp]:
    """The instructions that touch what `op` allocates."""
    found: dict[InstructionOp, None] = {}
    for use in op.memory.uses:
        for user in use.operation.results[0].uses if use.operation.results else ():
            if isinstance(user.operation, InstructionOp):
                found[user.operation] = None
        if isinstance(use.operation, InstructionOp):
            found[use.operation] = None
    return list(found)
