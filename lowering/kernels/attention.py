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
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.lowering.kernels.attention_tiling import AttentionShape, AttentionTiling, choose_attention_tiling
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.matmul import FRACTAL_ELEMENTS, Side
from graph_engine.lowering.kernels.row_reduction import combine_slabs
from graph_engine.lowering.kernels.step import Scratch, Value
from graph_engine.lowering.kernels.vector_steps import emit_steps
from graph_engine.lowering.kernels.vector_tiling import CoreSplit
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

LOWEST, MASKED = -3.4028234663852886e38, -3.3895313892515355e38
"""The lowest numbers of fp32 and of bf16: a score behind the last key is below every other one, masked ones in bf16 as well."""


def side_args(shape: AttentionShape) -> list[Arg]:
    """The arguments of the steps' inputs, and what is added to the last block of keys."""
    args: list[Arg] = []
    for number, side in enumerate(shape.inputs):
        count = Side(side.steps).matrices(shape.batch) if side.kind != "number" else 1
        stored = {"matrix": (count, shape.n1, shape.m1, 16, 16), "row": (count, shape.keys), "number": (1,)}
        args.append(Arg(f"side{number}", stored[side.kind], shape.dtype, "r"))
    return [*args, Arg("behind", (16,), DType.F32, "r")] if shape.rest else args


def build_attention(name: str, shape: AttentionShape, soc: Soc) -> KernelOp:
    """The kernel; arguments: q, k, v, the steps' inputs, [what is added to the last block of keys], result."""
    tiling = choose_attention_tiling(shape, soc)
    blocks = (
        ("q", shape.q, shape.m1, shape.d1),
        ("k", shape.k, shape.n1, shape.d1),
        ("v", shape.v, shape.n1, shape.e1),
    )
    args = [
        Arg(n, (s.matrices(shape.batch), columns, rows, 16, 16), shape.dtype, "r") for n, s, rows, columns in blocks
    ]
    args += side_args(shape)
    args.append(Arg("y", (prod(shape.batch), shape.e1, shape.m1, 16, 16), shape.dtype, "w"))
    deal = Deal(CoreSplit(max(shape.batch), tiling.b_share), CoreSplit(shape.m1, tiling.m_share))
    kb = KernelBuilder(name, args, deal.block_dim)
    for matrices, strips in deal.cores(kb):
        AttentionWriter(kb, shape, tiling, soc.has("fixpipe")).core(matrices, strips)
    return kb.kernel


@dataclass(frozen=True)
class Deal:
    """Shares of matrices along the longest batch axis, and of blocks of rows (of plain matrices rows)."""

    matrices: CoreSplit
    rows: CoreSplit

    @property
    def block_dim(self) -> int:
        """Cores."""
        return self.matrices.block_dim * self.rows.block_dim

    def cores(self, kb: KernelBuilder) -> Iterator[tuple[tuple[Expr, int], tuple[Expr, int]]]:
        """(start, count) of matrices and of rows, for cores of equal shares once, inside their `ascend.blocks`.

        One axis is dealt by the block index, the other by bodies of their own.
        """
        by_matrix = self.matrices.block_dim > 1
        dealt, other = (self.matrices, self.rows) if by_matrix else (self.rows, self.matrices)
        first = 0
        for at, count in other.shares():
            for start, size in dealt.bodies(kb, first):
                own, fixed = (start, size), (Expr(at), count)
                yield (own, fixed) if by_matrix else (fixed, own)
            first += dealt.block_dim


@dataclass(frozen=True)
class Strip:
    """Some blocks of 16 rows of one matrix of the batch, `at` the first of them, of plain matrices its first row; `real`: rows
    that there are."""

    batch: list[Expr]
    at: Expr
    blocks: int
    real: int


@dataclass(frozen=True)
class KeyTile:
    """Some blocks of 16 keys; `ragged`: the last key of all is in them, and no last one of a block."""

    at: Expr
    blocks: int
    ragged: bool


