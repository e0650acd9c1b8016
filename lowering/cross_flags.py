"""Flags between the cores of a team: what one of them fills in global memory, others read, and it may be filled again.

    // the Cube core                          // a Vector core
                                              ascend.sync.block_set [MTE2] 1       (as often as there are versions)
    ascend.loop %i = 0 to 8 {                 ascend.loop %i = 0 to 8 {
      %ring = ascend.alloc "sums" ...           %ring = ascend.alloc "sums" ...
      ascend.sync.block_wait 1                  ascend.sync.block_wait 0
      ascend.cube.fixpipe %l0c to %ring         ascend.mte.copy %ring to %ub
      ascend.sync.block_set [FIX] 0             ascend.sync.block_set [MTE2] 1
    }                                         }
    ascend.sync.block_wait 1 ...

Each alloc of global memory is one life of its content, and stands in the same loops on all cores of the team. So each slot
has two flags, "filled" and "free", which count: the n-th filling waits for the reading `versions` before it, which must have
been of the same version, so contents take versions in turn. A slot that never gets a second content in one place needs no "free".
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.kernel import BlocksOp, KernelOp
from graph_engine.dialects.ascend.memory import AllocOp
from graph_engine.dialects.ascend.spaces import space_of
from graph_engine.dialects.ascend.sync import BlockSetOp, BlockWaitOp
from graph_engine.lowering.kernels.loops import alloc_of, allocs_by_slot, enclosing_loops, in_turn, instructions_of
from graph_engine.target_ascend.isa.model import Part, Pipe, Space
from graph_engine.transforms.pass_base import OperatorError


def insert_cross_flags(kernel: KernelOp, flags: int) -> None:
    """Inserts the flags of one kernel. Raises OperatorError if they are more than `flags`, which the chip has, and for a slot
    whose contents do not take its versions in turn."""
    slots = {slot: ops for slot, ops in allocs_by_slot(kernel).items() if space_of(ops[0].memory) is Space.GM}
    if 2 * len(slots) > flags:
        raise OperatorError(kernel, f"needs {2 * len(slots)} cross-core flags, the chip has {flags}")
    for number, (slot, allocs) in enumerate(slots.items()):
        by_cube = any(_part(op) is Part.CUBE and alloc_of(i.dst) is op for op in allocs for i in instructions_of(op))
        for region in kernel.body.block.ops:
            if isinstance(region, BlocksOp) and slot in (own := allocs_by_slot(region)):
                fills = by_cube == (region.part is Part.CUBE)
                _order(region, own[slot], fills, 2 * number, 2 * number + 1)


def _part(op: Operation) -> Part:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, BlocksOp):
        parent = parent.parent_op()
    return parent.part if parent is not None else Part.WHOLE


def _order(region: BlocksOp, allocs: list[AllocOp], fills: bool, filled: int, free: int) -> None:
    """The flags of one slot on one core: `fills` says whether it writes the slot or reads it."""
    versions = allocs[0].version_count
    runs = sum(prod(loop.trip.value.data for loop in enclosing_loops(op)) for op in allocs)
    refilled = runs > versions
    for alloc in allocs if versions > 1 else ():
        if not in_turn(alloc, allocs):
            slot = alloc.slot.data
            raise OperatorError(alloc, f"contents of slot {slot} do not take its versions in turn; run double-buffer")
    pipe = (Pipe.FIX if region.part is Part.CUBE else Pipe.MTE3) if fills else Pipe.MTE2
    block = region.body.block
    for alloc in allocs:
        first, last = _touching(alloc)
        place = first.parent_block()
        assert place is not None
        if refilled or not fills:
            place.insert_op_before(BlockWaitOp(free if fills else filled), first)
        if refilled or fills:
            place.insert_op_after(BlockSetOp(pipe, filled if fills else free), last)
    if refilled and fills:
        block.add_ops([BlockWaitOp(free) for _ in range(versions)])
    elif refilled and block.first_op is not None:
        block.insert_ops_before([BlockSetOp(pipe, free) for _ in range(versions)], block.first_op)


def _touching(alloc: AllocOp) -> tuple[Operation, Operation]:
    """The first and the last statement of the alloc's body that touch it; what stands behind it if none does."""
    body = alloc.parent_block()
    assert body is not None
    statements: set[Operation] = set()
    for instruction in instructions_of(alloc):
        statement: Operation = instruction
        while statement.parent_block() is not body:
            parent = statement.parent_op()
            assert parent is not None
            statement = parent
        statements.add(statement)
    ordered = [op for op in body.ops if op in statements]
    if not ordered:
        return alloc, alloc
    assert all(isinstance(op, InstructionOp) or op.regions for op in ordered)
    return ordered[0], ordered[-1]
