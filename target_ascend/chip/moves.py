"""Executors of the movement instructions: copy, load2d, load3d (img2col), blocked transpose, dup."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graph_engine.target_ascend.chip.cube import fractal_matrix
from graph_engine.target_ascend.chip.operands import (
    Array,
    Counters,
    Site,
    Step,
    bare_halves,
    coalesce,
    may_clash,
    reader,
    value_of,
    writer,
)
from graph_engine.target_ascend.chip.rounding import brain_from_lanes, half_from_lanes, write_lanes
from graph_engine.target_ascend.isa.model import DType, Opcode, Space
from graph_engine.target_ascend.isa.specs import SPECS

_PARAMS = SPECS[Opcode.LOAD3D].params


def build_copy(site: Site) -> Step:
    """dst = src, element by element."""
    dst, src = site.instr.operands
    if dst.sizes != src.sizes or dst.dtype is not src.dtype:
        raise site.fail(f"copies {src.sizes} {src.dtype.mlir} to {dst.sizes} {dst.dtype.mlir}")
    sizes, (dst_strides, src_strides) = coalesce(dst.sizes, [dst.strides, src.strides])
    read = reader(site, src, sizes, src_strides, raw=True)
    target = writer(site, dst, sizes, dst_strides, raw=True).target
    copyto, clash = np.copyto, may_clash(site, sizes, (dst_strides, src_strides))
    bare = bare_halves(site, src, sizes, src_strides)

    def copy(counters: Counters) -> None:
        if bare is not None and (halves := bare(counters)) is not None:
            write_lanes(halves, target(counters))
            return
        source = read(counters)
        if clash:
            source = source.copy()
        copyto(target(counters), source)

    return copy


def build_transpose(site: Site) -> Step:
    """dst (..., b, a) = src (..., a, b) with the last two axes exchanged."""
    dst, src = site.instr.operands
    if len(src.sizes) < 2 or dst.sizes != (*src.sizes[:-2], src.sizes[-1], src.sizes[-2]) or dst.dtype is not src.dtype:
        raise site.fail(f"transposes {src.sizes} {src.dtype.mlir} to {dst.sizes} {dst.dtype.mlir}")
    if src.sizes[-1] % 16 or src.sizes[-2] % 16:
        raise site.fail(f"transposes {src.sizes}, whose last two sizes are not multiples of 16")
    read = reader(site, src, raw=True)
    target = writer(site, dst, raw=True).target

    def transpose(counters: Counters) -> None:
        source = read(counters).swapaxes(-1, -2)
        np.copyto(target(counters), source)

    return transpose


def build_load2d(site: Site) -> Step:
    """Whole fractals from L1 to L0A or L0B, each transposed if asked."""
    dst, src = site.instr.operands
    if dst.sizes != src.sizes or dst.dtype is not src.dtype:
        raise site.fail(f"loads {src.sizes} {src.dtype.mlir} as {dst.sizes} {dst.dtype.mlir}")
    transposed = value_of(site.instr.params[0])
    if not isinstance(transposed, int):
        raise site.fail("transpose depends on a loop counter")
    read = reader(site, src, raw=True)
    matrix = fractal_matrix(site, dst)
    if matrix is not None:
        # The Cube will want the plain matrix: build that one now, the fractals only if somebody looks.
        def load_matrix(counters: Counters) -> None:
            source = read(counters)
            np.copyto(matrix(counters), source.swapaxes(-1, -2) if transposed else source)

        return load_matrix
    target = writer(site, dst, raw=True).target

    def load(counters: Counters) -> None:
        source = read(counters)
        np.copyto(target(counters), source.swapaxes(-1, -2) if transposed else source)

    return load


def build_load3d(site: Site) -> Step:
    """img2col: dst (m1, k1, 16, c0) from src (c1, in_h, in_w, c0)."""
    dst, src = site.instr.operands
    lead = dst.sizes[: site.axes]
    if len(dst.sizes) != len(lead) + 4 or len(src.sizes) != len(lead) + 4 or dst.dtype is not src.dtype:
        raise site.fail(f"loads {src.sizes} {src.dtype.mlir} as {dst.sizes} {dst.dtype.mlir}")
    gather, padding = Img2col(site), _padding(site)
    m1, k1, rows, c0 = dst.sizes[site.axes :]
    c1, pixel = src.sizes[site.axes], src.sizes[-1]
    read = reader(site, src, raw=True)
    matrix = fractal_matrix(site, dst) if site.buffers[dst.buffer].space is Space.L0A else None
    if matrix is None:
        target = writer(site, dst, raw=True).target

        def load3d(counters: Counters) -> None:
            index, outside, _ = gather.index(counters)
            table = read(counters).reshape(*lead, -1, pixel)
            columns = table.take(index, axis=-2, mode="clip").reshape(*lead, -1, pixel)
            if outside is not None:
                columns[..., outside, :] = padding
            np.copyto(target(counters), columns.reshape(*lead, m1, rows, k1, c0).swapaxes(-3, -2))

        return load3d

    def load3d_matrix(counters: Counters) -> None:
        index, outside, first = gather.index(counters)
        source = read(counters)
        # (m1, k1, 16, c0) shows the matrix (m, k): taking its axes back gives one 32-byte row per (m, k1).
        columns = matrix(counters).swapaxes(-3, -2)
        if first is not None:
            block, row = first
            dense = source.reshape(*lead, c1, -1, c0)[..., block : block + k1, row : row + m1 * rows, :]
            np.copyto(columns, np.moveaxis(dense.reshape(*lead, k1, m1, rows, c0), -4, -2))
            return
        # (c1 h w, c0): one row per input position; a copy only where L1 holds it with gaps.
        columns = columns.reshape(*lead, *index.shape, pixel)
        source.reshape(*lead, -1, pixel).take(index, axis=-2, out=columns, mode="clip")
        if outside is not None:
            columns.reshape(*lead, -1, pixel)[..., outside, :] = padding

    return load3d_matrix


def _padding(site: Site) -> Array:
    """The immediate as it lies in memory: of 16-bit floats their pattern where no lanes are kept."""
    dtype = site.instr.operands[0].dtype
    if dtype is DType.BF16:
        return brain_from_lanes(np.array([site.instr.immediate], np.float32))
    value = scalar_of(site)
    return value if dtype is not DType.F16 or site.core.typed else half_from_lanes(value)


_Gather: TypeAlias = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp] | None, tuple[int, int] | None]


class Img2col:
    """Positions that a load3d reads, by the values of its parameters that change in loops.

    `taps`: positions of the kernel in a block of c0, more than one where a pixel has fewer channels than that.
    """

    def __init__(self, site: Site) -> None:
        dst, src = site.instr.operands
        self.site = site
        self.source = src.sizes[site.axes :]
        m1, k1, rows, c0 = dst.sizes[site.axes :]
        self.taps, rest = divmod(c0, self.source[3])
        if rest or (self.taps != 1 and self.source[0] != 1):
            raise site.fail(f"loads pixels of {src.sizes} to {dst.sizes}")
        self.shape = (m1 * rows, k1 * self.taps)
        values = [value_of(p) for p in site.instr.params]
        self.fixed = {n: v for n, v in zip(_PARAMS, values, strict=True) if isinstance(v, int)}
        self.moving = [(n, v) for n, v in zip(_PARAMS, values, strict=True) if not isinstance(v, int)]
        self._cache: dict[tuple[int, ...], _Gather] = {}

    def index(self, counters: Counters) -> _Gather:
        """Row of the (c1 in_h in_w, channels) table for every (m, k, or tap of it); the flat places that are padding;
        and (first channel block, first position) where the rows are those of whole blocks, one after another.
        """
        key = tuple([v(counters) for _, v in self.moving])
        found = self._cache.get(key)
        if found is None:
            values = {n: v for (n, _), v in zip(self.moving, key, strict=True)}
            found = self._cache[key] = self._index({**self.fixed, **values})
        return found

    def _index(self, p: dict[str, int]) -> _Gather:
        in_h, in_w, kernel = p["in_h"], p["in_w"], p["kernel_h"] * p["kernel_w"]
        if self.source[1:3] != (in_h, in_w):
            raise self.site.fail(f"in_h x in_w = {in_h} x {in_w}, but the source is {self.source}")
        m = np.arange(p["m_start"], p["m_start"] + self.shape[0])
        k = p["k_start"] * self.taps + np.arange(self.shape[1])
        channel = k // kernel
        behind = k[-1] >= kernel * self.source[0]
        if k[0] < 0 or channel[-self.taps] >= self.source[0]:
            raise self.site.fail(f"columns {k[0]} to {k[-1]} need {channel[-1] + 1} channel blocks of {self.source[0]}")
        row = m // p["out_w"] * p["stride_h"] - p["pad_top"]
        column = m % p["out_w"] * p["stride_w"] - p["pad_left"]
        tap_row = k % kernel // p["kernel_w"] * p["dilation_h"]
        tap_column = k % p["kernel_w"] * p["dilation_w"]
        index = (row * in_w + column)[:, None] + (channel * in_h * in_w + tap_row * in_w + tap_column)
        inside = _inside(row, tap_row, in_h) and _inside(column, tap_column, in_w) and not behind
        if not p["pad_top"] and not p["pad_left"] and inside:
            plain = kernel == self.taps == 1 and p["stride_h"] == p["stride_w"] == 1 and p["out_w"] == in_w
            return index, None, (p["k_start"], p["m_start"]) if plain else None
        # As unsigned numbers, negative positions are too large as well: one comparison for both ends.
        outside = (row[:, None] + tap_row).view(np.uint64) >= in_h
        outside |= (column[:, None] + tap_column).view(np.uint64) >= in_w
        if behind:
            outside[:, k >= kernel] = True
        places = np.flatnonzero(outside)
        return index, places if places.size else None, None


def _inside(positions: npt.NDArray[Any], taps: npt.NDArray[Any], size: int) -> bool:
    return bool(positions.min() + taps.min() >= 0 and positions.max() + taps.max() < size)


def build_dup(site: Site) -> Step:
    """dst = immediate."""
    (dst,) = site.instr.operands
    sizes, (strides,) = coalesce(dst.sizes, [dst.strides])
    out = writer(site, dst, sizes, strides)
    value: Array = scalar_of(site)

    def dup(counters: Counters) -> None:
        out.target(counters)[...] = value
        if out.commit is not None:
            out.commit()

    return dup


def scalar_of(site: Site) -> Array:
    """The immediate in the destination's type (fp16: rounded as the scalar register of a half instruction is)."""
    from graph_engine.target_ascend.chip.vector import scalar

    return scalar(site, site.instr.operands[0].dtype)
