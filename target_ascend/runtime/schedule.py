"""Order and time of the tasks of an entry point: streams run in order, events tie them, cores are shared.

Two answers that never mix: `execution_order` is one valid order, the same on every run, for the functional engine;
`place_tasks` simulates the device's clock with declared durations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.om.program import AicpuCall, EntryPoint, Launch, Record, Stream, Task, Wait

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """Task `index` of stream `stream` of the entry point."""

    stream: int
    index: int
    task: Task


@dataclass(frozen=True, slots=True)
class Cost(Generic[T]):
    """What the clock needs of a task: microseconds, AI Cores held, and the engine's own answer for the profile."""

    us: float
    cores: int = 0
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
    _check_done(entry.streams, heads)
    return order


def place_tasks(
    entry: EntryPoint, cost: Callable[[Task], Cost[T]], *, cores: int, aicpus: int, event_us: float
) -> list[Placed[T]]:
    """Simulates the device: of all tasks that could start, the one that can start first does, on the cores it needs.

    `cost` is called once for each launch, copy and AICPU call, in order of start. A launch holds min(cores it asks
    for, `cores`) AI Cores, an AICPU call one of `aicpus`; copies hold neither. Events take `event_us`.
    """
    _check_events(entry)
    heads, clocks = [0] * len(entry.streams), [0.0] * len(entry.streams)
    recorded: dict[int, float] = {}
    aic, cpu = [0.0] * cores, [0.0] * aicpus
    placed: list[Placed[T]] = []
    while True:
        ready: list[tuple[float, int]] = []
        for number, stream in enumerate(entry.streams):
            if heads[number] == len(stream.tasks):
                continue
            task = stream.tasks[heads[number]]
            if isinstance(task, Wait):
                if task.event in recorded:
                    ready.append((max(clocks[number], recorded[task.event]), number))
            elif isinstance(task, Launch):
                ready.append((max(clocks[number], aic[_held(task, cores) - 1]), number))
            elif isinstance(task, AicpuCall):
                ready.append((max(clocks[number], cpu[0]), number))
            else:
                ready.append((clocks[number], number))
        if not ready:
            break
        start, number = min(ready)
        step = Step(number, heads[number], entry.streams[number].tasks[heads[number]])
        heads[number] += 1
        spent: Cost[T] = Cost(event_us) if isinstance(step.task, Record | Wait) else cost(step.task)
        placed.append(Placed(step, start, spent))
        clocks[number] = start + spent.us
        if isinstance(step.task, Record):
            recorded[step.task.event] = clocks[number]
        elif isinstance(step.task, Launch):
            held = _held(step.task, cores)
            aic[:held] = [clocks[number]] * held
            aic.sort()
        elif isinstance(step.task, AicpuCall):
            cpu[0] = clocks[number]
            cpu.sort()
    _check_done(entry.streams, heads)
    return placed


def _held(task: Launch, cores: int) -> int:
    return max(1, min(task.block_dim, cores))


def _check_events(entry: EntryPoint) -> None:
    seen: set[int] = set()
    for stream in entry.streams:
        for task in stream.tasks:
            if isinstance(task, Record):
                if task.event in seen:
                    raise GraphEngineError(f"entry point '{entry.name}' records event {task.event} twice")
                seen.add(task.event)


def _check_done(streams: Sequence[Stream], heads: list[int]) -> None:
    stuck = [
        f"stream '{stream.name}' waits for event {task.event}"
        for stream, head in zip(streams, heads, strict=True)
        if head < len(stream.tasks) and isinstance(task := stream.tasks[head], Wait)
    ]
    if stuck:
        raise GraphEngineError(
            f"the streams wait for each other or for an event that nothing records: {'; '.join(stuck)}"
        )
