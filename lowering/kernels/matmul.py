"""Matrix product on the Cube: both sides stream through L1 in chunks of K, Vector epilogue.

    for each matrix of the batch, for each tile of rows, for each tile of columns:
      for each chunk of K:                  left and right GM -> L1
        for each tile of K in the chunk:    load2d to L0A and L0B, mmad into L0C
      for each chunk of columns:            L0C -> UB, bias, conversion, epilogue steps, UB -> GM

Left FRACTAL_NZ (k1, m1, 16 m, 16 k), right FRACTAL_Z (k1, n1, 16 n, 16 k), which is also FRACTAL_NZ of the transposed
matrix; result FRACTAL_NZ (n1, m1, 16 m, 16 n). A side stored with K along its rows, (x1, k1, 16 k, 16 x), comes by
other strides, and load2d transposes its fractals.

Several right sides of one shape make an accumulator each, side by side in one tile: the epilogue joins them (a gate and
what it lets through, `dialects/ge/gated.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.memory import KernelOp, row_major
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.cube_tiling import FRACTAL, CubeTile, cube_tile
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueTile
from graph_engine.lowering.kernels.fixpipe import leaving
from graph_engine.lowering.kernels.vector_tiling import CoreSplit
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

FRACTAL_ELEMENTS = 256

CHUNKS = 6
"""Of K, in which both sides come to L1."""


@dataclass(frozen=True)
class Side:
    """How an operand lies in memory.

    `steps[i]`: matrices from neighbour to neighbour along batch axis i, 0 where one matrix serves them all; the first
    one is number `start`.
    `k_rows`: K runs along the rows of the stored matrix, and fractals are transposed on the way to L0.
    """

    steps: tuple[int, ...] = (0,)
    k_rows: bool = False
    start: int = 0

    def matrices(self, batch: tuple[int, ...]) -> int:
        """How many matrices are stored, up to the last one that is read."""
        return self.start + 1 + sum(step * (count - 1) for step, count in zip(self.steps, batch, strict=True))

    def stored(self, x1: int, k1: int) -> tuple[int, int]:
        """Blocks of 16, outer and inner, of a matrix of `x1` blocks beside K."""
        return (x1, k1) if self.k_rows else (k1, x1)

    def load(
        self, kb: KernelBuilder, slot: str, sources: Sequence[Buf], batch: list[Expr], k: tuple[Expr, int],
        x: tuple[Expr, int],
    ) -> Buf:  # fmt: skip
        """Blocks `k` by `x` (start, count each) of one matrix of each source into L1, in the order of memory, those of
        all sources behind each other along `x`."""
        outer, inner = sources[0].shape[1:3]
        (outer_at, outer_count), (inner_at, inner_count) = (x, k) if self.k_rows else (k, x)
        at = outer_at * inner + inner_at + self.start * outer * inner
        for index, step in zip(batch, self.steps, strict=True):
            at = at + index * (step * outer * inner)
        each = (outer_count, inner_count, 16, 16)
        whole = (
            (outer_count, len(sources) * inner_count) if not self.k_rows else (len(sources) * outer_count, inner_count)
        )
        buf = kb.alloc(slot, Space.L1, (*whole, 16, 16), DType.F16)
        strides = (inner * FRACTAL_ELEMENTS, FRACTAL_ELEMENTS, 16, 1)
        step = outer_count * inner_count if self.k_rows else inner_count
        for number, source in enumerate(sources):
            part = kb.view(buf, number * step * FRACTAL_ELEMENTS, each, buf.strides)
            kb.copy(part, kb.view(source, at * FRACTAL_ELEMENTS, each, strides))
        return buf

    def to_l0(self, kb: KernelBuilder, l0: Buf, source: Buf, k_at: Expr, *, k_first: bool) -> None:
        """All blocks beside K, and those of K from `k_at` that fit, in the order (k, x) or (x, k)."""
        inner = source.shape[1] * FRACTAL_ELEMENTS
        k_stride, x_stride = (FRACTAL_ELEMENTS, inner) if self.k_rows else (inner, FRACTAL_ELEMENTS)
        strides = (k_stride, x_stride) if k_first else (x_stride, k_stride)
        kb.load2d(kb.view(l0), kb.view(source, k_at * k_stride, l0.shape, (*strides, 16, 1)), transpose=self.k_rows)


@dataclass(frozen=True)
class MatmulShape:
    """A product as the Cube sees it: blocks of 16 of each dimension, batch axes that neither side allows to join."""

    m1: int
    k1: int
    n1: int
    bias: bool = False
    batch: tuple[int, ...] = (1,)
    left: Side = Side()
    right: Side = Side()


@dataclass(frozen=True)
class MatmulTiling:
    """Shares of the cores (matrices along the longest batch axis, blocks of 16), tile, K blocks in L1 at a time."""

    b_share: int
    m_share: int
    n_share: int
    tile: CubeTile
    kc: int


def choose_matmul_tiling(shape: MatmulShape, epilogue: Epilogue, soc: Soc) -> MatmulTiling:
    """Shares with the least time of Cube or memory; of equal ones those that read weights once: columns first."""
    best: tuple[float, int, int, int] | None = None
    parts = epilogue.accumulators
    longest, rest = max(shape.batch), prod(shape.batch) // max(shape.batch)
    for b_cores in range(1, min(soc.cores.aic, longest) + 1):
        cores, matrices = soc.cores.aic // b_cores, -(-longest // b_cores) * rest
        for n_cores in range(1, min(cores, shape.n1) + 1):
            n_share = -(-shape.n1 // n_cores)
            m_share = -(-shape.m1 // max(1, min(shape.m1, cores // n_cores)))
            cube = matrices * m_share * parts * n_share * shape.k1
            bytes_moved = matrices * (m_share + parts * n_share) * shape.k1 * FRACTAL
            cycles = max(float(cube), bytes_moved / soc.path("gm", "l1", "ddr").bytes_per_cycle)
            if best is None or cycles < best[0]:
                best = cycles, -(-longest // b_cores), m_share, n_share
    assert best is not None
    _, b_share, m_share, n_share = best
    vectors = 64 * n_share * (parts * shape.bias + sum(side.kind == "channel" for side in epilogue.inputs))
    ub_fractal = -(-epilogue.fractal_bytes() // parts)
    wide = cube_tile(
        soc, m_share, parts * n_share, shape.k1, ub_fractal, vectors, parts * min(16 // parts, n_share), parts
    )
    tile = replace(wide, nt=wide.nt // parts, nc=wide.nc // parts)
    room = soc.buffers["l1"] // (2 * FRACTAL) // (tile.mt + parts * tile.nt)
    # Nothing hides the first chunk, so chunks are small; of less than a few tiles of K they would hide no better.
    wanted = -(-shape.k1 // CHUNKS)
    kc = max(tile.kt, min(wanted, room) // tile.kt * tile.kt)
    return MatmulTiling(b_share, m_share, n_share, tile, kc)


def build_matmul(name: str, shape: MatmulShape, epilogue: Epilogue, soc: Soc) -> KernelOp:
    """The kernel; its arguments are left, a right side an accumulator, [a bias each], the epilogue's inputs, result."""
    way_out = leaving(epilogue, shape.bias, soc)
    assert isinstance(way_out, Epilogue)
    epilogue = way_out
    tiling = choose_matmul_tiling(shape, epilogue, soc)
    left, right = shape.left, shape.right
    a = Arg("a", (left.matrices(shape.batch), *left.stored(shape.m1, shape.k1), 16, 16), DType.F16, "r")
    stored = (right.matrices(shape.batch), *right.stored(shape.n1, shape.k1), 16, 16)
    names = [str(number or "") for number in range(epilogue.accumulators)]
    b = [Arg(f"b{own}", stored, DType.F16, "r") for own in names]
    bias = [Arg(f"bias{own}", (shape.n1 * 16,), DType.F32, "r") for own in names if shape.bias]
    plane = (prod(shape.batch), shape.n1, shape.m1 * 16, 1, 16)
    y = Arg("y", plane, epilogue.out_dtype, "w")
    matrices = CoreSplit(max(shape.batch), tiling.b_share)
    rows, columns = CoreSplit(shape.m1, tiling.m_share), CoreSplit(shape.n1, tiling.n_share)
    kb = KernelBuilder(
        name, [a, *b, *bias, *epilogue.args(plane), y], matrices.block_dim * rows.block_dim * columns.block_dim
    )
    writer = _Writer(kb, shape, tiling, epilogue)
    # One axis is dealt by the block index, the others by bodies of their own: the batch if it is shared out at all.
    dealt, others = (matrices, columns) if matrices.block_dim > 1 else (columns, matrices)
    first = 0
    for m_at, m in rows.shares():
        for at, count in others.shares():
            for start, size in dealt.bodies(kb, first):
                if dealt is matrices:
                    writer.core((start, size), (m_at, m), (Expr(at), count))
                else:
                    writer.core((Expr(at), count), (m_at, m), (start, size))
            first += dealt.block_dim
    return kb.kernel


