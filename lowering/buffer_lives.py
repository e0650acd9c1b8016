"""The lives of on-chip buffers, and which orders between pipes they need: what `insert-sync` makes flags of.

An alloc's body is one life of its content. Statements of different pipes that conflict in it need an *edge*; the next
life needs a *credit* of every pipe but the first. Both are dropped where others imply them: an edge where a path of
other edges leads from its start to its end; a credit where such a path leads back to the first pipe within the life,
or where another slot with the same lives, or another pipe of the same slot, gives a stricter one.

Places are positions in the program text, of the whole region, loops before their bodies. A path that only goes forward
in the text is one that every run takes: it leaves loops in their last run, and enters others in their first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from xdsl.ir import Block, Operation

from graph_engine.dialects.ascend.memory import AllocOp
from graph_engine.lowering.kernels.loops import alloc_of, enclosing_loops, instructions_of
from graph_engine.target_ascend.isa.model import Pipe
from graph_engine.transforms.pass_base import OperatorError

Edge: TypeAlias = tuple[int, Pipe, int, Pipe]
"""Statement i in pipe p before statement j in pipe q; both stand in one body."""


class Text:
    """The operations of a region in the order of the program text."""

    def __init__(self, region: Operation):
        self.ops: list[Operation] = []
        self.at: dict[Operation, int] = {}
        self.ends: list[int] = []
        """By position: where the last operation inside stands; of one without a body its own position."""
        self._add(region)

    def _add(self, op: Operation) -> None:
        place = self.at[op] = len(self.ops)
        self.ops.append(op)
        self.ends.append(place)
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    self._add(inner)
        self.ends[place] = len(self.ops) - 1


@dataclass
class Access:
    """What one statement does to one alloc in one pipe, from its first to its last instruction there."""

    first: int
    last: int
    reads: bool = False
    writes: bool = False


@dataclass
class Life:
    """One alloc: the statements of its body that touch it, in the order of the text."""

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

    def last_access(self, pipe: Pipe) -> int:
        """Position of the last instruction in `pipe`."""
        return self.touched[self.last(pipe)][pipe].last

    @property
    def pipes(self) -> list[Pipe]:
        """All pipes that touch it, in their own order."""
        return sorted({pipe for pipes in self.touched.values() for pipe in pipes})

    @property
    def phase(self) -> int:
        """The version of the first content, of the body's first run."""
        phase = self.alloc.phase.value.data if self.alloc.phase is not None else 0
        return phase % self.alloc.version_count


def life_of(alloc: AllocOp, text: Text) -> Life:
    """The life of an alloc. Raises OperatorError if no flag could order it."""
    body = alloc.parent_block()
    assert body is not None
    life = Life(alloc, body)
    for instruction in sorted(instructions_of(alloc), key=text.at.__getitem__):
        place = text.at[instruction]
        statement: Operation = instruction
        while statement.parent_block() is not body:
            parent = statement.parent_op()
            assert parent is not None
            statement = parent
        access = life.touched.setdefault(text.at[statement], {}).setdefault(instruction.pipe, Access(place, place))
        access.last = place
        access.reads |= any(alloc_of(s) is alloc for s in instruction.sources)
        if alloc_of(instruction.dst) is alloc:
            access.writes |= instruction.writes
            access.reads |= not instruction.writes_only
    for pipes in life.touched.values():
        if len(pipes) > 1 and any(access.writes for access in pipes.values()):
            raise OperatorError(
                alloc,
                f"buffer {alloc.slot.data} is written and used by several pipes in one inner loop; "
                "allocate it inside that loop",
            )
    return life


def forward_edges(lives: Iterable[Life], text: Text) -> dict[Edge, list[Life]]:
    """The edges that a region needs, each with the lives that ask for it."""
    asked: dict[Edge, list[Life]] = {}
    spans: dict[Edge, tuple[int, int]] = {}
    """From the last instruction that must be over to the first one that must wait."""
    for life in lives:
        positions = sorted(life.touched)
        for b, j in enumerate(positions):
            for q, later in life.touched[j].items():
                for i in positions[:b]:
                    for p, earlier in life.touched[i].items():
                        if p is not q and (earlier.writes or later.writes):
                            edge = (i, p, j, q)
                            asked.setdefault(edge, []).append(life)
                            start, end = spans.get(edge, (earlier.last, later.first))
                            spans[edge] = max(start, earlier.last), min(end, later.first)
    paths = Paths(text)

    def length(edge: Edge) -> tuple[int, int]:
        return spans[edge][1] - spans[edge][0], edge[0]

    # Short edges first: a longer one is needed only if no path of shorter ones leads from its start to its end. Of several
    # that end in one loop the tightest may be given by others, and yet one to an earlier instruction of that loop not.
    into_loops = [edge for edge in asked if spans[edge][1] > edge[2]]
    for edge in (*sorted(_tightest(asked, text), key=length), *sorted(into_loops, key=length)):
        start, end = spans[edge]
        if not paths.lead(start, edge[1], end, edge[3]):
            paths.add(edge)
    return {edge: asked[edge] for edge in paths.edges()}


