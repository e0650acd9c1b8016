"""Convolution on the Cube: img2col from L1, tiles in L0, Vector epilogue.

    for each band of output rows:            input rows GM -> L1 (of one row, so much as fits)
      for each tile of output channels:      weights GM -> L1 (once and for all where they fit)
        for each tile of output positions:
          for each tile of K:                load3d L1 -> L0A, load2d L1 -> L0B, mmad into L0C
          for each chunk of channels:        L0C -> UB, bias, conversion, epilogue steps, UB -> GM

Where the weights of a core fit L0B, they go there once and for all. Where many weights are loaded to L1 once and for all, they
come with the first band in parts of K: the first part is multiplied while the next one is on its way. Where so many input
channels are summed that L1 is better used otherwise, each accumulator takes its input and weights through L1 in parts of the
channels. Where a kernel of one tap finds its positions in L1 as whole fractals, load2d takes them to L0A.

K runs over (c1, kh, kw) as FRACTAL_Z stores it; of an input of at most four channels (NC1HWC0_C04) over (kh, kw, channels) as
FRACTAL_Z_C04 does, four positions a block. A grouped convolution runs the same loops for every block of
groups that FRACTAL_Z holds block-diagonally; the last block may have fewer groups, and so fewer channels. Of volumes,
each slice of the result is an image, and the slices that it needs count as further input channels: a band takes them from
where they lie, those outside the volume left out. 8-bit numbers come in blocks of 32 channels and are summed in i32; their
way out joins two blocks of 16 results. fp32 comes in blocks of 8 channels, and its way out cuts a block of 16 results in two; where
channels end in the first of them, the last block of 16 is a tile of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.conv_shape import Band, ConvShape, Run, core_groups, peel_first, split_bands
from graph_engine.lowering.kernels.cube_tiling import ConvTiling, choose_conv_tiling, weight_part
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueTile
from graph_engine.lowering.kernels.fixpipe import leaving
from graph_engine.lowering.kernels.requantise import Requantise
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True)
class Piece:
    """So many blocks of K of a filter, from `start` on."""

    filter: int
    start: int
    blocks: int


@dataclass(frozen=True)
class Weights:
    """Weights in L1, of the blocks of K from `start` on."""

    buf: Buf
    start: int


def build_conv2d(name: str, shape: ConvShape, epilogue: Epilogue | Requantise, soc: Soc) -> KernelOp:
    """The kernel; its arguments are x, w, [bias], the epilogue's inputs, y. Raises `NoKernel` if no tile fits."""
    epilogue = leaving(epilogue, shape.bias, soc)
    tiling = choose_conv_tiling(shape, epilogue, soc)
    x = Arg("x", (shape.images, shape.in_blocks, shape.h, shape.w, shape.x_c0), shape.dtype, "r")
    size = (shape.groups, shape.k1, shape.n1, 16, shape.c0)
    w = [Arg(f"w{number or ''}", size, shape.weights, "r") for number in range(shape.filters)]
    bias = [Arg("bias", (shape.out_blocks * 16,), DType.F32, "r")] if shape.bias else []
    plane = (shape.batch, shape.out_c1, shape.ho, shape.wo, shape.c0)
    y = Arg("y", plane, epilogue.out_dtype, "w")
    shares = split_bands(shape, tiling.rows, tiling.columns, tiling.m_cores)
    kb = KernelBuilder(name, [x, *w, *bias, *epilogue.args(plane), y], len(shares) * tiling.n_cores)
    writer = _ConvWriter(kb, shape, tiling, epilogue)
    for _ in kb.parts(mixed=epilogue.mixed):
        for first, cores, x_step, y_step in core_groups(shares) if tiling.n_cores == 1 else ():
            with kb.blocks(first, first + cores) as blk:
                at = blk + -first if cores > 1 else Expr()
                writer.core(shares[first], at * x_step, at * y_step, Expr(), tiling.n_share, ends=True)
        if tiling.n_cores > 1:
            for m, share in enumerate(shares):
                for lo, hi, size in tiling.n_groups(apart=shape.half or shape.last is not None):
                    with kb.blocks(m * tiling.n_cores + lo, m * tiling.n_cores + hi) as blk:
                        unit = (
                            (blk + -(m * tiling.n_cores)) * tiling.n_share if hi - lo > 1 else Expr(lo * tiling.n_share)
                        )
                        writer.core(share, Expr(), Expr(), unit, size, ends=hi == tiling.n_cores)
    return kb.kernel


