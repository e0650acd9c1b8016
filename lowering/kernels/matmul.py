"""Matrix product on the Cube: sides stream through L1 in chunks of K, or one stays there; Vector epilogue.

    for each matrix of the batch, for each tile of rows, for each tile of columns:
      for each chunk of K:                  left and right GM -> L1
        for each tile of K in the chunk:    load2d to L0A and L0B, mmad into L0C
      for each chunk of columns:            L0C -> UB, bias, conversion, epilogue steps, UB -> GM

Where all K of a tile of one side fits L1, it may be loaded once for all tiles of the other (`held`); the loops over rows
and columns change places for the right side.

Left FRACTAL_NZ (k1, m1, 16 m, 16 k), right FRACTAL_Z (k1, n1, 16 n, 16 k), which is also FRACTAL_NZ of the transposed
matrix; result FRACTAL_NZ (n1, m1, 16 m, 16 n). A side stored with K along its rows, (x1, k1, 16 k, 16 x), comes by
other strides, and load2d transposes its fractals.

Numbers of four bytes make fractals of 16 x 8, two to a block of 16 x 16: (2 k1, m1, 16 m, 8 k). All counts are of blocks.

Several right sides of one shape make an accumulator each, side by side in one tile: the epilogue joins them (a gate and
what it lets through, `dialects/ge/gated.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.cube_tiling import CubeTile, block_cycles, cube_tile
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueTile
from graph_engine.lowering.kernels.fixpipe import FixpipeEpilogue, leaving
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.vector_tiling import CoreSplit
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

BLOCK = 16
FRACTAL_ELEMENTS = 256

CHUNKS = (6, 4, 3, 2, 1)
"""Of K, in which both sides come to L1: nothing hides the first one, but each takes a latency."""

PIPELINED = 0.25
"""Of what `fractal_cycles` counts for a block on its own, in instructions over many blocks."""

WARM = 0.3
"""Weight of the time that loads would take if the L2 held both sides, as it may: shares of few bytes serve both cases."""

LEFT, RIGHT = "left", "right"


@dataclass(frozen=True)
class Side:
    """How an operand lies in memory.

    `steps[i]`: matrices from neighbour to neighbour along batch axis i, 0 where one matrix serves them all; the first
    one is number `start`.
    `k_rows`: K runs along the rows of the stored matrix, and fractals are transposed on the way to L0.
    `plain`: it is stored row by row, not in fractals (`plain_matmul`).
    """

    steps: tuple[int, ...] = (0,)
    k_rows: bool = False
    start: int = 0
    plain: bool = False

    def matrices(self, batch: tuple[int, ...]) -> int:
        """How many matrices are stored, up to the last one that is read."""
        return self.start + 1 + sum(step * (count - 1) for step, count in zip(self.steps, batch, strict=True))

    def stored(self, x1: int, k1: int, c0: int) -> tuple[int, ...]:
        """Fractals of 16 x `c0`, outer and inner ones, of a matrix of `x1` blocks beside K."""
        outer, inner = (x1, k1) if self.k_rows else (k1, x1)
        return outer * BLOCK // c0, inner, BLOCK, c0

    def load(
        self, kb: KernelBuilder, slot: str, sources: Sequence[Buf], batch: list[Expr], k: tuple[Expr, int],
        x: tuple[Expr, int],
    ) -> Buf:  # fmt: skip
        """Blocks `k` by `x` (start, count each) of one matrix of each source into L1, in the order of memory, those of
        all sources behind each other along `x`."""
        c0, fractals = sources[0].shape[-1], BLOCK // sources[0].shape[-1]
        fractal = BLOCK * c0
        outer, inner = sources[0].shape[1] // fractals, sources[0].shape[2]
        (outer_at, outer_count), (inner_at, inner_count) = (x, k) if self.k_rows else (k, x)
        outer_count = outer_count * fractals
        at = outer_at * (fractals * inner) + inner_at + self.start * outer * fractals * inner
        for index, step in zip(batch, self.steps, strict=True):
            at = at + index * (step * outer * fractals * inner)
        each = (outer_count, inner_count, BLOCK, c0)
        whole = (
            (outer_count, len(sources) * inner_count) if not self.k_rows else (len(sources) * outer_count, inner_count)
        )
        buf = kb.alloc(slot, Space.L1, (*whole, BLOCK, c0), sources[0].dtype)
        strides = (inner * fractal, fractal, c0, 1)
        step = outer_count * inner_count if self.k_rows else inner_count
        for number, source in enumerate(sources):
            part = kb.view(buf, number * step * fractal, each, buf.strides)
            kb.copy(part, kb.view(source, at * fractal, each, strides))
        return buf

    def to_l0(self, kb: KernelBuilder, l0: Buf, source: Buf, k_at: Expr, *, k_first: bool) -> None:
        """All blocks beside K, and those of K from `k_at` that fit, in the order (k, x) or (x, k)."""
        c0 = source.shape[-1]
        fractals, fractal = BLOCK // c0, BLOCK * c0
        inner = source.shape[1] * fractal
        k_stride, x_stride = (c0 * c0, fractals * inner) if self.k_rows else (inner, fractal)
        strides = (k_stride, x_stride) if k_first else (x_stride, k_stride)
        if not self.k_rows:
            at = k_at * (fractals * k_stride)
            kb.load2d(kb.view(l0), kb.view(source, at, l0.shape, (*strides, c0, 1)))
            return
        # Squares of c0 x c0 are transposed; a block of 16 x 16 has several of them where c0 is less.
        apart, square = ((), ()) if fractals == 1 else ((inner,), (fractals,)), (c0, c0)
        sizes = (*l0.shape[:2], *apart[1], *square)
        own = kb.view(l0, 0, sizes, (*l0.strides[:2], *(c0 * c0 for _ in apart[1]), c0, 1))
        taken = kb.view(source, k_at * fractal, sizes, (*strides, *apart[0], c0, 1))
        kb.load2d(own, taken, transpose=True)


@dataclass(frozen=True)
class MatmulShape:
    """A product as the Cube sees it: blocks of 16 of each dimension, batch axes that neither side allows to join; both sides
    are of `dtype`."""

    m1: int
    k1: int
    n1: int
    bias: bool = False
    batch: tuple[int, ...] = (1,)
    left: Side = Side()
    right: Side = Side()
    dtype: DType = DType.F16

    @property
    def c0(self) -> int:
        """Columns of a fractal of a side."""
        return 32 // self.dtype.bytes

    @property
    def block_bytes(self) -> int:
        """Of a block of 16 x 16 of a side."""
        return FRACTAL_ELEMENTS * self.dtype.bytes

    def l0a(self, mt: int, kt: int) -> tuple[int, ...]:
        """Fractals of so many blocks of the left side in L0A."""
        return mt, kt * BLOCK // self.c0, BLOCK, self.c0

    def l0b(self, kt: int, nt: int) -> tuple[int, ...]:
        """Fractals of so many blocks of the right side in L0B."""
        return kt * BLOCK // self.c0, nt, BLOCK, self.c0


@dataclass(frozen=True)
class MatmulTiling:
    """Shares of the cores (matrices along the longest batch axis, blocks of 16), tile, K blocks in L1 at a time, and the
    side of which all K of a tile stays in L1 while the tiles of the other side pass; "" if both stream."""

    b_share: int
    m_share: int
    n_share: int
    tile: CubeTile
    kc: int
    held: str = ""


@lru_cache(maxsize=4096)
def choose_matmul_tiling(shape: MatmulShape, epilogue: Epilogue, soc: Soc) -> MatmulTiling:
    """The tiling with the least bound of one core. Raises `NoKernel` where the epilogue of one block does not fit."""
    best: tuple[float, MatmulTiling] | None = None
    longest = max(shape.batch)
    for b_cores in range(1, min(soc.cores.aic, longest) + 1):
        cores, b_share = soc.cores.aic // b_cores, -(-longest // b_cores)
        for n_cores in range(1, min(cores, shape.n1) + 1):
            n_share = -(-shape.n1 // n_cores)
            m_share = -(-shape.m1 // max(1, min(shape.m1, cores // n_cores)))
            for nt in _widths(n_share, epilogue.accumulators):
                for held, chunks in product(("", LEFT, RIGHT), CHUNKS):
                    found = _judged(shape, epilogue, soc, (b_share, m_share, n_share), nt, held, chunks)
                    if found is not None and (best is None or found[0] < best[0]):
                        best = found
    if best is None:
        raise NoKernel("the epilogue of one 16 x 16 block does not fit the unified buffer")
    return best[1]


def _widths(n_share: int, parts: int) -> list[int]:
    """Blocks of columns of a tile, wide ones first: even parts of a core's share."""
    caps = [max(1, cap // parts) for cap in (16, 12, 8, 6, 4)]
    return list(dict.fromkeys(-(-n_share // -(-n_share // cap)) for cap in caps))


def _judged(
    shape: MatmulShape, epilogue: Epilogue, soc: Soc, shares: tuple[int, int, int], nt: int, held: str, chunks: int
) -> tuple[float, MatmulTiling] | None:
    """(cycles of the busiest engine of one core and what nothing hides, tiling); None where it makes no sense."""
    (b_share, m_share, n_share), parts, k1 = shares, epilogue.accumulators, shape.k1
    vectors = 64 * n_share * (parts * shape.bias + sum(side.kind == "channel" for side in epilogue.inputs))
    ub_fractal, block = -(-epilogue.fractal_bytes() // parts), shape.block_bytes
    try:
        wide = cube_tile(soc, m_share, parts * n_share, k1, ub_fractal, vectors, parts * nt, parts, k_bytes=block)
    except NoKernel:
        return None
    tile = replace(wide, nt=nt, nc=wide.nc // parts)
    mt, kt = tile.mt, tile.kt
    if 2 * FRACTAL_ELEMENTS * DType.F32.bytes * mt * parts * nt > soc.buffers["l0c"]:
        return None
    m_tiles, n_tiles = -(-m_share // mt), -(-n_share // nt)
    if (held == LEFT and n_tiles == 1) or (held == RIGHT and m_tiles == 1):
        return None
    longest = max(shape.batch)
    matrices = b_share * (prod(shape.batch) // longest)
    # Blocks of both sides in L1, each twice: of a chunk of K, or all of it.
    room, streamed, panel = soc.buffers["l1"] // (2 * block), mt + parts * nt, 0
    if held:
        panel, streamed = (mt, parts * nt) if held == LEFT else (parts * nt, mt)
        room -= panel * k1
        if room // streamed < kt:
            return None
    kc = max(kt, min(-(-k1 // chunks), room // streamed) // kt * kt)
    m_cores, n_cores = -(-shape.m1 // m_share), -(-shape.n1 // n_share)
    b_cores = -(-longest // b_share)
    active = m_cores * n_cores * b_cores
    ddr, l2 = soc.path("gm", "l1", "ddr"), soc.path("gm", "l1", "l2")
    own = min(float(ddr.bytes_per_cycle), soc.ddr.total_bytes_per_s / (soc.freq_mhz.cube * 1e6) / active)
    cached = min(float(l2.bytes_per_cycle), soc.l2.total_bytes_per_cycle / active)
    line = soc.l2.line_bytes / (BLOCK * shape.dtype.bytes)

    def load(side: Side, blocks: int, x1: int, readers: int, reads: int, sharers: float) -> tuple[float, float, float]:
        """Cycles to read a side of a core once from device memory, together with the cores that read the same, and again
        from the L2; those of the first block. Of a line that `sharers` moves have parts of, the first one waits for all.
        Where cores share the batch, others of them that have parts of a line (of `x1` blocks) fetch it themselves."""
        one, common = blocks * k1 * block, not any(side.steps)
        rate = min(cached * sharers, own * readers * (b_cores if common else 1))
        if side.plain and side.k_rows and b_cores > 1:
            rate /= max(1, min(line, x1) // blocks)
        fresh = one * (1 if common else matrices)
        return fresh / rate, (one * matrices * reads - fresh / sharers) / cached, block * sharers / rate

    def sharers(side: Side, blocks: int, width: int, depth: int) -> float:
        """Moves of a core that each have a part of a line: `width` of its `blocks` beside K, `depth` of K."""
        move, row = (width, blocks) if side.k_rows else (depth, k1)
        return max(1.0, min(line, row) / move) if side.plain else 1.0

    left_of_line = sharers(shape.left, m_share, mt, k1 if held == LEFT else kc)
    right_of_line = sharers(shape.right, n_share, nt, k1 if held == RIGHT else kc)
    left_reads, right_reads = 1 if held == LEFT else n_tiles, 1 if held == RIGHT else m_tiles
    left_once, left_again, left_block = load(shape.left, m_share, shape.m1, n_cores, left_reads, left_of_line)
    right_once, right_again, right_block = load(
        shape.right, parts * n_share, parts * shape.n1, m_cores, right_reads, right_of_line
    )
    left, right = left_once + left_again, right_once + right_again
    fractals, tiles = matrices * m_share * n_share, matrices * m_tiles * n_tiles
    y_bytes = fractals * FRACTAL_ELEMENTS * epilogue.out_dtype.bytes
    side_inputs = sum(side.kind == "tile" for side in epilogue.inputs) * y_bytes / own
    steps = tiles * -(-k1 // kt)
    cube = fractals * parts * k1 * block_cycles(soc, shape.dtype) + soc.cube.fixed_cycles * steps
    l0a, l0b = soc.path("l1", "l0a"), soc.path("l1", "l0b")
    mte1 = fractals * k1 * block * (1 / nt / l0a.bytes_per_cycle + parts / mt / l0b.bytes_per_cycle)
    mte1 += (l0a.latency_cycles + l0b.latency_cycles) * steps
    if isinstance(epilogue, FixpipeEpilogue) and epilogue.direct:
        leave = y_bytes / soc.path("l0c", "gm", "l2").bytes_per_cycle
    else:
        vector = fractals * epilogue.fractal_cycles * PIPELINED
        leave = max(vector, y_bytes / soc.path("ub", "gm", "l2").bytes_per_cycle)
    loads = tiles * -(-k1 // kc)
    streams = {"": left + right, LEFT: right, RIGHT: left}[held]
    # Both parts of L1 serve a loop in turn: the load behind it waits for the part that the loop left last.
    outer, torn = (n_tiles, m_share % mt) if held == RIGHT else (m_tiles, n_share % nt)
    stalls = (tiles * (k1 % kc > 0) + matrices * outer * (torn > 0)) * (ddr.latency_cycles + mte1 / loads)
    mte2 = left + right + side_inputs + stalls
    # A part of L1 is free for the load after the next one once MTE1 has read it; then a latency passes.
    waits = mte2 + (mte1 + ddr.latency_cycles * loads - streams) / 2
    compute = max(cube, mte1)
    first = ddr.latency_cycles + mt * (k1 if held == LEFT else kc) * left_block
    first += parts * nt * (k1 if held == RIGHT else kc) * right_block
    # Tiles whose lines an earlier one has fetched compute when all is there.
    later = right_once + compute * (1 - 1 / right_of_line) if shape.right.k_rows else 0.0
    busiest = max(compute + first, max(mte2, waits) + compute / loads, later, leave + first + compute / tiles)
    warm = matrices * (m_share * left_reads + parts * n_share * right_reads) * k1 * block / cached
    cycles = busiest + leave / tiles + WARM * warm
    return cycles, MatmulTiling(b_share, m_share, n_share, tile, kc, held)


def build_matmul(name: str, shape: MatmulShape, epilogue: Epilogue, soc: Soc) -> KernelOp:
    """The kernel; its arguments are left, a right side an accumulator, [a bias each], the epilogue's inputs, result."""
    way_out = leaving(epilogue, shape.bias, soc)
    assert isinstance(way_out, Epilogue)
    epilogue = way_out
    tiling = choose_matmul_tiling(shape, epilogue, soc)
    left, right = shape.left, shape.right
    a = Arg("a", (left.matrices(shape.batch), *left.stored(shape.m1, shape.k1, shape.c0)), shape.dtype, "r")
    stored = (right.matrices(shape.batch), *right.stored(shape.n1, shape.k1, shape.c0))
    names = [str(number or "") for number in range(epilogue.accumulators)]
    b = [Arg(f"b{own}", stored, shape.dtype, "r") for own in names]
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
    for _ in kb.parts(mixed=epilogue.mixed):
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
        kb, shape, tile = self.kb, self.shape, self.tiling.tile
        linear = sum((b * step for b, step in zip(batch, row_major(shape.batch), strict=True)), Expr())
        plane = linear * (shape.n1 * shape.m1 * FRACTAL_ELEMENTS)
        held = self.tiling.held
        axes = (rows[1], tile.mt, "m"), (columns[1], tile.nt, "n")
        for outer_at, outer in kb.tiles(*axes[held == RIGHT]):
            panel = None
            if held == LEFT:
                panel = self.left(batch, (Expr(), shape.k1), (outer_at + rows[0], outer))
            elif held == RIGHT:
                panel = self.right(batch, (Expr(), shape.k1), (outer_at + columns[0], outer))
            for inner_at, inner in kb.tiles(*axes[held != RIGHT]):
                spans = (outer_at, outer), (inner_at, inner)
                (m_at, mt), (n_at, nt) = spans[::-1] if held == RIGHT else spans
                l0c = self.sums(batch, (m_at + rows[0], mt), (n_at, nt), columns[0], panel, vectors)
                y_at = plane + columns[0] * (shape.m1 * FRACTAL_ELEMENTS) + (m_at + rows[0]) * FRACTAL_ELEMENTS
                out = EpilogueTile(l0c, mt, mt * 16, y_at, shape.m1 * FRACTAL_ELEMENTS, n_at, tile.mt)
                self.epilogue.emit(kb, out, nt, tile.nc, vectors)

    def left(self, batch: list[Expr], k: tuple[Expr, int], rows: tuple[Expr, int]) -> Buf:
        """Some of the left side in L1."""
        return self.shape.left.load(self.kb, "a_l1", self.kb.args[:1], batch, k, rows)

    def right(self, batch: list[Expr], k: tuple[Expr, int], columns: tuple[Expr, int]) -> Buf:
        """Some of all right sides in L1."""
        sources = self.kb.args[1 : 1 + self.epilogue.accumulators]
        return self.shape.right.load(self.kb, "b_l1", sources, batch, k, columns)

    def sums(
        self, batch: list[Expr], rows: tuple[Expr, int], columns: tuple[Expr, int], first_column: Expr,
        panel: Buf | None, vectors: list[Buf],
    ) -> Buf:  # fmt: skip
        """The accumulators of one tile, K in chunks; `columns` are counted from the core's first one."""
        kb, shape, tile, parts, held = (
            self.kb,
            self.shape,
            self.tiling.tile,
            self.epilogue.accumulators,
            self.tiling.held,
        )
        mt, nt = rows[1], columns[1]
        bias = self.epilogue.bias_table(kb, vectors, columns[0], nt)
        l0c = kb.alloc("l0c", Space.L0C, (parts * nt, mt, 16, 16), DType.F32)
        first_chunk = True
        for c_at, kc in kb.tiles(shape.k1, self.tiling.kc, "kc"):
            a = panel if held == LEFT else self.left(batch, (c_at, kc), rows)
            b = panel if held == RIGHT else self.right(batch, (c_at, kc), (columns[0] + first_column, nt))
            assert a is not None and b is not None
            first_tile = first_chunk
            for k_at, kt in kb.tiles(kc, tile.kt, "k"):
                l0a = kb.alloc("l0a", Space.L0A, shape.l0a(mt, kt), shape.dtype)
                shape.left.to_l0(kb, l0a, a, c_at + k_at if held == LEFT else k_at, k_first=False)
                l0b = kb.alloc("l0b", Space.L0B, shape.l0b(kt, parts * nt), shape.dtype)
                shape.right.to_l0(kb, l0b, b, c_at + k_at if held == RIGHT else k_at, k_first=True)
                first_of = [c_at, k_at] if first_tile else None
                mkn = (mt * 16, kt * 16, parts * nt * 16)
                kb.mmad(kb.view(l0c), kb.view(l0a), kb.view(l0b), mkn, first_of, bias)
                first_tile = False
            first_chunk = False
        return l0c
