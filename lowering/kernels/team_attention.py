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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.attention import AttentionWriter, Deal, KeyTile, Running, Strip
from graph_engine.lowering.kernels.attention_tiling import AttentionShape, choose_team_tiling
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.matmul import FRACTAL_ELEMENTS, Side
from graph_engine.lowering.kernels.no_kernel import NoKernel
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
    if not soc.has("split"):
        raise NoKernel("a team of cores computes attention of plain matrices on split chips alone")
    tiling = choose_team_tiling(shape, soc)
    args = [Arg(n, (rows.extent,), shape.dtype, "r") for n, rows in (("q", whole.q), ("k", whole.k), ("v", whole.v))]
    stored = {"matrix": (whole.m, shape.keys), "row": (shape.keys,), "number": ()}
    for number, side in enumerate(shape.inputs):
        count = Side(side.steps).matrices(shape.batch) if side.kind != "number" else 1
        args.append(Arg(f"side{number}", (count, *stored[side.kind]), shape.dtype, "r"))
    if shape.rest:
        args.append(Arg("behind", (BLOCK,), DType.F32, "r"))
    if whole.needs_zeros:
        args.append(Arg("zeros", (BLOCK,), shape.dtype, "r"))
    args.append(Arg("y", (whole.result.extent,), shape.dtype, "w"))
    deal = Deal(CoreSplit(max(shape.batch), tiling.b_share), CoreSplit(whole.m, tiling.m_share * BLOCK))
    kb = KernelBuilder(name, args, deal.block_dim)
    for _ in kb.parts(mixed=True):
        for matrices, rows in deal.cores(kb):
            _TeamWriter(kb, shape, tiling, True, whole).core(matrices, rows)
    return kb.kernel


@dataclass(frozen=True)
class Unit:
    """A tile of keys for a strip of rows; whether it is the strip's first, and its last."""

    strip: Strip
    keys: KeyTile
    first: bool
    last: bool


