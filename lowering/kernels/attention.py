"""Attention: softmax(steps(q k^T)) v, tile by tile, the scores never leaving the chip.

    for each matrix of the batch, for each tile of rows:         q GM -> L1 -> L0A
      for each tile of keys:
        k GM -> L1 -> L0B, mmad                                  scores in L0C
        L0C -> UB, scale and mask                                in fp16, as the operators would apart
        maximum, exp(score - maximum), sum of each row           in fp32
        UB -> L1 -> L0A, v GM -> L1 -> L0B transposed, mmad      weighted sums of v in L0C
        L0C -> UB                                                earlier sums shrink by exp(old - new maximum)
      result / sum, UB -> GM

Where all keys fit one tile nothing is carried from tile to tile. All operands are FRACTAL_NZ. Rows of k and v behind
the last key may hold anything: L1 gets zeros there, and their scores a number that no maximum is below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.cube_tiling import FRACTAL
from graph_engine.lowering.kernels.matmul import FRACTAL_ELEMENTS, Side
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.row_reduction import combine_slabs
from graph_engine.lowering.kernels.step import Scratch, Step, Value
from graph_engine.lowering.kernels.vector_steps import emit_steps
from graph_engine.lowering.kernels.vector_tiling import CoreSplit, ceil_div, even_tile, largest, temporaries
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

LOWEST = -3.0e38
"""Below every score, and finite in fp32 after another score is taken off."""


@dataclass(frozen=True)
class ScoreInput:
    """An operand of the steps: "matrix" one value a score, "row" one a key, "number" one; `steps` as in `Side`."""

    kind: str
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class AttentionShape:
    """Blocks of 16 rows, of q's and of v's columns; keys, counted one by one; batch axes; how the operands lie."""

    m1: int
    d1: int
    e1: int
    keys: int
    batch: tuple[int, ...]
    q: Side
    k: Side
    v: Side
    inputs: tuple[ScoreInput, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def n1(self) -> int:
        """Blocks of 16 keys."""
        return ceil_div(self.keys, 16)

    @property
    def rest(self) -> int:
        """Keys in the last block, 0 if it is full."""
        return self.keys % 16

    def ub_bytes(self, mt: int, nt: int) -> int:
        """UB for a tile of mt x nt blocks, one version of each buffer."""
        matrices = sum(side.kind == "matrix" for side in self.inputs)
        values = ((DType.F16, True), *((DType.F16, False) for _ in self.inputs))
        halves = [1, *(1 for _ in temporaries(self.steps, values, DType.F16))] if self.steps else []
        narrow = len(halves) + matrices + 1  # scores and temporaries of the steps, masks, weights
        wide = temporaries(self.steps, values, DType.F16).count(DType.F32)
        score = FRACTAL * (narrow + 2 + wide) + FRACTAL  # fp32 scores, and half as much to reduce them
        row = 5 * FRACTAL * self.e1 + 2 * FRACTAL  # sums twice in fp32 and once in fp16; statistics
        vectors = 64 * nt * len(self.inputs) + 2 * FRACTAL * max(self.d1, self.e1)
        return mt * nt * score + mt * row + vectors


@dataclass(frozen=True)
class AttentionTiling:
    """Shares of the cores (matrices along the longest batch axis, blocks of rows), blocks of rows and keys a tile."""

    b_share: int
    m_share: int
    mt: int
    nt: int


def choose_attention_tiling(shape: AttentionShape, soc: Soc) -> AttentionTiling:
    """The shares with the fewest rows for the busiest core, and tiles that take up to all keys at once."""
    longest, others = max(shape.batch), prod(shape.batch) // max(shape.batch)
    shares: list[tuple[int, int, int, int]] = []
    for m_cores in range(1, min(soc.cores.aic, shape.m1) + 1):
        b_share = ceil_div(longest, min(longest, soc.cores.aic // m_cores))
        m_share = ceil_div(shape.m1, m_cores)
        shares.append((b_share * others * m_share, m_cores, b_share, m_share))
    _, _, b_share, m_share = min(shares)
    l0 = min(soc.buffers["l0a"], soc.buffers["l0b"]) // FRACTAL
    accumulators = soc.buffers["l0c"] // (2 * FRACTAL)

    def fits(mt: int, nt: int) -> bool:
        return (
            mt * (shape.d1 + nt) <= l0
            and nt * (shape.d1 + shape.e1) <= l0
            and mt * (nt + shape.e1) <= accumulators
            and shape.ub_bytes(mt, nt) <= soc.buffers["ub"]
        )

    nt = largest(min(shape.n1, 16), lambda n: fits(1, n))
    if not nt:
        raise NoKernel("a tile of 16 rows and 16 keys does not fit the chip")
    nt = even_tile(shape.n1, nt)
    mt = even_tile(m_share, largest(m_share, lambda m: fits(m, nt)))
    return AttentionTiling(b_share, m_share, mt, nt)


def side_args(shape: AttentionShape) -> list[Arg]:
    """The arguments of the steps' inputs, and what is added to the last block of keys."""
    args: list[Arg] = []
    for number, side in enumerate(shape.inputs):
        count = Side(side.steps).matrices(shape.batch) if side.kind != "number" else 1
        stored = {"matrix": (count, shape.n1, shape.m1, 16, 16), "row": (count, shape.keys), "number": (1,)}
        args.append(Arg(f"side{number}", stored[side.kind], DType.F16, "r"))
    return [*args, Arg("behind", (16,), DType.F32, "r")] if shape.rest else args


