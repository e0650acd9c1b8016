"""Order between the pipes of a core: vector clocks over flags and barriers, and who touched which granule when.

Pipes run their own instructions in order; nothing else orders them but flags, barriers and the scalar unit,
which issues in program order. Walking in program order, an access races with an earlier one of another pipe if
no chain of flags leads from that access to this pipe.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from graph_engine.target_ascend.chip.teams import CrossFlags, Way
from graph_engine.target_ascend.isa.model import TEAM, Part, Pipe

PIPES = len(Pipe) - 1
"""Number of real pipes (`ALL` is none)."""

Clock: TypeAlias = list[int]


def pipe_name(pipe: int) -> str:
    """The name of a pipe by its number among those of a team: of one core alone `MTE2`, else `CUBE MTE2`."""
    part, own = divmod(pipe, PIPES)
    return f"{TEAM[part - 1].name} {Pipe(own).name}" if part else Pipe(own).name


class PipeClocks:
    """Vector clocks of the pipes of one core, or of a team's, during one block.

    Pipes are numbered core by core, `PIPES` to each: a core alone is the first; the cores of a team follow it, and what one
    of them knows it may learn from the others at cross-core flags.
    """

    def __init__(self, parts: Sequence[Part] = (Part.WHOLE,)) -> None:
        count = PIPES * (1 + max(parts))
        self.now: list[Clock] = [[0] * count for _ in range(count)]
        self.flags: dict[tuple[int, int, int], deque[tuple[Clock, int]]] = {}
        self.crossing = CrossFlags[tuple[Clock, int]]()
        self.history: list[list[int]] = [[-1] for _ in range(count)]
        """Instruction number by pipe and clock."""

    def step(self, pipe: int, instruction: int) -> int:
        """Starts an instruction on a pipe; gives its time on the pipe's own clock."""
        clock = self.now[pipe]
        _join(clock, self.now[pipe // PIPES * PIPES + Pipe.S])
        clock[pipe] += 1
        self.history[pipe].append(instruction)
        return clock[pipe]

    def set(self, source: int, target: int, event: int, instruction: int) -> None:
        """set_flag: what was before on `source` is known to whoever takes the flag."""
        _join(self.now[source], self.now[source // PIPES * PIPES + Pipe.S])
        self.flags.setdefault((source, target, event), deque()).append((self.now[source].copy(), instruction))

    def wait(self, source: int, target: int, event: int) -> bool:
        """wait_flag: takes the oldest matching flag; False if none was set."""
        queue = self.flags.get((source, target, event))
        if not queue:
            return False
        _join(self.now[target], queue.popleft()[0])
        return True

    def barrier(self, pipe: int, part: Part = Part.WHOLE) -> None:
        """Of one pipe: nothing, its instructions are in order. Of all: the core's scalar unit waits for everything."""
        if pipe == Pipe.ALL:
            first = part * PIPES
            for clock in self.now[first : first + PIPES]:
                _join(self.now[first + Pipe.S], clock)

    def block_set(self, part: Part, pipe: int, flag: int, instruction: int) -> int:
        """Raises a cross-core flag; gives how often it is up now."""
        _join(self.now[pipe], self.now[part * PIPES + Pipe.S])
        return self.crossing.raise_(part, flag, (self.now[pipe].copy(), instruction))

    def block_wait(self, part: Part, flag: int) -> None:
        """Takes down one that is up: the core's scalar unit, and so all that it issues, knows what was before it."""
        for clock, _ in self.crossing.take(part, flag):
            _join(self.now[part * PIPES + Pipe.S], clock)

    def never_taken(self) -> list[tuple[int, Way, int]]:
        """(flag, who raised it for whom, instruction) of every cross-core flag that is still up."""
        return [(flag, way, instruction) for flag, way, (_, instruction) in self.crossing.left()]

    def unmatched(self) -> list[tuple[int, int, int, int]]:
        """(source, target, event, instruction) of every flag that was set and never taken."""
        return [(*key, instruction) for key, queue in self.flags.items() for _, instruction in queue]


def _join(clock: Clock, other: Clock) -> None:
    for i, value in enumerate(other):
        if value > clock[i]:
            clock[i] = value


class GranuleClocks:
    """Per pipe of the memory's core and granule: time of the last write and the last read."""

    def __init__(self, granules: int, part: Part = Part.WHOLE) -> None:
        self.first = part * PIPES
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
        known = np.array(clocks.now[pipe][self.first : self.first + PIPES], np.int32)[:, None]
        found = None
        for kind, table in (("write", self.writes), ("read", self.reads)) if write else (("write", self.writes),):
            late = table[:, where] > known
            if late.any():
                other, at = (int(v) for v in np.argwhere(late)[0])
                granule = (where.start or 0) + at if isinstance(where, slice) else int(where[at])
                found = kind, self.first + other, int(table[other, granule]), granule
                break
        (self.writes if write else self.reads)[pipe - self.first, where] = time
        return found
