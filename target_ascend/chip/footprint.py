"""Which bytes an operand touches, as runs, granules and merged intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graph_engine.target_ascend.chip.memory import GRANULE
from graph_engine.target_ascend.chip.operands import coalesce, extent
from graph_engine.target_ascend.isa.model import Operand

IntArray: TypeAlias = npt.NDArray[np.int64]


class Footprint:
    """The bytes of an operand relative to its element 0: runs of `run` bytes at `starts`, inside [low, high)."""

    def __init__(self, operand: Operand) -> None:
        width = operand.dtype.bytes
        axes = [(n, s) for n, s in zip(operand.sizes, operand.strides, strict=True) if s != 0]
        sizes, (strides,) = coalesce([n for n, _ in axes], [[s for _, s in axes]])
        self.low, self.high = extent(operand.sizes, operand.strides, width)
        self.run = width
        if strides[-1] == 1:
            self.run = sizes[-1] * width
            sizes, strides = sizes[:-1], strides[:-1]
        self.outer_strides = tuple(s * width for s in strides)
        starts: IntArray = np.zeros(1, np.int64)
        for n, s in zip(sizes, strides, strict=True):
            starts = (starts[:, None] + np.arange(n, dtype=np.int64) * (s * width)).reshape(-1)
        self.starts = starts
        self._granules: dict[int, npt.NDArray[np.intp]] = {}

    def intervals(self, offset: int) -> Intervals:
        """The bytes touched when element 0 lies at byte `offset`."""
        starts = self.starts + offset
        return merge([starts], [starts + self.run])

    def granules(self, offset: int) -> slice | npt.NDArray[np.intp]:
        """The 32-byte granules touched when element 0 lies at byte `offset`."""
        if self.starts.size == 1:
            start = offset + int(self.starts[0])
            return slice(start // GRANULE, (start + self.run - 1) // GRANULE + 1)
        base, phase = divmod(offset, GRANULE)
        found = self._granules.get(phase)
        if found is None:
            first = (self.starts + phase) // GRANULE
            last = (self.starts + (phase + self.run - 1)) // GRANULE
            span = np.arange(int((last - first).max()) + 1)
            every = first[:, None] + span
            found = self._granules[phase] = np.unique(every[every <= last[:, None]]).astype(np.intp)
        return found + base


@dataclass(frozen=True, slots=True)
class Intervals:
    """Disjoint byte intervals [starts[i], ends[i]) in ascending order."""

    starts: IntArray
    ends: IntArray

    def overlap(self, other: Intervals) -> tuple[int, int] | None:
        """The first interval of bytes that both hold, or None."""
        if not self.starts.size or not other.starts.size:
            return None
        # For each interval of self, the first of other that ends after its start.
        where = np.searchsorted(other.ends, self.starts, side="right")
        inside = where < other.starts.size
        hit = np.flatnonzero(inside & (other.starts[np.minimum(where, other.starts.size - 1)] < self.ends))
        if not hit.size:
            return None
        i = int(hit[0])
        j = int(where[i])
        return max(int(self.starts[i]), int(other.starts[j])), min(int(self.ends[i]), int(other.ends[j]))


def merge(starts: list[IntArray], ends: list[IntArray]) -> Intervals:
    """The union of intervals."""
    if not starts:
        empty: IntArray = np.zeros(0, np.int64)
        return Intervals(empty, empty)
    first = np.concatenate(starts)
    last = np.concatenate(ends)
    order = np.argsort(first, kind="stable")
    first, last = first[order], np.maximum.accumulate(last[order])
    fresh: npt.NDArray[Any] = np.ones(first.size, bool)
    fresh[1:] = first[1:] > last[:-1]
    begin = np.flatnonzero(fresh)
    return Intervals(first[begin], last[np.append(begin[1:], first.size) - 1])
