"""Order between the pipes of a core: vector clocks over flags and barriers, and who touched which granule when.

Pipes run their own instructions in order; nothing else orders them but flags, barriers and the scalar unit,
which issues in program order. Walking in program order, an access races with an earlier one of another pipe if
no chain of flags leads from that access to this pipe.
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from graph_engine.target_ascend.isa.model import Pipe

PIPES = len(Pipe) - 1
"""Number of real pipes (`ALL` is none)."""

Clock: TypeAlias = list[int]


class PipeClocks:
    """Vector clocks of one core's pipes during one block."""

    def __init__(self) -> None:
        self.now: list[Clock] = [[0] * PIPES for _ in range(PIPES)]
        self.flags: dict[tuple[int, int, int], deque[tuple[Clock, int]]] = {}
        self.history: list[list[int]] = [[-1] for _ in range(PIPES)]
        """Instruction number by pipe and clock."""

    def step(self, pipe: int, instruction: int) -> int:
        """Starts an instruction on a pipe; gives its time on the pipe's own clock."""
        clock = self.now[pipe]
        _join(clock, self.now[Pipe.S])
        clock[pipe] += 1
        self.history[pipe].append(instruction)
        return clock[pipe]

    def set(self, source: int, target: int, event: int, instruction: int) -> None:
        """set_flag: what was before on `source` is known to whoever takes the flag."""
        _join(self.now[source], self.now[Pipe.S])
        self.flags.setdefault((source, target, event), deque()).append((self.now[source].copy(), instruction))

    def wait(self, source: int, target: int, event: int) -> bool:
        """wait_flag: takes the oldest matching flag; False if none was set."""
        queue = self.flags.get((source, target, event))
        if not queue:
            return False
        _join(self.now[target], queue.popleft()[0])
        return True

    def barrier(self, pipe: int) -> None:
        """Of one pipe: nothing, its instructions are in order. Of all: the scalar unit waits for everything."""
        if pipe == Pipe.ALL:
            for clock in self.now:
                _join(self.now[Pipe.S], clock)

    def unmatched(self) -> list[tuple[int, int, int, int]]:
        """(source, target, event, instruction) of every flag that was set and never taken."""
        return [(*key, instruction) for key, queue in self.flags.items() for _, instruction in queue]


def _join(clock: Clock, other: Clock) -> None:
    for i, value in enumerate(other):
        if value > clock[i]:
            clock[i] = value


class GranuleClocks:
    """Per pipe and granule of a memory: time of the last write and the last read."""

    def __init__(self, granules: int) -> None:
        self.writes: npt.NDArray[np.int32] = np.zeros((PIPES, granules), np.int32)
        self.reads: npt.NDArray[np.int32] = np.zeros((PIPES, granules), np.int32)

    def clear(self) -> None:
        """Forgets everything: a new block begins."""
        self.writes[...] = 0
        self.reads[...] = 0

    def access(
        self, clocks: PipeClocks, pipe: int, time: int, where: slice | npt.NDArray[np.intp], write: bool
    ) -> tuple[str, int, int, int] | None:
        """Notes an access; gives (what the other access was, its pipe, its time, granule) if it races with one."""
        known = np.array(clocks.now[pipe], np.int32)[:, None]
        found = None
        for kind, table in (("write", self.writes), ("read", self.reads)) if write else (("write", self.writes),):
            late = table[:, where] > known
            if late.any():
                other, at = (int(v) for v in np.argwhere(late)[0])
                granule = (where.start or 0) + at if isinstance(where, slice) else int(where[at])
                found = kind, other, int(table[other, granule]), granule
                break
        (self.writes if write else self.reads)[pipe, where] = time
        return found
