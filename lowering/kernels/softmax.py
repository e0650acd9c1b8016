"""Softmax over rows: several rows a tile, everything in fp32.

    for each tile of rows:   rows GM -> UB, to fp32
                             m = maximum of each row;  w = exp(w - m)
                             s = 1 / sum of each row;  w = w * s
                             to the result's type, UB -> GM

A row begins at a multiple of 32 bytes in UB.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.memory import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.reduction_tail import Tail
from graph_engine.lowering.kernels.row_reduction import RowReduction
from graph_engine.lowering.kernels.vector_tiling import (
    BLOCK,
    CoreSplit,
    buffer_bytes,
    cores_for,
    even_tile,
    largest,
    round_up,
    worthwhile_tile,
)
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True)
class SoftmaxShape:
    """`rows` contiguous rows of `length` elements; the operand's type is the tail's `dtype`."""

    rows: int
    length: int
    tail: Tail

    @property
    def pitch(self) -> int:
        """Elements from row to row in UB."""
        return round_up(self.length, BLOCK // 2)

    def tile_bytes(self, rows: int, reduction: RowReduction) -> int:
        """UB that a tile takes: two versions of what moves, one of the rest."""
        count, tail = rows * self.pitch, self.tail
        wide = buffer_bytes(count, DType.F32) if tail.dtype is not DType.F32 else 0
        moving = buffer_bytes(count, tail.dtype, 2) + buffer_bytes(count, tail.out_dtype, 2)
        halves = buffer_bytes(rows * reduction.pitch(self.length), DType.F32)
        return moving + wide + halves + buffer_bytes(rows, DType.F32) + tail.bytes(count, DType.F32)


def build_softmax(name: str, shape: SoftmaxShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are operand and result. Raises `NoKernel` if not one row fits UB."""
    tail, full, reduction = shape.tail, (shape.rows, shape.length), RowReduction.on(soc)
    rows = largest(shape.rows, lambda n: shape.tile_bytes(n, reduction) <= soc.buffers["ub"])
    if not rows:
        raise NoKernel(f"a softmax row of {shape.length} elements does not fit the unified buffer")
    row_bytes = shape.length * tail.out_dtype.bytes
    split = CoreSplit.of(shape.rows, BLOCK // gcd(BLOCK, row_bytes), cores_for(shape.rows * row_bytes, soc))
    rows = even_tile(split.step, min(rows, worthwhile_tile(split.step, row_bytes, soc)))
    kb = KernelBuilder(name, [Arg("x", full, tail.dtype, "r"), Arg("y", full, tail.out_dtype, "w")], split.block_dim)
    for start, size in split.bodies(kb):
        for row, count in kb.tiles(size, rows, "row"):
            _rows(kb, shape, reduction, start + row, count)
    return kb.kernel


def _rows(kb: KernelBuilder, shape: SoftmaxShape, reduction: RowReduction, start: Expr, rows: int) -> None:
    """Softmax of `rows` rows from `start`."""
    tail, pitch, sizes = shape.tail, shape.pitch, (rows, shape.length)

    def window(buf: Buf) -> SSAValue:
        return kb.view(buf, 0, sizes, (pitch, 1))

    def buffer(slot: str, dtype: DType) -> Buf:
        return kb.alloc(slot, Space.UB, (rows, pitch), dtype)

    x = wide = buffer("x_ub", tail.dtype)
    kb.copy(window(x), kb.view(kb.args[0], start * shape.length, sizes))
    if tail.dtype is not DType.F32:
        wide = buffer("wide", DType.F32)
        kb.vec("conv", window(wide), window(x))
    values = window(wide)
    statistic = kb.alloc("statistic", Space.UB, (rows, 1), DType.F32)
    each_row, column = kb.view(statistic, 0, sizes, (1, 0)), kb.view(statistic)
    reduction.emit(kb, "cmax", column, wide, shape.length)
    kb.vec("sub", values, values, each_row)
    kb.vec("exp", values, values)
    reduction.emit(kb, "cadd", column, wide, shape.length)
    kb.vec("rec", column, column)
    y = window(buffer("y_ub", tail.out_dtype))
    direct = tail.plain and tail.out_dtype is DType.F32
    kb.vec("mul", y if direct else values, values, each_row)
    if not direct:
        tail.emit(kb, values, DType.F32, y, lambda slot, dtype: window(buffer(slot, dtype)))
    kb.copy(kb.view(kb.args[-1], start * shape.length, sizes), y)
