"""Rows and elements that indices name: embeddings, look-ups, coordinates.

Rows, by addresses that the scalar unit takes from the indices:

    for each tile of rows:           its indices                                      GM -> UB
      for each row of the tile:      an index a coordinate                            UB -> registers
                                     the row at their sum                             GM -> UB
      the tile                                                                        UB -> GM

Single elements of a short axis, by the Vector's look-up:

    for each table (an axis whole):  the axis                                         GM -> UB
      for each tile of indices:      the indices, counted from the front              GM -> UB
                                     the elements that they name; then                UB -> GM
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.vector_tiling import (
    BLOCK,
    CoreSplit,
    buffer_bytes,
    cores_for,
    even_tile,
    round_up,
)
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

MOST_INDICES = 2048
"""Indices of a tile: what one load brings."""


@dataclass(frozen=True)
class GatherShape:
    """y[b, j, :] = x[b, at : at + row] with at = sum of index[b, j, d] * strides[d], for `batch` b and `rows` j.

    Elements: a batch entry of x has `entries`, one of y rows * row. Axis d of an index has `extents[d]` places. Without
    `batched` all entries of the batch share one set of indices.
    """

    batch: int
    rows: int
    row: int
    entries: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    index_dtype: DType
    batched: bool = False

    @property
    def coordinates(self) -> int:
        """Indices of one row."""
        return len(self.extents)


def build_gather(name: str, shape: GatherShape, soc: Soc) -> KernelOp:
    """The kernel; arguments: x, indices, y. Raises NoKernel if no tile fits UB."""
    looked_up = shape.row == 1 and shape.strides == (1,) and soc.supports("gather", shape.dtype.mlir)
    table = buffer_bytes(shape.entries, shape.dtype, 2)
    tile = min(shape.rows, MOST_INDICES)
    if looked_up and table + _look_up_bytes(shape, tile) <= soc.buffers["ub"]:
        return _build(name, shape, soc, lambda writer, *at: writer.look_up(tile, *at))
    piece = _piece(shape, soc)
    tile = max(1, min(shape.rows, MOST_INDICES, soc.buffers["ub"] // 2 // _row_bytes(shape, piece)))
    return _build(name, shape, soc, lambda writer, *at: writer.copy_rows(tile, piece, *at))


def _look_up_bytes(shape: GatherShape, tile: int) -> int:
    indices = buffer_bytes(tile, DType.I32, 2) + buffer_bytes(tile, DType.I32, 1)
    return indices + buffer_bytes(tile, shape.dtype, 2)


def _row_bytes(shape: GatherShape, piece: int) -> int:
    return buffer_bytes(piece, shape.dtype) + buffer_bytes(shape.coordinates, DType.I32)


def _piece(shape: GatherShape, soc: Soc) -> int:
    """Elements of a row that are moved at a time."""
    most = soc.buffers["ub"] // 4 // shape.dtype.bytes // BLOCK * BLOCK
    if not most:
        raise NoKernel("a piece of a row does not fit the unified buffer")
    return even_tile(shape.row, most, BLOCK) if shape.row > most else shape.row


_Body = Callable[["IndexedRows", Expr, int, Expr, int], None]
"""Writes (first batch entry, entries, first row, rows)."""


def _build(name: str, shape: GatherShape, soc: Soc, body: _Body) -> KernelOp:
    """Deals the batch or the rows to the cores, whichever gives the smaller largest share, in whole blocks of memory."""
    count = shape.batch * shape.rows * shape.row * shape.dtype.bytes
    cores = min(soc.vector_cores, max(cores_for(count, soc), shape.rows if shape.row > 1 else 1))
    row_bytes = shape.row * shape.dtype.bytes
    by_batch = CoreSplit.of(shape.batch, BLOCK // gcd(BLOCK, shape.rows * row_bytes), cores)
    by_rows = CoreSplit.of(shape.rows, BLOCK // gcd(BLOCK, row_bytes), cores)
    whole = shape.batch == 1 or not shape.rows * row_bytes % BLOCK
    deal_rows = whole and by_rows.step / shape.rows < by_batch.step / shape.batch
    split = by_rows if deal_rows else by_batch
    indices = (shape.batch if shape.batched else 1) * shape.rows * shape.coordinates
    args = [
        Arg("x", (shape.batch, shape.entries), shape.dtype, "r"),
        Arg("indices", (indices,), shape.index_dtype, "r"),
        Arg("y", (shape.batch, shape.rows, shape.row), shape.dtype, "w"),
    ]
    kb = KernelBuilder(name, args, split.block_dim)
    for start, size in split.bodies(kb):
        writer = IndexedRows(kb, shape)
        if deal_rows:
            body(writer, Expr(), shape.batch, start, size)
        else:
            body(writer, start, size, Expr(), shape.rows)
    return kb.kernel


@dataclass
class IndexedRows:
    """Writes the body of a core."""

    kb: KernelBuilder
    shape: GatherShape

    def indices(self, batch: Expr, start: Expr, count: int) -> SSAValue:
        """The indices of `count` rows in UB; of int64 the low words, which hold every place of an axis."""
        kb, shape = self.kb, self.shape
        each = shape.coordinates
        at = (batch * shape.rows + start if shape.batched else start) * each
        loaded = kb.alloc("indices_ub", Space.UB, (count * each,), DType.I32)
        source = kb.view(kb.args[1], at, (count * each,), (1,))
        kb.copy(kb.view(loaded), kb.words(source)[0] if shape.index_dtype is DType.I64 else source)
        return kb.view(loaded)

    def copy_rows(self, tile: int, piece: int, batch: Expr, batches: int, first: Expr, rows: int) -> None:
        """Row by row; a long row in pieces."""
        kb, shape = self.kb, self.shape
        x, _, y = kb.args
        with kb.loop(batches, "b") as b:
            entry = batch + b
            for t, count in kb.tiles(rows, tile, "t"):
                indices = self.indices(entry, first + t, count)
                for column, width in kb.tiles(shape.row, piece, "c"):
                    out = kb.alloc(
                        "rows_ub", Space.UB, (count, round_up(width, BLOCK // shape.dtype.bytes)), shape.dtype
                    )
                    with kb.loop(count, "r") as r:
                        source = entry * shape.entries + column + self.place(indices, r)
                        target = kb.view(out, r * out.shape[1], (width,), (1,))
                        kb.copy(target, kb.view(x, source, (width,), (1,)))
                    target = (entry * shape.rows + first + t) * shape.row + column
                    stored = kb.view(y, target, (count, width), (shape.row, 1))
                    kb.copy(stored, kb.view(out, 0, (count, width), out.strides))

    def place(self, indices: SSAValue, row: Expr) -> Expr:
        """Where the row begins that its coordinates name: a register each."""
        shape, total = self.shape, Expr()
        for axis, (extent, stride) in enumerate(zip(shape.extents, shape.strides, strict=True)):
            buffer = self.kb.buffer_of(indices, (1,))
            one = self.kb.view(buffer, row * shape.coordinates + axis, (1,), (1,))
            total = total + self.kb.load_scalar(one, extent) * stride
        return total

    def look_up(self, tile: int, batch: Expr, batches: int, first: Expr, rows: int) -> None:
        """Elements of an axis that stands in UB as a whole."""
        kb, shape = self.kb, self.shape
        x, _, y = kb.args
        with kb.loop(batches, "b") as b:
            entry = batch + b
            table = kb.alloc("table", Space.UB, (shape.entries,), shape.dtype)
            kb.copy(kb.view(table), kb.view(x, entry * shape.entries, (shape.entries,), (1,)))
            for t, count in kb.tiles(rows, tile, "t"):
                indices = self.indices(entry, first + t, count)
                places = self.from_the_front(indices, count)
                out = kb.alloc("elements_ub", Space.UB, (count,), shape.dtype)
                kb.vec("gather", kb.view(out), kb.view(table), places)
                kb.copy(kb.view(y, entry * shape.rows + first + t, (count,), (1,)), kb.view(out))

    def from_the_front(self, indices: SSAValue, count: int) -> SSAValue:
        """Negative indices count from the end: minus the extent times max(min(i, 0), -1) is added."""
        kb = self.kb
        behind = kb.view(kb.alloc("places", Space.UB, (count,), DType.I32))
        kb.vec("maxs", behind, indices, imm=-1.0)
        kb.vec("mins", behind, behind, imm=0.0)
        kb.vec("muls", behind, behind, imm=-float(self.shape.extents[0]))
        kb.vec("add", behind, behind, indices)
        return behind