def build_attention(name: str, shape: AttentionShape, soc: Soc) -> KernelOp:
    """The kernel; arguments: q, k, v, the steps' inputs, [what is added to the last block of keys], result."""
    tiling = choose_attention_tiling(shape, soc)
    blocks = (
        ("q", shape.q, shape.m1, shape.d1),
        ("k", shape.k, shape.n1, shape.d1),
        ("v", shape.v, shape.n1, shape.e1),
    )
    args = [Arg(n, (s.matrices(shape.batch), columns, rows, 16, 16), DType.F16, "r") for n, s, rows, columns in blocks]
    args += side_args(shape)
    args.append(Arg("y", (prod(shape.batch), shape.e1, shape.m1, 16, 16), DType.F16, "w"))
    matrices, rows = CoreSplit(max(shape.batch), tiling.b_share), CoreSplit(shape.m1, tiling.m_share)
    kb = KernelBuilder(name, args, matrices.block_dim * rows.block_dim)
    # One axis is dealt by the block index, the other by bodies of their own.
    by_matrix = matrices.block_dim > 1
    dealt, other = (matrices, rows) if by_matrix else (rows, matrices)
    first = 0
    for at, count in other.shares():
        for start, size in dealt.bodies(kb, first):
            ends = ((start, size), (Expr(at), count))
            AttentionWriter(kb, shape, tiling, soc.has("fixpipe")).core(*(ends if by_matrix else ends[::-1]))
        first += dealt.block_dim
    return kb.kernel


