"""Pooling by windows over bands of rows.

    for each band of rows (and of columns, where a row is too long):
      for each tile of planes:   input band GM -> UB, one instruction for each position of the window,
                                 mean, tail, UB -> GM

Padding is never stored: a position of the window takes part only in those outputs for which it lies inside the input.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.pool_shape import PoolShape, finish
from graph_engine.lowering.kernels.vector_tiling import (
    CoreSplit,
    buffer_bytes,
    ceil_div,
    cores_for,
    even_tile,
    largest,
    worthwhile_tile,
)
from graph_engine.lowering.kernels.window_axis import SpanRun, Tap, identity, pairs, span_runs
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True)
class _Tile:
    """Planes, output rows and output columns of a tile."""

    planes: int
    rows: int
    columns: int


def _tile_bytes(shape: PoolShape, tile: _Tile) -> int:
    """UB that a tile takes: two versions of what moves, one of the rest."""
    columns, tail = shape.columns.reach(tile.columns), shape.tail
    inputs = tile.planes * shape.rows.reach(tile.rows) * columns * shape.lanes
    outputs = tile.planes * tile.rows * tile.columns * shape.lanes
    total = buffer_bytes(inputs, tail.dtype, 2) + buffer_bytes(outputs, tail.out_dtype, 2)
    if shape.accumulator is not tail.dtype:
        total += buffer_bytes(inputs, shape.accumulator)
    if shape.two_passes:
        total += buffer_bytes(tile.planes * tile.rows * columns * shape.lanes, shape.accumulator)
    if not shape.in_place:
        total += buffer_bytes(outputs, shape.accumulator) + tail.bytes(outputs, shape.accumulator)
    if shape.table:
        total += buffer_bytes(tile.rows * tile.columns, DType.F32, 2)
    return total


def _tile(shape: PoolShape, planes: int, rows: int, soc: Soc) -> _Tile:
    """The tile for a core's share of planes and output rows: whole planes, else bands of rows, else of columns."""
    room, columns = soc.buffers["ub"], shape.columns.outputs
    fit = largest(planes, lambda n: _tile_bytes(shape, _Tile(n, rows, columns)) <= room)
    if fit:
        plane = rows * columns * shape.lanes * shape.tail.dtype.bytes
        return _Tile(even_tile(planes, min(fit, worthwhile_tile(planes, plane, soc))), rows, columns)
    fit = largest(rows, lambda n: _tile_bytes(shape, _Tile(1, n, columns)) <= room)
    if fit:
        return _Tile(1, even_tile(rows, fit), columns)
    fit = largest(columns, lambda n: _tile_bytes(shape, _Tile(1, 1, n)) <= room)
    if not fit:
        raise NoKernel("the inputs of one pooling window do not fit the unified buffer")
    return _Tile(1, 1, even_tile(columns, fit))