def _tightest(edges: Iterable[Edge], text: Text) -> list[Edge]:
    """Without the edges beside another one of the same pipes that starts no earlier and ends no later."""
    kept: list[Edge] = []
    groups: dict[tuple[Pipe, Pipe], list[Edge]] = {}
    for edge in edges:
        groups.setdefault((edge[1], edge[3]), []).append(edge)
    for group in groups.values():
        latest = -1
        # Ends ascending, starts descending: an edge is needed only if it starts after all that end no later.
        for edge in sorted(group, key=lambda e: (e[2], -text.ends[e[0]])):
            if text.ends[edge[0]] > latest:
                latest = text.ends[edge[0]]
                kept.append(edge)
    return kept


@dataclass
class Paths:
    """The edges of a region, and where they lead together: an edge may be followed by any that starts no earlier."""

    text: Text
    by_pipe: dict[Pipe, list[Edge]] = field(default_factory=dict[Pipe, list[Edge]])

    @staticmethod
    def of(text: Text, edges: Iterable[Edge]) -> Paths:
        """The paths of some edges."""
        paths = Paths(text)
        for edge in edges:
            paths.add(edge)
        return paths

    def add(self, edge: Edge) -> None:
        """One more edge."""
        self.by_pipe.setdefault(edge[1], []).append(edge)

    def edges(self) -> list[Edge]:
        """All edges."""
        return [edge for edges in self.by_pipe.values() for edge in edges]

    def lead(self, start: int, pipe: Pipe, end: int, target: Pipe) -> bool:
        """Whether what `pipe` did up to `start` is over when pipe `target` comes to `end`."""
        earliest = {pipe: start}
        open_pipes = [pipe]
        while open_pipes:
            pipe = open_pipes.pop()
            for i, _, j, q in self.by_pipe.get(pipe, ()):
                if j <= end and self.text.ends[i] >= earliest[pipe] and j < earliest.get(q, end + 1):
                    earliest[q] = j
                    open_pipes.append(q)
        return earliest.get(target, end + 1) <= end


@dataclass
class Credit:
    """Pipe `pipe` lets the first pipe of the next life of a slot go on."""

    slot: str
    pipe: Pipe
    lives: list[Life]

    @property
    def versions(self) -> int:
        """Lives that may stand at one time."""
        return self.lives[0].alloc.version_count

    def implies(self, other: Credit, paths: Paths) -> bool:
        """Whether this credit holds the other's first pipe at least as long: same lives, an earlier wait, a later set."""
        if self.versions not in (1, other.versions) or len(self.lives) != len(other.lives):
            return False
        for mine, theirs in zip(self.lives, other.lives, strict=True):
            same = mine.body is theirs.body and mine.first_pipe is theirs.first_pipe
            if not same or (self.versions > 1 and mine.phase != theirs.phase) or mine.first > theirs.first:
                return False
            given = paths.text.ends[mine.last(self.pipe)]
            if not paths.lead(theirs.last_access(other.pipe), other.pipe, given, self.pipe):
                return False
        return True

    def idle(self, paths: Paths) -> bool:
        """Whether the first pipe itself is held in every life until the other one is through with it."""
        return all(
            paths.lead(life.last_access(self.pipe), self.pipe, max(life.touched), life.first_pipe)
            for life in self.lives
        )


def credits_of(slots: dict[str, list[Life]], paths: Paths) -> list[Credit]:
    """The credits that the slots of a region need. Raises OperatorError where lives of one slot differ in their pipes."""
    kept: list[Credit] = []
    for slot, lives in slots.items():
        if not _refilled(lives):
            continue
        first_pipe, pipes = lives[0].first_pipe, lives[0].pipes
        for life in lives:
            if life.first_pipe is not first_pipe or life.pipes != pipes:
                raise OperatorError(life.alloc, f"the allocs of slot {slot} are used by different pipes")
        for pipe in pipes:
            credit = Credit(slot, pipe, lives)
            if pipe is first_pipe or credit.idle(paths) or any(other.implies(credit, paths) for other in kept):
                continue
            kept = [other for other in kept if not credit.implies(other, paths)]
            kept.append(credit)
    return kept


def _refilled(lives: list[Life]) -> bool:
    """Whether a version of the slot ever holds a second content."""
    used: set[int] = set()
    for life in lives:
        count = life.alloc.version_count
        runs = prod(loop.trip.value.data for loop in enclosing_loops(life.alloc))
        filled = {(life.phase + run) % count for run in range(min(runs, count + 1))}
        if runs > count or filled & used:
            return True
        used |= filled
    return False
