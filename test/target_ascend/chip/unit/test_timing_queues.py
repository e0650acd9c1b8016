"""The event-driven queues against a simulation that advances cycle by cycle, and against hand counts."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.target_ascend.chip.queues import run_queues
from graph_engine.target_ascend.chip.steps import BARRIER_ALL, MOVE_GM, SET, WAIT, WORK, Move, Step

V, M, MTE1, MTE2 = 1, 2, 3, 4


GAP = 3
"""Cycles between the starts of two device memory moves of a pipe."""


class CyclePipe:
    """One pipe, a cycle at a time: what holds its front, and what is on its way to or from device memory behind it."""

    def __init__(self) -> None:
        self.waiting: deque[int] = deque()
        self.front: tuple[int, int] | None = None  # instruction, when the front is free again
        self.behind: deque[list[int]] = deque()  # instruction, cycles before its transfer, cycles of its transfer

    def idle(self) -> bool:
        return self.front is None and not self.behind

    def tick(self) -> int | None:
        """A cycle passes: all latencies at once, one transfer at a time. Returns what is through."""
        for item in self.behind:
            item[1] -= 1
        if self.behind and self.behind[0][1] < 0:
            self.behind[0][2] -= 1
        return self.behind.popleft()[0] if self.behind and self.behind[0][1] <= 0 >= self.behind[0][2] else None


def step_by_cycle(steps: list[Step], moves: list[Move], depth: int) -> list[int]:
    """The same machine, one cycle at a time. Sync or work holds its pipe for its cycles, a move for `GAP`."""
    ends: list[int | None] = [None] * len(steps)
    pipes = {pipe: CyclePipe() for pipe in range(1, 7)}
    flags: dict[int, int] = {}
    costs = iter(moves)
    times = {i: next(costs) for i, step in enumerate(steps) if step[0] == MOVE_GM}
    held: int | None = None  # the instruction that S has issued and cannot hand over yet
    scalar_until = 0
    position, now = 0, 0

    def through(index: int) -> None:
        ends[index] = now
        if steps[index][0] == SET:
            flags[steps[index][3]] = flags.get(steps[index][3], 0) + 1

    while None in ends:
        # what ends now
        for pipe in pipes.values():
            if now and (index := pipe.tick()) is not None:
                through(index)
            if pipe.front is not None and pipe.front[1] == now:
                if steps[pipe.front[0]][0] in (WORK, WAIT):
                    through(pipe.front[0])
                pipe.front = None
        moved = True
        while moved:
            moved = False
            # S: an instruction takes one cycle to issue, then goes to its queue or runs on S
            if held is None and position < len(steps) and scalar_until < now:
                held, scalar_until, position = position, now, position + 1
            if held is not None and scalar_until <= now:
                kind, number, cycles, flag = steps[held]
                drained = all(pipe.idle() and not pipe.waiting for pipe in pipes.values())
                if number and len(pipes[number].waiting) < depth:
                    pipes[number].waiting.append(held)
                    held, scalar_until, moved = None, now, True
                elif not number and kind == SET:
                    ends[held], held, moved = now, None, True
                    flags[flag] = flags.get(flag, 0) + 1
                elif not number and kind == WAIT and flags.get(flag):
                    ends[held], scalar_until, held, moved = now, now, None, True
                    flags[flag] -= 1
                elif not number and (kind == WORK or (kind == BARRIER_ALL and drained)):
                    ends[held], scalar_until, held, moved = now + cycles, now + cycles, None, True
            for pipe in pipes.values():
                if pipe.waiting and pipe.front is None:
                    index = pipe.waiting[0]
                    kind, _, cycles, flag = steps[index]
                    if kind == WORK and pipe.behind:
                        continue
                    if kind == WAIT:
                        if not flags.get(flag):
                            continue
                        flags[flag] -= 1
                    pipe.waiting.popleft()
                    pipe.front = index, now + (GAP if kind == MOVE_GM else cycles)
                    if kind == MOVE_GM:
                        pipe.behind.append([index, *times[index]])
                    elif kind == SET:
                        pipe.behind.append([index, 0, cycles])
                    moved = True
        now += 1
        assert now < 100_000
    return [end for end in ends if end is not None]


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[Step], list[Move]]:
    """Random work, moves, barriers and flags; a wait only where its set lies before it, a flag set by one pipe only."""
    steps: list[Step] = []
    moves: list[Move] = []
    pending: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(1, 40))):
        choice = draw(st.integers(0, 9))
        pipe = draw(st.integers(1, 4))
        if choice < 3:
            steps.append((WORK, pipe, draw(st.integers(1, 9)), 0))
        elif choice < 6:
            steps.append((MOVE_GM, pipe, 0, 0))
            moves.append((draw(st.integers(0, 9)), draw(st.integers(1, 9))))
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
    return steps, moves


@settings(deadline=None)
@given(programs(), st.integers(1, 4))
def test_equals_the_cycle_by_cycle_machine(program: tuple[list[Step], list[Move]], depth: int):
    steps, moves = program
    assert run_queues(steps, moves, 300, depth, GAP) == step_by_cycle(steps, moves, depth)


def test_pipes_overlap_and_each_runs_in_order():
    steps = [(WORK, MTE2, 10, 0), (WORK, MTE2, 10, 0), (WORK, V, 5, 0)]
    assert run_queues(steps, (), 0, 32, GAP) == [11, 21, 8]


def test_moves_are_requested_ahead():
    # the first asks at 1, transfers 21..26; the second asks at 4, transfers behind it; work on the pipe waits for both
    steps = [(MOVE_GM, MTE2, 0, 0), (MOVE_GM, MTE2, 0, 0), (WORK, MTE2, 4, 0)]
    assert run_queues(steps, [(20, 5), (20, 5)], 0, 32, GAP) == [26, 31, 35]


def test_a_set_waits_for_the_moves_before_it_and_holds_none_behind_it():
    steps = [(MOVE_GM, MTE2, 0, 0), (SET, MTE2, 1, 0), (MOVE_GM, MTE2, 0, 0), (WAIT, V, 1, 0)]
    # asks at 1 and, after the gap and the set, at 5: transfers 21..26, the set is through at 27, then 27..32
    assert run_queues(steps, [(20, 5), (20, 5)], 1, 32, GAP) == [26, 27, 32, 28]


def test_a_flag_orders_two_pipes():
    steps = [(WORK, MTE2, 10, 0), (SET, MTE2, 1, 0), (WAIT, V, 1, 0), (WORK, V, 5, 0)]
    # load 1..11, set 11..12, wait 12..13, work 13..18
    assert run_queues(steps, (), 1, 32, GAP) == [11, 12, 13, 18]


def test_a_barrier_drains_every_pipe():
    steps = [(WORK, MTE2, 10, 0), (BARRIER_ALL, 0, 1, 0), (WORK, V, 5, 0)]
    # S waits until 11, pays 1, issues the work at 13
    assert run_queues(steps, (), 0, 32, GAP) == [11, 12, 18]


@pytest.mark.parametrize(("depth", "end"), [(1, 102 + 100 + 5), (2, 102 + 5), (3, 4 + 1 + 5), (32, 4 + 1 + 5)])
def test_a_full_queue_stalls_the_scalar_unit(depth: int, end: int):
    # four mmads of 100: with one place S hands over the fourth when the third starts at 201, with two at 101
    steps = [(WORK, M, 100, 0)] * 4 + [(WORK, V, 5, 0)]
    assert run_queues(steps, (), 0, depth, GAP)[-1] == end


def test_flags_count():
    steps = [(SET, MTE1, 1, 0), (SET, MTE1, 1, 0), (WAIT, M, 1, 0), (WAIT, M, 1, 0)]
    assert run_queues(steps, (), 1, 32, GAP) == [2, 3, 4, 5]


def test_a_wait_without_a_set_is_an_error():
    with pytest.raises(IndexError):
        run_queues([(WAIT, M, 1, 0), (SET, MTE1, 1, 0)], (), 1, 32, GAP)
