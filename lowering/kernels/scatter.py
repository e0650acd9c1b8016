"""A copy of x in which rows stand at places that indices name: caches, assignments to parts, unpooling.

    for each tile of x:                  x                                              GM -> UB -> GM
    for each tile of updates:            its indices and updates                        GM -> UB
      for each row of the tile:          an index a coordinate                          UB -> registers
                                         the row to their sum                           UB -> GM

All writes leave by one queue, so that of several updates of one place the last one stays. The cores share the batch, or
the columns of the rows, so that no two of them write to one place.

Where updates are combined with what is there, x stands in UB as a whole, some columns a core, in fp32:

    for each tile of updates:            its indices and updates                        GM -> UB -> fp32
      for each row of the tile:          the row combined with the one at its place     in UB
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, KernelBuilder
from graph_engine.lowering.kernels.gather import MOST_INDICES, GatherShape, IndexedRows
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.vector_tiling import BLOCK, CoreSplit, buffer_bytes, cores_for, even_tile, round_up
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc


def build_scatter(name: str, shape: GatherShape, soc: Soc) -> KernelOp:
    """The kernel; arguments: x, indices, updates, y. `shape` is that of a gather of the updates out of y."""
    width = shape.dtype.bytes
    cores = cores_for(shape.batch * shape.entries * width, soc)
    by_batch = CoreSplit.of(shape.batch, BLOCK // gcd(BLOCK, shape.entries * width), cores)
    by_column = CoreSplit.of(shape.row, BLOCK // gcd(BLOCK, width), cores)
    # Columns of rows that are whole blocks of memory can be dealt.
    deal_columns = shape.row * width % BLOCK == 0 and by_column.block_dim > by_batch.block_dim
    split = by_column if deal_columns else by_batch
    columns = split.step if deal_columns else shape.row
    most = soc.buffers["ub"] // 4 // width // BLOCK * BLOCK
    if columns > most:
        raise NoKernel(f"a row of {columns} elements to scatter does not fit the unified buffer")
    updated = buffer_bytes(columns, shape.dtype, 2) + buffer_bytes(shape.coordinates, DType.I32, 2)
    tile = max(1, min(shape.rows, MOST_INDICES, soc.buffers["ub"] // 2 // updated))
    args = [
        Arg("x", (shape.batch, shape.entries), shape.dtype, "r"),
        Arg("indices", (shape.batch * shape.rows * shape.coordinates,), shape.index_dtype, "r"),
        Arg("updates", (shape.batch, shape.rows, shape.row), shape.dtype, "r"),
        Arg("y", (shape.batch, shape.entries), shape.dtype, "w"),
    ]
    kb = KernelBuilder(name, args, split.block_dim)
    for start, size in split.bodies(kb):
        batch, column = (Expr(), start) if deal_columns else (start, Expr())
        writer = _Writer(kb, shape)
        with kb.loop(shape.batch if deal_columns else size, "b") as b:
            width_here = size if deal_columns else columns
            writer.copy(batch + b, column, width_here, most)
            writer.put(batch + b, column, width_here, tile)
    return kb.kernel


class _Writer(IndexedRows):
    """Writes the body of a core, for one entry of the batch and some columns of its rows."""

    def copy(self, batch: Expr, column: Expr, width: int, most: int) -> None:
        """x to y."""
        kb, shape = self.kb, self.shape
        x, *_, y = kb.args
        rows = shape.entries // shape.row
        if width == shape.row:  # one run
            rows, width = 1, shape.entries
        tile, piece = max(1, min(rows, most // width)), even_tile(width, most, BLOCK) if width > most else width
        for first, count in kb.tiles(rows, tile, "i"):
            for start, size in kb.tiles(width, piece, "j"):
                at = batch * shape.entries + first * shape.row + start + column
                moved = kb.view(kb.alloc("x_ub", Space.UB, (count, size), shape.dtype))
                kb.copy(moved, kb.view(x, at, (count, size), (shape.row, 1)))
                kb.copy(kb.view(y, at, (count, size), (shape.row, 1)), moved)

    def put(self, batch: Expr, column: Expr, width: int, tile: int) -> None:
        """The updates to their places."""
        kb, shape = self.kb, self.shape
        *_, updates, y = kb.args
        padded = round_up(width, BLOCK // shape.dtype.bytes)
        for first, count in kb.tiles(shape.rows, tile, "t"):
            indices = self.indices(batch, first, count)
            rows = kb.alloc("updates_ub", Space.UB, (count, padded), shape.dtype)
            at = (batch * shape.rows + first) * shape.row + column
            kb.copy(
                kb.view(rows, 0, (count, width), rows.strides), kb.view(updates, at, (count, width), (shape.row, 1))
            )
            with kb.loop(count, "r") as r:
                target = batch * shape.entries + self.place(indices, r) + column
                kb.copy(kb.view(y, target, (width,), (1,)), kb.view(rows, r * padded, (width,), (1,)))


def build_scatter_combined(name: str, shape: GatherShape, mnemonic: str, soc: Soc) -> KernelOp:
    """The same where `mnemonic` combines an update with what is there. Raises NoKernel if x does not fit UB."""
    width, rows = shape.dtype.bytes, shape.entries // shape.row
    split = CoreSplit.of(shape.row, BLOCK // gcd(BLOCK, width), soc.vector_cores)
    if shape.row * width % BLOCK:
        split = CoreSplit(shape.row, shape.row)
    padded = round_up(split.step, BLOCK // width)
    held = buffer_bytes(rows * padded, DType.F32) + buffer_bytes(rows * padded, shape.dtype)
    each = buffer_bytes(padded, DType.F32) + buffer_bytes(padded, shape.dtype, 2)
    each += buffer_bytes(shape.coordinates, DType.I32, 2)
    tile = min(shape.rows, MOST_INDICES, (soc.buffers["ub"] - held) // each)
    if tile < 1:
        raise NoKernel(f"{rows} rows, with which updates are combined, do not fit the unified buffer")
    args = [
        Arg("x", (1, shape.entries), shape.dtype, "r"),
        Arg("indices", (shape.rows * shape.coordinates,), shape.index_dtype, "r"),
        Arg("updates", (1, shape.rows, shape.row), shape.dtype, "r"),
        Arg("y", (1, shape.entries), shape.dtype, "w"),
    ]
    kb = KernelBuilder(name, args, split.block_dim)
    in_ub = replace(shape, strides=tuple(stride // shape.row * padded for stride in shape.strides))
    for column, size in split.bodies(kb):
        _Combiner(kb, in_ub).body(column, size, padded, tile, mnemonic)
    return kb.kernel


class _Combiner(IndexedRows):
    """Writes the body of a core; the strides of `shape` are those of rows in UB."""

    def body(self, column: Expr, width: int, padded: int, tile: int, mnemonic: str) -> None:
        """x, the updates, and the way out."""
        kb, shape = self.kb, self.shape
        x, _, updates, y = kb.args
        rows = shape.entries // shape.row
        stored = kb.alloc("x_ub", Space.UB, (rows, padded), shape.dtype)
        total = kb.alloc("total", Space.UB, (rows, padded), self.dtype)
        sides = [kb.view(buf, 0, (rows, width), buf.strides) for buf in (stored, total)]
        kb.copy(sides[0], kb.view(x, column, (rows, width), (shape.row, 1)))
        kb.vec("conv", sides[1], sides[0])
        for first, count in kb.tiles(shape.rows, tile, "t"):
            indices = self.indices(Expr(), first, count)
            loaded = self.tile("updates_ub", count, width, padded, shape.dtype)
            wide = self.tile("wide", count, width, padded, self.dtype)
            kb.copy(loaded, kb.view(updates, first * shape.row + column, (count, width), (shape.row, 1)))
            kb.vec("conv", wide, loaded)
            with kb.loop(count, "r") as r:
                there = kb.view(total, self.place(indices, r), (width,), (1,))
                one = kb.view(kb.buffer_of(wide, (padded,)), r * padded, (width,), (1,))
                kb.vec(mnemonic, there, there, one)
        kb.vec("conv", sides[0], sides[1])
        kb.copy(kb.view(y, column, (rows, width), (shape.row, 1)), sides[0])

    @property
    def dtype(self) -> DType:
        """What is combined."""
        return DType.I32 if self.shape.dtype is DType.I32 else DType.F32

    def tile(self, slot: str, count: int, width: int, padded: int, dtype: DType) -> SSAValue:
        """Rows of updates."""
        buf = self.kb.alloc(slot, Space.UB, (count, padded), dtype)
        return self.kb.view(buf, 0, (count, width), buf.strides)
