"""Matrix product of operands that are stored row by row: loads cut them into fractals, FixPipe writes rows.

    for each matrix of the batch, for each tile of rows, for each tile of columns:
      for each chunk of K:                  left and right GM -> L1 as FRACTAL_NZ (ND2NZ), zeros behind the last of K
        for each tile of K in the chunk:    load2d to L0A and L0B, mmad into L0C
      L0C -> GM by FixPipe, row by row (NZ2ND), with bias and ReLU on the way

A right side that is a constant is stored as FRACTAL_NZ when it is compiled, and comes as it lies: whole lines of device memory.

Only chips whose results leave by FixPipe have it. What else follows is done by the Vector cores of a team, half of the rows
of a tile each, behind a ring of tiles in global memory. All sizes are in elements, since the
last block of each dimension may be torn: what is not there is neither read nor written. Zeros come from an argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.epilogue import Epilogue, Finishing
from graph_engine.lowering.kernels.fixpipe import FixpipeEpilogue, leaving
from graph_engine.lowering.kernels.matmul import LEFT, RIGHT, MatmulShape, MatmulTiling, Side, choose_matmul_tiling
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.vector_tiling import CoreSplit, ceil_div
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

BLOCK = 16
FRACTAL = BLOCK * BLOCK

Span = tuple[Expr, int]
"""First element and number of elements of an axis."""


@dataclass(frozen=True)
class Rows:
    """Matrices in a tensor of `extent` elements: rows `pitch` apart, matrices `steps[i]` apart along batch axis i, from
    `start` on."""

    steps: tuple[int, ...]
    pitch: int
    extent: int
    start: int = 0

    def at(self, batch: Sequence[Expr], row: Expr, column: Expr) -> Expr:
        """The number of an element."""
        at = row * self.pitch + column + self.start
        for index, step in zip(batch, self.steps, strict=True):
            at = at + index * step
        return at


@dataclass(frozen=True)
class PlainSide:
    """An operand. `k_rows`: K runs along the rows of the stored matrix, and fractals are transposed on the way to L0."""

    rows: Rows
    k_rows: bool

    @property
    def extent(self) -> int:
        """Elements of the tensor."""
        return self.rows.extent

    def in_blocks(self) -> Side:
        """As the Cube sees it."""
        return Side(self.rows.steps, self.k_rows, plain=True)

    def parts_of_k(self, k: int) -> PlainSide:
        """The same as a batch of matrices, `k` elements of K each."""
        return replace(self, rows=replace(self.rows, steps=(k * (self.rows.pitch if self.k_rows else 1),)))

    def load(
        self, kb: KernelBuilder, slot: str, source: Buf, zeros: Buf, batch: Sequence[Expr], k: Span, x: Span,
        *, whole: bool = False,
    ) -> Buf:  # fmt: skip
        """Elements `k` by `x` of one matrix into L1 as fractals, columns of them outermost; `zeros` behind the last of K,
        and behind that of the other axis where blocks must be `whole`."""
        (row_at, rows), (column_at, columns) = (k, x) if self.k_rows else (x, k)
        at, c0 = self.rows.at(batch, row_at, column_at), 32 // source.dtype.bytes
        fractals = ceil_div(columns, BLOCK) * BLOCK // c0
        buf = kb.alloc(slot, Space.L1, (fractals, ceil_div(rows, BLOCK), BLOCK, c0), source.dtype)
        column, torn_rows, torn = buf.strides[0], rows % BLOCK, fractals - columns // c0
        behind: list[tuple[int, tuple[int, int, int]]] = []
        if torn and (whole or not self.k_rows):  # all of the columns of fractals of which a part is there, or none
            behind.append((columns // c0 * column, (torn, rows, c0)))
        if torn_rows and (whole or self.k_rows):
            behind.append((rows * c0, (fractals, BLOCK - torn_rows, c0)))
        for first, shape in behind:
            kb.copy(kb.view(buf, first, shape, (column, c0, 1)), kb.view(zeros, 0, shape, (0, 0, 1)))
        for first, shape in blocks_of(rows, columns, c0):
            target = kb.view(buf, first * column, shape, (c0, column, 1))
            kb.copy(target, kb.view(source, at + first * c0, shape, (self.rows.pitch, c0, 1)))
        return buf


@dataclass(frozen=True)
class FractalSide:
    """A constant operand, one matrix in FRACTAL_NZ, (columns / `c0`, rows / 16, 16, `c0`), with zeros behind its last row and column.

    `rows`, `columns`: elements with those zeros, whole blocks of 16. `k_rows`: K runs along the rows of the stored matrix.
    `steps`: elements from part to part of K where cores share it.
    """

    rows: int
    columns: int
    c0: int
    k_rows: bool
    steps: tuple[int, ...]

    @property
    def extent(self) -> int:
        """Elements of the tensor."""
        return self.rows * self.columns

    def in_blocks(self) -> Side:
        """As the Cube sees it."""
        return Side(self.steps, self.k_rows)

    def parts_of_k(self, k: int) -> FractalSide:
        """The same as a batch of matrices, `k` elements of K each."""
        return replace(self, steps=(k * (self.c0 if self.k_rows else self.rows),))

    def load(
        self, kb: KernelBuilder, slot: str, source: Buf, zeros: Buf, batch: Sequence[Expr], k: Span, x: Span
    ) -> Buf:
        """Elements `k` by `x` into L1, whole fractals in the order of memory; each span begins with a block of 16."""
        (row_at, rows), (column_at, columns) = (k, x) if self.k_rows else (x, k)
        fractals, fractal = ceil_div(columns, BLOCK) * BLOCK // self.c0, BLOCK * self.c0
        at = column_at * self.rows + row_at * self.c0
        for index, step in zip(batch, self.steps, strict=True):
            at = at + index * step
        buf = kb.alloc(slot, Space.L1, (fractals, ceil_div(rows, BLOCK), BLOCK, self.c0), source.dtype)
        kb.copy(kb.view(buf), kb.view(source, at, buf.shape, (self.rows * self.c0, fractal, self.c0, 1)))
        return buf


def blocks_of(rows: int, columns: int, block: int = BLOCK) -> list[tuple[int, tuple[int, int, int]]]:
    """(first block, shape) of the whole blocks of columns of a matrix, and of the torn one."""
    whole, rest = divmod(columns, block)
    parts = [(0, (rows, whole, block)), (whole, (rows, 1, rest))]
    return [part for part in parts if 0 not in part[1]]


@dataclass(frozen=True)
class PlainProduct:
    """Elements of each dimension, and where operands, of type `multiplied`, and the result lie, which is of `dtype`."""

    m: int
    k: int
    n: int
    batch: tuple[int, ...]
    left: PlainSide
    right: PlainSide | FractalSide
    result: Rows
    dtype: DType
    bias: bool = False
    multiplied: DType = DType.F16

    @property
    def needs_zeros(self) -> bool:
        """Whether K ends within a block."""
        return self.k % BLOCK != 0

    def in_blocks(self) -> MatmulShape:
        """The same product as one of whole fractals."""
        m1, k1, n1 = (ceil_div(size, BLOCK) for size in (self.m, self.k, self.n))
        left, right = self.left.in_blocks(), self.right.in_blocks()
        return MatmulShape(m1, k1, n1, self.bias, self.batch, left, right, self.multiplied)


def build_plain_matmul(name: str, product: PlainProduct, epilogue: Epilogue, soc: Soc) -> KernelOp:
    """The kernel; its arguments are left, right, [zeros], [bias], the epilogue's inputs, result."""
    element = product.multiplied.mlir
    if not soc.supports_mmad(element, element, DType.F32.mlir):
        raise NoKernel(f"{soc.name} does not multiply {element} x {element} -> f32")
    way_out = leaving(epilogue, product.bias, soc)
    if not isinstance(way_out, FixpipeEpilogue) or not (way_out.direct or way_out.mixed):
        raise NoKernel("only FixPipe stores a product row by row")
    tiling = choose_matmul_tiling(product.in_blocks(), way_out, soc)
    args = [
        Arg("a", (product.left.extent,), product.multiplied, "r"),
        Arg("b", (product.right.extent,), product.multiplied, "r"),
    ]
    if product.needs_zeros:
        args.append(Arg("zeros", (BLOCK,), product.multiplied, "r"))
    if product.bias:
        args.append(Arg("bias", (ceil_div(product.n, BLOCK) * BLOCK,), DType.F32, "r"))
    extents = {"tile": product.result.extent, "channel": product.n, "scalar": 1}
    args += [Arg(f"side{i}", (extents[side.kind],), side.dtype, "r") for i, side in enumerate(epilogue.inputs)]
    args.append(Arg("y", (product.result.extent,), epilogue.out_dtype, "w"))
    matrices = CoreSplit(max(product.batch), tiling.b_share)
    rows, columns = CoreSplit(product.m, tiling.m_share * BLOCK), CoreSplit(product.n, tiling.n_share * BLOCK)
    kb = KernelBuilder(name, args, matrices.block_dim * rows.block_dim * columns.block_dim)
    writer = _Writer(kb, product, tiling, way_out)
    # One axis is dealt by the block index, the others by bodies of their own: the batch if it is shared out at all.
    dealt, others = (matrices, columns) if matrices.block_dim > 1 else (columns, matrices)
    for _ in kb.parts(mixed=way_out.mixed):
        first = 0
        for row_share in rows.shares():
            for at, count in others.shares():
                for span in dealt.bodies(kb, first):
                    other = Expr(at), count
                    writer.core(
                        *((span, other) if dealt is matrices else (other, span)), (Expr(row_share[0]), row_share[1])
                    )
                first += dealt.block_dim
    return kb.kernel


