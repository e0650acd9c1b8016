"""Executor of the Cube's multiplication, and the matrix form in which L0A, L0B and L0C hold its operands."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

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


def _fractals(space: Space, matrices: Array, sizes: tuple[int, ...]) -> Array:
    """Matrices (..., rows, columns) in the shape of their fractals (..., *sizes)."""
    lead = matrices.ndim - 2
    axes = [*range(lead), *(lead + axis for axis in _permutation(space))]
    return matrices.reshape(*matrices.shape[:-2], *_blocks(space, sizes)).transpose(axes)


def fractal_matrix(site: Site, operand: Operand) -> Reader | None:
    """A function from counters to an array of the operand's shape to be filled, held as a matrix from then on.

    None where the region is not a dense run of whole fractals of fp16 (L0A, L0B) or fp32 (L0C), or where the
    chip runs on real bytes.
    """
    acquire = _acquire(site, operand)
    if acquire is None or 0 in operand.strides[: site.axes]:
        return None
    return lambda counters: acquire(counters).view


def _acquire(site: Site, operand: Operand, columns: tuple[bool, ...] = ()) -> _Acquire | None:
    buffer, axes = site.buffers[operand.buffer], site.axes
    memory, sizes = site.memory(operand), operand.sizes[axes:]
    if not isinstance(memory, MatrixMemory) or not memory.typed or len(sizes) != 4:
        return None
    if operand.dtype is not (DType.F32 if buffer.space is Space.L0C else DType.F16) or sizes[2:] != (16, 16):
        return None
    if coalesce(sizes, [operand.strides[axes:]])[1] != [(1,)]:
        return None
    return _Acquire(site, operand, memory, columns)


class _Acquire:
    """Gives the matrix of a region for overwriting (`__call__`), or the one that is there (`present`).

    Of blocks in lockstep, the matrices of all that have one of their own. `columns`: along which axes these lie side by
    side in one matrix instead of one above the other.
    """

    def __init__(self, site: Site, operand: Operand, memory: MatrixMemory, columns: tuple[bool, ...]) -> None:
        buffer, axes = site.buffers[operand.buffer], site.axes
        where = locator(operand, buffer.address, buffer.bytes)
        self.where = (lambda _counters: where) if isinstance(where, int) else where
        self.memory = memory
        self.space = buffer.space
        self.site = site
        width = operand.dtype.bytes
        own = [axis for axis in range(axes) if operand.strides[axis]]
        self.copies = tuple((operand.sizes[axis], operand.strides[axis] * width) for axis in own)
        self.columns = tuple(bool(columns) and columns[axis] for axis in own)
        self.sizes = operand.sizes[axes:]
        self.bytes = prod(self.sizes) * width
        self.span = extent(operand.sizes, operand.strides, width)[1]
        self.gaps = self.span > self.bytes * prod(count for count, _ in self.copies)
        m1, m0, n1, n0 = _blocks(self.space, self.sizes)
        counts = [count for count, _ in self.copies]
        self.across = [i for i, beside in enumerate(self.columns) if beside]
        self.down = [i for i, beside in enumerate(self.columns) if not beside]
        above, beside = [counts[i] for i in self.down], [counts[i] for i in self.across]
        self.shape = (*above, m1 * m0, *beside, n1 * n0)
        self._made: dict[int, Matrix] = {}

    def _make(self, offset: int) -> Matrix:
        if offset % 32 or offset < 0 or offset + self.span > self.memory.size:
            raise self.site.fail(f"fractals at bytes {offset} to {offset + self.span} of {self.memory.name}")
        counts = [count for count, _ in self.copies]
        memory, lanes = self.memory, self.space is not Space.L0C
        start = offset // (2 if lanes else 4)
        array = memory.matrices[start : start + prod(self.shape)].reshape(self.shape)
        places = {axis: place for place, axis in enumerate([*self.down, -2, *self.across, -1])}
        plain = array.transpose([places[axis] for axis in (*range(len(counts)), -2, -1)])
        first, last = offset // 32, -(-(offset + self.span) // 32)

        def store(content: Array) -> None:
            plane = memory.lanes if lanes else memory.data.view(np.float32)
            strides = [step * (2 if lanes else 1) for _, step in self.copies]
            held = np.ndarray(content.shape, np.float32, plane, 4 * start, [*strides, *_dense(content.shape[-4:])])
            if self.gaps:
                (memory.sync_lanes if lanes else memory.sync_bytes)(first, last)
            held[...] = content
            memory.tags[first:last] = bytes([1 if lanes else 0]) * (last - first)

        view = _fractals(self.space, plain, self.sizes)
        return Matrix(
            first, last, self.bytes, self.sizes, self.copies, self.columns, self.gaps, array, plain, view, store
        )

    def __call__(self, counters: Counters) -> Matrix:
        offset = self.where(counters)
        matrix = self._made.get(offset)
        if matrix is None:
            matrix = self._made[offset] = self._make(offset)
        pending = self.memory.pending
        if pending.get(offset) is not matrix:
            if pending:
                self.memory.displace(offset, matrix)
            pending[offset] = matrix
        return matrix

    def present(self, counters: Counters) -> Matrix | None:
        """The matrix at the operand's place if one of its shape is held there."""
        matrix = self.memory.pending.get(self.where(counters))
        if matrix is None or matrix.sizes != self.sizes:
            return None
        return matrix if matrix.copies == self.copies and matrix.beside == self.columns else None


