"""Attention of windows that lie in matrices of whole maps: a window's rows come and go in pieces of a row of the map.

    for each row of windows of a core, for each window in it, for each head:
      h rows of w pixels of q, k, v GM -> L1        rolled by the shift: the last windows wrap around
      attention, all keys at once                   `attention.py`
      h rows of w pixels UB -> GM

In FRACTAL_NZ the pixels of a row lie one behind the other in each block of columns, 32 bytes each, so that windows begin
at whole data blocks wherever they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.attention import AttentionWriter, KeyTile, Strip, side_args
from graph_engine.lowering.kernels.attention_tiling import AttentionShape, AttentionTiling, choose_attention_tiling
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.matmul import FRACTAL_ELEMENTS
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.vector_tiling import CoreSplit, ceil_div
from graph_engine.target_ascend.isa.model import Space
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True)
class WindowAttentionShape:
    """The attention of one window and head, batch axes (maps, rows of windows, windows in a row, heads); the windows as in
    `ge.window_partition`; of q, k and v the first head and the heads stored in all."""

    inner: AttentionShape
    grid: tuple[int, int, int]
    window: tuple[int, int]
    shift: tuple[int, int]
    heads: tuple[tuple[int, int], ...]

    @property
    def row_blocks(self) -> int:
        """Blocks of 16 rows of the matrices of whole maps."""
        return ceil_div(prod(self.grid), 16)

    def pieces(self, at: list[Expr], wraps: tuple[bool, bool]) -> Iterator[tuple[int, tuple[int, int], Expr]]:
        """(first row in the window, rows and columns of pixels, first row of the matrix) of a window's boxes.

        `at`: map, row of windows, window in it; `wraps`: whether it is the last of each of these two axes.
        """
        _, height, width = self.grid
        spans: list[list[tuple[int, int, Expr]]] = []
        for number, wrapped, size, shift in zip(at[1:3], wraps, self.window, self.shift, strict=True):
            here = number * size + shift
            if wrapped and shift:
                spans.append([(0, size - shift, here), (size - shift, shift, Expr())])
            else:
                spans.append([(0, size, here)])
        for r, rows, row in spans[0]:
            for c, columns, column in spans[1]:
                yield r * self.window[1] + c, (rows, columns), (at[0] * height + row) * width + column


def build_window_attention(name: str, shape: WindowAttentionShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are those of `build_attention`, q, k, v and the result matrices of whole maps."""
    inner = shape.inner
    tiling = choose_attention_tiling(inner, soc)
    if tiling.nt < inner.n1 or tiling.mt < tiling.m_share:
        raise NoKernel("the scores of a window do not fit the unified buffer")
    widths = (inner.d1, inner.d1, inner.e1)
    args = [
        Arg(n, (1, stored * width, shape.row_blocks, 16, 16), inner.dtype, "r")
        for n, (_, stored), width in zip("qkv", shape.heads, widths, strict=True)
    ]
    args += side_args(inner)
    args.append(Arg("y", (1, inner.batch[-1] * inner.e1, shape.row_blocks, 16, 16), inner.dtype, "w"))
    _, rows, _, heads = inner.batch
    # Rows of windows have bodies of their own, since the last one wraps; heads are dealt by the block index.
    cores = min(
        range(1, min(rows, soc.cores.aic) + 1),
        key=lambda n: ceil_div(rows, n) * ceil_div(heads, min(heads, soc.cores.aic // n)),
    )
    by_row, by_head = CoreSplit.of(rows, 1, cores), CoreSplit.of(heads, 1, soc.cores.aic // cores)
    kb = KernelBuilder(name, args, by_row.block_dim * by_head.block_dim)
    writer = _WindowWriter(kb, inner, AttentionTiling(1, inner.m1, inner.m1, inner.n1), soc.has("fixpipe"), shape)
    shares, wraps = list(by_row.shares()), bool(shape.shift[0])
    alike = [] if by_head.block_dim > 1 else shares[: len(shares) - wraps]
    if alike:  # the block index deals rows where one core has all heads
        for start, size in CoreSplit(sum(size for _, size in alike), by_row.step).bodies(kb):
            writer.windows((start, size), False, (Expr(), heads))
    for number, (at, count) in enumerate(shares[len(alike) :], len(alike)):
        for start, size in by_head.bodies(kb, number * by_head.block_dim):
            writer.windows((Expr(at), count), wraps and at + count == rows, (start, size))
    return kb.kernel


@dataclass
class _WindowWriter(AttentionWriter):
    """Writes what one core does."""

    whole: WindowAttentionShape

    def windows(self, rows: tuple[Expr, int], wraps: bool, heads: tuple[Expr, int]) -> None:
        """(start, count) of rows of windows and of heads, of all maps; `wraps`: the last of the rows is the map's."""
        kb, (maps, _, columns, _) = self.kb, self.shape.batch
        self.begin()
        with kb.loop(maps, "map") as at:
            for i, count, last_row in _but_last(rows, wraps):
                with kb.loop(count, "i") as row:
                    for j, beside, last_column in _but_last((Expr(), columns), bool(self.whole.shift[1])):
                        self.wraps = last_row, last_column
                        with kb.loop(beside, "j") as column, kb.loop(heads[1], "head") as head:
                            self.tile(self.strip([at, row + i, column + j, head + heads[0]]))

    def strip(self, batch: list[Expr]) -> Strip:
        """All rows of a window."""
        return Strip(batch, Expr(), self.shape.m1, self.shape.m1 * 16)

    def boxes(self, batch: list[Expr]) -> Iterator[tuple[int, tuple[int, int], Expr]]:
        return self.whole.pieces(batch[:3], self.wraps)

    def into(self, buf: Buf, number: int, batch: list[Expr], columns: int) -> None:
        """A window's rows of q (0), k (1) or v (2) to L1, (columns, blocks of rows, 16, 16)."""
        kb, width = self.kb, self.whole.window[1]
        block = (batch[3] + self.whole.heads[number][0]) * columns
        for at, box, row in self.boxes(batch):
            here = kb.view(buf, at * 16, (columns, *box, 16), (buf.shape[1] * FRACTAL_ELEMENTS, width * 16, 16, 1))
            kb.copy(here, self.there(kb.args[number], block, row, (columns, *box)))

    def there(self, source: Buf, block: Expr, row: Expr, box: tuple[int, int, int]) -> SSAValue:
        """Rows of pixels of some blocks of columns, from `block` on, in a matrix of whole maps."""
        pitch = self.whole.row_blocks * FRACTAL_ELEMENTS
        return self.kb.view(source, block * pitch + row * 16, (*box, 16), (pitch, self.whole.grid[2] * 16, 16, 1))

    def queries(self, strip: Strip) -> Buf:
        buf = self.kb.alloc("q_l1", Space.L1, (self.shape.d1, strip.blocks, 16, 16), self.shape.dtype)
        self.into(buf, 0, strip.batch, self.shape.d1)
        return buf

    def rows_of(self, slot: str, number: int, strip: Strip, keys: KeyTile) -> Buf:
        kb, rest, columns = self.kb, self.shape.rest, self.shape.d1 if number == 1 else self.shape.e1
        buf = kb.alloc(slot, Space.L1, (columns, keys.blocks, 16, 16), self.shape.dtype)
        self.into(buf, number, strip.batch, columns)
        if keys.ragged:
            box = (columns, 16 - rest, 16)
            behind = kb.view(buf, self.shape.keys * 16, box, (keys.blocks * FRACTAL_ELEMENTS, 16, 1))
            kb.copy(behind, kb.view(self.zeros, 0, box))
        return buf

    def write(self, strip: Strip, out: Buf) -> None:
        kb, batch, (e1, rows, _), width = self.kb, strip.batch, out.shape, self.whole.window[1]
        for at, box, row in self.boxes(batch):
            here = kb.view(out, at * 16, (e1, *box, 16), (rows * 16, width * 16, 16, 1))
            kb.copy(self.there(kb.args[-1], batch[3] * e1, row, (e1, *box)), here)


def _but_last(span: tuple[Expr, int], wraps: bool) -> Iterator[tuple[Expr, int, bool]]:
    """(start, count, whether they wrap) of the neighbours of a span that are alike: its last one may wrap."""
    start, count = span
    if count > wraps:
        yield start, count - wraps, False
    if wraps:
        yield start + (count - 1), 1, True
