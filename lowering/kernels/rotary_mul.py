"""The columns of heads rotated by the place of each row, in FRACTAL_NZ or row by row.

    for each tile of rows:            cos, sin GM -> UB, once for all matrices
      for each matrix of the batch:   x GM -> UB, four products, two sums, UB -> GM

Halves of the columns are whole blocks, or parts of each row. Every product and sum is rounded, as the operators would
apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.memory import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.vector_tiling import CoreSplit, even_tile
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

BUFFERS = 5
"""Tiles of all columns in UB at a time, at most: x, cos, sin, the result, products of a half."""


@dataclass(frozen=True)
class RotaryShape:
    """Matrices; of each, stored blocks of columns, rows, columns of a block: an even number of blocks, or one."""

    matrices: int
    blocks: int
    rows: int
    width: int
    dtype: DType

    @property
    def strides(self) -> tuple[int, int, int]:
        """From block to block, row to row, column to column, in elements."""
        return self.rows * self.width, self.width, 1


def build_rotary_mul(name: str, shape: RotaryShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are x, cos, sin, y, the middle two of one matrix. Raises NoKernel for very long rows."""
    room = soc.buffers["ub"] // (2 * BUFFERS * shape.blocks * shape.width * shape.dtype.bytes)
    if not room:
        raise NoKernel(f"a row of {shape.blocks * shape.width} columns does not fit the unified buffer")
    matrix = (shape.blocks, shape.rows, shape.width)
    counts = {"x": shape.matrices, "cos": 1, "sin": 1, "y": shape.matrices}
    args = [Arg(n, (count, *matrix), shape.dtype, "w" if n == "y" else "r") for n, count in counts.items()]
    # Either matrices or rows are dealt to the cores, whichever leaves the busiest one less.
    cores, granule = soc.vector_cores, min(16, shape.rows)
    by_matrix, by_rows = CoreSplit.of(shape.matrices, 1, cores), CoreSplit.of(shape.rows, granule, cores)
    matrices_first = by_matrix.step * shape.rows <= by_rows.step * shape.matrices
    split = by_matrix if matrices_first else by_rows
    kb = KernelBuilder(name, args, split.block_dim)
    for share in split.bodies(kb):
        matrices, rows = (share, (Expr(), shape.rows)) if matrices_first else ((Expr(), shape.matrices), share)
        tile = even_tile(rows[1], min(room, rows[1]), granule)
        for at, count in kb.tiles(rows[1], tile, "m"):
            _rotate(kb, shape, matrices, at + rows[0], count)
    return kb.kernel


def _rotate(kb: KernelBuilder, shape: RotaryShape, matrices: tuple[Expr, int], row: Expr, count: int) -> None:
    """`count` rows of (start, count) of matrices."""
    tile, first = (shape.blocks, count, shape.width), row * shape.width

    def load(slot: str, source: Buf, offset: Expr) -> Buf:
        buf = kb.alloc(slot, Space.UB, tile, shape.dtype)
        kb.copy(kb.view(buf), kb.view(source, offset, tile, shape.strides))
        return buf

    def half(buf: Buf, number: int) -> SSAValue:
        """The left (0) or right (1) half of the columns."""
        if shape.blocks > 1:
            extent = shape.blocks // 2
            return kb.view(buf, number * extent * count * shape.width, (extent, *tile[1:]), buf.strides)
        extent = shape.width // 2
        return kb.view(buf, number * extent, (1, count, extent), buf.strides)

    cos, sin = load("cos", kb.args[1], first), load("sin", kb.args[2], first)
    with kb.loop(matrices[1], "batch") as matrix:
        offset = (matrix + matrices[0]) * (shape.blocks * shape.strides[0]) + first
        x = load("x", kb.args[0], offset)
        y = kb.alloc("y", Space.UB, tile, shape.dtype)
        kb.vec("mul", kb.view(y), kb.view(x), kb.view(cos))
        turned = kb.alloc("turned", Space.UB, tile, shape.dtype)
        for here, sign in ((0, "sub"), (1, "add")):
            kb.vec("mul", half(turned, here), half(x, 1 - here), half(sin, here))
            kb.vec(sign, half(y, here), half(y, here), half(turned, here))
        kb.copy(kb.view(kb.args[3], offset, tile, shape.strides), kb.view(y))
