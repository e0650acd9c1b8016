"""Modelled memories: architectural bytes with typed content.

A memory has two planes: its bytes, and fp32 lanes of its fp16 view (one lane per two bytes). A tag per 32-byte
granule says which plane holds the truth. Access at fp16 uses lanes, any other type uses bytes; a granule is
converted, without loss, only when it is read through the plane that does not hold it. With `typed=False` the
byte plane alone is used (the real-bytes debug mode).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.rounding import half_from_lanes, lanes_from_half
from graph_engine.target_ascend.om.program import Location, Segment

GRANULE = 32
"""Bytes per tag: the smallest unit that the chip's on-chip memories move."""

BYTES_ONLY = 0
LANES_ONLY = 1
BOTH = 2

POISON = 0x7FFF
"""16-bit pattern of never-written memory: NaN as fp16 and as fp32, an odd large number as an integer."""


class Memory:
    """`size` bytes, zero at first or given by `data` (uint8; kept without a copy where its size allows).

    A memory whose `data` cannot be written (weights in a mapped file) is `frozen`, and `bare` until `keep_lanes`: it
    keeps no lanes, fp16 is converted at each read. One of which little may be touched is `sparse`.
    """

    __slots__ = ("_fresh", "_lanes", "bare", "data", "frozen", "name", "size", "sparse", "tags", "typed")

    def __init__(self, name: str, size: int, *, typed: bool = True, data: npt.NDArray[np.uint8] | None = None) -> None:
        padded = -(-size // GRANULE) * GRANULE
        fresh = data is None
        if data is None or data.size != padded:
            whole = np.zeros(padded, np.uint8)
            if data is not None:
                whole[:size] = data[:size]
            data = whole
        self.name = name
        self.size = size
        self.typed = typed
        self.data = data
        self.frozen = self.bare = not data.flags.writeable
        self.sparse = False
        self._fresh = fresh
        self._lanes: npt.NDArray[np.float32] | None = None
        # Zero bytes are zero lanes, so fresh memory is valid in both planes.
        self.tags = bytearray(bytes([BOTH if fresh else BYTES_ONLY]) * (padded // GRANULE))

    @property
    def lanes(self) -> npt.NDArray[np.float32]:
        """The lane plane, made when first asked for."""
        if self._lanes is None:
            # Not np.zeros where most is used: numpy asks for huge pages only for memory that it does not get zeroed.
            self._lanes = (np.zeros if self.sparse else np.empty)(self.data.size // 2, np.float32)
            if self._fresh and not self.sparse:
                self._lanes.fill(0)
        return self._lanes

    def keep_lanes(self) -> None:
        """From now on keeps the lanes of what is read as fp16: four bytes for each, and no conversion the next time."""
        self.bare, self.sparse = False, True

    def settle(self) -> None:
        """Brings content that is held in another form back into the planes."""

    def sync_lanes(self, first: int, last: int) -> None:
        """Makes the lanes of granules [first, last) valid."""
        tags = np.frombuffer(self.tags, np.uint8)[first:last]
        halves = self.data.view(np.uint16)
        stale = tags == BYTES_ONLY
        if stale.all():
            self.lanes[first * 16 : last * 16] = lanes_from_half(halves[first * 16 : last * 16])
        else:
            where = np.flatnonzero(stale) + first
            self.lanes.reshape(-1, 16)[where] = lanes_from_half(halves.reshape(-1, 16)[where])
        tags[stale] = BOTH

    def sync_bytes(self, first: int, last: int) -> None:
        """Makes the bytes of granules [first, last) valid."""
        tags = np.frombuffer(self.tags, np.uint8)[first:last]
        halves = self.data.view(np.uint16)
        stale = tags == LANES_ONLY
        if stale.all():
            halves[first * 16 : last * 16] = half_from_lanes(self.lanes[first * 16 : last * 16])
        else:
            where = np.flatnonzero(stale) + first
            halves.reshape(-1, 16)[where] = half_from_lanes(self.lanes.reshape(-1, 16)[where])
        tags[stale] = BOTH

    def _range(self, offset: int, count: int) -> tuple[int, int]:
        if offset < 0 or count < 0 or offset + count > self.size:
            raise GraphEngineError(f"{self.name}: bytes {offset} to {offset + count} are outside its {self.size} bytes")
        return offset // GRANULE, -(-(offset + count) // GRANULE)

    def read(self, offset: int, count: int) -> npt.NDArray[np.uint8]:
        """The bytes [offset, offset + count): a view that the next write may change."""
        first, last = self._range(offset, count)
        self.settle()
        if self.tags.find(LANES_ONLY, first, last) >= 0:
            self.sync_bytes(first, last)
        return self.data[offset : offset + count]

    def write(self, offset: int, data: npt.NDArray[Any]) -> None:
        """Stores the bytes of `data` (any dtype, taken in C order) at `offset`."""
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        first, last = self._range(offset, raw.size)
        if self.frozen:
            raise GraphEngineError(f"{self.name} cannot be written")
        self.settle()
        if self.tags.find(LANES_ONLY, first, last) >= 0:
            self.sync_bytes(first, last)
        self.data[offset : offset + raw.size] = raw
        self.tags[first:last] = bytes(last - first)

    def poison(self, offset: int = 0, count: int | None = None) -> None:
        """Fills [offset, offset + count) with `POISON`; both must be multiples of a granule (or reach the end)."""
        self.settle()
        first, last = self._range(offset, self.size - offset if count is None else count)
        self.data.view(np.uint16)[first * 16 : last * 16] = POISON
        if self.typed:
            self.lanes[first * 16 : last * 16] = lanes_from_half(np.array([POISON], np.uint16))[0]
            self.tags[first:last] = bytes([BOTH]) * (last - first)


@dataclass(slots=True)
class Matrix:
    """Content of a fractal region of L0A, L0B or L0C as the plain matrix that the Cube's arithmetic wants.

    `array` is the matrix, or the matrices of all blocks in lockstep in an order that suits the product; `plain` shows
    them one after another, `view` in the shape of the region's lanes; `store` writes them to the planes. `copies` are
    numbers and distances of the blocks' regions of `bytes`, `beside` says which lie side by side in `array`; `gaps`:
    something else lies between the regions.
    """

    first: int
    last: int
    bytes: int
    sizes: tuple[int, ...]
    copies: tuple[tuple[int, int], ...]
    beside: tuple[bool, ...]
    gaps: bool
    array: npt.NDArray[Any]
    plain: npt.NDArray[Any]
    view: npt.NDArray[Any]
    store: Callable[[npt.NDArray[Any]], None]


class MatrixMemory(Memory):
    """A memory of the Cube: regions may be held as matrices until something else looks at them.

    Regions held at one time do not overlap, so each keeps its matrix in its own stretch of one array.
    """

    __slots__ = ("_matrices", "pending")

    def __init__(self, name: str, size: int, *, typed: bool = True) -> None:
        super().__init__(name, size, typed=typed)
        self.pending: dict[int, Matrix] = {}
        self._matrices: npt.NDArray[np.float32] | None = None

    @property
    def matrices(self) -> npt.NDArray[np.float32]:
        """Room for the matrices of all regions, made when first asked for."""
        if self._matrices is None:
            self._matrices = np.zeros(self.data.size // 2, np.float32)
        return self._matrices

    def settle(self) -> None:
        if self.pending:
            matrices = list(self.pending.values())
            self.pending.clear()
            for matrix in matrices:
                matrix.store(matrix.view)

    def displace(self, offset: int, new: Matrix) -> None:
        """Makes room for a matrix at `offset`: what it covers whole is dropped."""
        pending, first, last = self.pending, new.first, new.last
        for other in [o for o, m in pending.items() if m.first < last and first < m.last]:
            old = pending.pop(other)
            covered = other == offset and old.copies == new.copies and old.bytes <= new.bytes
            if not covered and (new.gaps or old.first < first or last < old.last):
                old.store(old.view)


class GlobalMemory:
    """The device's memory as the program sees it: segments that task arguments point into."""

    def __init__(self, *, real_bytes: bool = False) -> None:
        self.real_bytes = real_bytes
        self.segments: dict[tuple[Segment, int], Memory] = {}

    def add(self, segment: Segment, index: int, content: int | npt.NDArray[Any]) -> Memory:
        """Makes a segment: a size in bytes (zeroed) or an array whose bytes it takes (in place if possible)."""
        name = (
            segment.name.lower()
            if segment in (Segment.WEIGHT, Segment.WORKSPACE)
            else f"{segment.name.lower()} {index}"
        )
        if isinstance(content, int):
            memory = Memory(name, content, typed=not self.real_bytes)
        else:
            raw = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
            memory = Memory(name, raw.size, typed=not self.real_bytes, data=raw)
        self.segments[segment, index] = memory
        return memory

    def alias(self, segment: Segment, index: int, memory: Memory) -> None:
        """Lets a segment share another one's memory (an output that is an input)."""
        self.segments[segment, index] = memory

    def bind(self, location: Location) -> tuple[Memory, int]:
        """The memory and byte offset of a location. Raises GraphEngineError for a segment that does not exist."""
        memory = self.segments.get((location.segment, location.index))
        if memory is None:
            raise GraphEngineError(f"no {location.segment.name.lower()} segment {location.index} is bound")
        return memory, location.offset

    def read(self, location: Location, count: int) -> npt.NDArray[np.uint8]:
        """`count` bytes at a location."""
        memory, offset = self.bind(location)
        return memory.read(offset, count)

    def write(self, location: Location, data: npt.NDArray[Any]) -> None:
        """Stores an array's bytes at a location."""
        memory, offset = self.bind(location)
        memory.write(offset, data)