def _dense(sizes: tuple[int, ...]) -> list[int]:
    """Byte strides of an fp32 array."""
    return [4 * prod(sizes[axis + 1 :]) for axis in range(len(sizes))]


def accumulator_window(site: Site, operand: Operand) -> Reader | None:
    """A function from counters to a window (..., n1, m, 16) of an accumulator, taken from its matrix where it is held.

    None where the operand cannot be such a window (dense rows of 16 fp32 of L0C, one after another).
    """
    buffer, axes = site.buffers[operand.buffer], site.axes
    memory, sizes = site.memory(operand), operand.sizes[axes:]
    if not isinstance(memory, MatrixMemory) or not memory.typed or buffer.space is not Space.L0C:
        return None
    if operand.dtype is not DType.F32 or len(sizes) != 3 or sizes[2] != 16 or 0 in operand.strides[:axes]:
        return None
    columns, rows, _ = sizes
    pitch = operand.strides[axes]
    if operand.strides[axes + 1 :] != (16, 1) or pitch % 16:
        return None
    copies = tuple((operand.sizes[axis], operand.strides[axis] * 4) for axis in range(axes))
    read = reader(site, operand)
    where = locator(operand, buffer.address, buffer.bytes)
    pending = memory.pending

    def window(counters: Counters) -> Array:
        address = where if isinstance(where, int) else where(counters)
        for offset, matrix in pending.items():
            place = address - offset
            if 0 <= place < matrix.bytes and matrix.copies == copies:
                plain = matrix.plain
                height, width = plain.shape[-2:]
                column, rest = divmod(place, height * 64)
                row, odd = divmod(rest, 64)
                fits = row + rows <= height and (column + columns) * 16 <= width
                if odd == 0 and fits and (columns == 1 or pitch == height * 16):
                    content = plain.reshape(*plain.shape[:-1], -1, 16).swapaxes(-3, -2)
                    return content[..., column : column + columns, row : row + rows, :]
        return read(counters)

    return window


_SMALL = 1024
"""OpenBLAS sums up results of at most so many elements in an order of their own (32 x 32 so, 32 x 64 no longer)."""

_Product: TypeAlias = Callable[[Array, Array, Array], object]
"""Puts the product of matrices (..., M, K) and (..., N, K), transposed, into a third array."""


