"""Order and time of the tasks of an entry point: streams run in order, events tie them, cores are shared.

Two answers that never mix: `execution_order` is one valid order, the same on every run and in every mode, for the
functional engine; `place_tasks` simulates the device's clock with declared durations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import CoreKind
from graph_engine.target_ascend.om.program import AicpuCall, EntryPoint, Launch, Record, Task, Wait

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """Task `index` of stream `stream` of the entry point."""

    stream: int
    index: int
    task: Task


@dataclass(frozen=True, slots=True)
class Cost(Generic[T]):
    """What the clock needs of a task: its microseconds, and the timing engine's own answer for the profile."""

    us: float
    detail: T | None = None


@dataclass(frozen=True, slots=True)
class Placed(Generic[T]):
    """A step with its time, in microseconds from the start of the run."""

    step: Step
    start_us: float
    cost: Cost[T]

    @property
    def end_us(self) -> float:
        """When the task is done."""
        return self.start_us + self.cost.us


def execution_order(entry: EntryPoint) -> list[Step]:
    """All tasks in an order that streams and events allow; a stream runs until it waits.

    Raises GraphEngineError if an event is recorded twice or waited for in vain.
    """
    _check_events(entry)
    heads = [0] * len(entry.streams)
    recorded: set[int] = set()
    order: list[Step] = []
    moved = True
    while moved:
        moved = False
        for number, stream in enumerate(entry.streams):
            while heads[number] < len(stream.tasks):
                task = stream.tasks[heads[number]]
                if isinstance(task, Wait) and task.event not in recorded:
                    break
                if isinstance(task, Record):
                    recorded.add(task.event)
                order.append(Step(number, heads[number], task))
                heads[number] += 1
                moved = True
    _check_done(entry, heads)
    return order


class _Units:
    """When each AI Core and AI CPU of one device is free, in ascending order."""

    def __init__(self, cores: int, aicpus: int, vector_cores: int, core_kind: Callable[[Launch], CoreKind]) -> None:
        self.cores, self.aicpus, self.vector = [0.0] * cores, [0.0] * aicpus, [0.0] * vector_cores
        self.core_kind = core_kind

    def needed(self, task: Task) -> list[tuple[list[float], int]]:
        """The units of the task's kinds and how many of them it holds (copies and events hold none)."""
        if not isinstance(task, Launch):
            return [(self.aicpus, 1)] if isinstance(task, AicpuCall) else []
        kind = self.core_kind(task) if self.vector else CoreKind.AI_CORE
        if kind is CoreKind.MIXED:
            teams = max(1, min(task.block_dim, len(self.cores), len(self.vector) // 2))
            return [(self.cores, teams), (self.vector, 2 * teams)]
        units = self.vector if kind is CoreKind.VECTOR_CORE else self.cores
        return [(units, max(1, min(task.block_dim, len(units))))]

    def free_at(self, task: Task) -> float:
        return max((units[count - 1] for units, count in self.needed(task)), default=0.0)

    def busy_at(self, time: float) -> int:
        """How many AI Cores other launches hold at `time`."""
        return sum(until > time for until in (*self.cores, *self.vector))

    def hold(self, task: Task, until: float) -> None:
        for units, count in self.needed(task):
            units[:count] = [until] * count
            units.sort()


def place_tasks(
    entry: EntryPoint,
    cost: Callable[[Task, int], Cost[T]],
    *,
    cores: int,
    aicpus: int = 1,
    event_us: float = 0.0,
    vector_cores: int = 0,
    core_kind: Callable[[Launch], CoreKind] = lambda _: CoreKind.AI_CORE,
) -> list[Placed[T]]:
    """Simulates the devices: of all tasks that could start, the one that can start first does, on the cores it needs.

    `cost` is called once for each launch, copy and AICPU call, in order of start, with the number of AI Cores that other
    launches of the device hold at that time. A launch holds min(block_dim,
    `cores`) AI Cores of its stream's device, or of `vector_cores` where its `core_kind` says so, or teams of both; an AICPU call one of `aicpus`. A record or wait takes `event_us`.
    Of tasks that can start at the same time, that of the first stream does.
    """
    _check_events(entry)
    heads, clocks = [0] * len(entry.streams), [0.0] * len(entry.streams)
    recorded: dict[int, float] = {}
    devices = {stream.device: _Units(cores, aicpus, vector_cores, core_kind) for stream in entry.streams}
    placed: list[Placed[T]] = []
    while True:
        ready: list[tuple[float, int]] = []
        for number, stream in enumerate(entry.streams):
            if heads[number] == len(stream.tasks):
                continue
            task, clock = stream.tasks[heads[number]], clocks[number]
            if not isinstance(task, Wait):
                ready.append((max(clock, devices[stream.device].free_at(task)), number))
            elif task.event in recorded:
                ready.append((max(clock, recorded[task.event]), number))
        if not ready:
            break
        start, number = min(ready)
        stream = entry.streams[number]
        step = Step(number, heads[number], stream.tasks[heads[number]])
        heads[number] += 1
        spent: Cost[T] = Cost(event_us)
        if not isinstance(step.task, Record | Wait):
            spent = cost(step.task, devices[stream.device].busy_at(start))
        placed.append(Placed(step, start, spent))
        clocks[number] = start + spent.us
        devices[stream.device].hold(step.task, clocks[number])
        if isinstance(step.task, Record):
            recorded[step.task.event] = clocks[number]
    _check_done(entry, heads)
    return placed


def _check_events(entry: EntryPoint) -> None:
    seen: set[int] = set()
    for stream in entry.streams:
        for task in stream.tasks:
            if isinstance(task, Record):
                if task.event in seen:
                    raise GraphEngineError(f"entry point '{entry.name}' records event {task.event} twice")
                seen.add(task.event)


def _check_done(entry: EntryPoint, heads: list[int]) -> None:
    stuck = [
        f"stream '{stream.name}' waits for event {task.event}"
        for stream, head in zip(entry.streams, heads, strict=True)
        if head < len(stream.tasks) and isinstance(task := stream.tasks[head], Wait)
    ]
    if stuck:
        raise GraphEngineError(
            f"the streams wait for each other or for an event that nothing records: {'; '.join(stuck)}"
        )
