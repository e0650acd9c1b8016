"""Attention of plain matrices on a Cube core and its two Vector cores: scores and weights go through global memory.

    for each matrix of the batch, for each strip of rows:           the Vector cores have half of its rows each
      for each tile of keys:
        Cube:    scores of the tile                                 FixPipe, into a ring
        Vector:  scale, mask, running maximum, weights as fp16      back through a second ring
        Cube:    weighted sums of v of the tile before              FixPipe, into a third ring
        Vector:  running sums, relative to the new maximum
      result / sum, UB -> GM, row by row

The Cube computes the scores of a tile before the sums of the one before, so that it works while the Vector cores weigh. What
is exchanged lies in columns of blocks (columns, rows, 16), as the tiles of `attention.py` do in UB and L1, whose algorithm
this is. q, k, v, matrices beside the scores and the result lie row by row. Zeros come from an argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.attention import AttentionWriter, Deal, KeyTile, Running, Strip
from graph_engine.lowering.kernels.attention_tiling import AttentionShape, choose_attention_tiling
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.matmul import FRACTAL_ELEMENTS, Side
from graph_engine.lowering.kernels.plain_matmul import BLOCK, PlainSide, Rows, blocks_of
from graph_engine.lowering.kernels.vector_tiling import CoreSplit, ceil_div
from graph_engine.target_ascend.isa.model import CoreKind, DType, Space
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True)
class PlainAttention:
    """Attention in blocks; rows, columns of q and of v one by one; where operands and the result lie."""

    inner: AttentionShape
    m: int
    d: int
    e: int
    q: Rows
    k: Rows
    v: Rows
    result: Rows

    @property
    def needs_zeros(self) -> bool:
        """Whether keys or columns end within a block."""
        return any(size % BLOCK for size in (self.inner.keys, self.d, self.e))


def build_team_attention(name: str, whole: PlainAttention, soc: Soc) -> KernelOp:
    """The kernel; arguments: q, k, v, the steps' inputs, [what is added to the last block of keys], [zeros], result."""
    shape = whole.inner
    tiling = choose_attention_tiling(shape, soc)
    args = [Arg(n, (rows.extent,), DType.F16, "r") for n, rows in (("q", whole.q), ("k", whole.k), ("v", whole.v))]
    stored = {"matrix": (whole.m, shape.keys), "row": (shape.keys,), "number": ()}
    for number, side in enumerate(shape.inputs):
        count = Side(side.steps).matrices(shape.batch) if side.kind != "number" else 1
        args.append(Arg(f"side{number}", (count, *stored[side.kind]), DType.F16, "r"))
    if shape.rest:
        args.append(Arg("behind", (BLOCK,), DType.F32, "r"))
    if whole.needs_zeros:
        args.append(Arg("zeros", (BLOCK,), DType.F16, "r"))
    args.append(Arg("y", (whole.result.extent,), DType.F16, "w"))
    deal = Deal(CoreSplit(max(shape.batch), tiling.b_share), CoreSplit(whole.m, tiling.m_share * BLOCK))
    kb = KernelBuilder(name, args, deal.block_dim)
    for _ in kb.parts(mixed=True):
        for matrices, rows in deal.cores(kb):
            _TeamWriter(kb, shape, tiling, True, whole).core(matrices, rows)
    return kb.kernel


