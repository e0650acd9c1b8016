"""The queues of a core: when each step of a block ends, and what of a team's cores waits for another.

The scalar unit S issues one instruction a cycle in program order into the queue of its pipe and stalls while that
queue is full. A pipe runs its queue in order, one instruction at a time; `wait_flag` holds it until the matching
`set_flag` ran; a barrier on all pipes holds S until everything issued is done. Device memory moves are requested ahead:
the latency of one passes while those before it in the pipe still transfer.

Of a mixed kernel each core of a team has its own queues; a cross-core flag reaches those who wait for it `cross_cycles`
after it was raised, and holds S there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from graph_engine.target_ascend.chip.steps import (
    BARRIER_ALL,
    CROSS_SET,
    CROSS_WAIT,
    MOVE_GM,
    SET,
    WAIT,
    WORK,
    BlockGroup,
    Move,
    Step,
)
from graph_engine.target_ascend.chip.teams import CrossFlags, Flow, run_team
from graph_engine.target_ascend.isa.model import Kernel, Part, Pipe
from graph_engine.target_ascend.soc.soc import Soc

Span: TypeAlias = tuple[int, int, int]
"""(pipe, start, end) in cycles."""


def run_groups(
    soc: Soc, team: tuple[BlockGroup, ...], moves: list[list[Move]], flags: int, spans: list[list[Span]]
) -> list[list[int]]:
    """When every step of each group of a team ends."""
    sync = soc.sync
    if len(team) == 1:
        return [run_queues(team[0].steps, moves[0], flags, sync.queue_depth, sync.gm_move_cycles, spans[0])]
    cross = CrossFlags[int]()
    flows = {
        group.part: queue_flow(
            group.steps,
            own,
            flags,
            sync.queue_depth,
            sync.gm_move_cycles,
            found,
            (group.part, cross, sync.cross_cycles),
        )
        for group, own, found in zip(team, moves, spans, strict=True)
    }
    ends = run_team(flows, cross)
    return [ends[group.part] for group in team]


def run_queues(
    steps: Sequence[Step], gm_moves: Iterable[Move], flags: int, depth: int, gap: int, spans: list[Span] | None = None
) -> list[int]:
    """`queue_flow` of a core that waits for no other."""
    try:
        next(queue_flow(steps, gm_moves, flags, depth, gap, spans))
    except StopIteration as end:
        return end.value
    raise IndexError("a core alone waits for a cross-core flag")


def queue_flow(
    steps: Sequence[Step],
    gm_moves: Iterable[Move],
    flags: int,
    depth: int,
    gap: int,
    spans: list[Span] | None = None,
    team: tuple[Part, CrossFlags[int], int] | None = None,
) -> Flow[list[int]]:
    """When every step ends, in cycles; raises IndexError at a wait whose set does not come before it.

    `team`: which part it is, the cross-core flags, and the cycles that one takes to arrive. A device memory move starts
    `gap` cycles after the one before it, and transfers after its latency and when those before it are through; a set
    behind it waits for it, but does not hold the pipe. `spans` collects, by move, the time that it alone keeps its pipe
    busy. `accounts` knows the same machine, with the reason of every cycle.

    The hot loop of the project: plain integers, one tuple and one queue slot a step.
    """
    free = [0] * len(Pipe)
    done = [0] * len(Pipe)
    queues = [deque([0] * depth) for _ in Pipe]
    raised: list[deque[int]] = [deque() for _ in range(flags)]
    moves = iter(gm_moves)
    ends: list[int] = []
    issue = 0
    for kind, pipe, cycles, flag in steps:
        issue += 1
        if not pipe:
            if kind == WAIT:
                issue = max(issue, raised[flag].popleft())
            elif kind == SET:
                raised[flag].append(issue)
            elif kind == CROSS_WAIT and team is not None:
                while not (arrivals := team[1].take(team[0], flag)):
                    yield flag
                issue = max(issue, *arrivals)
            elif kind == CROSS_SET and team is not None:
                team[1].raise_(team[0], flag, issue + team[2])
            else:
                if kind == BARRIER_ALL:
                    issue = max(issue, *free, *done)
                issue += cycles
            ends.append(issue)
            continue
        queue = queues[pipe]
        slot = queue.popleft()
        if slot > issue:
            issue = slot
        start = free[pipe]
        if issue > start:
            start = issue
        if kind == WORK:
            if done[pipe] > start:
                start = done[pipe]
            free[pipe] = end = start + cycles
        elif kind == WAIT:
            at = raised[flag].popleft()
            if at > start:
                start = at
            free[pipe] = end = start + cycles
        elif kind == MOVE_GM:
            latency, transfer = next(moves)
            before = done[pipe]
            end = max(start + latency, before) + transfer
            free[pipe], done[pipe] = start + gap, end
            if spans is not None:
                spans.append((pipe, max(start, before), end))
        else:
            at = done[pipe]
            if start > at:
                at = start
            end = at + cycles
            free[pipe], done[pipe] = start + cycles, end
            if kind == SET:
                raised[flag].append(end)
            elif team is not None:
                team[1].raise_(team[0], flag, end + team[2])
        queue.append(start)
        ends.append(end)
    return ends


def busy_intervals(
    soc: Soc, team: tuple[BlockGroup, ...], moves: list[list[Move]], flags: int
) -> list[tuple[tuple[Pipe, int, int], ...]]:
    """Busy intervals of one block by pipe, touching ones joined, of each group of a team."""
    spans: list[list[Span]] = [[] for _ in team]
    ends = run_groups(soc, team, moves, flags, spans)
    return [_timeline(group, own, found) for group, own, found in zip(team, ends, spans, strict=True)]


def _timeline(group: BlockGroup, ends: list[int], spans: list[Span]) -> tuple[tuple[Pipe, int, int], ...]:
    open_: dict[int, list[int]] = {}
    done: list[Span] = []
    moves = iter(spans)
    for (kind, pipe, cycles, _), end in zip(group.steps, ends, strict=True):
        start = end - cycles
        if kind == MOVE_GM:
            _, start, _ = next(moves)
        elif kind != WORK:
            continue
        last = open_.get(pipe)
        if last is not None and last[1] == start:
            last[1] = end
            continue
        if last is not None:
            done.append((pipe, last[0], last[1]))
        open_[pipe] = [start, end]
    done.extend((pipe, start, end) for pipe, (start, end) in open_.items())
    return tuple((Pipe(pipe), start, end) for pipe, start, end in sorted(done))


def stuck(kernel: Kernel, team: tuple[BlockGroup, ...]) -> str:
    """Names the first wait that no set before it satisfies."""
    for group in team:
        pending: dict[int, int] = {}
        for index, (kind, pipe, _, flag) in enumerate(group.steps):
            if kind == SET:
                pending[flag] = pending.get(flag, 0) + 1
            elif kind == WAIT:
                pending[flag] = pending.get(flag, 0) - 1
                if pending[flag] < 0:
                    return (
                        f"kernel {kernel.name}, block {group.blocks[0]}: step {index}, a wait_flag of {Pipe(pipe).name}, "
                        "has no set_flag before it"
                    )
    return f"kernel {kernel.name}: the flags do not match"
