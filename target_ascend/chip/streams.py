"""When the tasks of parallel streams start: in order inside a stream, events between streams, cores shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.om.program import AicpuCall, Launch, Record, Stream, Wait


@dataclass(frozen=True, slots=True)
class Schedule:
    """`start[name]` of every task with a name (times in the unit of the durations); `end` of the last one.

    `order`: the names by start time (then by stream), which is an order that respects every event.
    """

    start: dict[str, int]
    end: int
    order: tuple[str, ...]


def schedule(streams: Sequence[Stream], durations: Mapping[str, int], *, cores: int, aicpus: int = 1) -> Schedule:
    """Greedy list schedule of the streams on each device's cores.

    A launch takes `min(block_dim, cores)` AI Cores for its duration, an AICPU call one AI CPU, a copy none. The
    stream whose next task can start first goes first (then the stream with the lower number). `durations`: by
    task name; `Record` and `Wait` take no time. Raises GraphEngineError where streams wait for each other, or
    for an event that is never recorded.
    """
    next_task = [0] * len(streams)
    ready = [0] * len(streams)
    recorded: dict[int, int] = {}
    free = {device: ([0] * cores, [0] * aicpus) for device in {stream.device for stream in streams}}
    starts: dict[str, int] = {}
    end = 0
    while True:
        best: tuple[int, int] | None = None
        for number, stream in enumerate(streams):
            _pass_events(stream, number, next_task, ready, recorded)
        for number, stream in enumerate(streams):
            _pass_events(stream, number, next_task, ready, recorded)
            if next_task[number] == len(stream.tasks):
                continue
            task = stream.tasks[next_task[number]]
            if isinstance(task, Wait):
                continue
            units = _units(task, free[stream.device])
            at = max(ready[number], units[0][units[1] - 1] if units[1] else 0)
            if best is None or at < best[0]:
                best = at, number
        if best is None:
            break
        at, number = best
        task = streams[number].tasks[next_task[number]]
        assert not isinstance(task, Record | Wait)
        done = at + durations[task.name]
        pool, count = _units(task, free[streams[number].device])
        pool[:count] = [done] * count
        pool.sort()
        starts[task.name] = at
        ready[number] = done
        end = max(end, done)
        next_task[number] += 1
    stuck = [s.name for i, s in enumerate(streams) if next_task[i] < len(s.tasks)]
    if stuck:
        raise GraphEngineError(f"streams {', '.join(stuck)} wait for events that are never recorded")
    return Schedule(starts, max(end, *ready, 0), tuple(starts))


def _pass_events(stream: Stream, number: int, next_task: list[int], ready: list[int], recorded: dict[int, int]) -> None:
    """Steps over the records, and the waits whose event is recorded, at the head of a stream."""
    while next_task[number] < len(stream.tasks):
        task = stream.tasks[next_task[number]]
        if isinstance(task, Record):
            recorded[task.event] = ready[number]
        elif isinstance(task, Wait) and task.event in recorded:
            ready[number] = max(ready[number], recorded[task.event])
        else:
            return
        next_task[number] += 1


def _units(task: object, free: tuple[list[int], list[int]]) -> tuple[list[int], int]:
    """(when the units of the task's kind are free, ascending; how many it takes)."""
    if isinstance(task, Launch):
        return free[0], min(task.block_dim, len(free[0]))
    if isinstance(task, AicpuCall):
        return free[1], 1
    return free[1], 0