def even_tile(extent: int, tile: int) -> int:
    """A tile no larger than `tile` that cuts `extent` into as many, more even ones."""
    return -(-extent // -(-extent // tile))


@dataclass
class _ConvWriter:
    """Writes the body of one core."""

    kb: KernelBuilder
    shape: ConvShape
    tiling: ConvTiling
    epilogue: Epilogue | Requantise

    def core(self, runs: Sequence[Run], x_base: Expr, y_base: Expr, unit: Expr, units: int, *, ends: bool) -> None:
        """The bands of `runs` for `units` units of N from `unit`: `n_unit` channel blocks, or blocks of groups.

        `ends`: the last of all units is among them.
        """
        kb, shape = self.kb, self.shape
        if shape.groups == 1:
            half = shape.half and ends
            self.group(runs, x_base, y_base, Expr(), shape.c1, unit * shape.n_unit, units * shape.n_unit, half=half)
            return
        last = shape.last or ((shape.c1, shape.n1) if shape.half else None)
        whole = units - (ends and last is not None)
        if whole:
            with kb.loop(whole, "g") as g:
                self.group(runs, x_base, y_base, unit + g, shape.c1, Expr(), shape.n1)
        if ends and last is not None:
            self.group(runs, x_base, y_base, Expr(shape.groups - 1), last[0], Expr(), last[1], half=shape.half)

    def group(
        self, runs: Sequence[Run], x_base: Expr, y_base: Expr, g: Expr, c1: int, n_start: Expr, n: int, *, half: bool = False
    ) -> None:  # fmt: skip
        """The convolution of block `g` of groups, of c1 input blocks: channel blocks n_start..n_start+n, the last one `half`."""
        kb, shape, tiling = self.kb, self.shape, self.tiling
        x_base = x_base + g * (shape.c1 * shape.h * shape.w * shape.x_c0)
        channel = g * shape.n1 + n_start
        y_base = y_base + channel * (shape.ho * shape.wo * 16)
        vectors = self.epilogue.load_channels(kb, self._bias(), channel, n)
        w_base = g * (shape.k1 * shape.n1 * shape.fractal) + n_start * shape.fractal
        if tiling.c1 < shape.read_c1:
            self.streamed(runs, x_base, w_base, y_base, (n, half), vectors)
            return
        pieces = self._pieces(shape.blocks_of_k(c1 * (shape.depth.taps if shape.depth else 1)))
        ahead = pieces if len(pieces) == shape.filters else pieces[:1]
        resident = [self._weights(piece, w_base, n) for piece in ahead] if tiling.resident else []
        if tiling.held:
            resident = [self._held(weights) for weights in resident]
        for run in runs if ahead is pieces else peel_first(runs):
            with kb.loop(run.count, "band") as band:
                x_at = x_base + band * run.x_step + run.first.x_offset
                y_at = y_base + band * run.y_step + run.first.y_offset
                x_l1 = self._input(run.first, x_at, c1)
                if resident:
                    resident += [self._weights(piece, w_base, n) for piece in pieces[len(resident) :]]
                for n_at, nt, cut in self.n_tiles(n, half=half):
                    at = w_base + n_at * shape.fractal
                    weights = resident or [self._weights(piece, at, nt) for piece in pieces]
                    w_at = n_at * shape.fractal if resident else Expr()
                    self.positions(run.first, x_l1, weights, w_at, (nt, cut), y_at, n_at, vectors)

    def n_tiles(self, n: int, *, half: bool) -> Iterator[tuple[Expr, int, bool]]:
        """(start, size, whether it is half a block) of the tiles of `n` channel blocks."""
        for at, nt in self.kb.tiles(n - half, self.tiling.nt, "n"):
            yield at, nt, False
        if half:
            yield Expr(n - 1), 1, True

    def streamed(
        self, runs: Sequence[Run], x_base: Expr, w_base: Expr, y_base: Expr, n: tuple[int, bool], vectors: list[Buf]
    ) -> None:
        """The same for `n` channel blocks (the last one half?), each accumulator with all of its positions and parts of the input channels."""
        kb, shape, tiling = self.kb, self.shape, self.tiling
        for run in runs:
            with kb.loop(run.count, "band") as band:
                x_at = x_base + band * run.x_step + run.first.x_offset
                y_at = y_base + band * run.y_step + run.first.y_offset
                for n_at, nt, cut in self.n_tiles(n[0], half=n[1]):
                    m = run.first.size[0] * run.first.size[1]
                    tile = self._accumulator(m, nt)
                    bias, ready = self._tables(vectors, n_at, nt)
                    opened = False
                    for c_at, c1 in kb.tiles(shape.c1, tiling.c1, "c1"):
                        x_l1 = self._input(run.first, x_at + c_at * (shape.h * shape.w * shape.c0), c1)
                        at = w_base + n_at * shape.fractal + c_at * (shape.taps * shape.n1 * shape.fractal)
                        w = self._weights(Piece(0, 0, c1 * shape.taps), at, nt)
                        self._multiply(
                            run.first,
                            x_l1,
                            w.buf,
                            Expr(),
                            tile,
                            (0, m),
                            (0, c1 * shape.taps),
                            None if opened else [c_at],
                            bias,
                        )
                        opened = True
                    self._leave(tile, m, y_at, n_at, (nt, cut), ready)

    def _input(self, band: Band, x_at: Expr, c1: int) -> Buf:
        """The rows and columns of a band in L1, slice behind slice."""
        kb, shape = self.kb, self.shape
        _, slices = band.slices
        c0 = shape.x_c0
        row = shape.w * c0
        sizes, strides = (c1, *band.read, c0), (shape.h * row, row, c0, 1)
        x_l1 = kb.alloc("x_l1", Space.L1, (slices * c1, *band.read, c0), shape.dtype)
        if shape.depth is None:
            kb.copy(kb.view(x_l1), kb.view(kb.args[0], x_at, sizes, strides))
            return x_l1
        apart = shape.depth.dilation * shape.image
        whole = kb.view(x_l1, 0, (slices, *sizes), (c1 * prod(band.read) * c0, *x_l1.strides))
        kb.copy(whole, kb.view(kb.args[0], x_at, (slices, *sizes), (apart, *strides)))
        return x_l1

    def _pieces(self, k1: int) -> list[Piece]:
        """The first k1 blocks of K of the filters.

        One filter of which each core loads much once and for all comes in parts of K that are the same on all cores.
        """
        shape, tiling = self.shape, self.tiling
        if shape.filters > 1:
            return [Piece(number, 0, k1) for number in range(shape.filters)]
        n = shape.n1 if shape.groups > 1 else tiling.n_share * shape.n_unit
        count = n * k1 * shape.fractal * shape.weights.bytes
        size = weight_part(k1, count, tiling.kt) if tiling.resident else k1
        return [Piece(0, start, min(size, k1 - start)) for start in range(0, k1, size)]

    def _bias(self) -> list[Buf]:
        return self.kb.args[2:3] if self.shape.bias else []

    def _weights(self, piece: Piece, base: Expr, n: int) -> Weights:
        """`n` channel blocks of a piece in L1."""
        kb, shape = self.kb, self.shape
        row = shape.n1 * shape.fractal
        name = f"w{piece.filter or ''}_l1" + (f"_{piece.start}" if piece.start else "")
        w_l1 = kb.alloc(name, Space.L1, (piece.blocks, n, 16, shape.c0), shape.weights)
        strides = (row, shape.fractal, shape.c0, 1)
        kb.copy(kb.view(w_l1), kb.view(kb.args[1 + piece.filter], base + piece.start * row, w_l1.shape, strides))
        return Weights(w_l1, piece.start)

    def _held(self, weights: Weights) -> Weights:
        """The same in L0B."""
        w = weights.buf
        l0b = self.kb.alloc("l0b", Space.L0B, w.shape, w.dtype)
        self.kb.load2d(self.kb.view(l0b), self.kb.view(w))
        return Weights(l0b, weights.start)

    def positions(
        self,
        band: Band,
        x_l1: Buf,
        weights: list[Weights],
        w_at: Expr,
        channels: tuple[int, bool],
        y_at: Expr,
        n_at: Expr,
        vectors: list[Buf],
    ) -> None:
        """All output positions of a band for one tile of channels (blocks, the last one half?); K runs over the taps in depth that the band has."""
        kb, shape, nt = self.kb, self.shape, channels[0]
        bias, ready = self._tables(vectors, n_at, nt)
        k_first = band.slices[0] * shape.c1 * shape.taps
        k_end = k_first + shape.blocks_of_k(x_l1.shape[0])
        for m_at, m in kb.tiles(band.size[0] * band.size[1], self.tiling.mt * 16, "m"):
            l0c = self._accumulator(m, nt)
            opened = False
            for part in weights:
                begin, end = max(part.start, k_first), min(part.start + part.buf.shape[0], k_end)
                if begin < end:
                    w_from = (begin - part.start) * part.buf.shape[1] * shape.fractal + w_at
                    k = begin - k_first, end - begin
                    self._multiply(band, x_l1, part.buf, w_from, l0c, (m_at, m), k, None if opened else [], bias)
                    opened = True
            self._leave(l0c, m, y_at + m_at * shape.c0, n_at, channels, ready)

    def _accumulator(self, m: int, nt: int) -> Buf:
        return self.kb.alloc("l0c", Space.L0C, (nt, -(-m // 16), 16, 16), self.shape.sums)

    def _tables(self, vectors: list[Buf], n_at: Expr, nt: int) -> tuple[Buf | None, Sequence[Buf]]:
        """What accumulators of the channel blocks n_at..n_at+nt start with, and what they need on their way out."""
        return self.epilogue.bias_table(self.kb, vectors, n_at, nt), self.epilogue.ready(self.kb, vectors, n_at, nt)

    def _multiply(
        self,
        band: Band,
        x_l1: Buf,
        w: Buf,
        w_at: Expr,
        l0c: Buf,
        positions: tuple[Expr | int, int],
        k: tuple[int, int],
        first_of: Sequence[Expr] | None,
        bias: Buf | None,
    ) -> None:
        """`positions` (start, count) of a band times blocks `k` (start, count) of K, weights `w` in L1 or L0B, added into l0c.

        The first step overwrites where the counters of `first_of` are 0 as well; None adds always.
        """
        kb, shape = self.kb, self.shape
        nt, mt = l0c.shape[:2]
        (m_at, m), (k_start, extent) = positions, k
        row = w.shape[1] * shape.fractal
        geometry = (*band.read, *shape.kernel, *shape.strides, *shape.dilations, *band.pads, band.size[1])
        for k_at, kt in kb.tiles(extent, even_tile(extent, self.tiling.kt), "k"):
            l0a = kb.alloc("l0a", Space.L0A, (mt, kt, 16, shape.c0), shape.dtype)
            if shape.fractals(prod(band.size)):
                x_row = prod(band.read) * shape.c0
                x_at = (k_at + k_start) * x_row + m_at * shape.c0
                kb.load2d(kb.view(l0a), kb.view(x_l1, x_at, l0a.shape, (shape.fractal, x_row, shape.c0, 1)))
            else:
                kb.load3d(kb.view(l0a), kb.view(x_l1), geometry, m_at, k_at + k_start, float(shape.padding))
            right = kb.view(w, k_at * row + w_at, (kt, nt, 16, shape.c0), (row, shape.fractal, shape.c0, 1))
            if w.space is not Space.L0B:
                l0b = kb.alloc("l0b", Space.L0B, (kt, nt, 16, shape.c0), shape.weights)
                kb.load2d(kb.view(l0b), right)
                right = kb.view(l0b)
            step = kb.view(l0c), kb.view(l0a), right
            kb.mmad(*step, (m, kt * shape.c0, nt * 16), None if first_of is None else [*first_of, k_at], bias)
            first_of = None

    def _leave(
        self, l0c: Buf, m: int, y_at: Expr, n_at: Expr, channels: tuple[int, bool], ready: Sequence[Buf]
    ) -> None:
        """Through the epilogue to the result, at `y_at` of the core's share."""
        shape, (nt, half) = self.shape, channels
        each, parts = shape.ho * shape.wo * shape.lanes, 16 // shape.lanes
        tile = EpilogueTile(l0c, l0c.shape[1], m, y_at, each, n_at * parts, self.tiling.mt, shape.lanes)
        self.epilogue.emit(self.kb, tile, nt * parts - half, self.tiling.nc * parts, ready)
