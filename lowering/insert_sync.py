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
its end. Flags that others imply are left out (`buffer_lives`). Event numbers belong to a slot and rotate with its versions, so no event is set twice before it is waited
for. Where a pair of pipes runs out of events, a barrier over all pipes takes the place of the flag. Flags between the
cores of a team are those of `cross_flags`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import BlocksOp, KernelOp
from graph_engine.dialects.ascend.sync import BarrierOp, SetFlagOp, WaitFlagOp
from graph_engine.lowering.buffer_lives import Credit, Edge, Life, Paths, Text, credits_of, forward_edges, life_of
from graph_engine.lowering.cross_flags import insert_cross_flags
from graph_engine.lowering.kernels.loops import allocs_by_slot, version_index
from graph_engine.target_ascend.isa.model import Pipe
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.pass_base import EXACT, GePass


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
    text = Text(region)
    slots = {slot: [life_of(alloc, text) for alloc in allocs] for slot, allocs in allocs_by_slot(region).items()}
    slots = {slot: [life for life in lives if life.touched] for slot, lives in slots.items()}
    edges = forward_edges((life for lives in slots.values() for life in lives), text)
    writer = _Writer(text, _Events(event_ids))
    for credit in credits_of(slots, Paths.of(text, edges)):
        writer.credit(credit)
    writer.forward(edges)
    writer.apply(region.body.block)


@dataclass
class _Writer:
    """Collects what goes before and after each statement, at the start and at the end."""

    text: Text
    events: _Events
    plan: _Plan = field(default_factory=_Plan)
    start: list[Operation] = field(default_factory=list[Operation])
    end: list[Operation] = field(default_factory=list[Operation])

    def forward(self, edges: dict[Edge, list[Life]]) -> None:
        """The flags inside lives."""
        ordinals: dict[tuple[Operation, Pipe, Pipe], int] = {}
        statements = self.text.ops
        for (i, p, j, q), holders in sorted(edges.items(), key=lambda item: item[0][2]):
            holder = min(holders, key=lambda life: life.alloc.slot.data)
            slot = holder.alloc.slot.data
            key = holder.alloc, p, q
            ordinal = ordinals[key] = ordinals.get(key, -1) + 1
            count, index = _versions(holder)
            event = self.events.get(p, q, f"{slot}>", ordinal, count)
            if event is None:
                self.plan.put_before(statements[j], BarrierOp(Pipe.ALL))
                continue
            self.plan.put_after(statements[i], SetFlagOp(p, q, event, count, index))
            self.plan.put_before(statements[j], WaitFlagOp(p, q, event, count, index))

    def credit(self, credit: Credit) -> None:
        """The flags between the lives of a slot."""
        pipe, first_pipe, count = credit.pipe, credit.lives[0].first_pipe, credit.versions
        event = self.events.get(pipe, first_pipe, f"{credit.slot}<", 0, count)
        if event is not None:
            self.start += [SetFlagOp(pipe, first_pipe, event + v) for v in range(count)]
            self.end += [WaitFlagOp(pipe, first_pipe, event + v) for v in range(count)]
        statements = self.text.ops
        for life in credit.lives:
            if event is None:
                self.plan.put_before(statements[life.first], BarrierOp(Pipe.ALL))
                continue
            _, index = _versions(life)
            self.plan.put_before(statements[life.first], WaitFlagOp(pipe, first_pipe, event, count, index))
            self.plan.put_after(statements[life.last(pipe)], SetFlagOp(pipe, first_pipe, event, count, index))

    def apply(self, block: Block) -> None:
        """Inserts everything into the region's block."""
        self.plan.apply()
        first = block.first_op
        if first is not None:
            block.insert_ops_before(self.start, first)
        block.add_ops(self.end)


@dataclass(frozen=True)
class InsertSync(GePass):
    """Insert the flags that make every interleaving of a core's pipes equal to program order."""

    name = "insert-sync"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose number of event ids bounds the flags"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip: Soc = load_soc(self.soc)
        for kernel in op.ops:
            if isinstance(kernel, KernelOp):
                for region in list(kernel.body.block.ops):
                    if isinstance(region, BlocksOp):
                        insert_sync(region, chip.sync.event_ids)
                insert_cross_flags(kernel, chip.sync.cross_flags)
