"""The order in which the functional engine runs the tasks of an entry point.

It is one valid order, the same on every run and in every mode: times come from `chip.streams.schedule`, and the
meaning of a program is the same in every order that its streams and events allow (the checker proves it).
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.om.program import EntryPoint, Record, Task, Wait


@dataclass(frozen=True, slots=True)
class Step:
    """Task `index` of stream `stream` of the entry point."""

    stream: int
    index: int
    task: Task


def execution_order(entry: EntryPoint) -> list[Step]:
    """All tasks in an order that streams and events allow; a stream runs until it waits.

    Raises GraphEngineError if an event is recorded twice or waited for in vain.
    """
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
                    if task.event in recorded:
                        raise GraphEngineError(f"entry point '{entry.name}' records event {task.event} twice")
                    recorded.add(task.event)
                order.append(Step(number, heads[number], task))
                heads[number] += 1
                moved = True
    stuck = [
        f"stream '{stream.name}' waits for event {task.event}"
        for stream, head in zip(entry.streams, heads, strict=True)
        if head < len(stream.tasks) and isinstance(task := stream.tasks[head], Wait)
    ]
    if stuck:
        raise GraphEngineError(
            f"the streams wait for each other or for an event that nothing records: {'; '.join(stuck)}"
        )
    return order
