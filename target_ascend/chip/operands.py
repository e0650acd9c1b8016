"""From an instruction's operand to a numpy array over the memory it names.

Everything that does not depend on loop counters is worked out once per kernel; what is left per execution is a
byte offset, a look-up of a ready-made view, and one scan of the granule tags.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.memory import BYTES_ONLY, LANES_ONLY, MatrixMemory, Memory
from graph_engine.target_ascend.chip.rounding import (
    brain_from_lanes,
    half_from_lanes,
    lanes_from_brain,
    lanes_from_half,
)
from graph_engine.target_ascend.isa.model import Affine, Buffer, DType, Instr, Operand, Part, Rotate, Space
from graph_engine.target_ascend.isa.specs import SPECS

Array: TypeAlias = npt.NDArray[Any]
Counters: TypeAlias = list[int]
Step: TypeAlias = Callable[[Counters], None]
Reader: TypeAlias = Callable[[Counters], Array]
Locator: TypeAlias = Callable[[Counters], int]

CUBE_SPACES = (Space.L0A, Space.L0B, Space.L0C)


class OutOfRange(GraphEngineError):
    """An operand reaches outside the memory that it lies in."""


@dataclass(slots=True)
class Core:
    """The memories of one core, the launch's arguments, and scratch arrays that executors share.

    Blocks of a launch run one after another, so one core's memories serve them all. `typed` is False in the
    real-bytes mode; `saturate` says what fp16 overflow gives; `part` which core of a team it is.
    """

    spaces: dict[Space, Memory]
    typed: bool
    saturate: bool
    part: Part = Part.WHOLE
    args: list[tuple[Memory, int]] = field(default_factory=list[tuple[Memory, int]])
    _scratch: dict[int, npt.NDArray[np.float32]] = field(default_factory=dict[int, npt.NDArray[np.float32]])

    def scratch(self, slot: int, sizes: Sequence[int]) -> npt.NDArray[np.float32]:
        """An fp32 array of that shape whose content lives until the end of the instruction."""
        count = int(np.prod(sizes))
        array = self._scratch.get(slot)
        if array is None or array.size < count:
            array = self._scratch[slot] = np.empty(max(count, 1 << 14), np.float32)
        return array[:count].reshape(sizes)


@dataclass(slots=True)
class Writer:
    """Where an instruction puts its result: `target` gives the array to fill, `commit` (if any) encodes it."""

    target: Reader
    commit: Callable[[], None] | None
    contiguous: bool


@dataclass(slots=True)
class Site:
    """An instruction in its kernel: what an executor is built from and what an error message needs."""

    core: Core
    buffers: tuple[Buffer, ...]
    instr: Instr
    kernel: str
    number: int
    axes: int = 0
    """How many leading axes of its operands count blocks that run in lockstep."""

    @property
    def name(self) -> str:
        """Kernel, number in program text, mnemonic."""
        return f"{self.kernel}: instruction {self.number} ({SPECS[self.instr.opcode].mnemonic})"

    def fail(self, message: str) -> GraphEngineError:
        """The error to raise for this instruction."""
        return GraphEngineError(f"{self.name}: {message}")

    def memory(self, operand: Operand) -> Memory | None:
        """The on-chip memory of an operand; None for GM, where the launch's arguments decide."""
        space = self.buffers[operand.buffer].space
        if space is Space.GM:
            return None
        memory = self.core.spaces.get(space)
        if memory is None:
            raise self.fail(f"this chip has no {space.name}")
        return memory


def coalesce(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The same elements with as few axes as all operands allow: drops axes of size 1, merges dense neighbours."""
    merged, found = _coalesced(tuple(sizes), tuple(map(tuple, strides)))
    return merged, list(found)


@lru_cache(maxsize=4096)
def _coalesced(
    sizes: tuple[int, ...], strides: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The instructions of a kernel's blocks differ in their places alone."""
    out_sizes: list[int] = []
    out_strides: list[list[int]] = []
    for axis in range(len(sizes) - 1, -1, -1):
        size = sizes[axis]
        if size == 1:
            continue
        current = [s[axis] for s in strides]
        if out_sizes and all(c == o * out_sizes[-1] for c, o in zip(current, out_strides[-1], strict=True)):
            out_sizes[-1] *= size
        else:
            out_sizes.append(size)
            out_strides.append(current)
    if not out_sizes:
        return (1,), tuple((1,) for _ in strides)
    out_sizes.reverse()
    out_strides.reverse()
    return tuple(out_sizes), tuple(tuple(axis[i] for axis in out_strides) for i in range(len(strides)))


def may_clash(site: Site, sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> bool:
    """Whether numpy's assignment from operand 1 to operand 0 could read what it has written already.

    It copies first where arrays overlap, but not on one axis with two different steps.
    """
    dst, src = site.instr.operands[:2]
    if site.buffers[dst.buffer].space is not site.buffers[src.buffer].space or len(sizes) != 1:
        return False
    return strides[0][0] * dst.dtype.bytes != strides[1][0] * src.dtype.bytes


def value_of(affine: Affine) -> Callable[[Counters], int] | int:
    """An affine expression as a constant or a function of the counters."""
    const, terms = affine.const, affine.terms
    if not terms:
        return const
    if len(terms) == 1:
        ((slot, coef),) = terms
        return lambda counters: const + coef * counters[slot]
    if len(terms) == 2:
        (slot, coef), (slot2, coef2) = terms
        return lambda counters: const + coef * counters[slot] + coef2 * counters[slot2]
    return affine.at


def locator(operand: Operand, base: int, version_bytes: int) -> Locator | int:
    """Byte address of an operand's element 0: a constant or a function of the counters."""
    start = value_of(operand.offset * operand.dtype.bytes + base)
    rotate: Rotate | None = operand.rotate
    if rotate is None:
        return start
    index, count = value_of(rotate.index), rotate.count
    if isinstance(index, int):
        shift = index % count * version_bytes
        return start + shift if isinstance(start, int) else lambda counters: start(counters) + shift
    if not isinstance(start, int):
        return lambda counters: start(counters) + index(counters) % count * version_bytes
    if len(rotate.index.terms) == 1:  # the usual case in one call
        const, ((slot, coef),) = rotate.index.const, rotate.index.terms
        return lambda counters: start + (const + coef * counters[slot]) % count * version_bytes
    return lambda counters: start + index(counters) % count * version_bytes


def extent(sizes: Sequence[int], strides: Sequence[int], width: int) -> tuple[int, int]:
    """First and one-past-last byte of a view, relative to its element 0."""
    low = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True) if s > 0)
    return low * width, (high + 1) * width