@dataclass
class AttentionWriter:
    """Writes what one core does."""

    kb: KernelBuilder
    shape: AttentionShape
    tiling: AttentionTiling
    fixpipe: bool

    L0: ClassVar[tuple[str, str, str, str]] = "q_l0a", "k_l0b", "weights_l0a", "v_l0b"
    """Slots of both sides of both products."""

    def own(self, strip: Strip) -> tuple[int, int]:
        """(first, number) of the rows of a strip whose softmax the core computes."""
        return 0, strip.blocks * 16

    def taken(self, slot: str, accumulator: Buf, strip: Strip, dtype: DType) -> SSAValue:
        """What `leave` takes to UB of an accumulator (columns, blocks of rows, 16, 16), which becomes `dtype`."""
        extents = (accumulator.shape[0], strip.blocks * 16, 16)
        return self.kb.view(accumulator, 0, extents, row_major(extents))

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
                for strip in self.strips(at, rows):
                    self.tile(strip)
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
            self.behind = self.loaded("behind", kb.args[3 + len(self.shape.inputs)], (16,))
            self.zeros = self.zero_rows()

    def zero_rows(self) -> Buf:
        """What is put behind the last key."""
        zeros = self.kb.alloc("zeros", Space.UB, (max(self.shape.d1, self.shape.e1), 16, 16), self.shape.dtype)
        self.kb.vec("dup", self.kb.view(zeros), imm=0.0)
        return zeros

    def loaded(self, slot: str, source: Buf, shape: tuple[int, ...]) -> Buf:
        """A small argument in UB."""
        buf = self.kb.alloc(slot, Space.UB, shape, source.dtype)
        self.kb.copy(self.kb.view(buf), self.kb.view(source))
        return buf

    def strips(self, batch: list[Expr], rows: tuple[Expr, int]) -> Iterator[Strip]:
        """The strips of a core's share; rows behind the last one are computed as well."""
        for at, blocks in self.kb.tiles(rows[1], self.tiling.mt, "m"):
            yield Strip(batch, at + rows[0], blocks, blocks * 16)

    def key_tiles(self) -> Iterator[KeyTile]:
        """The tiles of keys, one that ends within a block written by itself."""
        n1, nt = self.shape.n1, self.tiling.nt
        if not self.shape.rest:
            for at, count in self.kb.tiles(n1, nt, "n"):
                yield KeyTile(at, count, False)
            return
        before = (n1 - 1) // nt * nt
        for at, count in self.kb.tiles(before, nt, "n"):
            yield KeyTile(at, count, False)
        yield KeyTile(Expr(before), n1 - before, True)

    @property
    def score_type(self) -> DType:
        """Of scores that leave the Cube: where steps follow they are rounded as the operators would apart."""
        return self.shape.score_type

    @property
    def once(self) -> bool:
        """Whether one tile has all keys."""
        return self.tiling.nt >= self.shape.n1

    def tile(self, strip: Strip) -> None:
        """The result for a strip of rows."""
        q = self.queries(strip)
        state = None if self.once else Running.begin(self.kb, self.own(strip)[1], self.shape.e1)
        for keys in self.key_tiles():
            weights, top, total = self.weigh(q, strip, keys, state)
            if state is not None:
                state.settle(top)
            sums = self.weighted(strip, keys, weights)
            if state is None:
                self.store(strip, sums, total)
            else:
                state.add(sums)
        if state is not None:
            self.store(strip, state.sums, state.total)

    def weigh(self, q: Buf, strip: Strip, keys: KeyTile, state: Running | None) -> tuple[Buf, Buf, Buf]:
        """A tile of keys: weights in 16 bits (keys, rows, 16), the maxima that they are relative to, their sums."""
        kb = self.kb
        scores = self.scores(q, strip, keys)
        top = kb.alloc("top", Space.UB, (scores.shape[1], 1), DType.F32)
        self.reduce("cmax", top, scores)
        if state is not None:
            state.raise_top(top)
        kb.vec("sub", kb.view(scores), kb.view(scores), _spread(kb, top, keys.blocks))
        kb.vec("exp", kb.view(scores), kb.view(scores))
        total = kb.alloc("total", Space.UB, top.shape, DType.F32)
        self.reduce("cadd", total, scores)
        if state is not None:
            kb.vec("add", kb.view(state.total), kb.view(state.total), kb.view(total))
        weights = kb.alloc("weights", Space.UB, scores.shape, self.shape.dtype)
        kb.vec("conv", kb.view(weights), kb.view(scores))
        return weights, top, total

    def queries(self, strip: Strip) -> Buf:
        """The strip's rows of q in L1."""
        columns, rows = (Expr(), self.shape.d1), (strip.at, strip.blocks)
        return self.shape.q.load(self.kb, "q_l1", self.kb.args[:1], strip.batch, columns, rows)

    def scores(self, q: Buf, strip: Strip, keys: KeyTile) -> Buf:
        """A tile of scores behind the steps in UB, (keys, rows, 16) in fp32; those behind the last key are LOWEST."""
        kb, shape, mt, nt = self.kb, self.shape, strip.blocks, keys.blocks
        k = self.rows_of("k_l1", 1, strip, keys)
        l0b = kb.alloc(self.L0[1], Space.L0B, (shape.d1, nt, 16, 16), k.dtype)
        shape.k.to_l0(kb, l0b, k, Expr(), k_first=True)
        l0a = kb.alloc(self.L0[0], Space.L0A, (mt, shape.d1, 16, 16), q.dtype)
        shape.q.to_l0(kb, l0a, q, Expr(), k_first=False)
        l0c = kb.alloc("scores_l0c", Space.L0C, (nt, mt, 16, 16), DType.F32)
        kb.mmad(kb.view(l0c), kb.view(l0a), kb.view(l0b), (mt * 16, shape.d1 * 16, nt * 16), [])
        raw = self.taken("scores", l0c, strip, self.score_type)
        rows = self.own(strip)[1]
        extents = (nt, rows, 16)
        wide = kb.alloc("scores", Space.UB, extents, DType.F32)
        if shape.steps:
            scored, rounds = self.score_type, self.score_type is not DType.F32
            narrow = kb.view(kb.alloc("narrow", Space.UB, extents, scored) if rounds else wide)
            sides = list(self.sides(strip, keys))
            self.leave(narrow, raw)
            values = [Value(narrow, scored, reusable=True), *(Value(side, shape.dtype) for side in sides)]

            def temporary(dtype: DType, number: int) -> SSAValue:
                return kb.view(kb.alloc(f"tmp{number}_{dtype.mlir}", Space.UB, extents, dtype))

            emit_steps(kb, shape.steps, values, narrow, scored, Scratch(temporary))
            if rounds:
                kb.vec("conv", kb.view(wide), narrow)
            else:
                kb.vec("maxs", narrow, narrow, imm=MASKED)  # infinite as masks may be
        else:
            self.leave(kb.view(wide), raw)
        if keys.ragged:
            last = kb.view(wide, (nt - 1) * rows * 16, (rows, 16))
            kb.vec("add", last, last, kb.view(self.behind, 0, (rows, 16), (0, 1)))
        return wide

    def sides(self, strip: Strip, keys: KeyTile) -> Iterator[SSAValue]:
        """The steps' inputs for one tile, spread over it."""
        kb, shape, nt = self.kb, self.shape, keys.blocks
        extents = (nt, self.own(strip)[1], 16)
        for i, side in enumerate(shape.inputs):
            source = kb.args[3 + i]
            if side.kind == "number":
                yield kb.view(self.numbers[i], 0, extents, (0, 0, 0))
                continue
            which = sum((b * step for b, step in zip(strip.batch, side.steps, strict=True)), Expr())
            if side.kind == "matrix":
                yield self.matrix(f"side{i}", source, which, strip, keys)
                continue
            buf = kb.alloc(f"side{i}{'_last' * keys.ragged}", Space.UB, (nt * 16,), source.dtype)
            if keys.ragged:
                kb.vec("dup", kb.view(buf), imm=0.0)
            count = nt * 16 - (16 - shape.rest if keys.ragged else 0)
            kb.copy(kb.view(buf, 0, (count,)), kb.view(source, which * shape.keys + keys.at * 16, (count,), (1,)))
            yield kb.view(buf, 0, extents, (16, 0, 1))

    def matrix(self, slot: str, source: Buf, which: Expr, strip: Strip, keys: KeyTile) -> SSAValue:
        """The tile of a matrix beside the scores, (keys, rows, 16) in UB."""
        kb, shape = self.kb, self.shape
        extents = (keys.blocks, strip.blocks * 16, 16)
        buf = kb.alloc(slot, Space.UB, extents, source.dtype)
        at = ((which * shape.n1 + keys.at) * shape.m1 + strip.at) * FRACTAL_ELEMENTS
        kb.copy(kb.view(buf), kb.view(source, at, extents, (shape.m1 * FRACTAL_ELEMENTS, 16, 1)))
        return kb.view(buf)

    def rows_of(self, slot: str, number: int, strip: Strip, keys: KeyTile) -> Buf:
        """A tile of rows of k (argument 1) or v (2) in L1, (columns, keys, 16, 16), zeros behind the last key."""
        kb, shape, rest, nt = self.kb, self.shape, self.shape.rest, keys.blocks
        side, columns = (shape.k, shape.d1) if number == 1 else (shape.v, shape.e1)
        buf = kb.alloc(slot + "_last" * keys.ragged, Space.L1, (columns, nt, 16, 16), shape.dtype)
        which = sum((b * step for b, step in zip(strip.batch, side.steps, strict=True)), Expr(side.start))
        at = (which * (columns * shape.n1) + keys.at) * FRACTAL_ELEMENTS
        count = nt * 16 - (16 - rest if keys.ragged else 0)
        there, here = (shape.n1 * FRACTAL_ELEMENTS, 16, 1), (nt * FRACTAL_ELEMENTS, 16, 1)
        box = (columns, count, 16)
        kb.copy(kb.view(buf, 0, box, here), kb.view(kb.args[number], at, box, there))
        if keys.ragged:
            box = (columns, 16 - rest, 16)
            kb.copy(kb.view(buf, count * 16, box, here), kb.view(self.zeros, 0, box))
        return buf

    def reduce(self, mnemonic: str, target: Buf, scores: Buf) -> None:
        """The maximum or sum of each row of a tile (nt, rows, 16)."""
        kb = self.kb
        slab = combine_slabs(kb, mnemonic, kb.view(scores), scores.shape, scores.strides)
        kb.vec(mnemonic, kb.view(target), kb.restride(slab, scores.shape[1:], (16, 1)))

    def weighted(self, strip: Strip, keys: KeyTile, weights: Buf | None) -> Buf:
        """The sums of v's rows with the weights, as (e1, rows, 16) in UB; `weights`: None where other cores have them."""
        kb, e1, mt, nt = self.kb, self.shape.e1, strip.blocks, keys.blocks
        v = self.rows_of("v_l1", 2, strip, keys)
        l1 = kb.alloc("weights_l1", Space.L1, (nt, mt, 16, 16), v.dtype)
        self.give(l1, strip, weights)
        l0a = kb.alloc(self.L0[2], Space.L0A, (mt, nt, 16, 16), v.dtype)
        Side().to_l0(kb, l0a, l1, Expr(), k_first=False)
        l0b = kb.alloc(self.L0[3], Space.L0B, (nt, e1, 16, 16), v.dtype)
        Side(k_rows=True).to_l0(kb, l0b, v, Expr(), k_first=True)
        l0c = kb.alloc("sums_l0c", Space.L0C, (e1, mt, 16, 16), DType.F32)
        kb.mmad(kb.view(l0c), kb.view(l0a), kb.view(l0b), (mt * 16, nt * 16, e1 * 16), [])
        raw = self.taken("sums", l0c, strip, DType.F32)
        sums = kb.alloc("sums", Space.UB, (e1, self.own(strip)[1], 16), DType.F32)
        self.leave(kb.view(sums), raw)
        return sums

    def give(self, l1: Buf, strip: Strip, weights: Buf | None) -> None:
        """The way of the weights back to the Cube."""
        assert weights is not None
        self.kb.copy(self.kb.view(l1, 0, weights.shape, weights.strides), self.kb.view(weights))

    def store(self, strip: Strip, sums: Buf, total: Buf) -> None:
        """sums / total, to memory."""
        kb = self.kb
        kb.vec("rec", kb.view(total), kb.view(total))
        kb.vec("mul", kb.view(sums), kb.view(sums), _spread(kb, total, self.shape.e1))
        out = kb.alloc("y", Space.UB, sums.shape, self.shape.dtype)
        kb.vec("conv", kb.view(out), kb.view(sums))
        self.write(strip, out)

    def write(self, strip: Strip, out: Buf) -> None:
        """A strip of the result, (e1, rows, 16), to memory."""
        kb, shape = self.kb, self.shape
        which = sum((b * step for b, step in zip(strip.batch, row_major(shape.batch), strict=True)), Expr())
        at = (which * (shape.e1 * shape.m1) + strip.at) * FRACTAL_ELEMENTS
        kb.copy(kb.view(kb.args[-1], at, out.shape, (shape.m1 * FRACTAL_ELEMENTS, 16, 1)), kb.view(out))


