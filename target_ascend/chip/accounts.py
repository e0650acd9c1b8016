"""Where the cycles of a kernel go: every engine's time by reason, and the chain of reasons that ends last.

The machine is that of `queues.run_queues`, which a test holds equal; here every point in time remembers the one that it
follows. Both answers leave no remainder: the reasons of an engine add up to the block's cycles, and so do those
of the chain. An engine's time is

* busy: instructions that compute or move on the chip; for S one cycle for every instruction and its own loads
* ddr, l2: transfers of device memory, by what sets their rate; latency: waiting for the first byte of one
* flag X: held by a `wait_flag` until engine X set the flag; sync: the cycles of flags and barriers themselves
* issue: nothing to do, while S issues instructions of other engines
* queue X: nothing to do, since S is held by the full queue of X; barrier: S waits until all engines are done
* spacing: between the starts of two moves of device memory
* done: nothing left to do, while other engines of the block work.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from graph_engine.target_ascend.chip.steps import BARRIER_ALL, CROSS_SET, CROSS_WAIT, MOVE_GM, SET, WAIT, WORK, Step
from graph_engine.target_ascend.chip.teams import CrossFlags, Flow, run_team
from graph_engine.target_ascend.isa.model import Part, Pipe

ENGINES: tuple[str, ...] = tuple(pipe.name for pipe in Pipe if pipe is not Pipe.ALL)

_ORIGIN = 0
"""The point in time from which all start."""


@dataclass(frozen=True, slots=True)
class BlockAccount:
    """Cycles of one block. `engines`: by engine and reason; `chain`: by "engine reason" along what ends last."""

    cycles: int
    engines: dict[str, Counter[str]]
    chain: Counter[str]


@dataclass(frozen=True, slots=True)
class TaskAccount:
    """Cycles of a launch, whole numbers that add up.

    `engines`: by engine and reason, summed over the cores (of a mixed launch teams, whose Vector cores are AIV0 and AIV1) that
    the launch holds; beside a block's reasons "uneven", a core
    without a block left while others work, and "launch". An engine's reasons add up to `cores * cycles`.
    `chain`: by "engine reason" on the core that ends last, and "launch"; adds up to `cycles`.
    """

    cycles: int
    cores: int
    engines: dict[str, Counter[str]]
    chain: Counter[str]

    @staticmethod
    def of(blocks: Sequence[BlockAccount], cores: int, overhead: int) -> TaskAccount:
        """Puts blocks together, which are dealt to the cores in turn."""
        busy = [sum(block.cycles for block in blocks[core::cores]) for core in range(cores)]
        longest = max(busy, default=0)
        engines: dict[str, Counter[str]] = {}
        for name in blocks[0].engines if blocks else ENGINES:
            total = engines[name] = Counter[str]()
            for block in blocks:
                total.update(block.engines[name])
            total["uneven"] = cores * longest - sum(busy)
            total["launch"] = cores * overhead
        chain = Counter({"launch": overhead})
        if busy:
            for block in blocks[busy.index(longest) :: cores]:
                chain.update(block.chain)
        return TaskAccount(overhead + longest, cores, {name: +total for name, total in engines.items()}, +chain)

    def json(self) -> dict[str, Any]:
        """The account as in `--profile-json`."""
        engines = {name: dict(spent) for name, spent in self.engines.items()}
        return {"cycles": self.cycles, "cores": self.cores, "engines": engines, "chain": dict(self.chain)}


class _Engine:
    """One engine: its time by reason up to `accounted`, and when it takes its next instruction."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.spent = Counter[str]()
        self.accounted = 0
        self.free = self.done = _ORIGIN
        self.started: list[int] = []

    def spend(self, until: int, reason: str) -> None:
        if until > self.accounted:
            self.spent[reason] += until - self.accounted
            self.accounted = until


Explained: TypeAlias = tuple[int, int, str]
"""(latency, transfer, "l2" or "ddr") of a move of device memory."""


def explain_block(
    steps: Sequence[Step], gm_moves: Sequence[Explained], flags: int, depth: int, gap: int
) -> BlockAccount:
    """Accounts for a block's steps; but for `gm_moves` as for `run_queues`."""
    return explain_team([(Part.WHOLE, steps, gm_moves)], flags, depth, gap, 0)


