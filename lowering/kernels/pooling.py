"""Pooling in NC1HWC0: windows over bands of rows, or whole planes reduced to one value a channel.

    windows:  for each band of rows (and of columns, where a row is too long):
                for each tile of planes:     input band GM -> UB, one instruction for each position of the window,
                                             mean, tail, UB -> GM
    planes:   for each tile of planes:       for each run of positions: GM -> UB, halved until one is left
                                             mean, tail, UB -> GM

A plane is one (n, c1): h x w positions of 16 channels. Padding is never stored: a position of the window takes part
only where it lies inside the input. Means are summed in fp32.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.memory import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.reduction_tail import Tail
from graph_engine.lowering.kernels.vector_tiling import (
    CoreSplit,
    buffer_bytes,
    ceil_div,
    cores_for,
    even_tile,
    largest,
    worthwhile_tile,
)
from graph_engine.lowering.kernels.window_axis import SpanRun, Tap, WindowAxis, identity, pairs, span_runs
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

LOWEST = {DType.F16: -65504.0, DType.F32: -3.4028234663852886e38}
"""What a maximum starts from."""


@dataclass(frozen=True)
class PoolShape:
    """`planes` of rows x columns positions with `lanes` channels each.

    `mean` is None for a maximum; for an average it is 1 / (elements of a window), or 0 where that differs between
    windows and the kernel takes a table of it, one fp32 value an output position.
    """

    planes: int
    rows: WindowAxis
    columns: WindowAxis
    lanes: int
    mean: float | None
    tail: Tail

    @property
    def mnemonic(self) -> str:
        """The instruction that combines two positions."""
        return "max" if self.mean is None else "add"

    @property
    def accumulator(self) -> DType:
        """Element type of the reduction."""
        return self.tail.dtype if self.mean is None else DType.F32

    @property
    def start(self) -> float:
        """The neutral value."""
        return LOWEST[self.accumulator] if self.mean is None else 0.0

    @property
    def table(self) -> bool:
        """Whether the kernel takes a table of means."""
        return self.mean == 0

    @property
    def input_bytes(self) -> int:
        """Bytes of the operand."""
        return self.planes * self.rows.inputs * self.columns.inputs * self.lanes * self.tail.dtype.bytes

    @property
    def in_place(self) -> bool:
        """Whether the reduction's result is already the kernel's."""
        return self.tail.plain and self.accumulator is self.tail.out_dtype

    @property
    def whole_plane(self) -> bool:
        """Whether there is one window, which covers the plane and nothing else."""
        return all(a.outputs == 1 and a.kernel == a.inputs and not a.pad for a in (self.rows, self.columns))

    @property
    def two_passes(self) -> bool:
        """Whether rows first, columns then, takes fewer operations than the window's positions one by one."""
        kh, kw = self.rows.kernel, self.columns.kernel
        return kh * self.columns.stride + kw < kh * kw

    def args(self) -> list[Arg]:
        """Launch arguments: x, [table], y."""
        x = Arg("x", (self.planes, self.rows.inputs, self.columns.inputs, self.lanes), self.tail.dtype, "r")
        plane = (self.rows.outputs, self.columns.outputs)
        y = Arg("y", (self.planes, *plane, self.lanes), self.tail.out_dtype, "w")
        return [x, Arg("table", plane, DType.F32, "r"), y] if self.table else [x, y]