def _segments(shape: PoolShape, cores: int) -> int:
    """Into how many segments of rows the cores cut every plane: as evenly loaded as possible, overlaps counted."""
    halo = max(0, (shape.rows.kernel - 1) * shape.rows.dilation + 1 - shape.rows.stride)
    best: tuple[int, int] | None = None
    for segments in range(1, min(cores, shape.rows.outputs) + 1):
        planes = ceil_div(shape.planes, min(shape.planes, cores // segments))
        load = planes * (ceil_div(shape.rows.outputs, segments) * shape.rows.stride + halo)
        if best is None or load < best[0]:
            best = load, segments
    assert best is not None
    return best[1]


def build_windows(name: str, shape: PoolShape, soc: Soc) -> KernelOp:
    cores, outputs = cores_for(shape.input_bytes, soc), shape.rows.outputs
    segment = ceil_div(outputs, _segments(shape, cores))
    segments = ceil_div(outputs, segment)
    split = CoreSplit.of(shape.planes, 1, cores // segments)
    tile = _tile(shape, split.step, segment, soc)
    kb = KernelBuilder(name, shape.args(), segments * split.block_dim)
    for number in range(segments):
        first = number * segment
        rows = span_runs(shape.rows, first, min(segment, outputs - first), tile.rows)
        for start, planes in split.bodies(kb, number * split.block_dim):
            _Windows(kb, shape, tile).core(start, planes, rows)
    return kb.kernel


@dataclass
class _Windows:
    """Writes the body of a core."""

    kb: KernelBuilder
    shape: PoolShape
    tile: _Tile

    def core(self, start: Expr, planes: int, row_runs: tuple[SpanRun, ...]) -> None:
        """`planes` planes from `start`: the bands of `row_runs`."""
        kb, shape, tile = self.kb, self.shape, self.tile
        for rows in row_runs:
            with kb.loop(rows.count, "row") as i:
                for columns in span_runs(shape.columns, 0, shape.columns.outputs, tile.columns):
                    with kb.loop(columns.count, "col") as j:
                        out_at = self.at(rows.out_at + i * rows.out_step, columns.out_at + j * columns.out_step, True)
                        in_at = self.at(rows.in_at + i * rows.in_step, columns.in_at + j * columns.in_step, False)
                        table = self.table(out_at, rows, columns) if shape.table else None
                        for p, count in kb.tiles(planes, tile.planes, "p"):
                            self.band(start + p, count, rows, columns, in_at, out_at, table)

    def at(self, row: Expr, column: Expr, output: bool) -> Expr:
        """Number of a position in its plane."""
        axis = self.shape.columns
        return row * (axis.outputs if output else axis.inputs) + column

    def table(self, at: Expr, rows: SpanRun, columns: SpanRun) -> Buf:
        """The means of one band."""
        sizes = rows.span.outputs, columns.span.outputs
        table = self.kb.alloc("table_ub", Space.UB, sizes, DType.F32)
        self.kb.copy(self.kb.view(table), self.kb.view(self.kb.args[1], at, sizes))
        return table

    def band(
        self, plane: Expr, planes: int, rows: SpanRun, columns: SpanRun, in_at: Expr, out_at: Expr, table: Buf | None
    ) -> None:
        """One band of `planes` planes."""
        kb, shape, lanes = self.kb, self.shape, self.shape.lanes
        r, c, dtype = rows.span, columns.span, shape.accumulator
        in_pitch, out_pitch = shape.columns.inputs * lanes, shape.columns.outputs * lanes
        in_plane, out_plane = shape.rows.inputs * in_pitch, shape.rows.outputs * out_pitch
        x = kb.alloc("x_ub", Space.UB, (planes, r.inputs, c.inputs, lanes), shape.tail.dtype)
        kb.copy(
            kb.view(x), kb.view(kb.args[0], plane * in_plane + in_at * lanes, x.shape, (in_plane, in_pitch, lanes, 1))
        )
        if dtype is not shape.tail.dtype:
            wide = kb.alloc("wide", Space.UB, x.shape, dtype)
            kb.vec("conv", kb.view(wide), kb.view(x))
            x = wide
        sizes = (planes, r.outputs, c.outputs, lanes)
        y = kb.alloc("y_ub", Space.UB, sizes, shape.tail.out_dtype)
        reduced = y if shape.in_place else kb.alloc("reduced", Space.UB, sizes, dtype)
        if shape.two_passes:
            middle = kb.alloc("middle", Space.UB, (planes, r.outputs, c.inputs, lanes), dtype)
            self.reduce(middle, x, r.taps, identity(c.inputs), shape.rows.stride, 1)
            self.reduce(reduced, middle, identity(r.outputs), c.taps, 1, shape.columns.stride)
        else:
            self.reduce(reduced, x, r.taps, c.taps, shape.rows.stride, shape.columns.stride)
        means = kb.view(table, 0, sizes, (0, c.outputs, 1, 0)) if table is not None else None
        finish(kb, shape, kb.view(reduced), means, y)
        kb.copy(
            kb.view(kb.args[-1], plane * out_plane + out_at * lanes, sizes, (out_plane, out_pitch, lanes, 1)),
            kb.view(y),
        )

    def reduce(
        self, dst: Buf, src: Buf, rows: tuple[Tap, ...], columns: tuple[Tap, ...], row_stride: int, column_stride: int
    ) -> None:
        """Combines the positions of a window: dst[p, r, c] over src[p, r * row_stride + .., c * column_stride + ..]."""
        kb, shape, (planes, high, wide, lanes) = self.kb, self.shape, dst.shape
        plane, pitch, _, _ = src.strides

        def source(row: Tap, column: Tap) -> SSAValue:
            sizes = (planes, row.count, column.count, lanes)
            strides = (plane, row_stride * pitch, column_stride * lanes, 1)
            return kb.view(src, row.at * pitch + column.at * lanes, sizes, strides)

        def target(row: Tap, column: Tap) -> SSAValue:
            at = row.first * dst.strides[1] + column.first * lanes
            return kb.view(dst, at, (planes, row.count, column.count, lanes), dst.strides)

        positions = pairs(rows, columns, (high, wide))
        everywhere = sum((row.count, column.count) == (high, wide) for row, column in positions)
        if everywhere > 1:
            kb.vec(shape.mnemonic, kb.view(dst), source(*positions[0]), source(*positions[1]))
        elif everywhere:
            kb.vec("conv", kb.view(dst), source(*positions[0]))
        else:
            kb.vec("dup", kb.view(dst), imm=shape.start)
        for pair in positions[min(everywhere, 2) :]:
            part = target(*pair)
            kb.vec(shape.mnemonic, part, part, source(*pair))