@dataclass
class _TeamWriter(AttentionWriter):
    """Writes what one core does; the writers of a team use the same words, and of each text its own part is left."""

    whole: PlainAttention

    def zero_rows(self) -> Buf:
        return self.kb.args[-2]

    def strips(self, batch: list[Expr], rows: tuple[Expr, int]) -> Iterator[Strip]:
        for at, real in self.kb.tiles(rows[1], self.tiling.mt * BLOCK, "m"):
            yield Strip(batch, at + rows[0], ceil_div(real, BLOCK), real)

    def own(self, strip: Strip) -> tuple[int, int]:
        """A core for which no row is left computes the last one, for nobody."""
        first, count = self.kb.own_share(strip.real)
        return (first, count) if count else (first - 1, 1)

    def works(self, strip: Strip) -> bool:
        """Whether the core has rows of its own."""
        return self.kb.own_share(strip.real)[1] > 0

    def tile(self, strip: Strip) -> None:
        if self.once:
            super().tile(strip)
            return
        q = self.queries(strip)
        state = Running.begin(self.kb, self.own(strip)[1], self.shape.e1)
        for keys, before in self.staggered():
            top = self.weigh(q, strip, keys, state)[1] if keys is not None else None
            if before is not None:
                state.add(self.weighted(strip, before, None))
            if top is not None:
                state.settle(top)
        self.store(strip, state.sums, state.total)

    def staggered(self) -> Iterator[tuple[KeyTile | None, KeyTile | None]]:
        """Each tile of keys with the one before it; None before the first and behind the last."""
        n1, nt, rest = self.shape.n1, self.tiling.nt, self.shape.rest
        full = (n1 - 1) // nt if rest else n1 // nt
        before = None
        if full:
            yield KeyTile(Expr(), nt, False), None
            before = KeyTile(Expr((full - 1) * nt), nt, False)
        if full > 1:
            with self.kb.loop(full - 1, "n") as i:
                yield KeyTile(i * nt + nt, nt, False), KeyTile(i * nt, nt, False)
        if full * nt < n1:
            last = KeyTile(Expr(full * nt), n1 - full * nt, bool(rest))
            yield last, before
            before = last
        yield None, before

    def weigh(self, q: Buf, strip: Strip, keys: KeyTile, state: Running | None) -> tuple[Buf, Buf, Buf]:
        weights, top, total = super().weigh(q, strip, keys, state)
        ring = self.ring("weights", keys.blocks, strip, DType.F16, CoreKind.VECTOR_CORE)
        if self.works(strip):
            self.kb.copy(self.half(ring, strip), self.kb.view(weights))
        return weights, top, total

    def give(self, l1: Buf, strip: Strip, weights: Buf | None) -> None:
        ring = self.ring("weights", l1.shape[0], strip, DType.F16, CoreKind.CUBE_CORE)
        self.kb.copy(self.kb.view(l1, 0, ring.shape, (strip.blocks * FRACTAL_ELEMENTS, 16, 1)), self.kb.view(ring))

    def taken(self, slot: str, accumulator: Buf, strip: Strip, dtype: DType) -> SSAValue:
        ring = self.ring(slot, accumulator.shape[0], strip, dtype)
        sums = self.kb.view(accumulator, 0, ring.shape, (strip.blocks * FRACTAL_ELEMENTS, 16, 1))
        self.kb.fixpipe(self.kb.view(ring), sums)
        return self.half(ring, strip)

    def ring(self, slot: str, columns: int, strip: Strip, dtype: DType, by: CoreKind | None = None) -> Buf:
        """A tile (blocks of columns, rows, 16) that is exchanged."""
        widest = self.shape.e1 if slot == "sums" else self.tiling.nt
        most = widest * self.tiling.mt * FRACTAL_ELEMENTS
        return self.kb.exchange(f"{slot}_ring", (columns, strip.real, 16), dtype, most, by=by)

    def half(self, ring: Buf, strip: Strip) -> SSAValue:
        """The core's own rows of a tile that is exchanged."""
        first, count = self.own(strip)
        return self.kb.view(ring, first * 16, (ring.shape[0], count, 16), ring.strides)

    def leave(self, dst: SSAValue, accumulator: SSAValue) -> None:
        self.kb.copy(dst, accumulator)

    def queries(self, strip: Strip) -> Buf:
        return self.loaded_rows("q_l1", 0, self.whole.q, strip, (strip.at, strip.real), self.whole.d)

    def rows_of(self, slot: str, number: int, strip: Strip, keys: KeyTile) -> Buf:
        rows, columns = (self.whole.k, self.whole.d) if number == 1 else (self.whole.v, self.whole.e)
        span = keys.at * BLOCK, self.keys_in(keys)
        return self.loaded_rows(slot + "_last" * keys.ragged, number, rows, strip, span, columns)

    def keys_in(self, keys: KeyTile) -> int:
        """The keys of a tile that there are."""
        return keys.blocks * BLOCK - (BLOCK - self.shape.rest if keys.ragged else 0)

    def loaded_rows(
        self, slot: str, number: int, rows: Rows, strip: Strip, span: tuple[Expr, int], columns: int
    ) -> Buf:
        """Some rows of an argument in L1, zeros behind the last column and, of keys, the last row."""
        side, every = PlainSide(rows, k_rows=number == 2), (Expr(), columns)
        k, x = (span, every) if side.k_rows else (every, span)
        source = self.kb.args[number]
        return side.load(self.kb, slot, source, self.zero_rows(), strip.batch, k, x, whole=number > 0)

    def matrix(self, slot: str, source: Buf, which: Expr, strip: Strip, keys: KeyTile) -> SSAValue:
        kb, (first, count), width = self.kb, self.own(strip), self.keys_in(keys)
        buf = kb.alloc(slot + "_last" * keys.ragged, Space.UB, (keys.blocks, count, 16), DType.F16)
        if keys.ragged:
            kb.vec("dup", kb.view(buf, (keys.blocks - 1) * count * 16, (count, 16)), imm=0.0)
        at = (which * self.whole.m + strip.at + first) * self.shape.keys + keys.at * BLOCK
        for block, (rows, blocks, size) in blocks_of(count, width):
            there = kb.view(source, at + block * BLOCK, (blocks, rows, size), (BLOCK, self.shape.keys, 1))
            kb.copy(kb.view(buf, block * count * 16, (blocks, rows, size), buf.strides), there)
        return kb.view(buf)

    def write(self, strip: Strip, out: Buf) -> None:
        if not self.works(strip):
            return
        kb, result, (first, count) = self.kb, self.whole.result, self.own(strip)
        at = result.at(strip.batch, strip.at + first, Expr())
        for block, (rows, blocks, size) in blocks_of(count, self.whole.e):
            there = kb.view(kb.args[-1], at + block * BLOCK, (blocks, rows, size), (BLOCK, result.pitch, 1))
            kb.copy(there, kb.view(out, block * count * 16, (blocks, rows, size), out.strides))