def build_pool(name: str, shape: PoolShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are x, [table of means], y. Raises `NoKernel` if no tile fits."""
    return _build_planes(name, shape, soc) if shape.whole_plane else _build_windows(name, shape, soc)


def _finish(kb: KernelBuilder, shape: PoolShape, values: SSAValue, table: SSAValue | None, out: Buf) -> None:
    """Mean and tail, from the reduced `values` (which may be `out`) to `out`."""
    if shape.in_place and shape.mean is None:
        return

    def allocate(slot: str, dtype: DType) -> SSAValue:
        return kb.view(kb.alloc(slot, Space.UB, out.shape, dtype))

    result = kb.view(out)
    target = result if shape.in_place else values
    if table is not None:
        kb.vec("mul", target, values, table)
    elif shape.mean is not None:
        kb.vec("muls", target, values, imm=shape.mean)
    if not shape.in_place:
        shape.tail.emit(kb, values, shape.accumulator, result, allocate)


# Whole planes.


def _build_planes(name: str, shape: PoolShape, soc: Soc) -> KernelOp:
    positions = shape.rows.inputs * shape.columns.inputs
    lanes, tail = shape.lanes, shape.tail

    def tile_bytes(planes: int, count: int) -> int:
        total = buffer_bytes(planes * count * lanes, tail.dtype, 2) + buffer_bytes(planes * lanes, tail.out_dtype, 2)
        if shape.accumulator is not tail.dtype:
            total += buffer_bytes(planes * count * lanes, shape.accumulator)
        return total + buffer_bytes(planes * lanes, shape.accumulator) + tail.bytes(planes * lanes, shape.accumulator)

    split = CoreSplit.of(shape.planes, 1, cores_for(shape.input_bytes, soc))
    planes = largest(split.step, lambda n: tile_bytes(n, positions) <= soc.buffers["ub"])
    count = positions
    if planes:
        planes = even_tile(split.step, min(planes, worthwhile_tile(split.step, positions * lanes * 2, soc)))
    else:
        planes, count = 1, largest(positions, lambda n: tile_bytes(1, n) <= soc.buffers["ub"])
        if not count:
            raise NoKernel("no position of a plane fits the unified buffer")
        count = even_tile(positions, count)
    kb = KernelBuilder(name, shape.args(), split.block_dim)
    for start, size in split.bodies(kb):
        for at, n in kb.tiles(size, planes, "p"):
            _planes(kb, shape, start + at, n, positions, count)
    return kb.kernel


def _planes(kb: KernelBuilder, shape: PoolShape, start: Expr, planes: int, positions: int, count: int) -> None:
    """`planes` planes from `start`, `count` positions at a time."""
    lanes = shape.lanes
    one = (planes, 1, lanes)
    out = kb.alloc("y_ub", Space.UB, one, shape.tail.out_dtype)
    total: SSAValue | None = None
    if count < positions:
        total = kb.view(kb.alloc("total", Space.UB, one, shape.accumulator))
        kb.vec("dup", total, imm=shape.start)
    for at, n in kb.tiles(positions, count, "at"):
        values = kb.alloc("x_ub", Space.UB, (planes, n, lanes), shape.tail.dtype)
        source = kb.view(
            kb.args[0], start * (positions * lanes) + at * lanes, values.shape, (positions * lanes, lanes, 1)
        )
        kb.copy(kb.view(values), source)
        if shape.accumulator is not shape.tail.dtype:
            wide = kb.alloc("wide", Space.UB, values.shape, shape.accumulator)
            kb.vec("conv", kb.view(wide), kb.view(values))
            values = wide
        left = n
        while left > 1:
            half = left // 2
            low = kb.view(values, 0, (planes, half, lanes), values.strides)
            high = kb.view(values, (left - half) * lanes, (planes, half, lanes), values.strides)
            kb.vec(shape.mnemonic, low, low, high)
            left -= half
        first = kb.view(values, 0, one, values.strides)
        if total is None:
            _finish_planes(kb, shape, first, out)
        else:
            kb.vec(shape.mnemonic, total, total, first)
    if total is not None:
        _finish_planes(kb, shape, total, out)
    kb.copy(kb.view(kb.args[-1], start * lanes, one, (lanes, lanes, 1)), kb.view(out))


def _finish_planes(kb: KernelBuilder, shape: PoolShape, values: SSAValue, out: Buf) -> None:
    if shape.in_place and shape.mean is None:
        kb.vec("conv", kb.view(out), values)
    else:
        _finish(kb, shape, values, None, out)


# Windows.


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


def _build_windows(name: str, shape: PoolShape, soc: Soc) -> KernelOp:
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
        _finish(kb, shape, kb.view(reduced), means, y)
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
