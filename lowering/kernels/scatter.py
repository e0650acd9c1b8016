"""A copy of x in which rows stand at places that indices name: caches, assignments to parts, unpooling.

    for each tile of x:                  x                                              GM -> UB -> GM
    for each tile of updates:            its indices and updates                        GM -> UB
      for each row of the tile:          an index a coordinate                          UB -> registers
                                         the row to their sum                           UB -> GM

All writes leave by one queue, so that of several updates of one place the last one stays. The cores share the batch, or
the columns of the rows, so that no two of them write to one place.
"""

from __future__ import annotations

from math import gcd

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.memory import KernelOp
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