_Entry: TypeAlias = tuple[Array, int, int]


class _Views:
    """Builds the view of an operand at a byte offset of a memory, and the granules it spans."""

    def __init__(
        self, site: Site, operand: Operand, sizes: tuple[int, ...], strides: tuple[int, ...], raw: bool
    ) -> None:
        self.site = site
        self.sizes = sizes
        half, brain = operand.dtype is DType.F16, operand.dtype is DType.BF16
        self.lanes = half and site.core.typed
        self.coded = not raw and (brain or (half and not site.core.typed))
        self.decode, self.encode = (lanes_from_brain, brain_from_lanes) if brain else (lanes_from_half, half_from_lanes)
        if half:
            self.dtype = np.dtype(np.float32 if self.lanes else np.uint16)
        else:
            self.dtype = np.dtype(operand.dtype.numpy)
        self.byte_strides = tuple(s * self.dtype.itemsize for s in strides)
        self.half_strides = tuple(s * 2 for s in strides)
        self.low, self.high = extent(sizes, strides, operand.dtype.bytes)

    def build(self, memory: Memory, offset: int) -> _Entry:
        """The view at a byte offset, and the granules [first, last) around it."""
        if self.lanes:
            view = self._view(memory, offset, memory.lanes, self.dtype, 2 * offset, self.byte_strides)
        else:
            view = self._view(memory, offset, memory.data, self.dtype, offset, self.byte_strides)
        return view, (offset + self.low) // 32, (offset + self.high + 31) // 32

    def halves(self, memory: Memory, offset: int) -> Array:
        """An fp16 operand as 16-bit patterns of the byte plane."""
        return self._view(memory, offset, memory.data, np.dtype(np.uint16), offset, self.half_strides)

    def _view(
        self, memory: Memory, offset: int, plane: Array, dtype: np.dtype[Any], start: int, strides: tuple[int, ...]
    ) -> Array:
        if self.lanes and offset & 1:
            raise self.site.fail(f"fp16 at the odd byte {offset} of {memory.name}")
        try:
            return np.ndarray(self.sizes, dtype, plane, start, strides)
        except (TypeError, ValueError):
            low, high = offset + self.low, offset + self.high
            raise OutOfRange(
                f"{self.site.name}: bytes {low} to {high} are outside the {memory.size} bytes of {memory.name}"
            ) from None


def reader(
    site: Site,
    operand: Operand,
    sizes: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    *,
    raw: bool = False,
) -> Reader:
    """A function from counters to the operand's content: fp16 and bf16 as fp32, other types as themselves.

    `sizes` and `strides` (elements) replace the operand's after `coalesce`. `raw`, for instructions that only move, lets
    bf16 stay 16-bit patterns, and fp16 in the real-bytes mode.
    """
    views = _Views(
        site, operand, operand.sizes if sizes is None else sizes, operand.strides if strides is None else strides, raw
    )
    fetch = _reader(site, operand, views)
    if views.coded:
        return lambda counters: views.decode(fetch(counters))
    return fetch