@dataclass
class AttentionWriter:
    """Writes what one core does."""

    kb: KernelBuilder
    shape: AttentionShape
    tiling: AttentionTiling
    fixpipe: bool

    def leave(self, dst: SSAValue, accumulator: SSAValue) -> None:
        """The chip's way from L0C to UB."""
        if self.fixpipe:
            self.kb.fixpipe(dst, accumulator)
        else:
            self.kb.vec("conv", dst, accumulator)

    def core(self, matrices: tuple[Expr, int], rows: tuple[Expr, int]) -> None:
        """(start, count) of matrices along the longest batch axis, and of blocks of 16 rows."""
        kb, batch = self.kb, self.shape.batch
        self.begin()
        longest = batch.index(max(batch))

        def axis(at: list[Expr]) -> None:
            if len(at) == len(batch):
                for m_at, mt in kb.tiles(rows[1], self.tiling.mt, "m"):
                    self.tile(at, m_at + rows[0], mt)
                return
            start, count = matrices if len(at) == longest else (Expr(), batch[len(at)])
            with kb.loop(count, "batch") as counter:
                axis([*at, start + counter])

        axis([])

    def begin(self) -> None:
        """What all tiles need: numbers, and what is put behind the last key."""
        kb = self.kb
        self.numbers: dict[int, Buf] = {}
        for i, side in enumerate(self.shape.inputs):
            if side.kind == "number":
                self.numbers[i] = self.loaded(f"side{i}", kb.args[3 + i], (1,))
        if self.shape.rest:
            self.behind = self.loaded("behind", kb.args[-2], (16,))
            self.zeros = kb.alloc("zeros", Space.UB, (max(self.shape.d1, self.shape.e1), 16, 16), DType.F16)
            kb.vec("dup", kb.view(self.zeros), imm=0.0)

    def loaded(self, slot: str, source: Buf, shape: tuple[int, ...]) -> Buf:
        """A small argument in UB."""
        buf = self.kb.alloc(slot, Space.UB, shape, source.dtype)
        self.kb.copy(self.kb.view(buf), self.kb.view(source))
        return buf

    def key_tiles(self) -> Iterator[tuple[Expr, int, bool]]:
        """(start, blocks, whether it ends within a block) of the tiles of keys, such a one written by itself."""
        n1, nt = self.shape.n1, self.tiling.nt
        if not self.shape.rest:
            for at, count in self.kb.tiles(n1, nt, "n"):
                yield at, count, False
            return
        before = (n1 - 1) // nt * nt
        for at, count in self.kb.tiles(before, nt, "n"):
            yield at, count, False
        yield Expr(before), n1 - before, True

    def tile(self, batch: list[Expr], m_at: Expr, mt: int) -> None:
        """The result for `mt` blocks of rows of one matrix."""
        kb, shape = self.kb, self.shape
        q = self.queries(batch, m_at, mt)
        once = self.tiling.nt >= shape.n1
        state = None if once else _Running.begin(kb, mt, shape.e1)
        for n_at, nt, ragged in self.key_tiles():
            scores = self.scores(q, batch, m_at, n_at, mt, nt, ragged)
            top = kb.alloc("top", Space.UB, (mt * 16, 1), DType.F32)
            self.reduce("cmax", top, scores)
            if state is not None:
                state.raise_top(top)
            kb.vec("sub", kb.view(scores), kb.view(scores), _spread(kb, top, nt))
            kb.vec("exp", kb.view(scores), kb.view(scores))
            total = kb.alloc("total", Space.UB, (mt * 16, 1), DType.F32)
            self.reduce("cadd", total, scores)
            sums = self.weighted(scores, batch, n_at, mt, nt, ragged)
            if state is None:
                self.store(batch, m_at, mt, sums, total)
            else:
                state.add(sums, total)
        if state is not None:
            self.store(batch, m_at, mt, state.sums, state.total)

    def queries(self, batch: list[Expr], m_at: Expr, mt: int) -> Buf:
        """`mt` blocks of rows of q in L1."""
        return self.shape.q.load(self.kb, "q_l1", self.kb.args[:1], batch, (Expr(), self.shape.d1), (m_at, mt))

    def scores(self, q: Buf, batch: list[Expr], m_at: Expr, n_at: Expr, mt: int, nt: int, ragged: bool) -> Buf:
        """A tile of scores behind the steps in UB, (nt, rows, 16) in fp32; those behind the last key are LOWEST."""
        kb, shape = self.kb, self.shape
        l0a = kb.alloc("q_l0a", Space.L0A, (mt, shape.d1, 16, 16), DType.F16)
        shape.q.to_l0(kb, l0a, q, Expr(), k_first=False)
        k = self.rows_of("k_l1", shape.k, kb.args[1], batch, n_at, nt, shape.d1, ragged)
        l0b = kb.alloc("k_l0b", Space.L0B, (shape.d1, nt, 16, 16), DType.F16)
        shape.k.to_l0(kb, l0b, k, Expr(), k_first=True)
        l0c = kb.alloc("scores_l0c", Space.L0C, (nt, mt, 16, 16), DType.F32)
        kb.mmad(kb.view(l0c), kb.view(l0a), kb.view(l0b), (mt * 16, shape.d1 * 16, nt * 16), [])
        extents = (nt, mt * 16, 16)
        raw = kb.view(l0c, 0, extents, row_major(extents))
        wide = kb.alloc("scores", Space.UB, extents, DType.F32)
        if shape.steps:
            narrow = kb.view(kb.alloc("narrow", Space.UB, extents, DType.F16))
            self.leave(narrow, raw)
            values = [Value(narrow, DType.F16, reusable=True)]
            values += [Value(v, DType.F16) for v in self.sides(batch, m_at, n_at, mt, nt, ragged)]

            def temporary(dtype: DType, number: int) -> SSAValue:
                return kb.view(kb.alloc(f"tmp{number}_{dtype.mlir}", Space.UB, extents, dtype))

            emit_steps(kb, shape.steps, values, narrow, DType.F16, Scratch(temporary))
            kb.vec("conv", kb.view(wide), narrow)
        else:
            self.leave(kb.view(wide), raw)
        if ragged:
            last = kb.view(wide, (nt - 1) * mt * 256, (mt * 16, 16))
            kb.vec("add", last, last, kb.view(self.behind, 0, (mt * 16, 16), (0, 1)))
        return wide

    def sides(self, batch: list[Expr], m_at: Expr, n_at: Expr, mt: int, nt: int, ragged: bool) -> Iterator[SSAValue]:
        """The steps' inputs for one tile, spread over it."""
        kb, shape, extents = self.kb, self.shape, (nt, mt * 16, 16)
        for i, side in enumerate(shape.inputs):
            source = kb.args[3 + i]
            if side.kind == "number":
                yield kb.view(self.numbers[i], 0, extents, (0, 0, 0))
                continue
            which = sum((b * step for b, step in zip(batch, side.steps, strict=True)), Expr())
            if side.kind == "matrix":
                buf = kb.alloc(f"side{i}", Space.UB, extents, DType.F16)
                at = ((which * shape.n1 + n_at) * shape.m1 + m_at) * FRACTAL_ELEMENTS
                kb.copy(kb.view(buf), kb.view(source, at, extents, (shape.m1 * FRACTAL_ELEMENTS, 16, 1)))
                yield kb.view(buf)
                continue
            buf = kb.alloc(f"side{i}{'_last' * ragged}", Space.UB, (nt * 16,), DType.F16)
            if ragged:
                kb.vec("dup", kb.view(buf), imm=0.0)
            count = nt * 16 - (16 - shape.rest if ragged else 0)
            kb.copy(kb.view(buf, 0, (count,)), kb.view(source, which * shape.keys + n_at * 16, (count,), (1,)))
            yield kb.view(buf, 0, extents, (16, 0, 1))

    def rows_of(
        self, slot: str, side: Side, source: Buf, batch: list[Expr], n_at: Expr, nt: int, columns: int, ragged: bool
    ) -> Buf:
        """`nt` blocks of rows of k or v in L1, (columns, nt, 16, 16), zeros behind the last key."""
        kb, shape, rest = self.kb, self.shape, self.shape.rest
        buf = kb.alloc(slot + "_last" * ragged, Space.L1, (columns, nt, 16, 16), DType.F16)
        which = sum((b * step for b, step in zip(batch, side.steps, strict=True)), Expr(side.start))
        at = (which * (columns * shape.n1) + n_at) * FRACTAL_ELEMENTS
        count = nt * 16 - (16 - rest if ragged else 0)
        there, here = (shape.n1 * FRACTAL_ELEMENTS, 16, 1), (nt * FRACTAL_ELEMENTS, 16, 1)
        box = (columns, count, 16)
        kb.copy(kb.view(buf, 0, box, here), kb.view(source, at, box, there))
        if ragged:
            box = (columns, 16 - rest, 16)
            kb.copy(kb.view(buf, count * 16, box, here), kb.view(self.zeros, 0, box))
        return buf

    def reduce(self, mnemonic: str, target: Buf, scores: Buf) -> None:
        """The maximum or sum of each row of a tile (nt, rows, 16)."""
        kb = self.kb
        slab = combine_slabs(kb, mnemonic, kb.view(scores), scores.shape, scores.strides)
        kb.vec(mnemonic, kb.view(target), kb.restride(slab, scores.shape[1:], (16, 1)))

    def weighted(self, weights: Buf, batch: list[Expr], n_at: Expr, mt: int, nt: int, ragged: bool) -> Buf:
        """The sums of v's rows with the weights (nt, rows, 16), as (e1, rows, 16) in UB."""
        kb, e1 = self.kb, self.shape.e1
        narrow = kb.alloc("weights", Space.UB, weights.shape, DType.F16)
        kb.vec("conv", kb.view(narrow), kb.view(weights))
        l1 = kb.alloc("weights_l1", Space.L1, (nt, mt, 16, 16), DType.F16)
        kb.copy(kb.view(l1, 0, narrow.shape, narrow.strides), kb.view(narrow))
        l0a = kb.alloc("weights_l0a", Space.L0A, (mt, nt, 16, 16), DType.F16)
        Side().to_l0(kb, l0a, l1, Expr(), k_first=False)
        v = self.rows_of("v_l1", self.shape.v, kb.args[2], batch, n_at, nt, e1, ragged)
        l0b = kb.alloc("v_l0b", Space.L0B, (nt, e1, 16, 16), DType.F16)
        Side(k_rows=True).to_l0(kb, l0b, v, Expr(), k_first=True)
        l0c = kb.alloc("sums_l0c", Space.L0C, (e1, mt, 16, 16), DType.F32)
        kb.mmad(kb.view(l0c), kb.view(l0a), kb.view(l0b), (mt * 16, nt * 16, e1 * 16), [])
        sums = kb.alloc("sums", Space.UB, (e1, mt * 16, 16), DType.F32)
        self.leave(kb.view(sums), kb.view(l0c, 0, sums.shape, sums.strides))
        return sums

    def store(self, batch: list[Expr], m_at: Expr, mt: int, sums: Buf, total: Buf) -> None:
        """sums / total, to memory."""
        kb, shape = self.kb, self.shape
        kb.vec("rec", kb.view(total), kb.view(total))
        kb.vec("mul", kb.view(sums), kb.view(sums), _spread(kb, total, shape.e1))
        out = kb.alloc("y", Space.UB, sums.shape, DType.F16)
        kb.vec("conv", kb.view(out), kb.view(sums))
        self.write(batch, m_at, out)

    def write(self, batch: list[Expr], m_at: Expr, out: Buf) -> None:
        """A tile of the result, (e1, rows, 16), to memory."""
        kb, shape = self.kb, self.shape
        which = sum((b * step for b, step in zip(batch, row_major(shape.batch), strict=True)), Expr())
        at = (which * (shape.e1 * shape.m1) + m_at) * FRACTAL_ELEMENTS
        kb.copy(kb.view(kb.args[-1], at, out.shape, (shape.m1 * FRACTAL_ELEMENTS, 16, 1)), kb.view(out))