@dataclass
class Running:
    """Maximum, sum and weighted sums of the tiles of keys so far, all relative to the maximum."""

    kb: KernelBuilder
    top: Buf
    total: Buf
    sums: Buf

    @staticmethod
    def begin(kb: KernelBuilder, rows: int, e1: int) -> Running:
        """Of no keys."""
        bufs = [
            kb.alloc(f"running_{slot}", Space.UB, shape, DType.F32)
            for slot, shape in (("top", (rows, 1)), ("total", (rows, 1)), ("sums", (e1, rows, 16)))
        ]
        state = Running(kb, *bufs)
        state.restart()
        state.empty()
        return state

    def of(self, rows: int) -> Running:
        """The same buffers for fewer rows."""
        columns, _, lanes = self.sums.shape
        sums = replace(self.sums, shape=(columns, rows, lanes))
        return Running(self.kb, replace(self.top, shape=(rows, 1)), replace(self.total, shape=(rows, 1)), sums)

    def restart(self) -> None:
        """Maximum and sum of no keys."""
        self.kb.vec("dup", self.kb.view(self.top), imm=LOWEST)
        self.kb.vec("dup", self.kb.view(self.total), imm=0.0)

    def empty(self) -> None:
        """Weighted sums of no keys."""
        self.kb.vec("dup", self.kb.view(self.sums), imm=0.0)

    def raise_top(self, top: Buf) -> None:
        """Makes `top` the maximum with the tiles before, and the sum so far relative to it; `settle` follows."""
        kb = self.kb
        kb.vec("max", kb.view(top), kb.view(top), kb.view(self.top))
        shrink = self.top
        kb.vec("sub", kb.view(shrink), kb.view(self.top), kb.view(top))
        kb.vec("exp", kb.view(shrink), kb.view(shrink))
        kb.vec("mul", kb.view(self.total), kb.view(self.total), kb.view(shrink))

    def settle(self, top: Buf) -> None:
        """Makes the weighted sums so far relative to the maximum that `raise_top` was told."""
        kb = self.kb
        kb.vec("mul", kb.view(self.sums), kb.view(self.sums), _spread(kb, self.top, self.sums.shape[0]))
        kb.vec("adds", kb.view(self.top), kb.view(top), imm=0.0)

    def add(self, sums: Buf) -> None:
        """One more tile."""
        self.kb.vec("add", self.kb.view(self.sums), self.kb.view(self.sums), self.kb.view(sums))


def _spread(kb: KernelBuilder, column: Buf, blocks: int) -> SSAValue:
    """A statistic of each row repeated along the columns of a tile (blocks, rows, 16)."""
    return kb.view(column, 0, (blocks, column.shape[0], 16), (0, 1, 0))
