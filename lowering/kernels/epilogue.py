"""What follows the Cube in the same kernel: L0C -> UB, bias in fp32, conversion, elementwise steps, UB -> GM.

On the coupled families without FixPipe L0C leaves through the Vector pipe (socs.yaml: `l0c_exit`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.spaces import row_major, shape_of
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.step import Scratch, Step, Value
from graph_engine.lowering.kernels.vector_steps import emit_steps
from graph_engine.lowering.kernels.vector_tiling import temporaries
from graph_engine.target_ascend.isa.model import DType, Space


@dataclass(frozen=True)
class EpilogueInput:
    """A side operand: "tile" has the result's shape, "channel" one value a channel, "scalar" one value."""

    kind: str
    dtype: DType = DType.F16


FRACTAL_ELEMENTS = 256


@dataclass(frozen=True)
class EpilogueTile:
    """One tile of the accumulator: `mt` blocks of 16 positions of which `m` are real, at `y_at` of the result
    (elements), channel blocks `n_stride` elements apart there, the first being `n_at` of the core's share. Of several
    accumulators one lies behind the other. `most`: blocks of positions in the kernel's largest tile. `c0`: channels of a block
    of the result, of which one of the accumulator holds 16 / c0; all but a last one come in such groups."""

    l0c: Buf
    mt: int
    m: int
    y_at: Expr
    n_stride: int
    n_at: Expr
    most: int
    c0: int = 16

    def sums(self, kb: KernelBuilder, at: Expr, count: int, rows: int) -> SSAValue:
        """`rows` positions of `count` channel blocks of the accumulators, from block `at` on: (count, rows, c0), or (groups of
        blocks, rows, blocks, c0) where these lie side by side."""
        apart, side_by_side = self.mt * FRACTAL_ELEMENTS, min(count, 16 // self.c0)
        if self.c0 == 16:
            return kb.view(self.l0c, at * apart, (count, rows, 16), (apart, 16, 1))
        sizes = (count // side_by_side, rows, side_by_side, self.c0)
        return kb.view(self.l0c, at * (apart * self.c0 // 16), sizes, (apart, 16, self.c0, 1))


def as_sums(kb: KernelBuilder, view: SSAValue, sums: SSAValue, apart: int) -> SSAValue:
    """A view of channel blocks `apart` elements from each other, in the shape that `EpilogueTile.sums` has."""
    sizes = shape_of(sums)
    return view if len(sizes) == 3 else kb.restride(view, sizes, (sizes[2] * apart, sizes[3], apart, 1))


@dataclass(frozen=True)
class Share:
    """Of the positions of a tile those that a core finishes: `rows` in UB from `first` on, of which `real` are real."""

    first: int
    rows: int
    real: int


def exchanged(
    kb: KernelBuilder, tile: EpilogueTile, at: Expr, count: int, most: int, slot: str, dtype: DType
) -> SSAValue:
    """Some channel blocks of a tile in global memory, where FixPipe puts them as `dtype`; those positions of them that the
    Vector core which is written for goes on with, one at least."""
    c0 = tile.c0
    buf = kb.exchange(slot, (count, tile.m, c0), dtype, most * tile.most * 16 * c0)
    sums = tile.sums(kb, at, count, tile.m)
    kb.fixpipe(as_sums(kb, kb.view(buf), sums, tile.m * c0), sums)
    first, rows = kb.own_share(tile.m)
    return kb.view(buf, first * c0, (count, max(rows, 1), c0), (tile.m * c0, c0, 1))


@dataclass(frozen=True)
class Finishing:
    """A part of the result that is finished at once: its shape in UB, the `real` elements of it, and views of the latter
    in a tensor like the result, of all of it in a row of channels."""

    shape: tuple[int, ...]
    real: tuple[int, ...]
    channel_row: Callable[[Buf], SSAValue]
    in_memory: Callable[[Buf], SSAValue]

    def like(self, kb: KernelBuilder, view: SSAValue, taken: SSAValue) -> SSAValue:
        """Those elements of a view of the shape that are in `taken`, which has all or the real ones."""
        sizes = shape_of(taken)
        if len(sizes) > len(self.shape):
            return as_sums(kb, view, taken, self.shape[1] * self.shape[2])
        return view if sizes == self.shape else kb.restride(view, sizes, row_major(self.shape))


@dataclass(frozen=True)
class Epilogue:
    """Steps over (accumulators..., side operands...); the first values are the accumulators after bias, in `acc_dtype`."""

    steps: tuple[Step, ...] = ()
    inputs: tuple[EpilogueInput, ...] = ()
    acc_dtype: DType = DType.F16
    out_dtype: DType = DType.F16
    accumulators: int = 1

    def args(self, plane: tuple[int, ...]) -> list[Arg]:
        """Launch arguments of the side operands for a result of physical shape `plane` (n, c1, h, w, c0)."""
        shapes = {"tile": plane, "channel": (1, plane[1], 1, 1, plane[-1]), "scalar": (1,)}
        return [Arg(f"side{i}", shapes[side.kind], side.dtype, "r") for i, side in enumerate(self.inputs)]

    def fractal_bytes(self) -> int:
        """UB bytes that one 16 x 16 block of the accumulator needs, one version of every buffer."""
        tiles = sum(256 * side.dtype.bytes for side in self.inputs if side.kind == "tile")
        narrow = 256 * self.acc_dtype.bytes if self.acc_dtype not in (self.out_dtype, DType.F32) else 0
        values = (*self.accumulators * ((self.acc_dtype, True),), *((side.dtype, False) for side in self.inputs))
        others = (self.accumulators - 1) * (1024 + 256 * self.acc_dtype.bytes)
        scratch = sum(256 * dtype.bytes for dtype in temporaries(self.steps, values, self.out_dtype))
        return 1024 + 256 * self.out_dtype.bytes + tiles + narrow + others + scratch

    @property
    def fractal_cycles(self) -> float:
        """About the Vector's cycles for one 16 x 16 block: four repeats of fp32 for every step and its kind."""
        return 4.0 * (4 + self.accumulators + 2 * len(self.steps))

    def sides(self, kb: KernelBuilder) -> list[Buf]:
        """The arguments of the side operands, which stand in front of the result."""
        return kb.args[len(kb.args) - 1 - len(self.inputs) : -1]

    @property
    def mixed(self) -> bool:
        """Whether a core of its own does it."""
        return False

    def share(self, kb: KernelBuilder, tile: EpilogueTile) -> Share:
        """The positions that the core which is written for finishes."""
        return Share(0, tile.mt * 16, tile.m)

    def taken(self, kb: KernelBuilder, tile: EpilogueTile, at: Expr, count: int, most: int, own: str) -> SSAValue:
        """What `leave` takes to UB of `count` channel blocks, at most `most` of them, of accumulator `own`."""
        return tile.sums(kb, at, count, tile.mt * 16)

    def leave(self, kb: KernelBuilder, dst: SSAValue, accumulator: SSAValue) -> None:
        """The way from L0C to UB, converted."""
        kb.vec("conv", dst, accumulator)

    def bias_table(self, kb: KernelBuilder, vectors: Sequence[Buf], n_at: Expr, nt: int) -> Buf | None:
        """What accumulators of the channel blocks n_at..n_at+nt start with, in BT; None where they start with 0."""
        return None

    def ready(self, kb: KernelBuilder, vectors: Sequence[Buf], n_at: Expr, nt: int) -> Sequence[Buf]:
        """What `emit` takes for the channel blocks n_at..n_at+nt."""
        return vectors

    def load_channels(self, kb: KernelBuilder, biases: Sequence[Buf], channel: Expr, n: int) -> list[Buf]:
        """Biases, scalars and channel operands of the channel blocks channel..channel+n into UB, once a core."""
        loaded: list[Buf] = []
        sides = self.sides(kb)
        rows = [(f"bias{i or ''}", "channel", bias) for i, bias in enumerate(biases)]
        rows += [(f"side{i}", s.kind, b) for i, (s, b) in enumerate(zip(self.inputs, sides, strict=True))]
        for slot, kind, source in rows:
            if kind == "channel":
                ub = kb.alloc(slot, Space.UB, (n, 16), source.dtype)
                kb.copy(kb.view(ub), kb.view(source, channel * 16, (n, 16), (16, 1)))
                loaded.append(ub)
            elif kind == "scalar":
                ub = kb.alloc(slot, Space.UB, (1,), source.dtype)
                kb.copy(kb.view(ub), kb.view(source))
                loaded.append(ub)
        return loaded

    def emit(self, kb: KernelBuilder, tile: EpilogueTile, nt: int, nc: int, vectors: Sequence[Buf]) -> None:
        """The epilogue of one accumulator tile of `nt` channel blocks of the result, `nc` at a time."""
        share, c0 = self.share(kb, tile), tile.c0
        for c_at, c in kb.tiles(nt, nc, "c"):
            raw = [
                self.taken(kb, tile, c_at + number * nt, c, nc, str(number or ""))
                for number in range(self.accumulators)
            ]
            if not share.rows:
                continue
            shape = (c, share.rows, c0)
            real = (c, share.real, c0)
            y_at = tile.y_at + (tile.n_at + c_at) * tile.n_stride + share.first * c0

            def channel_row(source: Buf, at: Expr = c_at, shape: tuple[int, ...] = shape) -> SSAValue:
                return kb.view(source, (tile.n_at + at) * c0, shape, (c0, 0, 1))

            def in_memory(
                source: Buf, y_at: Expr = y_at, real: tuple[int, ...] = real, strides: tuple[int, ...] = (tile.n_stride, c0, 1)
            ) -> SSAValue:  # fmt: skip
                return kb.view(source, y_at, real, strides)

            self.finish(kb, Finishing(shape, real, channel_row, in_memory), raw, vectors)

    def finish(self, kb: KernelBuilder, part: Finishing, raw: Sequence[SSAValue], vectors: Sequence[Buf]) -> None:
        """What follows the accumulators for one part of the result: to UB, bias, steps, store."""
        has_bias = len(vectors) > sum(side.kind != "tile" for side in self.inputs)  # one bias for each accumulator
        shape, queue = part.shape, list(vectors)
        out = kb.alloc("y_ub", Space.UB, shape, self.out_dtype)
        result = kb.view(out)
        free: dict[DType, list[SSAValue]] = {}
        inputs: list[Value] = []
        for number, taken in enumerate(raw):
            own = str(number or "")
            wide = narrow = None
            if has_bias or self.acc_dtype is DType.F32:
                wide = kb.view(kb.alloc(f"acc{own}_ub", Space.UB, shape, DType.F32))
                self.leave(kb, part.like(kb, wide, taken), taken)
                if has_bias:
                    kb.vec("add", wide, wide, part.channel_row(queue.pop(0)))
            if self.acc_dtype is not DType.F32:
                in_place = number == 0 and self.acc_dtype is self.out_dtype
                narrow = result
                if not in_place:
                    narrow = kb.view(kb.alloc(f"narrow{own}_ub", Space.UB, shape, self.acc_dtype))
                if wide is None:
                    self.leave(kb, part.like(kb, narrow, taken), taken)
                else:
                    kb.vec("conv", narrow, wide)
                    free.setdefault(DType.F32, []).append(wide)
            value = wide if narrow is None else narrow
            assert value is not None
            inputs.append(Value(value, self.acc_dtype, reusable=True))
        for i, (side, source) in enumerate(zip(self.inputs, self.sides(kb), strict=True)):
            if side.kind == "channel":
                inputs.append(Value(part.channel_row(queue.pop(0)), side.dtype))
            elif side.kind == "scalar":
                inputs.append(Value(kb.view(queue.pop(0), 0, shape, (0,) * len(shape)), side.dtype))
            else:
                ub = kb.alloc(f"side{i}_ub", Space.UB, shape, side.dtype)
                kb.copy(kb.view(ub, 0, part.real), part.in_memory(source))
                inputs.append(Value(kb.view(ub), side.dtype))

        def temporary(dtype: DType, number: int) -> SSAValue:
            return kb.view(kb.alloc(f"tmp{number}_{dtype.mlir}", Space.UB, shape, dtype))

        emit_steps(kb, self.steps, inputs, result, self.out_dtype, Scratch(temporary, free))
        kb.copy(part.in_memory(kb.args[-1]), kb.view(out, 0, part.real))
