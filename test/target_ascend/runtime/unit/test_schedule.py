"""The functional order of streams with events."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.om.program import EntryPoint, Launch, Record, Stream, Task, Wait
from graph_engine.target_ascend.runtime.schedule import execution_order


def launch(name: str) -> Launch:
    return Launch(name, "T", "k", 8, ())


def entry(*streams: tuple[Task, ...]) -> EntryPoint:
    return EntryPoint("main", (), (), tuple(Stream(f"s{i}", tasks) for i, tasks in enumerate(streams)), 0, 0)


def test_a_wait_holds_until_the_record() -> None:
    point = entry((Wait(0), launch("b")), (launch("a"), Record(0)))
    assert [step.task for step in execution_order(point)] == [launch("a"), Record(0), Wait(0), launch("b")]


def test_streams_that_wait_for_each_other_are_named() -> None:
    point = entry((Wait(1), Record(0)), (Wait(0), Record(1)))
    with pytest.raises(GraphEngineError, match="stream 's0' waits for event 1; stream 's1' waits for event 0"):
        execution_order(point)


def test_an_event_is_recorded_once() -> None:
    with pytest.raises(GraphEngineError, match="records event 3 twice"):
        execution_order(entry((Record(3),), (Record(3),)))


@st.composite
def programs(draw: st.DrawFn) -> EntryPoint:
    """Random streams whose events always point forward in a hidden global order, so that they cannot deadlock."""
    streams: list[list[Task]] = [[] for _ in range(draw(st.integers(1, 4)))]
    recorded: list[int] = []
    for number in range(draw(st.integers(0, 25))):
        stream = streams[draw(st.integers(0, len(streams) - 1))]
        kind = draw(st.sampled_from(["launch", "launch", "record", "wait"]))
        if kind == "launch":
            stream.append(launch(f"t{number}"))
        elif kind == "record":
            stream.append(Record(number))
            recorded.append(number)
        elif recorded:
            stream.append(Wait(draw(st.sampled_from(recorded))))
    return entry(*(tuple(tasks) for tasks in streams))


@given(programs())
@settings(max_examples=100, deadline=None)
def test_every_task_once_in_stream_order_behind_its_events(point: EntryPoint) -> None:
    steps = execution_order(point)
    everything = [(i, j) for i, stream in enumerate(point.streams) for j in range(len(stream.tasks))]
    assert sorted((step.stream, step.index) for step in steps) == everything
    recorded: set[int] = set()
    heads = [0] * len(point.streams)
    for step in steps:
        assert step.index == heads[step.stream]
        heads[step.stream] += 1
        if isinstance(step.task, Record):
            recorded.add(step.task.event)
        if isinstance(step.task, Wait):
            assert step.task.event in recorded