def explain_team(
    parts: Sequence[tuple[Part, Sequence[Step], Sequence[Explained]]], flags: int, depth: int, gap: int, cross: int
) -> BlockAccount:
    """Accounts for the steps of each part of a block; `cross`: cycles that a cross-core flag takes to arrive."""
    points, crossing = _Points(), CrossFlags[tuple[int, str]]()
    explainers = {part: _Explainer(part, points, crossing, flags, depth, gap, cross) for part, _, _ in parts}
    flows = {part: explainers[part].explain(steps, moves) for part, steps, moves in parts}
    last = _ORIGIN
    for end in run_team(flows, crossing).values():
        last = points.later(end, last)
    return points.account(last, [engine for explainer in explainers.values() for engine in explainer.own])


def vector_name(pipe: Pipe) -> str:
    """How reports call a pipe of a Vector core beside those of the Cube core of its team."""
    return f"AIV {pipe.name}"


class _Points:
    """Points in time: `when`, the earlier point that each `follows`, and what passes in between."""

    def __init__(self) -> None:
        self.when, self.follows, self.passing = [0], [_ORIGIN], [""]

    def point(self, follows: int, cycles: int, passing: str) -> int:
        self.when.append(self.when[follows] + cycles)
        self.follows.append(follows)
        self.passing.append(passing)
        return len(self.when) - 1

    def later(self, one: int, other: int) -> int:
        """The later of two points; of equal ones the second."""
        return one if self.when[one] > self.when[other] else other

    def account(self, last: int, engines: Sequence[_Engine]) -> BlockAccount:
        """What the engines spent up to the last point, and the chain that leads to it."""
        cycles = self.when[last]
        for engine in engines:
            engine.spend(cycles, "done")
        chain = Counter[str]()
        while last != _ORIGIN:
            before = self.follows[last]
            chain[self.passing[last]] += self.when[last] - self.when[before]
            last = before
        return BlockAccount(cycles, {engine.name: engine.spent for engine in engines}, +chain)


_OWN = {
    Part.WHOLE: ENGINES,
    Part.CUBE: ("S", "M", "MTE1", "MTE2", "FIX"),
    Part.VECTOR_0: ("S", "V", "MTE2", "MTE3"),
    Part.VECTOR_1: ("S", "V", "MTE2", "MTE3"),
}
"""The engines that each core has."""