@dataclass
class _Writer:
    """Writes what one core does."""

    kb: KernelBuilder
    shape: MatmulShape
    tiling: MatmulTiling
    epilogue: Epilogue

    def core(self, matrices: tuple[Expr, int], rows: tuple[int, int], columns: tuple[Expr, int]) -> None:
        """(start, count) of matrices along the longest batch axis, and of blocks of 16 rows and columns."""
        kb, batch, parts = self.kb, self.shape.batch, self.epilogue.accumulators
        biases = kb.args[1 + parts : 1 + 2 * parts] if self.shape.bias else []
        vectors = self.epilogue.load_channels(kb, biases, columns[0], columns[1])
        longest = batch.index(max(batch))

        def axis(at: list[Expr]) -> None:
            if len(at) == len(batch):
                self.matrix(at, rows, columns, vectors)
                return
            start, count = matrices if len(at) == longest else (Expr(), batch[len(at)])
            with kb.loop(count, "batch") as counter:
                axis([*at, start + counter])

        axis([])

    def matrix(self, batch: list[Expr], rows: tuple[int, int], columns: tuple[Expr, int], vectors: list[Buf]) -> None:
        """One product: its tiles, K in chunks."""
        kb, shape, tile, parts = self.kb, self.shape, self.tiling.tile, self.epilogue.accumulators
        linear = sum((b * step for b, step in zip(batch, row_major(shape.batch), strict=True)), Expr())
        plane = linear * (shape.n1 * shape.m1 * FRACTAL_ELEMENTS)
        for m_at, mt in kb.tiles(rows[1], tile.mt, "m"):
            for n_at, nt in kb.tiles(columns[1], tile.nt, "n"):
                bias = self.epilogue.bias_table(kb, vectors, n_at, nt)
                l0c = kb.alloc("l0c", Space.L0C, (parts * nt, mt, 16, 16), DType.F32)
                first_chunk = True
                for c_at, kc in kb.tiles(shape.k1, self.tiling.kc, "kc"):
                    a = shape.left.load(kb, "a_l1", kb.args[:1], batch, (c_at, kc), (m_at + rows[0], mt))
                    b = shape.right.load(kb, "b_l1", kb.args[1 : 1 + parts], batch, (c_at, kc), (n_at + columns[0], nt))
                    first_tile = first_chunk
                    for k_at, kt in kb.tiles(kc, tile.kt, "k"):
                        l0a = kb.alloc("l0a", Space.L0A, (mt, kt, 16, 16), DType.F16)
                        shape.left.to_l0(kb, l0a, a, k_at, k_first=False)
                        l0b = kb.alloc("l0b", Space.L0B, (kt, parts * nt, 16, 16), DType.F16)
                        shape.right.to_l0(kb, l0b, b, k_at, k_first=True)
                        first_of = [c_at, k_at] if first_tile else None
                        mkn = (mt * 16, kt * 16, parts * nt * 16)
                        kb.mmad(kb.view(l0c), kb.view(l0a), kb.view(l0b), mkn, first_of, bias)
                        first_tile = False
                    first_chunk = False
                y_at = plane + columns[0] * (shape.m1 * FRACTAL_ELEMENTS) + (m_at + rows[0]) * FRACTAL_ELEMENTS
                out = EpilogueTile(l0c, mt, mt * 16, y_at, shape.m1 * FRACTAL_ELEMENTS, n_at)
                self.epilogue.emit(kb, out, nt, tile.nc, vectors)
