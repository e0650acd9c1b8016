"""The columns of heads rotated by the place of each row, in FRACTAL_NZ or row by row, normalised before if asked.

    for each tile of rows:            cos, sin GM -> UB, once for all matrices
      for each matrix of the batch:   x GM -> UB, four products, two sums, UB -> GM

Halves of the columns are whole blocks, or parts of each row. Every product and sum is rounded, as the operators would
apart, but of bf16 only the result; the norm of a row is computed in fp32 and rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.row_reduction import RowReduction, combine_slabs
from graph_engine.lowering.kernels.vector_steps import computed
from graph_engine.lowering.kernels.vector_tiling import BLOCK, CoreSplit, even_tile
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

BUFFERS, WIDE_BUFFERS = 5, 3
"""Tiles of all columns in UB at a time, at most: x, cos, sin, the result, products of a half; and, in fp32, those of a
norm: x, its squares, what halves them."""


@dataclass(frozen=True)
class Norm:
    """x / sqrt(mean of a row's squares + epsilon) * scale; `rows` of the scale: one for all matrices or one each."""

    epsilon: float
    rows: int


@dataclass(frozen=True)
class RotaryShape:
    """Matrices; of each, stored blocks of columns, rows, columns of a block: an even number of blocks, or one."""

    matrices: int
    blocks: int
    rows: int
    width: int
    dtype: DType
    norm: Norm | None = None

    @property
    def columns(self) -> int:
        """Of a row."""
        return self.blocks * self.width

    @property
    def strides(self) -> tuple[int, int, int]:
        """From block to block, row to row, column to column, in elements."""
        return self.rows * self.width, self.width, 1


def build_rotary_mul(name: str, shape: RotaryShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are x, [scale], cos, sin, y, cos and sin of one matrix. Raises NoKernel for very long
    rows."""
    wide = WIDE_BUFFERS * shape.columns * DType.F32.bytes + BLOCK if shape.norm else 0
    scales = 2 * shape.columns * (shape.dtype.bytes + DType.F32.bytes) if shape.norm else 0
    each = shape.dtype.bytes + (DType.F32.bytes if computed(shape.dtype) is not shape.dtype else 0)
    room = (soc.buffers["ub"] - scales) // (2 * (BUFFERS * shape.columns * each + wide))
    if room < 1:
        raise NoKernel(f"a row of {shape.columns} columns does not fit the unified buffer")
    matrix = (shape.blocks, shape.rows, shape.width)
    counts = {"x": shape.matrices, "cos": 1, "sin": 1, "y": shape.matrices}
    args = [Arg(n, (count, *matrix), shape.dtype, "w" if n == "y" else "r") for n, count in counts.items()]
    if shape.norm:
        args.insert(1, Arg("scale", (shape.norm.rows, shape.columns), shape.dtype, "r"))
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
            _rotate(kb, shape, matrices, at + rows[0], count, soc)
    return kb.kernel


def _rotate(kb: KernelBuilder, shape: RotaryShape, matrices: tuple[Expr, int], row: Expr, count: int, soc: Soc) -> None:
    """`count` rows of (start, count) of matrices."""
    tile, first = (shape.blocks, count, shape.width), row * shape.width

    compute = computed(shape.dtype)

    def load(slot: str, source: Buf, offset: Expr) -> Buf:
        buf = kb.alloc(slot, Space.UB, tile, shape.dtype)
        kb.copy(kb.view(buf), kb.view(source, offset, tile, shape.strides))
        return as_type(buf, f"{slot}_wide", compute)

    def as_type(buf: Buf, slot: str, dtype: DType) -> Buf:
        if dtype is buf.dtype:
            return buf
        other = kb.alloc(slot, Space.UB, tile, dtype)
        kb.vec("conv", kb.view(other), kb.view(buf))
        return other

    def half(buf: Buf, number: int) -> SSAValue:
        """The left (0) or right (1) half of the columns."""
        if shape.blocks > 1:
            extent = shape.blocks // 2
            return kb.view(buf, number * extent * count * shape.width, (extent, *tile[1:]), buf.strides)
        extent = shape.width // 2
        return kb.view(buf, number * extent, (1, count, extent), buf.strides)

    cos, sin = load("cos", kb.args[-3], first), load("sin", kb.args[-2], first)
    with kb.loop(matrices[1], "batch") as matrix:
        offset = (matrix + matrices[0]) * (shape.blocks * shape.strides[0]) + first
        x = load("x", kb.args[0], offset)
        if shape.norm:
            _normalise(kb, shape, shape.norm, x, matrix + matrices[0], soc)
        y = kb.alloc("y" if compute is shape.dtype else "y_wide", Space.UB, tile, compute)
        kb.vec("mul", kb.view(y), kb.view(x), kb.view(cos))
        turned = kb.alloc("turned", Space.UB, tile, compute)
        for here, sign in ((0, "sub"), (1, "add")):
            kb.vec("mul", half(turned, here), half(x, 1 - here), half(sin, here))
            kb.vec(sign, half(y, here), half(y, here), half(turned, here))
        kb.copy(kb.view(kb.args[-1], offset, tile, shape.strides), kb.view(as_type(y, "y", shape.dtype)))


def _normalise(kb: KernelBuilder, shape: RotaryShape, norm: Norm, x: Buf, matrix: Expr, soc: Soc) -> None:
    """Puts the norm of each row of a tile, (blocks, rows, columns of a block), in the place of the row."""
    wide = x
    if x.dtype is not DType.F32:
        wide = kb.alloc("wide", Space.UB, x.shape, DType.F32)
        kb.vec("conv", kb.view(wide), kb.view(x))
    squares = kb.alloc("squares", Space.UB, x.shape, DType.F32)
    kb.vec("mul", kb.view(squares), kb.view(wide), kb.view(wide))
    rows = kb.alloc("norm", Space.UB, (x.shape[1], 1), DType.F32)
    if shape.blocks > 1:
        slab = combine_slabs(kb, "cadd", kb.view(squares), squares.shape, squares.strides)
        kb.vec("cadd", kb.view(rows), kb.restride(slab, squares.shape[1:], (shape.width, 1)))
    else:
        flat = kb.buffer_of(kb.view(squares), squares.shape[1:])
        RowReduction.on(soc).emit(kb, "cadd", kb.view(rows), flat, shape.width)
    kb.vec("muls", kb.view(rows), kb.view(rows), imm=1 / shape.columns)
    kb.vec("adds", kb.view(rows), kb.view(rows), imm=norm.epsilon)
    kb.vec("sqrt", kb.view(rows), kb.view(rows))
    kb.vec("rec", kb.view(rows), kb.view(rows))
    kb.vec("mul", kb.view(wide), kb.view(wide), kb.view(rows, 0, x.shape, (0, 1, 0)))
    scale = kb.alloc("scale", Space.UB, (shape.columns,), shape.dtype)
    which = matrix * shape.columns if norm.rows > 1 else Expr()
    kb.copy(kb.view(scale), kb.view(kb.args[1], which, scale.shape, (1,)))
    if shape.dtype is not DType.F32:
        narrow, scale = scale, kb.alloc("wide_scale", Space.UB, scale.shape, DType.F32)
        kb.vec("conv", kb.view(scale), kb.view(narrow))
    kb.vec("mul", kb.view(wide), kb.view(wide), kb.view(scale, 0, x.shape, (shape.width, 0, 1)))
    if wide is not x:
        kb.vec("conv", kb.view(x), kb.view(wide))