@dataclass
class _Writer:
    """Writes what one core does."""

    kb: KernelBuilder
    product: PlainProduct
    tiling: MatmulTiling
    epilogue: FixpipeEpilogue
    vectors: list[Buf] = field(default_factory=list[Buf])
    """Rows of side operands of the core that is being written."""

    def core(self, matrices: Span, columns: Span, rows: Span) -> None:
        """Some matrices along the longest batch axis, all of the other axes; some columns and rows of each."""
        kb, batch = self.kb, self.product.batch
        bias = kb.args[-2 - len(self.epilogue.inputs)] if self.product.bias else None
        rows_of_bias = None if bias is None else self.bias_rows(bias, columns)
        self.vectors = self.side_rows(columns)
        longest = batch.index(max(batch))

        def axis(at: list[Expr]) -> None:
            if len(at) == len(batch):
                self.matrix(at, rows, columns, rows_of_bias)
                return
            start, count = matrices if len(at) == longest else (Expr(), batch[len(at)])
            with kb.loop(count, "batch") as counter:
                axis([*at, start + counter])

        axis([])

    def bias_rows(self, bias: Buf, columns: Span) -> Buf:
        """The bias of some columns in L1."""
        rows = self.kb.alloc("bias_l1", Space.L1, (ceil_div(columns[1], BLOCK), BLOCK), bias.dtype)
        self.kb.copy(self.kb.view(rows), self.kb.view(bias, columns[0], rows.shape, rows.strides))
        return rows

    def side_rows(self, columns: Span) -> list[Buf]:
        """Side operands of one row or one number in UB."""
        kb, found = self.kb, list[Buf]()
        for i, (side, source) in enumerate(zip(self.epilogue.inputs, self.epilogue.sides(kb), strict=True)):
            if side.kind != "tile":
                at, count = columns if side.kind == "channel" else (Expr(), 1)
                ub = kb.alloc(f"side{i}", Space.UB, (ceil_div(count, BLOCK) * BLOCK,), source.dtype)
                kb.copy(kb.view(ub, 0, (count,)), kb.view(source, at, (count,)))
                found.append(ub)
        return found

    def matrix(self, batch: list[Expr], rows: Span, columns: Span, bias_rows: Buf | None) -> None:
        """One product: its tiles."""
        kb, tile, held, every = self.kb, self.tiling.tile, self.tiling.held, (Expr(), self.product.k)
        axes = (rows[1], tile.mt * BLOCK, "m"), (columns[1], tile.nt * BLOCK, "n")
        for outer_at, outer in kb.tiles(*axes[held == RIGHT]):
            panel = None
            if held == LEFT:
                panel = self.left(batch, every, (outer_at + rows[0], outer))
            elif held == RIGHT:
                panel = self.right(batch, every, (outer_at + columns[0], outer))
            for inner_at, inner in kb.tiles(*axes[held != RIGHT]):
                spans = (outer_at, outer), (inner_at, inner)
                (m_at, m), (n_at, n) = spans[::-1] if held == RIGHT else spans
                bias = None
                if bias_rows is not None:
                    bias = kb.alloc("bias_table", Space.BT, (ceil_div(n, BLOCK), BLOCK), bias_rows.dtype)
                    kb.copy(kb.view(bias), kb.view(bias_rows, n_at, bias.shape, bias.strides))
                span = (m_at + rows[0], m), (n_at + columns[0], n)
                l0c = self.sums(batch, *span, panel, bias)
                if self.epilogue.mixed:
                    self.finish(l0c, batch, *span, n_at)
                else:
                    self.store(l0c, batch, *span)

    def left(self, batch: list[Expr], k: Span, rows: Span) -> Buf:
        """Some of the left side in L1."""
        return self.product.left.load(self.kb, "a_l1", self.kb.args[0], self.kb.args[2], batch, k, rows)

    def right(self, batch: list[Expr], k: Span, columns: Span) -> Buf:
        """Some of the right side in L1."""
        return self.product.right.load(self.kb, "b_l1", self.kb.args[1], self.kb.args[2], batch, k, columns)

    def chunks(self) -> Iterator[tuple[Expr, int]]:
        """(first block, elements) of the chunks of K."""
        full, rest = divmod(self.product.k, self.tiling.kc * BLOCK)
        if full:
            with self.kb.loop(full, "kc") as i:
                yield i * self.tiling.kc, self.tiling.kc * BLOCK
        if rest:
            yield Expr(full * self.tiling.kc), rest

    def sums(self, batch: list[Expr], rows: Span, columns: Span, panel: Buf | None, bias: Buf | None) -> Buf:
        """The accumulator of one tile, K in chunks."""
        kb, product, held = self.kb, self.product, self.tiling.held
        shape = product.in_blocks()
        left, right = shape.left, shape.right
        mt, nt = ceil_div(rows[1], BLOCK), ceil_div(columns[1], BLOCK)
        l0c = kb.alloc("l0c", Space.L0C, (nt, mt, BLOCK, BLOCK), DType.F32)
        first = True
        for c_at, chunk in self.chunks():
            a = panel if held == LEFT else self.left(batch, (c_at * BLOCK, chunk), rows)
            b = panel if held == RIGHT else self.right(batch, (c_at * BLOCK, chunk), columns)
            assert a is not None and b is not None
            first_tile = first
            for k_at, kt in kb.tiles(ceil_div(chunk, BLOCK), self.tiling.tile.kt, "k"):
                l0a = kb.alloc("l0a", Space.L0A, shape.l0a(mt, kt), shape.dtype)
                left.to_l0(kb, l0a, a, c_at + k_at if held == LEFT else k_at, k_first=False)
                l0b = kb.alloc("l0b", Space.L0B, shape.l0b(kt, nt), shape.dtype)
                right.to_l0(kb, l0b, b, c_at + k_at if held == RIGHT else k_at, k_first=True)
                first_of = [c_at, k_at] if first_tile else None
                mkn = (mt * BLOCK, kt * BLOCK, nt * BLOCK)
                kb.mmad(kb.view(l0c), kb.view(l0a), kb.view(l0b), mkn, first_of, bias)
                first_tile = False
            first = False
        return l0c

    def finish(self, l0c: Buf, batch: list[Expr], rows: Span, columns: Span, first_column: Expr) -> None:
        """One tile of the result by the Vector cores, some columns at a time; `first_column` counts from the core's own."""
        kb, result, epilogue, tile = self.kb, self.product.result, self.epilogue, self.tiling.tile
        most = tile.mt * tile.nc * FRACTAL
        first, count = kb.own_share(rows[1])
        for at, width in kb.tiles(columns[1], tile.nc * BLOCK, "c"):
            buf = kb.exchange("sums", (rows[1], width), epilogue.acc_dtype, most)
            for block, (m, blocks, size) in blocks_of(rows[1], width):
                source = kb.view(
                    l0c, (at + block * BLOCK) * (l0c.strides[0] // BLOCK), (blocks, m, size), (l0c.strides[0], BLOCK, 1)
                )
                kb.fixpipe(kb.view(buf, block * BLOCK, (blocks, m, size), (BLOCK, width, 1)), source)
            if not count:
                continue
            pitch = ceil_div(width, BLOCK) * BLOCK
            place = result.at(batch, rows[0] + first, columns[0] + at)

            def channel_row(source: Buf, at: Expr = first_column + at, pitch: int = pitch) -> SSAValue:
                return kb.view(source, at, (count, pitch), (0, 1))

            def in_memory(source: Buf, place: Expr = place, width: int = width) -> SSAValue:
                return kb.view(source, place, (count, width), (result.pitch, 1))

            part = Finishing((count, pitch), (count, width), channel_row, in_memory)
            taken = kb.view(buf, first * width, (count, width), (width, 1))
            epilogue.finish(kb, part, [taken], self.vectors)

    def store(self, l0c: Buf, batch: list[Expr], rows: Span, columns: Span) -> None:
        """One tile of the result, by FixPipe."""
        kb, result = self.kb, self.product.result
        at = result.at(batch, rows[0], columns[0])
        column = l0c.strides[0]
        for first, (m, count, width) in blocks_of(rows[1], columns[1]):
            shape = (count, m, width)
            source = kb.view(l0c, first * column, shape, (column, BLOCK, 1))
            target = kb.view(kb.args[-1], at + first * BLOCK, shape, (BLOCK, result.pitch, 1))
            kb.fixpipe(target, source, *self.epilogue.activation)