@dataclass
class _Running:
    """Maximum, sum and weighted sums of the tiles of keys so far, all relative to the maximum."""

    kb: KernelBuilder
    top: Buf
    total: Buf
    sums: Buf

    @staticmethod
    def begin(kb: KernelBuilder, mt: int, e1: int) -> _Running:
        """Of no keys."""
        bufs = [
            kb.alloc(f"running_{slot}", Space.UB, shape, DType.F32)
            for slot, shape in (("top", (mt * 16, 1)), ("total", (mt * 16, 1)), ("sums", (e1, mt * 16, 16)))
        ]
        for buf, value in zip(bufs, (LOWEST, 0.0, 0.0), strict=True):
            kb.vec("dup", kb.view(buf), imm=value)
        return _Running(kb, *bufs)

    def raise_top(self, top: Buf) -> None:
        """Makes `top` the maximum with the tiles before, and what is summed up so far relative to it."""
        kb = self.kb
        kb.vec("max", kb.view(top), kb.view(top), kb.view(self.top))
        shrink = self.top
        kb.vec("sub", kb.view(shrink), kb.view(self.top), kb.view(top))
        kb.vec("exp", kb.view(shrink), kb.view(shrink))
        kb.vec("mul", kb.view(self.total), kb.view(self.total), kb.view(shrink))
        kb.vec("mul", kb.view(self.sums), kb.view(self.sums), _spread(kb, shrink, self.sums.shape[0]))
        kb.vec("adds", kb.view(self.top), kb.view(top), imm=0.0)

    def add(self, sums: Buf, total: Buf) -> None:
        """One more tile."""
        kb = self.kb
        kb.vec("add", kb.view(self.total), kb.view(self.total), kb.view(total))
        kb.vec("add", kb.view(self.sums), kb.view(self.sums), kb.view(sums))


def _spread(kb: KernelBuilder, column: Buf, blocks: int) -> SSAValue:
    """A statistic of each row repeated along the columns of a tile (blocks, rows, 16)."""
    return kb.view(column, 0, (blocks, column.shape[0], 16), (0, 1, 0))
