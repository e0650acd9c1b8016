"""Which runs of tasks take a batch in parts, one part through all of them before the next, so that maps stay in the L2.

    tasks   t0 t1 t2          of a batch of 8             t0 t1 t2 | t0 t1 t2 | t2 ...   of 2 images each

A map of 25 MB that t0 writes has left an L2 of 16 MiB before t1 reads it: it crosses the DDR twice. A quarter of it stays.
A part costs a start of each task, and the weights once more where maps and weights together do not fit.

The estimate: a task takes its start and the longer of its work and of its DDR traffic. A map crosses the DDR unless what is
touched between its writer and its reader fits the L2. Consecutive tasks are partitioned into runs by dynamic programming.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 32
"""Tasks in a run at most."""


WORTH = 0.95
"""Parts must take less than this share of what the whole batch takes, by the estimate."""


@dataclass(frozen=True)
class BatchTask:
    """One task: maps that it reads and writes (numbers), bytes of weights, microseconds of work of the whole batch, and
    the images that it treats one by one (0 where it does not)."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    weights: int
    work_us: float
    images: int


@dataclass(frozen=True)
class Memory:
    """The chip as far as the estimate knows it: bytes of L2, DDR bytes a microsecond, microseconds to start a task."""

    l2: int
    ddr: float
    start_us: float


@dataclass(frozen=True)
class Parts:
    """Tasks begin..end - 1 take the batch in `count` parts."""

    begin: int
    end: int
    count: int


class _Estimate:
    """Times of runs of tasks, from distances between the writer and the readers of every map."""

    def __init__(self, tasks: Sequence[BatchTask], sizes: Sequence[int], memory: Memory):
        self.tasks, self.sizes, self.memory = tasks, sizes, memory
        self.room = memory.l2
        self.writer = {number: i for i, task in enumerate(tasks) for number in task.writes}
        self.readers: dict[int, list[int]] = defaultdict(list)
        for i, task in enumerate(tasks):
            for number in task.reads:
                self.readers[number].append(i)
        self.written = [sum(sizes[number] for number in task.writes) for task in tasks]
        self.read = [sum(sizes[number] for number in task.reads) for task in tasks]
        self.maps_before, self.weights_before = [0], [0]
        for task, written in zip(tasks, self.written, strict=True):
            self.maps_before.append(self.maps_before[-1] + written)
            self.weights_before.append(self.weights_before[-1] + task.weights)

    def stays(self, number: int, reader: int, count: int) -> bool:
        """Whether a map of which a part is one of `count` is in the L2 when `reader` wants it."""
        writer = self.writer.get(number)
        if writer is None:
            return False
        between = self.maps_before[reader] - self.maps_before[writer + 1]
        maps = self.sizes[number] + between + max(self.read[writer], self.written[reader])
        weights = self.weights_before[reader + 1] - self.weights_before[writer + 1]
        return maps / count + weights <= self.room

    def us(self, begin: int, end: int, count: int) -> float:
        """Microseconds of a run in `count` parts."""
        maps = self.maps_before[end] - self.maps_before[begin] + self.read[begin]
        weights = self.weights_before[end] - self.weights_before[begin]
        rounds = 1 if maps / count + weights <= self.room else count
        total = 0.0
        for i in range(begin, end):
            task = self.tasks[i]
            moved = task.weights * rounds
            for number in task.reads:
                inside = self.writer.get(number, -1) >= begin
                moved += 0 if self.stays(number, i, count if inside else 1) else self.sizes[number]
            for number in task.writes:
                stays = all(self.stays(number, reader, count if reader < end else 1) for reader in self.readers[number])
                moved += 0 if stays and self.readers[number] else self.sizes[number]
            total += count * self.memory.start_us + max(task.work_us, moved / self.memory.ddr)
        return total


def batch_parts(tasks: Sequence[BatchTask], sizes: Sequence[int], memory: Memory) -> list[Parts]:
    """The runs of `tasks` (in the order in which they run) that take their batch in parts; `sizes` are the bytes of maps."""
    estimate = _Estimate(tasks, sizes, memory)
    best: list[tuple[float, Parts | None]] = [(0.0, None)]
    alone = [estimate.us(i, i + 1, 1) for i in range(len(tasks))]
    for end in range(1, len(tasks) + 1):
        found, choice, whole = best[end - 1][0] + alone[end - 1], None, alone[end - 1]
        images = tasks[end - 1].images
        for begin in range(end - 2, max(-1, end - 1 - LONGEST), -1):
            if images < 2 or tasks[begin].images != images:
                break
            whole += alone[begin]
            for count in (n for n in range(2, images + 1) if images % n == 0):
                us = estimate.us(begin, end, count)
                if us < WORTH * whole and best[begin][0] + us < found:
                    found, choice = best[begin][0] + us, Parts(begin, end, count)
        best.append((found, choice))
    chosen: list[Parts] = []
    end = len(tasks)
    while end:
        parts = best[end][1]
        if parts is not None:
            chosen.append(parts)
        end = end - 1 if parts is None else parts.begin
    return chosen[::-1]
