"""Order and time of streams with events, against counted numbers and brute-force properties."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.om.program import AicpuCall, EntryPoint, Launch, Record, Stream, Task, Wait
from graph_engine.target_ascend.runtime.schedule import Cost, Placed, execution_order, place_tasks


def launch(name: str, blocks: int = 8) -> Launch:
    return Launch(name, "T", "k", blocks, ())


def entry(*streams: tuple[Task, ...]) -> EntryPoint:
    return EntryPoint("main", (), (), tuple(Stream(f"s{i}", tasks) for i, tasks in enumerate(streams)), 0, 0)


def place(point: EntryPoint, us: dict[str, float], *, event_us: float = 0.0) -> dict[str, Placed]:
    def cost(task: Task, beside: int) -> Cost:
        assert isinstance(task, Launch | AicpuCall)
        return Cost(us[task.name])

    placed = place_tasks(point, cost, cores=8, event_us=event_us)
    return {p.step.task.name: p for p in placed if isinstance(p.step.task, Launch | AicpuCall)}


def test_one_stream_is_a_sum() -> None:
    times = place(entry((launch("a"), launch("b"))), {"a": 3, "b": 4})
    assert (times["a"].start_us, times["b"].start_us, times["b"].end_us) == (0, 3, 7)


def test_two_streams_share_the_cores() -> None:
    whole = place(entry((launch("a"),), (launch("b"),)), {"a": 3, "b": 4})
    assert (whole["a"].start_us, whole["b"].start_us) == (0, 3)
    halves = place(entry((launch("a", 4),), (launch("b", 4),)), {"a": 3, "b": 4})
    assert (halves["a"].start_us, halves["b"].start_us) == (0, 0)


def test_two_devices_share_nothing() -> None:
    point = EntryPoint("main", (), (), (Stream("s0", (launch("a"),), 0), Stream("s1", (launch("b"),), 1)), 0, 0)
    assert place(point, {"a": 3, "b": 4})["b"].start_us == 0


def test_an_aicpu_call_runs_beside_a_kernel() -> None:
    call = AicpuCall("c", "T", "ge.lrn", {}, (), ())
    times = place(entry((launch("a"),), (call,)), {"a": 3, "c": 4})
    assert times["c"].start_us == 0


def test_a_wait_holds_until_the_record() -> None:
    point = entry((Wait(0), launch("b", 1)), (launch("a", 1), Record(0)))
    assert place(point, {"a": 5, "b": 1}, event_us=1.0)["b"].start_us == 7
    assert [step.task for step in execution_order(point)] == [launch("a", 1), Record(0), Wait(0), launch("b", 1)]


def test_streams_that_wait_for_each_other_are_named() -> None:
    point = entry((Wait(1), Record(0)), (Wait(0), Record(1)))
    for run in (execution_order, lambda p: place(p, {})):
        with pytest.raises(GraphEngineError, match="stream 's0' waits for event 1; stream 's1' waits for event 0"):
            run(point)


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
            stream.append(launch(f"t{number}", draw(st.integers(1, 12))))
        elif kind == "record":
            stream.append(Record(number))
            recorded.append(number)
        elif recorded:
            stream.append(Wait(draw(st.sampled_from(recorded))))
    return entry(*(tuple(tasks) for tasks in streams))


@given(programs(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_order_and_times_respect_streams_events_and_cores(point: EntryPoint, random) -> None:
    us = {t.name: random.randint(1, 9) for s in point.streams for t in s.tasks if isinstance(t, Launch)}
    order = execution_order(point)
    placed = place_tasks(
        point, lambda task, _: Cost(us[task.name]) if isinstance(task, Launch) else Cost(0), cores=8, event_us=0.5
    )
    everything = [(i, j) for i, stream in enumerate(point.streams) for j in range(len(stream.tasks))]
    for steps in (order, [p.step for p in placed]):
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
    ends = {p.step.task.event: p.end_us for p in placed if isinstance(p.step.task, Record)}
    for p in placed:
        if isinstance(p.step.task, Wait):
            assert p.start_us >= ends[p.step.task.event]
    for moment in {p.start_us for p in placed}:
        busy = [p.step.task for p in placed if p.start_us <= moment < p.end_us]
        assert sum(min(task.block_dim, 8) for task in busy if isinstance(task, Launch)) <= 8
