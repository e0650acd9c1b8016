"""Executor of the Cube's multiplication, and the matrix form in which L0A, L0B and L0C hold its operands."""

from __future__ import annotations

import numpy as np

from graph_engine.target_ascend.chip.memory import Matrix, MatrixMemory
from graph_engine.target_ascend.chip.operands import (
    Array,
    Counters,
    Reader,
    Site,
    Step,
    coalesce,
    extent,
    locator,
    reader,
    value_of,
    writer,
)
from graph_engine.target_ascend.isa.model import DType, Operand, Space

_EXACT_K = 512
"""Products of 8-bit integers, one side signed, summed in fp32 are exact up to this K."""


def _permutation(space: Space) -> tuple[int, int, int, int]:
    """From the axes of the matrix split in blocks to those of the fractals.

    L0A (m1, k1, 16, k0) from (m1, 16, k1, k0); L0B (k1, n1, 16, k0) from its transpose (n1, 16, k1, k0), which
    is the form that copies in whole rows; L0C (n1, m1, 16, 16) from (m1, 16, n1, 16).
    """
    return {Space.L0A: (0, 2, 1, 3), Space.L0B: (2, 0, 1, 3), Space.L0C: (2, 0, 1, 3)}[space]


def _blocks(space: Space, sizes: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Shape of the matrix split in blocks, inverse of `_permutation`."""
    first, second, rows, columns = sizes
    return (first, rows, second, columns) if space is Space.L0A else (second, rows, first, columns)


def fractal_matrix(site: Site, operand: Operand) -> Reader | None:
    """A function from counters to an array of the operand's shape to be filled, held as a matrix from then on.

    None where the region is not a dense run of whole fractals of fp16 (L0A, L0B) or fp32 (L0C), or where the
    chip runs on real bytes.
    """
    acquire = _acquire(site, operand)
    if acquire is None:
        return None
    return lambda counters: acquire(counters).view


def _acquire(site: Site, operand: Operand) -> _Acquire | None:
    buffer = site.buffers[operand.buffer]
    memory = site.memory(operand)
    if not isinstance(memory, MatrixMemory) or not memory.typed or len(operand.sizes) != 4:
        return None
    if operand.dtype is not (DType.F32 if buffer.space is Space.L0C else DType.F16) or operand.sizes[2:] != (16, 16):
        return None
    if coalesce(operand.sizes, [operand.strides])[1] != [(1,)]:
        return None
    return _Acquire(site, operand, memory)


class _Acquire:
    """Gives the matrix of a region for overwriting (`__call__`), or the one that is there (`present`)."""

    def __init__(self, site: Site, operand: Operand, memory: MatrixMemory) -> None:
        buffer = site.buffers[operand.buffer]
        where = locator(operand, buffer.address, buffer.bytes)
        self.where = (lambda _counters: where) if isinstance(where, int) else where
        self.memory = memory
        self.sizes = operand.sizes
        self.bytes = extent(operand.sizes, operand.strides, operand.dtype.bytes)[1]
        self.space = buffer.space
        self.site = site
        self.operand = operand
        self._made: dict[int, Matrix] = {}

    def _make(self, offset: int) -> Matrix:
        if offset % 32 or offset < 0 or offset + self.bytes > self.memory.size:
            raise self.site.fail(f"fractals at bytes {offset} to {offset + self.bytes} of {self.memory.name}")
        shape = _blocks(self.space, self.sizes)
        memory, lanes = self.memory, self.space is not Space.L0C
        start = offset // (2 if lanes else 4)
        count = shape[0] * shape[1] * shape[2] * shape[3]
        array = memory.matrices[start : start + count].reshape(shape[0] * shape[1], shape[2] * shape[3])
        view = array.reshape(shape).transpose(_permutation(self.space))
        first, last = offset // 32, (offset + self.bytes) // 32

        def store(content: Array) -> None:
            plane = memory.lanes if lanes else memory.data.view(np.float32)
            plane[start : start + count].reshape(content.shape)[...] = content
            memory.tags[first:last] = bytes([1 if lanes else 0]) * (last - first)

        return Matrix(first, last, self.sizes, array, view, store)

    def __call__(self, counters: Counters) -> Matrix:
        offset = self.where(counters)
        matrix = self._made.get(offset)
        if matrix is None:
            matrix = self._made[offset] = self._make(offset)
        pending = self.memory.pending
        if pending.get(offset) is not matrix:
            if pending:
                self.memory.displace(offset, matrix.first, matrix.last)
            pending[offset] = matrix
        return matrix

    def present(self, counters: Counters) -> Matrix | None:
        """The matrix at the operand's place if one of its shape is held there."""
        matrix = self.memory.pending.get(self.where(counters))
        return matrix if matrix is not None and matrix.sizes == self.sizes else None


def accumulator_window(site: Site, operand: Operand) -> Reader | None:
    """A function from counters to a window (n1, m, 16) of an accumulator, taken from its matrix where it is held.

    None where the operand cannot be such a window (dense rows of 16 fp32 of L0C, one after another).
    """
    buffer = site.buffers[operand.buffer]
    memory = site.memory(operand)
    if not isinstance(memory, MatrixMemory) or not memory.typed or buffer.space is not Space.L0C:
        return None
    if operand.dtype is not DType.F32 or len(operand.sizes) != 3 or operand.sizes[2] != 16:
        return None
    columns, rows, _ = operand.sizes
    pitch = operand.strides[0]
    if operand.strides[1:] != (16, 1) or pitch % 16:
        return None
    read = reader(site, operand)
    where = locator(operand, buffer.address, buffer.bytes)
    pending = memory.pending

    def window(counters: Counters) -> Array:
        address = where if isinstance(where, int) else where(counters)
        for offset, matrix in pending.items():
            place = address - offset
            if place >= 0 and address < offset + matrix.array.nbytes:
                height = matrix.array.shape[0]
                column, rest = divmod(place, height * 64)
                row, odd = divmod(rest, 64)
                fits = row + rows <= height and (column + columns) * 16 <= matrix.array.shape[1]
                if odd == 0 and fits and (columns == 1 or pitch == height * 16):
                    content = matrix.array.reshape(height, -1, 16).transpose(1, 0, 2)
                    return content[column : column + columns, row : row + rows]
        return read(counters)

    return window


def build_mmad(site: Site) -> Step:
    """L0C (n1, m1, 16, 16) (+)= L0A (m1, k1, 16, k0) x L0B (k1, n1, 16, k0), over whole fractals."""
    c, a, b, *table = site.instr.operands
    bias = _bias_rows(site, table[0]) if table else None
    kinds = (a.dtype, b.dtype, c.dtype)
    integer = kinds in ((DType.I8, DType.I8, DType.I32), (DType.U8, DType.I8, DType.I32))
    if kinds != (DType.F16, DType.F16, DType.F32) and not integer:
        raise site.fail(f"multiplies {a.dtype.mlir} and {b.dtype.mlir} into {c.dtype.mlir}")
    if len(a.sizes) != 4 or len(b.sizes) != 4 or len(c.sizes) != 4:
        raise site.fail(f"multiplies {a.sizes} and {b.sizes} into {c.sizes}")
    (m1, k1, _, k0), (bk1, n1, _, bk0), (cn1, cm1, _, _) = a.sizes, b.sizes, c.sizes
    rows = {a.sizes[2], b.sizes[2], *c.sizes[2:]}
    if (bk1, bk0) != (k1, k0) or (cn1, cm1) != (n1, m1) or rows != {16} or k0 != 32 // a.dtype.bytes:
        raise site.fail(f"multiplies {a.sizes} and {b.sizes} into {c.sizes}")
    m, k, n = (value_of(p) for p in site.instr.params)
    for name, extent_, block, count in (("m", m, 16, m1), ("k", k, k0, k1), ("n", n, 16, n1)):
        if isinstance(extent_, int) and -(-extent_ // block) != count:
            raise site.fail(f"{name} = {extent_} does not end in the last of {count} fractals")
        if not isinstance(extent_, int):
            raise site.fail(f"{name} depends on a loop counter")
    left = _operand_matrix(site, a)
    right = _operand_matrix(site, b)
    keep = site.instr.first_of
    if integer:
        return _integer(site, left, right, bias, keep)
    acquire = _acquire(site, c)
    dot, add = np.dot, np.add
    scratch = np.empty((m1 * 16, n1 * 16), np.float32)
    read_c = reader(site, c)
    if acquire is None:
        out = writer(site, c)
        shown = scratch.reshape(m1, 16, n1, 16).transpose(2, 0, 1, 3)

        def mmad_lanes(counters: Counters) -> None:
            dot(left(counters), right(counters).T, out=scratch)
            if _overwrites(keep, counters):
                if bias is not None:
                    add(scratch, bias(counters), out=scratch)
                np.copyto(out.target(counters), shown)
            else:
                old = read_c(counters)
                add(old, shown, out=out.target(counters))

        return mmad_lanes

    def mmad(counters: Counters) -> None:
        x = left(counters)
        y = right(counters).T
        if keep is not None and not any([counters[slot] for slot in keep]):
            fresh = acquire(counters).array
            dot(x, y, out=fresh)
            if bias is not None:
                add(fresh, bias(counters), out=fresh)
            return
        matrix = acquire.present(counters)
        if matrix is None:
            old = read_c(counters)
            matrix = acquire(counters)
            np.copyto(matrix.view, old)
        dot(x, y, out=scratch)
        add(matrix.array, scratch, out=matrix.array)

    return mmad


def _bias_rows(site: Site, operand: Operand) -> Reader:
    """The rows (n1, 16) of BT as one row that is added to all of the matrix."""
    c = site.instr.operands[0]
    if site.buffers[operand.buffer].space is not Space.BT or operand.sizes != (c.sizes[0], 16):
        raise site.fail(f"takes a bias of {operand.sizes} from {site.buffers[operand.buffer].space.name}")
    if operand.dtype is not c.dtype:
        raise site.fail(f"adds a bias of {operand.dtype.mlir} to {c.dtype.mlir}")
    read = reader(site, operand)
    return lambda counters: read(counters).reshape(1, -1)


def _overwrites(first_of: tuple[int, ...] | None, counters: Counters) -> bool:
    return first_of is not None and not any(counters[slot] for slot in first_of)


def _operand_matrix(site: Site, operand: Operand) -> Reader:
    """L0A as (M, K) or L0B as (N, K), fp32, dense in rows."""
    space = site.buffers[operand.buffer].space
    read = reader(site, operand)
    shape = _blocks(space, operand.sizes)
    matrix = np.empty((shape[0] * shape[1], shape[2] * shape[3]), np.float32)
    view = matrix.reshape(shape).transpose(_permutation(space))

    def unpack(counters: Counters) -> Array:
        np.copyto(view, read(counters), casting="unsafe")
        return matrix

    acquire = _acquire(site, operand)
    if acquire is None:
        return unpack

    def held(counters: Counters) -> Array:
        present = acquire.present(counters)
        return unpack(counters) if present is None else present.array

    return held


def _integer(site: Site, left: Reader, right: Reader, bias: Reader | None, first_of: tuple[int, ...] | None) -> Step:
    c = site.instr.operands[0]
    read, out = reader(site, c), writer(site, c)
    n1, m1 = c.sizes[:2]

    def mmad_integer(counters: Counters) -> None:
        x, y = left(counters), right(counters)
        total = np.zeros((m1 * 16, n1 * 16), np.int32)
        for k in range(0, x.shape[1], _EXACT_K):
            total += np.dot(x[:, k : k + _EXACT_K], y[:, k : k + _EXACT_K].T).astype(np.int32)
        if bias is not None and _overwrites(first_of, counters):
            total += bias(counters)
        result = total.reshape(m1, 16, n1, 16).transpose(2, 0, 1, 3)
        if not _overwrites(first_of, counters):
            result = result + read(counters)
        out.target(counters)[...] = result

    return mmad_integer
