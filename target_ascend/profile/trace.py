"""The profile as Chrome trace events, which Perfetto and chrome://tracing load: rows per stream and per engine."""

from __future__ import annotations

import json
from typing import Any

from graph_engine.target_ascend.profile.profile import Profile, TaskProfile

_HARDWARE = 0
_FIRST_ENGINES = 1


def trace_events(profile: Profile) -> dict[str, Any]:
    """The trace object. Times are microseconds.

    Process 0 has a row for each stream with its tasks. Every stream with launches has a process of its own
    with a row for each engine: the busy intervals of one block where the run kept a timeline, else one slice per
    task as long as the engine's busy time, from the start of the kernel.
    """
    events: list[dict[str, Any]] = [_meta("process_name", _HARDWARE, 0, "Ascend Hardware")]
    pipes = {pipe: row for row, pipe in enumerate(profile.pipes)}
    named = set[int]()
    for number in sorted({task.stream for task in profile.tasks} | set(range(len(profile.streams)))):
        events.append(_meta("thread_name", _HARDWARE, number, f"Stream {number}: {_stream(profile, number)}"))
    for task in profile.tasks:
        events.append(_task(task))
        if not task.engine_us:
            continue
        process = _FIRST_ENGINES + task.stream
        if task.stream not in named:
            named.add(task.stream)
            title = f"AI Core engines, stream {_stream(profile, task.stream)}"
            events.append(_meta("process_name", process, 0, title))
            events.extend(_meta("thread_name", process, row, pipe) for pipe, row in pipes.items())
        events.extend(_engines(task, process, pipes))
    return {
        "displayTimeUnit": "ns",
        "otherData": {"soc": profile.soc, "model": profile.model, "validity": profile.validity},
        "traceEvents": events,
    }


def trace_json(profile: Profile) -> str:
    """`trace_events` as text, one event a line."""
    data = trace_events(profile)
    lines = ",\n".join(json.dumps(event) for event in data.pop("traceEvents"))
    return f'{json.dumps(data)[:-1]}, "traceEvents": [\n{lines}\n]}}\n'


def _stream(profile: Profile, number: int) -> str:
    return profile.streams[number] if number < len(profile.streams) else str(number)


def _meta(kind: str, process: int, row: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": row, "args": {"name": name}}


def _slice(name: str, category: str, process: int, row: int, start: float, length: float) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": process,
        "tid": row,
        "ts": round(start, 6),
        "dur": round(length, 6),
    }


def _task(task: TaskProfile) -> dict[str, Any]:
    event = _slice(task.name, task.core_type, _HARDWARE, task.stream, task.start_us, task.duration_us)
    event["args"] = {
        "type": task.type,
        "block_dim": task.block_dim,
        "source_nodes": [f"{node.name} ({node.op_type})" for node in task.source_nodes],
        "bytes_read": task.bytes_read,
        "bytes_written": task.bytes_written,
        "ddr_bytes": task.ddr_bytes,
        "macs": task.macs,
        **{f"{pipe} us": round(us, 3) for pipe, us in task.engine_us.items()},
    }
    return event


def _engines(task: TaskProfile, process: int, pipes: dict[str, int]) -> list[dict[str, Any]]:
    begin = task.start_us + task.head_us
    spans = task.busy or tuple((pipe, 0.0, us) for pipe, us in task.engine_us.items())
    return [
        _slice(task.name, pipe, process, pipes[pipe], begin + start, end - start)
        for pipe, start, end in spans
        if pipe in pipes and end > start
    ]