def _product(site: Site, a: Operand, b: Operand) -> tuple[_Product, tuple[bool, ...]]:
    """How the blocks' matrices are multiplied, and along which axes their results lie side by side.

    Where each axis belongs to one of the operands, all their products are one: BLAS sums up over K alike, however many
    rows and columns there are, except that it makes the smallest products in another way.
    """
    axes = site.axes
    beside = tuple(bool(stride) for stride in b.strides[:axes])
    both = any(bool(stride) is theirs for stride, theirs in zip(a.strides, beside, strict=False))
    if axes and (both or 256 * a.sizes[axes] * b.sizes[axes + 1] <= _SMALL):

        def batched(x: Array, y: Array, out: Array) -> None:
            np.matmul(_along(site, a, x), _along(site, b, y).swapaxes(-1, -2), out=out)

        return batched, (False,) * axes

    def joint(x: Array, y: Array, out: Array) -> None:
        k = x.shape[-1]
        rows, columns = x.reshape(-1, k), y.reshape(-1, k)
        np.dot(rows, columns.T, out=out.reshape(len(rows), len(columns)))

    return joint if axes else _single, beside


def _single(x: Array, y: Array, out: Array) -> None:
    np.dot(x, y.T, out=out)


def _along(site: Site, operand: Operand, matrices: Array) -> Array:
    """With an axis of size 1 for each along which all blocks have the same matrix."""
    counts = [size if stride else 1 for size, stride in zip(operand.sizes, operand.strides[: site.axes], strict=False)]
    return matrices.reshape(*counts, *matrices.shape[-2:])


