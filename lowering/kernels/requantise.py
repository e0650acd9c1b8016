"""What follows a product of 8-bit numbers on its way out of the accumulator: exact sums become 8-bit numbers again.

    L0C (i32) -> UB, + bias (i32), as fp32, * factor, cut to the result's range, to the nearest even integer,
    joined to blocks of 32 channels, + zero point, to 8 bits -> GM

This is the arithmetic of ONNX's QLinearConv as onnxruntime does it, step by step; up to the multiplication everything is
exact as long as sums stay below 2^24, and so is all behind it. Two blocks of 16 channels make one of 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.epilogue import EpilogueInput, EpilogueTile, exchanged
from graph_engine.target_ascend.isa.model import DType, Space

RANGES = {DType.I8: (-128, 127), DType.U8: (0, 255)}


@dataclass(frozen=True)
class Requantise:
    """To `out_dtype` around `zero_point`, not below it if `relu`. Sides: bias (i32) and factor (fp32), one a channel.

    It stands where an `Epilogue` stands. `by_fixpipe`: sums leave L0C by FixPipe, not by the Vector; `mixed`: for
    global memory, from where the Vector cores of a team go on, half of the positions each. `short`: all factors have so few
    digits that FixPipe's own scaling gives the same.
    """

    zero_point: int
    relu: bool = False
    out_dtype: DType = DType.I8
    inputs: tuple[EpilogueInput, ...] = (EpilogueInput("channel", DType.I32), EpilogueInput("channel", DType.F32))
    by_fixpipe: bool = False
    mixed: bool = False
    short: bool = False

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest number before the zero point is added."""
        low, high = RANGES[self.out_dtype]
        return 0 if self.relu else low - self.zero_point, high - self.zero_point

    def args(self, plane: tuple[int, ...]) -> list[Arg]:
        """Launch arguments: bias and factor for a result of physical shape (n, c1, h, w, 32)."""
        channels = plane[1] * plane[-1]
        return [Arg("bias", (channels,), DType.I32, "r"), Arg("factor", (channels,), DType.F32, "r")]

    def fractal_bytes(self) -> int:
        """UB bytes that one 16 x 16 block of the accumulator needs, one version of every buffer."""
        elements = 128 if self.mixed else 256
        return elements * (DType.I32.bytes + DType.F32.bytes + DType.F16.bytes + self.out_dtype.bytes)

    @property
    def fractal_cycles(self) -> float:
        """About the Vector's cycles for one 16 x 16 block: four repeats of an instruction, twice that with two sources."""
        return 22.0 if self.mixed else 44.0

    def bias_table(self, kb: KernelBuilder, vectors: Sequence[Buf], n_at: Expr, nt: int) -> Buf | None:
        """What accumulators start with: nothing."""
        return None

    def ready(self, kb: KernelBuilder, vectors: Sequence[Buf], n_at: Expr, nt: int) -> Sequence[Buf]:
        """What `emit` takes for the channel blocks n_at..n_at+nt."""
        return vectors

    def load_channels(self, kb: KernelBuilder, biases: Sequence[Buf], channel: Expr, n: int) -> list[Buf]:
        """Bias and factor of the channel blocks channel..channel+n into UB, once a core."""
        loaded: list[Buf] = []
        for slot, source in zip(("bias", "factor"), kb.args[-3:-1], strict=True):
            ub = kb.alloc(slot, Space.UB, (n, 16), source.dtype)
            kb.copy(kb.view(ub), kb.view(source, channel * 16, (n, 16), (16, 1)))
            loaded.append(ub)
        return loaded

    def emit(self, kb: KernelBuilder, tile: EpilogueTile, nt: int, nc: int, vectors: Sequence[Buf]) -> None:
        """The way out of one accumulator tile of `nt` channel blocks, `nc` (even) at a time."""
        first, real_rows = kb.own_share(tile.m)
        rows = real_rows if self.mixed else tile.mt * 16
        bias, factor = vectors
        low, high = self.bounds
        for c_at, c in kb.tiles(nt, nc, "c"):
            accumulator = (
                exchanged(kb, tile, c_at, c, nc, "sums", DType.I32) if self.mixed else tile.sums(kb, c_at, c, rows)
            )
            if not rows:
                continue
            shape = (c, rows, 16)
            at = (tile.n_at + c_at) * 16
            sums = kb.view(kb.alloc("sums_ub", Space.UB, shape, DType.I32))
            if self.mixed:
                kb.copy(sums, accumulator)
            elif self.by_fixpipe:
                kb.fixpipe(sums, accumulator)
            else:
                kb.vec("conv", sums, accumulator)
            kb.vec("add", sums, sums, kb.view(bias, at, shape, (16, 0, 1)))
            real = kb.view(kb.alloc("real_ub", Space.UB, shape, DType.F32))
            kb.vec("conv", real, sums)
            kb.vec("mul", real, real, kb.view(factor, at, shape, (16, 0, 1)))
            kb.vec("maxs", real, real, imm=float(low))
            kb.vec("mins", real, real, imm=float(high))
            kb.vec("conv", sums, real)
            # Small integers from here on, which fp16 holds; its blocks of 16 find their places side by side.
            half = kb.alloc("half_ub", Space.UB, (c // 2, rows, 32), DType.F16)
            joined = kb.view(half, 0, (c // 2, 2, rows, 16), (rows * 32, 16, 32, 1))
            kb.vec("conv", joined, kb.restride(sums, (c // 2, 2, rows, 16), (rows * 32, rows * 16, 16, 1)))
            if self.zero_point:
                kb.vec("adds", kb.view(half), kb.view(half), imm=float(self.zero_point))
            out = kb.alloc("y_ub", Space.UB, (c // 2, rows, 32), self.out_dtype)
            kb.vec("conv", kb.view(out), kb.view(half))
            stored = (c // 2, real_rows, 32)
            y_at = tile.y_at + (tile.n_at + c_at) * tile.n_stride + first * 32
            kb.copy(
                kb.view(kb.args[-1], y_at, stored, (2 * tile.n_stride, 32, 1)),
                kb.view(out, 0, stored, (rows * 32, 32, 1)),
            )
