"""The event-driven queues against a simulation that advances cycle by cycle, and against hand counts."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.target_ascend.chip.steps import BARRIER_ALL, SET, WAIT, WORK, Step
from graph_engine.target_ascend.chip.timing import run_queues

V, M, MTE1, MTE2 = 1, 2, 3, 4


def step_by_cycle(steps: list[Step], depth: int) -> list[int]:
    """The same machine, one cycle at a time. A sync or work step holds its pipe for its cycles."""
    ends: list[int | None] = [None] * len(steps)
    waiting: dict[int, deque[int]] = {pipe: deque() for pipe in range(1, 7)}
    running: dict[int, tuple[int, int]] = {}
    flags: dict[int, int] = {}
    held: int | None = None  # the instruction that S has issued and cannot hand over yet
    scalar_until = 0
    position, now = 0, 0
    while None in ends:
        # what ends now
        for pipe, (index, end) in list(running.items()):
            if end == now:
                ends[index] = now
                del running[pipe]
                if steps[index][0] == SET:
                    flags[steps[index][3]] = flags.get(steps[index][3], 0) + 1
        moved = True
        while moved:
            moved = False
            # S: an instruction takes one cycle to issue, then goes to its queue or runs on S
            if held is None and position < len(steps) and scalar_until < now:
                held, scalar_until, position = position, now, position + 1
            if held is not None and scalar_until <= now:
                kind, pipe, cycles, flag = steps[held]
                if pipe and len(waiting[pipe]) < depth:
                    waiting[pipe].append(held)
                    held, scalar_until, moved = None, now, True
                elif not pipe and kind == SET:
                    ends[held], held, moved = now, None, True
                    flags[flag] = flags.get(flag, 0) + 1
                elif not pipe and kind == WAIT and flags.get(flag):
                    ends[held], scalar_until, held, moved = now, now, None, True
                    flags[flag] -= 1
                elif not pipe and (kind == WORK or (kind == BARRIER_ALL and not running and not any(waiting.values()))):
                    ends[held], scalar_until, held, moved = now + cycles, now + cycles, None, True
            for pipe, queue in waiting.items():
                if queue and pipe not in running:
                    kind, _, cycles, flag = steps[queue[0]]
                    if kind == WAIT:
                        if not flags.get(flag):
                            continue
                        flags[flag] -= 1
                    running[pipe] = (queue.popleft(), now + cycles)
                    moved = True
        now += 1
        assert now < 100_000
    return [end for end in ends if end is not None]


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    """Random work, barriers and flags; a wait only where its set lies before it, a flag set by one pipe only."""
    steps: list[Step] = []
    pending: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(1, 40))):
        choice = draw(st.integers(0, 9))
        pipe = draw(st.integers(1, 4))
        if choice < 6:
            steps.append((WORK, pipe, draw(st.integers(1, 9)), 0))
        elif choice < 8:
            source, target = draw(st.integers(0, 4)), draw(st.integers(0, 4))
            flag = (source * 5 + target) * 2 + draw(st.integers(0, 1))
            steps.append((SET, source, 1, flag))
            pending.append((flag, target))
        elif pending:
            flag, target = pending.pop(draw(st.integers(0, len(pending) - 1)))
            steps.append((WAIT, target, 1, flag))
        elif choice == 9:
            steps.append((BARRIER_ALL, 0, 1, 0))
    return steps


@settings(deadline=None)
@given(programs(), st.integers(1, 4))
def test_equals_the_cycle_by_cycle_machine(steps: list[Step], depth: int):
    assert run_queues(steps, (), 300, depth) == step_by_cycle(steps, depth)


def test_pipes_overlap_and_each_runs_in_order():
    steps = [(WORK, MTE2, 10, 0), (WORK, MTE2, 10, 0), (WORK, V, 5, 0)]
    assert run_queues(steps, (), 0, 32) == [11, 21, 8]


def test_a_flag_orders_two_pipes():
    steps = [(WORK, MTE2, 10, 0), (SET, MTE2, 1, 0), (WAIT, V, 1, 0), (WORK, V, 5, 0)]
    # load 1..11, set 11..12, wait 12..13, work 13..18
    assert run_queues(steps, (), 1, 32) == [11, 12, 13, 18]


def test_a_barrier_drains_every_pipe():
    steps = [(WORK, MTE2, 10, 0), (BARRIER_ALL, 0, 1, 0), (WORK, V, 5, 0)]
    # S waits until 11, pays 1, issues the work at 13
    assert run_queues(steps, (), 0, 32) == [11, 12, 18]


@pytest.mark.parametrize(("depth", "end"), [(1, 102 + 100 + 5), (2, 102 + 5), (3, 4 + 1 + 5), (32, 4 + 1 + 5)])
def test_a_full_queue_stalls_the_scalar_unit(depth: int, end: int):
    # four mmads of 100: with one place S hands over the fourth when the third starts at 201, with two at 101
    steps = [(WORK, M, 100, 0)] * 4 + [(WORK, V, 5, 0)]
    assert run_queues(steps, (), 0, depth)[-1] == end


def test_flags_count():
    steps = [(SET, MTE1, 1, 0), (SET, MTE1, 1, 0), (WAIT, M, 1, 0), (WAIT, M, 1, 0)]
    assert run_queues(steps, (), 1, 32) == [2, 3, 4, 5]


def test_a_wait_without_a_set_is_an_error():
    with pytest.raises(IndexError):
        run_queues([(WAIT, M, 1, 0), (SET, MTE1, 1, 0)], (), 1, 32)
