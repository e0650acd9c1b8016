"""Offsets for buffers with lifetimes: no two that live at the same time overlap, and the peak is low.

A portfolio of constructions (first-fit and best-fit over several orders, and skyline: always place the buffer
that can sit lowest), stopped as soon as one reaches the lower bound, the largest sum of sizes alive at once. Used
for device memory and for on-chip buffers alike. No construction here is new: the orders T, W, A (total of the
fullest moment, width, area) are MiniMalloc's (ASPLOS 2024), best-fit by size is TFLite's, skyline Sekiyama's.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Interval:
    """A buffer alive in the half-open span start <= t < end, `size` bytes at a multiple of `align`."""

    start: int
    end: int
    size: int
    align: int = 1


@dataclass(frozen=True, slots=True)
class Packing:
    """Byte offsets in the order of the buffers, the peak, a bound that no packing can beat, and who found it."""

    offsets: tuple[int, ...]
    peak: int
    lower_bound: int
    method: str

    @property
    def proved_optimal(self) -> bool:
        """Whether no packing has a lower peak."""
        return self.peak == self.lower_bound


WORK_LIMIT = 4_000_000
"""Buffers plus conflicts visited over all constructions, about 2 s of CPU; the first two always run."""
SPARSE_LIMIT = 3_000_000
"""Conflicting pairs up to which they are listed; beyond, they are found by masks over numpy arrays."""


def pack_intervals(buffers: Sequence[Interval], capacity: int | None = None) -> Packing:
    """Low offsets for `buffers`; deterministic, near-linear in buffers plus conflicting pairs.

    With `capacity` the search also stops at the first packing that fits; the caller compares `peak` with it.
    Raises ValueError for an empty lifetime, a negative size or an alignment below 1.
    """
    for i, buffer in enumerate(buffers):
        if buffer.end <= buffer.start or buffer.size < 0 or buffer.align < 1:
            raise ValueError(f"buffer {i} has no valid lifetime, size or alignment: {buffer}")
    bound = lower_bound(buffers)
    target = max(bound, capacity or 0)
    problem = _Problem(buffers)
    best: Packing | None = None
    work = 0
    for number, (name, construct) in enumerate(_portfolio(problem)):
        if number >= 2 and work > WORK_LIMIT:
            break
        work += len(buffers) + problem.conflicts
        offsets = construct()
        peak = max((offset + b.size for offset, b in zip(offsets, buffers, strict=True)), default=0)
        if best is None or peak < best.peak:
            best = Packing(tuple(offsets), peak, bound, name)
        if best.peak <= target:
            break
    assert best is not None
    return best


def lower_bound(buffers: Sequence[Interval]) -> int:
    """Largest sum of sizes alive at once; sizes round up to the alignment common to all, but for one on top."""
    from math import gcd

    grain = gcd(*(b.align for b in buffers)) if buffers else 1
    events = sorted((t, delta, i) for i, b in enumerate(buffers) for t, delta in ((b.start, 1), (b.end, -1)))
    bound = alive = 0
    slacks: list[tuple[int, int]] = []
    for _, delta, i in events:
        rounded = -(-buffers[i].size // grain) * grain
        alive += delta * rounded
        if delta > 0:
            heapq.heappush(slacks, (buffers[i].size - rounded, buffers[i].end))
            if alive > bound:
                while slacks[0][1] <= buffers[i].start:
                    heapq.heappop(slacks)
                bound = max(bound, alive + slacks[0][0])
    return bound


def _portfolio(problem: _Problem) -> Iterator[tuple[str, Callable[[], list[int]]]]:
    """Constructions in the order of how often they reach the bound first, the cheap ones alone where it is large."""
    fits = {"first-fit": False, "best-fit": True}
    if not problem.sparse:
        for order, fit in (("size", "first-fit"), ("TWA", "first-fit"), ("TWA", "best-fit"), ("area", "first-fit")):
            yield f"{order}/{fit}", lambda order=order, fit=fit: problem.fit(problem.order(order), fits[fit])
        return
    for order in ("TWA", "size", "birth", "area", "WAT", "death", "TAW", "TSW", "width", "size-width"):
        yield f"{order}/skyline", lambda order=order: problem.skyline(problem.order(order))
        for fit, best in fits.items():
            yield f"{order}/{fit}", lambda order=order, best=best: problem.fit(problem.order(order), best)


class _Problem:
    """Buffers with their conflicts, and the constructions over them."""

    def __init__(self, buffers: Sequence[Interval]):
        self.buffers = buffers
        self.conflicts = _count_conflicts(buffers)
        self.sparse = self.conflicts <= SPARSE_LIMIT

    def order(self, name: str) -> list[int]:
        """Buffer numbers, first to be placed first; ties by number."""
        total, buffers = self.totals, self.buffers
        width = [b.end - b.start for b in buffers]
        area = [w * b.size for w, b in zip(width, buffers, strict=True)]
        keys: dict[str, Callable[[int], tuple[int, ...]]] = {
            "TWA": lambda i: (-total[i], -width[i], -area[i]),
            "TAW": lambda i: (-total[i], -area[i], -width[i]),
            "TSW": lambda i: (-total[i], -buffers[i].size, -width[i]),
            "WAT": lambda i: (-width[i], -area[i], -total[i]),
            "size": lambda i: (-buffers[i].size,),
            "size-width": lambda i: (-buffers[i].size, -width[i]),
            "area": lambda i: (-area[i],),
            "width": lambda i: (-width[i],),
            "birth": lambda i: (buffers[i].start, -buffers[i].size),
            "death": lambda i: (-buffers[i].end, -buffers[i].size),
        }
        return sorted(range(len(buffers)), key=keys[name])

    @cached_property
    def totals(self) -> list[int]:
        """For each buffer the largest sum of sizes alive at any moment of its life (range maximum, n log n)."""
        births = sorted({b.start for b in self.buffers})
        change = dict.fromkeys(births, 0)
        ends: list[tuple[int, int]] = sorted((b.end, b.size) for b in self.buffers)
        for b in self.buffers:
            change[b.start] += b.size
        alive, at = 0, 0
        level: list[int] = []
        for time in births:
            while at < len(ends) and ends[at][0] <= time:
                alive -= ends[at][1]
                at += 1
            alive += change[time]
            level.append(alive)
        table = [level]
        while 2 << (len(table) - 1) <= len(level):
            half, last = 1 << (len(table) - 1), table[-1]
            table.append([max(last[i], last[i + half]) for i in range(len(last) - half)])
        totals: list[int] = []
        for b in self.buffers:
            low, high = bisect_left(births, b.start), bisect_left(births, b.end)
            power = (high - low).bit_length() - 1
            totals.append(max(table[power][low], table[power][high - (1 << power)]))
        return totals

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """For each buffer those alive at the same time."""
        found: list[list[int]] = [[] for _ in self.buffers]
        active: list[int] = []
        for i in sorted(range(len(self.buffers)), key=lambda i: self.buffers[i].start):
            now = self.buffers[i].start
            active = [j for j in active if self.buffers[j].end > now]
            found[i].extend(active)
            for j in active:
                found[j].append(i)
            active.append(i)
        return found

    def fit(self, order: Sequence[int], best: bool) -> list[int]:
        """Places each buffer into the lowest gap that holds it, or with `best` into the tightest one."""
        offsets = [-1] * len(self.buffers)
        placed = _Sparse(self, offsets) if self.sparse else _Dense(self.buffers)
        for i in order:
            buffer = self.buffers[i]
            size, align = buffer.size, buffer.align
            floor, chosen, tightest = 0, -1, -1
            for low, high in placed.around(i):
                if low - floor >= size and (best or chosen < 0) and (tightest < 0 or low - floor < tightest):
                    chosen, tightest = floor, low - floor
                    if not best:
                        break
                if high > floor:
                    floor = -(-high // align) * align
            offsets[i] = floor if chosen < 0 else chosen
            placed.add(i, offsets[i])
        return offsets

    def skyline(self, order: Sequence[int]) -> list[int]:
        """Always places the buffer that can sit lowest on top of the placed ones, ties by `order`."""
        buffers, neighbours = self.buffers, self.neighbours
        offsets = [-1] * len(buffers)
        lowest = [0] * len(buffers)
        heap = [(0, rank, i) for rank, i in enumerate(order)]
        while heap:
            offset, rank, i = heap[0]
            if offset < lowest[i]:
                heapq.heapreplace(heap, (lowest[i], rank, i))
                continue
            heapq.heappop(heap)
            offsets[i] = offset
            top = offset + buffers[i].size
            for j in neighbours[i]:
                if offsets[j] < 0 and lowest[j] < top:
                    align = buffers[j].align
                    lowest[j] = -(-top // align) * align
        return offsets


class _Sparse:
    """Placed buffers around one, from the listed conflicts."""

    def __init__(self, problem: _Problem, offsets: list[int]):
        self.buffers, self.neighbours, self.offsets = problem.buffers, problem.neighbours, offsets

    def around(self, i: int) -> list[tuple[int, int]]:
        """(offset, top) of the placed buffers that conflict with buffer i, by offset."""
        offsets, buffers = self.offsets, self.buffers
        return sorted((offsets[j], offsets[j] + buffers[j].size) for j in self.neighbours[i] if offsets[j] >= 0)

    def add(self, i: int, offset: int) -> None:
        """Nothing to note: the offsets are shared."""


class _Dense:
    """Placed buffers in numpy rows (offset, top, start, end) kept by offset; conflicts by masks."""

    def __init__(self, buffers: Sequence[Interval]):
        import numpy as np

        self.buffers = buffers
        self.rows = np.empty((4, len(buffers)), np.int64)
        self.count = 0

    def around(self, i: int) -> list[tuple[int, int]]:
        """(offset, top) of the placed buffers that conflict with buffer i, by offset."""
        offset, top, start, end = self.rows[:, : self.count]
        mask = (start < self.buffers[i].end) & (end > self.buffers[i].start)
        return list(zip(offset[mask].tolist(), top[mask].tolist(), strict=True))

    def add(self, i: int, offset: int) -> None:
        """Inserts buffer i in its place by offset."""
        at = int(self.rows[0, : self.count].searchsorted(offset))
        self.rows[:, at + 1 : self.count + 1] = self.rows[:, at : self.count].copy()
        buffer = self.buffers[i]
        self.rows[:, at] = (offset, offset + buffer.size, buffer.start, buffer.end)
        self.count += 1


def _count_conflicts(buffers: Sequence[Interval]) -> int:
    """Pairs alive at the same time: for each birth, the buffers alive then."""
    ends = sorted(b.end for b in buffers)
    gone, pairs = 0, 0
    for born, start in enumerate(sorted(b.start for b in buffers)):
        while ends[gone] <= start:
            gone += 1
        pairs += born - gone
    return pairs
