"""Softmax over rows: several rows a tile, everything in fp32.

    for each tile of rows:   rows GM -> UB, to fp32
                             m = maximum of each row;  w = exp(w - m)
                             s = sum of each row;      w = w / s
                             to the result's type, UB -> GM

A row begins at a multiple of 32 bytes in UB.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.memory import KernelOp
from graph_engine.lowering.kernels.builder import Arg, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.reduction_tail import Tail
from graph_engine.lowering.kernels.vector_tiling import (
    BLOCK,
    CoreSplit,
    buffer_bytes,
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

    def tile_bytes(self, rows: int) -> int:
        """UB that a tile takes: two versions of what moves, one of the rest."""
        count, tail = rows * self.pitch, self.tail
        wide = buffer_bytes(count, DType.F32) if tail.dtype is not DType.F32 else 0
        moving = buffer_bytes(count, tail.dtype, 2) + buffer_bytes(count, tail.out_dtype, 2)
        return moving + wide + buffer_bytes(rows, DType.F32) + tail.bytes(count, DType.F32)


def build_softmax(name: str, shape: SoftmaxShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are operand and result. Raises `NoKernel` if not one row fits UB."""
    tail, full = shape.tail, (shape.rows, shape.length)
    rows = largest(shape.rows, lambda n: shape.tile_bytes(n) <= soc.buffers["ub"])
    if not rows:
        raise NoKernel(f"a softmax row of {shape.length} elements does not fit the unified buffer")
    row_bytes = shape.length * tail.out_dtype.bytes
    cores = max(1, min(soc.cores.aic, shape.rows * row_bytes // soc.ddr.min_good_transfer_bytes))
    split = CoreSplit.of(shape.rows, BLOCK // gcd(BLOCK, row_bytes), cores)
    rows = even_tile(split.step, min(rows, worthwhile_tile(split.step, row_bytes, soc)))
    kb = KernelBuilder(name, [Arg("x", full, tail.dtype, "r"), Arg("y", full, tail.out_dtype, "w")], split.block_dim)
    for start, size in split.bodies(kb):
        for row, count in kb.tiles(size, rows, "row"):
            _rows(kb, shape, start + row, count)
    return kb.kernel


def _rows(kb: KernelBuilder, shape: SoftmaxShape, start: Expr, rows: int) -> None:
    """Softmax of `rows` rows from `start`."""
    tail, pitch, sizes = shape.tail, shape.pitch, (rows, shape.length)

    def buffer(slot: str, dtype: DType) -> SSAValue:
        return kb.view(kb.alloc(slot, Space.UB, (rows, pitch), dtype), 0, sizes, (pitch, 1))

    x = buffer("x_ub", tail.dtype)
    kb.copy(x, kb.view(kb.args[0], start * shape.length, sizes))
    wide = x
    if tail.dtype is not DType.F32:
        wide = buffer("wide", DType.F32)
        kb.vec("conv", wide, x)
    statistic = kb.alloc("statistic", Space.UB, (rows, 1), DType.F32)
    each_row = kb.view(statistic, 0, sizes, (1, 0))
    kb.vec("cmax", kb.view(statistic), wide)
    kb.vec("sub", wide, wide, each_row)
    kb.vec("exp", wide, wide)
    kb.vec("cadd", kb.view(statistic), wide)
    y = buffer("y_ub", tail.out_dtype)
    direct = tail.plain and tail.out_dtype is DType.F32
    kb.vec("div", y if direct else wide, wide, each_row)
    if not direct:
        tail.emit(kb, wide, DType.F32, y, buffer)
    kb.copy(kb.view(kb.args[-1], start * shape.length, sizes), y)