def build_mmad(site: Site) -> Step:
    """L0C (n1, m1, 16, 16) (+)= L0A (m1, k1, 16, k0) x L0B (k1, n1, 16, k0), over whole fractals."""
    c, a, b, *table = site.instr.operands
    kinds = (a.dtype, b.dtype, c.dtype)
    integer = kinds in ((DType.I8, DType.I8, DType.I32), (DType.U8, DType.I8, DType.I32))
    floats = a.dtype in (DType.F16, DType.BF16, DType.F32) and kinds == (a.dtype, a.dtype, DType.F32)
    if not floats and not integer:
        raise site.fail(f"multiplies {a.dtype.mlir} and {b.dtype.mlir} into {c.dtype.mlir}")
    shapes = [operand.sizes[site.axes :] for operand in (a, b, c)]
    if any(len(shape) != 4 for shape in shapes):
        raise site.fail(f"multiplies {a.sizes} and {b.sizes} into {c.sizes}")
    (m1, k1, am0, k0), (bk1, n1, bn0, bk0), (cn1, cm1, cm0, cn0) = shapes
    if (bk1, bk0) != (k1, k0) or (cn1, cm1) != (n1, m1) or {am0, bn0, cm0, cn0} != {16} or k0 != 32 // a.dtype.bytes:
        raise site.fail(f"multiplies {a.sizes} and {b.sizes} into {c.sizes}")
    m, k, n = (value_of(p) for p in site.instr.params)
    for name, extent_, block, count in (("m", m, 16, m1), ("k", k, k0, k1), ("n", n, 16, n1)):
        if isinstance(extent_, int) and -(-extent_ // block) != count:
            raise site.fail(f"{name} = {extent_} does not end in the last of {count} fractals")
        if not isinstance(extent_, int):
            raise site.fail(f"{name} depends on a loop counter")
    bias = _bias_rows(site, table[0]) if table else None
    left, right = _operand_matrix(site, a), _operand_matrix(site, b)
    keep = site.instr.first_of
    if integer:
        return _integer(site, left, right, bias, keep)
    multiply, columns = _product(site, a, b)
    acquire = _acquire(site, c, columns) if 0 not in c.strides[: site.axes] else None
    if acquire is None:
        return _loose(site, left, right, bias)
    add, read_c = np.add, reader(site, c)
    product = site.core.scratch(5, acquire.shape)

    def mmad(counters: Counters) -> None:
        x, y = left(counters), right(counters)
        if keep is not None and not any([counters[slot] for slot in keep]):
            fresh = acquire(counters)
            multiply(x, y, fresh.array)
            if bias is not None:
                add(fresh.plain, bias(counters), out=fresh.plain)
            return
        matrix = acquire.present(counters)
        if matrix is None:
            old = read_c(counters)
            matrix = acquire(counters)
            np.copyto(matrix.view, old)
        multiply(x, y, product)
        add(matrix.array, product, out=matrix.array)

    return mmad


def _loose(site: Site, left: Reader, right: Reader, bias: Reader | None) -> Step:
    """The same where the accumulator cannot be held as a matrix."""
    c, a, b = site.instr.operands[:3]
    axes, keep = site.axes, site.instr.first_of
    n1, m1 = c.sizes[axes : axes + 2]
    scratch = np.empty((*c.sizes[:axes], m1 * 16, n1 * 16), np.float32)
    shown = _fractals(Space.L0C, scratch, c.sizes[axes:])
    read, out = reader(site, c), writer(site, c)

    def mmad(counters: Counters) -> None:
        np.matmul(_along(site, a, left(counters)), _along(site, b, right(counters)).swapaxes(-1, -2), out=scratch)
        if _overwrites(keep, counters):
            if bias is not None:
                np.add(scratch, bias(counters), out=scratch)
            np.copyto(out.target(counters), shown)
        else:
            old = read(counters)
            np.add(old, shown, out=out.target(counters))

    return mmad


def _bias_rows(site: Site, operand: Operand) -> Reader:
    """The rows (n1, 16) of BT as one row that is added to all of the matrix."""
    c, axes = site.instr.operands[0], site.axes
    if site.buffers[operand.buffer].space is not Space.BT or operand.sizes[axes:] != (c.sizes[axes], 16):
        raise site.fail(f"takes a bias of {operand.sizes} from {site.buffers[operand.buffer].space.name}")
    if operand.dtype is not c.dtype:
        raise site.fail(f"adds a bias of {operand.dtype.mlir} to {c.dtype.mlir}")
    read = reader(site, operand)
    return lambda counters: read(counters).reshape(*operand.sizes[:axes], 1, -1)


def _overwrites(first_of: tuple[int, ...] | None, counters: Counters) -> bool:
    return first_of is not None and not any(counters[slot] for slot in first_of)


def _operand_matrix(site: Site, operand: Operand) -> Reader:
    """L0A as (M, K) or L0B as (N, K), fp32, dense in rows; of blocks in lockstep those that differ, one after another."""
    space, axes = site.buffers[operand.buffer].space, site.axes
    read = reader(site, operand)
    own = [bool(stride) for stride in operand.strides[:axes]]
    shape = _blocks(space, operand.sizes[axes:])
    counts = [count for count, own_ in zip(operand.sizes, own, strict=False) if own_]
    matrix = np.empty((*counts, shape[0] * shape[1], shape[2] * shape[3]), np.float32)
    view = _fractals(space, matrix, operand.sizes[axes:])
    pick = tuple(slice(None) if own_ else 0 for own_ in own)

    def unpack(counters: Counters) -> Array:
        np.copyto(view, read(counters)[pick], casting="unsafe")
        return matrix

    acquire = _acquire(site, operand)
    if acquire is None:
        return unpack

    def held(counters: Counters) -> Array:
        present = acquire.present(counters)
        return unpack(counters) if present is None else present.array

    return held


def _integer(site: Site, left: Reader, right: Reader, bias: Reader | None, first_of: tuple[int, ...] | None) -> Step:
    c, a, b = site.instr.operands[:3]
    axes = site.axes
    read, out = reader(site, c), writer(site, c)
    n1, m1 = c.sizes[axes : axes + 2]

    def mmad_integer(counters: Counters) -> None:
        x, y = _along(site, a, left(counters)), _along(site, b, right(counters)).swapaxes(-1, -2)
        total = np.zeros((*c.sizes[:axes], m1 * 16, n1 * 16), np.int32)
        for k in range(0, x.shape[-1], _EXACT_K):
            total += np.matmul(x[..., k : k + _EXACT_K], y[..., k : k + _EXACT_K, :]).astype(np.int32)
        if bias is not None and _overwrites(first_of, counters):
            total += bias(counters)
        result = _fractals(Space.L0C, total, c.sizes[axes:])
        if not _overwrites(first_of, counters):
            result = result + read(counters)
        out.target(counters)[...] = result

    return mmad_integer