class _Explainer:
    """One core on the way from point to point."""

    def __init__(
        self,
        part: Part,
        points: _Points,
        crossing: CrossFlags[tuple[int, str]],
        flags: int,
        depth: int,
        gap: int,
        cross: int,
    ) -> None:
        self.part, self.crossing, self.cross = part, crossing, cross
        self.depth, self.gap = depth, gap
        self.when, self.point, self.later = points.when, points.point, points.later
        self.prefix = f"AIV{part - Part.VECTOR_0} " if part >= Part.VECTOR_0 else ""
        self.engines = [_Engine(f"{self.prefix}{name}") for name in ENGINES]
        self.own = [self.engines[ENGINES.index(name)] for name in _OWN[part]]
        self.raised: list[deque[tuple[int, str]]] = [deque() for _ in range(flags)]
        self.held: list[tuple[int, int, str]] = []
        self.issued = _ORIGIN

    def explain(self, steps: Iterable[Step], gm_moves: Iterable[Explained]) -> Flow[int]:
        """Goes through the steps; gives the point at which the last one ends."""
        moves = iter(gm_moves)
        last = _ORIGIN
        for kind, pipe, cycles, flag in steps:
            self.issue()
            if kind == CROSS_WAIT:
                while not (arrivals := self.crossing.take(self.part, flag)):
                    yield flag
                for at, source in arrivals:
                    self.hold_scalar(at, f"flag {source}")
                end = self.issued
            elif not pipe:
                end = self.on_scalar(kind, cycles, flag)
            else:
                engine = self.engines[pipe]
                self.take_queue_slot(engine)
                start = self.later(self.issued, engine.free)
                engine.spend(self.when[engine.free], "spacing")
                self.starve(engine)
                if kind == MOVE_GM:
                    end = self.move(engine, start, *next(moves))
                elif kind in (SET, CROSS_SET):
                    end = self.set_flag(engine, start, kind, cycles, flag)
                else:
                    end = self.hold(engine, start, kind, cycles, flag)
            last = self.later(end, last)
        return last

    def issue(self) -> None:
        """S takes a cycle for the next instruction."""
        self.issued = self.point(self.issued, 1, f"{self.prefix}S issue")
        self.engines[0].spend(self.when[self.issued], "busy")

    def hold_scalar(self, until: int, reason: str) -> None:
        """S goes on at a point, if that is later."""
        before, after = self.when[self.issued], self.when[until]
        if after > before:
            self.held.append((before, after, reason))
            self.engines[0].spend(after, reason)
            self.issued = until

    def take_queue_slot(self, engine: _Engine) -> None:
        if len(engine.started) >= self.depth:
            self.hold_scalar(engine.started[-self.depth], f"queue {engine.name}")

    def on_scalar(self, kind: int, cycles: int, flag: int) -> int:
        scalar = self.engines[0]
        if kind == WAIT:
            at, source = self.raised[flag].popleft()
            self.hold_scalar(at, f"flag {source}")
        elif kind == SET:
            self.raised[flag].append((self.issued, scalar.name))
        elif kind == CROSS_SET:
            self.cross_flag(self.issued, scalar, flag)
        else:
            if kind == BARRIER_ALL:
                for engine in self.engines:
                    self.hold_scalar(self.later(engine.free, engine.done), "barrier")
            self.issued = self.point(self.issued, cycles, "sync" if kind == BARRIER_ALL else f"{self.prefix}S busy")
            scalar.spend(self.when[self.issued], "sync" if kind == BARRIER_ALL else "busy")
        return self.issued

    def starve(self, engine: _Engine) -> None:
        """Up to its issue an instruction was not there: what S did meanwhile."""
        until, pieces = self.when[self.issued], list[tuple[int, str]]()
        for start, end, reason in reversed(self.held):
            if end <= engine.accounted:
                break
            pieces += [(end, reason), (start, "issue")]
        for end, reason in reversed(pieces):
            engine.spend(min(end, until), reason)
        engine.spend(until, "issue")

    def hold(self, engine: _Engine, start: int, kind: int, cycles: int, flag: int) -> int:
        """Work or a wait, which both hold the pipe."""
        if kind == WORK:
            start = self.later(engine.done, start)
            reason, passing = "busy", f"{engine.name} busy"
        else:
            at, source = self.raised[flag].popleft()
            engine.spend(self.when[at], f"flag {source}")
            start = self.later(at, start)
            reason = passing = "sync"
        engine.started.append(start)
        engine.free = self.point(start, cycles, passing)
        engine.spend(self.when[engine.free], reason)
        return engine.free

    def move(self, engine: _Engine, start: int, latency: int, transfer: int, bound: str) -> int:
        engine.started.append(start)
        arrives = self.point(start, latency, f"{engine.name} latency")
        engine.spend(self.when[arrives], "latency")
        engine.done = self.point(self.later(engine.done, arrives), transfer, f"{engine.name} {bound}")
        engine.spend(self.when[engine.done], bound)
        engine.free = self.point(start, self.gap, f"{engine.name} spacing")
        return engine.done

    def set_flag(self, engine: _Engine, start: int, kind: int, cycles: int, flag: int) -> int:
        engine.started.append(start)
        engine.done = self.point(self.later(engine.done, start), cycles, "sync")
        engine.spend(self.when[engine.done], "sync")
        engine.free = self.point(start, cycles, "sync")
        if kind == CROSS_SET:
            self.cross_flag(engine.done, engine, flag)
        else:
            self.raised[flag].append((engine.done, engine.name))
        return engine.done

    def cross_flag(self, raised: int, engine: _Engine, flag: int) -> None:
        """A flag on its way to other cores."""
        name = f"{'AIC ' if self.part is Part.CUBE else ''}{engine.name}"
        self.crossing.raise_(self.part, flag, (self.point(raised, self.cross, "cross-core flag"), name))
