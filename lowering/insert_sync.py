"""Insert the flags that make every interleaving of a core's pipes equal to program order.

    ascend.mte.load2d %w to %l0b ...           ascend.sync.wait_flag [M -> MTE1] 0
    ascend.cube.mmad %l0a, %l0b to %l0c   ->   ascend.mte.load2d %w to %l0b ...
                                               ascend.sync.set_flag [MTE1 -> M] 0
                                               ascend.sync.wait_flag [MTE1 -> M] 0
                                               ascend.cube.mmad %l0a, %l0b to %l0c
                                               ascend.sync.set_flag [M -> MTE1] 0

An alloc's body is one life of its content. Inside it a *forward* flag orders every pair of statements of different
pipes that conflict. A *credit* lets the first pipe of the next life start: it is set after the last access of each
other pipe, waited for before the first access, given once per version at the start of the block and taken back at
its end. Event numbers belong to a slot and rotate with its versions, so no event is set twice before it is waited
for. Where a pair of pipes runs out of events, a barrier over all pipes takes the place of the flag.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.memory import AllocOp, BlocksOp, KernelOp
from graph_engine.dialects.ascend.sync import BarrierOp, SetFlagOp, WaitFlagOp
from graph_engine.lowering.kernels.loops import (
    alloc_of,
    allocs_by_slot,
    enclosing_loops,
    instructions_of,
    version_index,
)
from graph_engine.target_ascend.isa.model import Pipe
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.pass_base import GePass, OperatorError

Edge: TypeAlias = tuple[int, Pipe, int, Pipe]
"""Statement i in pipe p before statement j in pipe q, by position in the body."""


@dataclass
class Access:
    """What one statement does to one alloc in one pipe."""

    reads: bool = False
    writes: bool = False


@dataclass
class Life:
    """One alloc: the statements of its body that touch it."""

    alloc: AllocOp
    body: Block
    touched: dict[int, dict[Pipe, Access]] = field(default_factory=dict[int, dict[Pipe, Access]])

    @property
    def first(self) -> int:
        """Position of the first statement."""
        return min(self.touched)

    @property
    def first_pipe(self) -> Pipe:
        """The pipe that starts this life."""
        return next(iter(self.touched[self.first]))

    def last(self, pipe: Pipe) -> int:
        """Position of the last statement in `pipe`."""
        return max(i for i, pipes in self.touched.items() if pipe in pipes)

    @property
    def pipes(self) -> list[Pipe]:
        """All pipes that touch it, in their own order."""
        return sorted({pipe for pipes in self.touched.values() for pipe in pipes})


def _life(alloc: AllocOp, order: dict[Operation, int]) -> Life:
    body = alloc.parent_block()
    assert body is not None
    life = Life(alloc, body)
    for instruction in instructions_of(alloc):
        statement: Operation = instruction
        while statement.parent_block() is not body:
            parent = statement.parent_op()
            assert parent is not None
            statement = parent
        access = life.touched.setdefault(order[statement], {}).setdefault(instruction.pipe, Access())
        access.reads |= any(alloc_of(s) is alloc for s in instruction.sources)
        if alloc_of(instruction.dst) is alloc:
            access.writes = True
            access.reads |= not instruction.writes_only
    for pipes in life.touched.values():
        if len(pipes) > 1 and any(access.writes for access in pipes.values()):
            raise OperatorError(
                alloc,
                f"buffer {alloc.slot.data} is written and used by several pipes in one inner loop; "
                "allocate it inside that loop",
            )
    return life


def _forward(life: Life) -> list[Edge]:
    edges: list[Edge] = []
    positions = sorted(life.touched)
    for b, j in enumerate(positions):
        for q, later in life.touched[j].items():
            for i in positions[:b]:
                for p, earlier in life.touched[i].items():
                    if p is not q and (earlier.writes or later.writes):
                        edges.append((i, p, j, q))
    return edges


def _prune(edges: dict[Edge, list[Life]]) -> dict[Edge, list[Life]]:
    """Drops an edge where another one of the same pipes starts no earlier and ends no later."""
    kept: dict[Edge, list[Life]] = {}
    groups: dict[tuple[Pipe, Pipe], list[Edge]] = {}
    for edge in edges:
        groups.setdefault((edge[1], edge[3]), []).append(edge)
    for group in groups.values():
        latest = -1
        # Ends ascending, starts descending: an edge is needed only if it starts after all that end no later.
        for edge in sorted(group, key=lambda e: (e[2], -e[0])):
            if edge[0] > latest:
                latest = edge[0]
                kept[edge] = edges[edge]
    return kept


@dataclass
class _Events:
    """Event numbers of one kernel region: a range per (pipe pair, slot, ordinal)."""

    limit: int
    next_free: dict[tuple[Pipe, Pipe], int] = field(default_factory=dict[tuple[Pipe, Pipe], int])
    taken: dict[tuple[Pipe, Pipe, str, int], int | None] = field(
        default_factory=dict[tuple[Pipe, Pipe, str, int], int | None]
    )

    def get(self, p: Pipe, q: Pipe, slot: str, ordinal: int, count: int) -> int | None:
        """The first of `count` numbers, or None where the pair has no more."""
        key = (p, q, slot, ordinal)
        if key not in self.taken:
            start = self.next_free.get((p, q), 0)
            fits = start + count <= self.limit
            self.taken[key] = start if fits else None
            if fits:
                self.next_free[p, q] = start + count
        return self.taken[key]


@dataclass
class _Plan:
    """What to put before and after each statement of each body."""

    before: dict[Operation, list[Operation]] = field(default_factory=dict[Operation, list[Operation]])
    after: dict[Operation, list[Operation]] = field(default_factory=dict[Operation, list[Operation]])

    def put_before(self, statement: Operation, op: Operation) -> None:
        self.before.setdefault(statement, []).append(op)

    def put_after(self, statement: Operation, op: Operation) -> None:
        self.after.setdefault(statement, []).append(op)

    def apply(self) -> None:
        """Inserts everything."""
        for statement, ops in self.before.items():
            block = statement.parent_block()
            assert block is not None
            block.insert_ops_before(ops, statement)
        for statement, ops in self.after.items():
            block = statement.parent_block()
            assert block is not None
            block.insert_ops_after(ops, statement)


def _versions(life: Life) -> tuple[int, Expr]:
    count = life.alloc.version_count
    return count, version_index(life.alloc) if count > 1 else Expr()


def insert_sync(region: BlocksOp, event_ids: int) -> None:
    """Inserts the flags of one region."""
    slots = allocs_by_slot(region)
    orders: dict[Block, tuple[dict[Operation, int], list[Operation]]] = {}
    lives: dict[str, list[Life]] = {}
    bodies: dict[Block, list[Life]] = {}
    for slot, allocs in slots.items():
        for alloc in allocs:
            body = alloc.parent_block()
            assert body is not None
            if body not in orders:
                statements = list(body.ops)
                orders[body] = {op: i for i, op in enumerate(statements)}, statements
            life = _life(alloc, orders[body][0])
            if life.touched:
                lives.setdefault(slot, []).append(life)
                bodies.setdefault(body, []).append(life)
    events = _Events(event_ids)
    plan = _Plan()
    start, end = list[Operation](), list[Operation]()
    for slot, slot_lives in lives.items():
        if len(slot_lives) > 1 or enclosing_loops(slot_lives[0].alloc):
            _credits(slot, slot_lives, orders, events, plan, start, end)
    for body, body_lives in bodies.items():
        edges: dict[Edge, list[Life]] = {}
        for life in body_lives:
            for edge in _forward(life):
                edges.setdefault(edge, []).append(life)
        ordinals: dict[tuple[Pipe, Pipe, str], int] = {}
        statements = orders[body][1]
        for (i, p, j, q), holders in sorted(_prune(edges).items(), key=lambda item: item[0][2]):
            holder = min(holders, key=lambda life: life.alloc.slot.data)
            slot = holder.alloc.slot.data
            ordinal = ordinals[p, q, slot] = ordinals.get((p, q, slot), -1) + 1
            count, index = _versions(holder)
            event = events.get(p, q, f"{slot}>", ordinal, count)
            if event is None:
                plan.put_before(statements[j], BarrierOp(Pipe.ALL))
                continue
            plan.put_after(statements[i], SetFlagOp(p, q, event, count, index))
            plan.put_before(statements[j], WaitFlagOp(p, q, event, count, index))
    plan.apply()
    block = region.body.block
    first = block.first_op
    if first is not None:
        block.insert_ops_before(start, first)
    block.add_ops(end)


def _credits(
    slot: str,
    lives: list[Life],
    orders: dict[Block, tuple[dict[Operation, int], list[Operation]]],
    events: _Events,
    plan: _Plan,
    start: list[Operation],
    end: list[Operation],
) -> None:
    first_pipe, pipes = lives[0].first_pipe, lives[0].pipes
    for life in lives:
        if life.first_pipe is not first_pipe or life.pipes != pipes:
            raise OperatorError(life.alloc, f"the allocs of slot {slot} are used by different pipes")
    for pipe in pipes:
        if pipe is first_pipe:
            continue
        count = lives[0].alloc.version_count
        event = events.get(pipe, first_pipe, f"{slot}<", 0, count)
        if event is not None:
            start += [SetFlagOp(pipe, first_pipe, event + v) for v in range(count)]
            end += [WaitFlagOp(pipe, first_pipe, event + v) for v in range(count)]
        for life in lives:
            statements = orders[life.body][1]
            if event is None:
                plan.put_before(statements[life.first], BarrierOp(Pipe.ALL))
                continue
            _, index = _versions(life)
            plan.put_before(statements[life.first], WaitFlagOp(pipe, first_pipe, event, count, index))
            plan.put_after(statements[life.last(pipe)], SetFlagOp(pipe, first_pipe, event, count, index))


@dataclass(frozen=True)
class InsertSync(GePass):
    """Insert the flags that make every interleaving of a core's pipes equal to program order."""

    name = "insert-sync"

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose number of event ids bounds the flags"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip: Soc = load_soc(self.soc)
        for kernel in op.ops:
            if isinstance(kernel, KernelOp):
                for region in list(kernel.body.block.ops):
                    if isinstance(region, BlocksOp):
                        insert_sync(region, chip.sync.event_ids)