def bare_halves(
    site: Site, operand: Operand, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> Callable[[Counters], Array | None] | None:
    """A function from counters to the 16-bit patterns of an fp16 operand in memory that keeps no lanes; None elsewhere."""
    views = _Views(site, operand, sizes, strides, raw=True)
    if site.memory(operand) is not None or not views.lanes:
        return None
    buffer = site.buffers[operand.buffer]
    where = locator(operand, 0, buffer.bytes)
    args, argument = site.core.args, buffer.address

    def halves(counters: Counters) -> Array | None:
        memory, offset = args[argument]
        if not memory.bare:
            return None
        return views.halves(memory, offset + (where if isinstance(where, int) else where(counters)))

    return halves


def _reader(site: Site, operand: Operand, views: _Views) -> Reader:
    buffer = site.buffers[operand.buffer]
    memory = site.memory(operand)
    build = views.build
    stale = BYTES_ONLY if views.lanes else LANES_ONLY
    lanes = views.lanes
    if memory is None:
        where = locator(operand, 0, buffer.bytes)
        args, argument = site.core.args, buffer.address
        halves = views.halves

        def read_gm(counters: Counters) -> Array:
            memory, offset = args[argument]
            offset += where if isinstance(where, int) else where(counters)
            if lanes and memory.bare:
                return lanes_from_half(halves(memory, offset))
            view, first, last = build(memory, offset)
            if memory.tags.find(stale, first, last) >= 0:
                if lanes:
                    memory.sync_lanes(first, last)
                else:
                    memory.sync_bytes(first, last)
            return view

        return read_gm

    where = locator(operand, buffer.address, buffer.bytes)
    sync = memory.sync_lanes if lanes else memory.sync_bytes
    find, settle = memory.tags.find, memory.settle
    pending: dict[int, Any] = memory.pending if isinstance(memory, MatrixMemory) else {}
    if isinstance(where, int):
        view, first, last = build(memory, where)

        def read_fixed(_counters: Counters) -> Array:
            if pending:
                settle()
            if find(stale, first, last) >= 0:
                sync(first, last)
            return view

        return read_fixed

    cache: dict[int, _Entry] = {}

    def read(counters: Counters) -> Array:
        offset = where(counters)
        entry = cache.get(offset)
        if entry is None:
            entry = cache[offset] = build(memory, offset)
        view, first, last = entry
        if pending:
            settle()
        if find(stale, first, last) >= 0:
            sync(first, last)
        return view

    return read


def writer(
    site: Site,
    operand: Operand,
    sizes: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    *,
    raw: bool = False,
) -> Writer:
    """Where the operand's new content goes. Call `target` after all sources were read, fill it, then `commit`."""
    sizes = operand.sizes if sizes is None else sizes
    strides = operand.strides if strides is None else strides
    if any(s == 0 and n > 1 for n, s in zip(sizes, strides, strict=True)):
        raise site.fail("the destination has a stride of 0")
    views = _Views(site, operand, sizes, strides, raw)
    dense = coalesce(sizes, [strides])
    contiguous = len(dense[0]) == 1 and (dense[0] == (1,) or dense[1] == [(1,)])
    target = _target(site, operand, views, contiguous)
    if not views.coded:
        return Writer(target, None, contiguous)
    # Real bytes and bf16: the result is built as lanes and encoded at the end.
    slot = 100 + len(sizes)
    held: list[Array] = []

    def decoded(counters: Counters) -> Array:
        held.append(target(counters))
        return site.core.scratch(slot, sizes)

    def commit() -> None:
        held.pop()[...] = views.encode(site.core.scratch(slot, sizes))

    return Writer(decoded, commit, True)


def _target(site: Site, operand: Operand, views: _Views, contiguous: bool) -> Reader:
    buffer = site.buffers[operand.buffer]
    memory = site.memory(operand)
    build = views.build
    lanes = views.lanes
    stale = BYTES_ONLY if lanes else LANES_ONLY
    mark = bytes([LANES_ONLY if lanes else BYTES_ONLY])
    low, high = views.low, views.high
    if memory is None:
        where = locator(operand, 0, buffer.bytes)
        args, argument = site.core.args, buffer.address

        def write_gm(counters: Counters) -> Array:
            memory, offset = args[argument]
            if memory.frozen:
                raise site.fail(f"writes {memory.name}, which cannot be written")
            offset += where if isinstance(where, int) else where(counters)
            view, first, last = build(memory, offset)
            tags = memory.tags
            whole = contiguous and not ((offset + low) | (offset + high)) & 31
            if not whole and tags.find(stale, first, last) >= 0:
                if lanes:
                    memory.sync_lanes(first, last)
                else:
                    memory.sync_bytes(first, last)
            tags[first:last] = mark * (last - first)
            return view

        return write_gm

    where = locator(operand, buffer.address, buffer.bytes)
    sync = memory.sync_lanes if lanes else memory.sync_bytes
    tags, settle = memory.tags, memory.settle
    find = tags.find
    pending: dict[int, Any] = memory.pending if isinstance(memory, MatrixMemory) else {}
    cache: dict[int, tuple[Array, int, int, bytes, bool]] = {}

    def write(counters: Counters) -> Array:
        offset = where if isinstance(where, int) else where(counters)
        entry = cache.get(offset)
        if entry is None:
            view, first, last = build(memory, offset)
            whole = contiguous and not ((offset + low) | (offset + high)) & 31
            entry = cache[offset] = (view, first, last, mark * (last - first), whole)
        view, first, last, marks, whole = entry
        if pending:
            settle()
        if not whole and find(stale, first, last) >= 0:
            sync(first, last)
        tags[first:last] = marks
        return view

    return write