@dataclass
class _TeamWriter(AttentionWriter):
    """Writes what one core does; the writers of a team use the same words, and of each text its own part is left."""

    whole: PlainAttention

    L0 = "l0a", "l0b", "l0a", "l0b"

    def zero_rows(self) -> Buf:
        return self.kb.args[-2]

    def strips(self, batch: list[Expr], rows: tuple[Expr, int]) -> Iterator[Strip]:
        for at, real in self.kb.tiles(rows[1], self.tiling.mt * BLOCK, "m"):
            yield Strip(batch, at + rows[0], ceil_div(real, BLOCK), real)

    def own(self, strip: Strip) -> tuple[int, int]:
        return self.kb.own_share(strip.real)

    def present(self, unit: Unit | None, second: bool) -> Unit | None:
        """The tile, if the core has rows of it; else it keeps the order of what is exchanged in a half of its work."""
        if unit is None or self.own(unit.strip)[1]:
            return unit
        if second:
            self.ring("sums", self.shape.e1, unit.strip, DType.F32)
        else:
            self.ring("scores", unit.keys.blocks, unit.strip, self.score_type)
            self.ring("weights", unit.keys.blocks, unit.strip, self.shape.dtype, CoreKind.VECTOR_CORE)
        return None

    def core(self, matrices: tuple[Expr, int], rows: tuple[Expr, int]) -> None:
        """All tiles of all strips, of each the scores before the sums of the one before."""
        kb = self.kb
        self.begin()
        most = ceil_div(min(self.tiling.mt * BLOCK, rows[1]), 2)
        whole = None if self.once else Running.begin(kb, most, self.shape.e1)
        held = kb.alloc("held", Space.UB, (most, 1), DType.F32)
        q = None
        for unit, before in self.units(matrices, rows):
            restarts = unit is not None and unit.first and before is not None
            unit, before = self.present(unit, second=False), self.present(before, second=True)
            top = total = None
            if whole is not None and before is not None and before.last:
                state = whole.of(self.own(before.strip)[1])
                kb.vec("adds", kb.view(held, 0, state.total.shape), kb.view(state.total), imm=0.0)
            if unit is not None:
                state = None if whole is None else whole.of(self.own(unit.strip)[1])
                if unit.first:
                    q = self.queries(unit.strip)
                    if state is not None and restarts:
                        state.restart()
                assert q is not None
                _, top, total = self.weigh(q, unit.strip, unit.keys, state)
            if before is not None:
                sums = self.weighted(before.strip, before.keys, None)
                if whole is not None:
                    state = whole.of(sums.shape[1])
                    state.add(sums)
                    sums = state.sums
                if before.last:
                    self.store(before.strip, sums, replace(held, shape=(sums.shape[1], 1)))
            if unit is not None and top is not None and total is not None:
                if whole is None:
                    kb.vec("adds", kb.view(held, 0, total.shape), kb.view(total), imm=0.0)
                else:
                    state = whole.of(top.shape[0])
                    if restarts:
                        state.empty()
                    state.settle(top)

    def units(self, matrices: tuple[Expr, int], rows: tuple[Expr, int]) -> Iterator[tuple[Unit | None, Unit | None]]:
        """Each tile with the one before it; None before the first and behind the last."""
        batch, longest = self.shape.batch, self.shape.batch.index(max(self.shape.batch))
        axes = [matrices if axis == longest else (Expr(), count) for axis, count in enumerate(batch)]
        step, n1, nt = self.tiling.mt * BLOCK, self.shape.n1, self.tiling.nt
        full_rows, last_rows = divmod(rows[1], step)
        full_keys = (n1 - 1) // nt if self.shape.rest else n1 // nt
        last_keys = n1 - full_keys * nt
        counts = [*(count for _, count in axes), full_rows + (last_rows > 0), full_keys + (last_keys > 0)]
        torn = [*(False for _ in axes), last_rows > 0, last_keys > 0]

        def unit(at: Sequence[Expr]) -> Unit:
            *which, i, n = at
            strip_is_last, tile_is_last = (
                place == Expr(count - 1) for place, count in zip((i, n), counts[-2:], strict=True)
            )
            real = last_rows if strip_is_last and last_rows else step
            own = [start + place for (start, _), place in zip(axes, which, strict=True)]
            strip = Strip(own, i * step + rows[0], ceil_div(real, BLOCK), real)
            blocks = last_keys if tile_is_last and last_keys else nt
            keys = KeyTile(n * nt, blocks, bool(tile_is_last and self.shape.rest))
            return Unit(strip, keys, n == Expr(), tile_is_last)

        def nest(at: list[Expr], before: Unit | None) -> Iterator[tuple[Unit | None, Unit | None]]:
            if len(at) == len(counts):
                yield unit(at), before
                return
            count, inner = counts[len(at)], [Expr(n - 1) for n in counts[len(at) + 1 :]]
            yield from nest([*at, Expr()], before)
            alike = count - 2 if torn[len(at)] else count - 1
            if alike > 0:
                with self.kb.loop(alike, "i") as i:
                    yield from nest([*at, i + 1], unit([*at, i, *inner]))
            if torn[len(at)] and count > 1:
                yield from nest([*at, Expr(count - 1)], unit([*at, Expr(count - 2), *inner]))

        yield from nest([], None)
        yield None, unit([Expr(count - 1) for count in counts])

    def weigh(self, q: Buf, strip: Strip, keys: KeyTile, state: Running | None) -> tuple[Buf, Buf, Buf]:
        weights, top, total = super().weigh(q, strip, keys, state)
        ring = self.ring("weights", keys.blocks, strip, self.shape.dtype, CoreKind.VECTOR_CORE)
        self.kb.copy(self.half(ring, strip), self.kb.view(weights))
        return weights, top, total

    def give(self, l1: Buf, strip: Strip, weights: Buf | None) -> None:
        ring = self.ring("weights", l1.shape[0], strip, self.shape.dtype, CoreKind.CUBE_CORE)
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
        return self.loaded_rows(slot, number, rows, strip, span, columns)

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
        buf = kb.alloc(slot, Space.UB, (keys.blocks, count, 16), source.dtype)
        if keys.ragged:
            last = (count, 16)
            kb.copy(kb.view(buf, (keys.blocks - 1) * count * 16, last), kb.view(self.zero_rows(), 0, last, (0, 1)))
        at = (which * self.whole.m + strip.at + first) * self.shape.keys + keys.at * BLOCK
        for block, (rows, blocks, size) in blocks_of(count, width):
            there = kb.view(source, at + block * BLOCK, (blocks, rows, size), (BLOCK, self.shape.keys, 1))
            kb.copy(kb.view(buf, block * count * 16, (blocks, rows, size), buf.strides), there)
        return kb.view(buf)

    def write(self, strip: Strip, out: Buf) -> None:
        kb, result, (first, count) = self.kb, self.whole.result, self.own(strip)
        at = result.at(strip.batch, strip.at + first, Expr())
        for block, (rows, blocks, size) in blocks_of(count, self.whole.e):
            there = kb.view(kb.args[-1], at + block * BLOCK, (blocks, rows, size), (BLOCK, result.pitch, 1))
            kb.copy(there, kb.view(out, block * count * 16, (blocks, rows, size), out.strides))
