"""What follows the Cube on chips with FixPipe: the bias starts the accumulator, the result leaves by a pipe of its own.

    bias GM -> L1 -> BT;  mmad_bias into L0C;  L0C -> GM by fixpipe, which converts and does an activation on the way

Where more follows than FixPipe can do, a coupled core takes the result to UB instead, and goes on as without FixPipe; on
a split chip it takes it to global memory, from where the Vector cores of its team go on, half of the positions each; or
that is a task of its own (`transforms/cut_epilogues.py`). Sums of 8-bit numbers become 8-bit numbers again on the way, by a
factor and an offset a channel, which come to FixPipe's own buffer.

    words GM -> L1 -> FB;  L0C -> GM by requantise, two blocks of 16 channels side by side
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueInput, EpilogueTile, Share, as_sums, exchanged
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.requantise import Requantise
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.kernels.vector_steps import computed
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

FIXPIPE_STEPS = {"ge.relu": ("relu", ""), "ge.leaky_relu": ("leaky_relu", "alpha"), "ge.clip": ("clip", "max")}
"""Activations that FixPipe may do on the way, one at most, and the attribute that is their number."""


@dataclass(frozen=True)
class FixpipeEpilogue(Epilogue):
    """An epilogue whose accumulator leaves through FixPipe. `vectors` begin with the biases in L1, if there are any."""

    bias: bool = False
    activations: tuple[str, ...] = ()
    """Those that the chip's FixPipe does."""

    @property
    def activation(self) -> tuple[str, float]:
        """What FixPipe does instead of the steps, with its number; nothing where there are none."""
        for step in self.steps[:1]:
            name, number = FIXPIPE_STEPS[step.op]
            return name, dict(step.attributes).get(number, 1.0)
        return "", 1.0

    def _known(self, step: Step) -> bool:
        attributes = dict(step.attributes)
        from_zero = step.op != "ge.clip" or attributes["min"] == 0 <= attributes["max"]
        return from_zero and FIXPIPE_STEPS.get(step.op, ("", ""))[0] in self.activations

    @property
    def direct(self) -> bool:
        """Whether FixPipe does all of it, straight to device memory."""
        return (
            len(self.steps) <= 1
            and all(map(self._known, self.steps))
            and self.accumulators == 1
            and not self.inputs
            and (not self.steps or self.acc_dtype is self.out_dtype)
        )

    def fractal_bytes(self) -> int:
        return 1 if self.direct else super().fractal_bytes()

    @property
    def fractal_cycles(self) -> float:
        return 4.0 if self.direct else super().fractal_cycles

    def load_channels(self, kb: KernelBuilder, biases: Sequence[Buf], channel: Expr, n: int) -> list[Buf]:
        """The biases into L1, the other rows into UB."""
        rows = [rows_in_l1(kb, f"bias{number or ''}", bias, channel, n) for number, bias in enumerate(biases)]
        return [*rows, *super().load_channels(kb, (), channel, n)]

    def bias_table(self, kb: KernelBuilder, vectors: Sequence[Buf], n_at: Expr, nt: int) -> Buf | None:
        if not self.bias:
            return None
        return table(kb, "bias_table", Space.BT, vectors[: self.accumulators], n_at, nt)

    def leave(self, kb: KernelBuilder, dst: SSAValue, accumulator: SSAValue) -> None:
        kb.fixpipe(dst, accumulator)

    def emit(self, kb: KernelBuilder, tile: EpilogueTile, nt: int, nc: int, vectors: Sequence[Buf]) -> None:
        if not self.direct:
            super().emit(kb, tile, nt, nc, vectors[self.accumulators * self.bias :])
            return
        real, strides = (nt, tile.m, tile.c0), (tile.n_stride, tile.c0, 1)
        source = tile.sums(kb, Expr(), nt, tile.m)
        target = kb.view(kb.args[-1], tile.y_at + tile.n_at * tile.n_stride, real, strides)
        kb.fixpipe(as_sums(kb, target, source, tile.n_stride), source, *self.activation)


@dataclass(frozen=True)
class MixedEpilogue(FixpipeEpilogue):
    """An epilogue that the Vector cores of a team finish, behind a ring of tiles in global memory."""

    @property
    def direct(self) -> bool:
        return False

    @property
    def mixed(self) -> bool:
        return True

    def fractal_bytes(self) -> int:
        return -(-super().fractal_bytes() // 2)

    @property
    def fractal_cycles(self) -> float:
        return super().fractal_cycles / 2

    def share(self, kb: KernelBuilder, tile: EpilogueTile) -> Share:
        first, count = kb.own_share(tile.m)
        return Share(first, count, count)

    def taken(self, kb: KernelBuilder, tile: EpilogueTile, at: Expr, count: int, most: int, own: str) -> SSAValue:
        return exchanged(kb, tile, at, count, most, f"sums{own}", self.acc_dtype)

    def leave(self, kb: KernelBuilder, dst: SSAValue, accumulator: SSAValue) -> None:
        kb.copy(dst, accumulator)


@dataclass(frozen=True)
class FixpipeRequantise(Requantise):
    """`Requantise` on the way. Sides: bias (i32), with which sums start, and the words of `requantise`, one a channel."""

    inputs: tuple[EpilogueInput, ...] = (EpilogueInput("channel", DType.I32), EpilogueInput("channel", DType.U64))

    def args(self, plane: tuple[int, ...]) -> list[Arg]:
        channels = plane[1] * plane[-1]
        return [Arg("bias", (channels,), DType.I32, "r"), Arg("words", (channels,), DType.U64, "r")]

    def fractal_bytes(self) -> int:
        return 1

    @property
    def fractal_cycles(self) -> float:
        return 4.0

    def load_channels(self, kb: KernelBuilder, biases: Sequence[Buf], channel: Expr, n: int) -> list[Buf]:
        """Bias and words into L1."""
        named = zip(("bias", "words"), kb.args[-3:-1], strict=True)
        return [rows_in_l1(kb, name, source, channel, n) for name, source in named]

    def bias_table(self, kb: KernelBuilder, vectors: Sequence[Buf], n_at: Expr, nt: int) -> Buf | None:
        return table(kb, "bias_table", Space.BT, vectors[:1], n_at, nt)

    def ready(self, kb: KernelBuilder, vectors: Sequence[Buf], n_at: Expr, nt: int) -> Sequence[Buf]:
        """The words in FB."""
        return [table(kb, "words_table", Space.FB, vectors[1:], n_at, nt)]

    def emit(self, kb: KernelBuilder, tile: EpilogueTile, nt: int, nc: int, vectors: Sequence[Buf]) -> None:
        """The whole accumulator at once."""
        rows, pairs = tile.mt * 16, (nt // 2, tile.m, 2, 16)
        sums = kb.view(tile.l0c, 0, pairs, (2 * rows * 16, 16, rows * 16, 1))
        words = kb.view(vectors[0], 0, pairs, (32, 0, 16, 1))
        y_at = tile.y_at + tile.n_at * tile.n_stride
        kb.requantise(kb.view(kb.args[-1], y_at, pairs, (2 * tile.n_stride, 32, 16, 1)), sums, words, relu=self.relu)


def rows_in_l1(kb: KernelBuilder, name: str, source: Buf, channel: Expr, n: int) -> Buf:
    """What the channel blocks channel..channel+n have in an argument with one number a channel."""
    rows = kb.alloc(f"{name}_l1", Space.L1, (n, 16), source.dtype)
    kb.copy(kb.view(rows), kb.view(source, channel * 16, (n, 16), (16, 1)))
    return rows


def table(kb: KernelBuilder, slot: str, space: Space, sources: Sequence[Buf], n_at: Expr, nt: int) -> Buf:
    """The rows of the channel blocks n_at..n_at+nt of each source in L1, in a table of the Cube or of FixPipe."""
    own = kb.alloc(slot, space, (len(sources) * nt, 16), sources[0].dtype)
    for number, rows in enumerate(sources):
        kb.copy(kb.view(own, number * nt * 16, (nt, 16)), kb.view(rows, n_at * 16, (nt, 16), (16, 1)))
    return own


def leaving(epilogue: Epilogue | Requantise, bias: bool, soc: Soc) -> Epilogue | Requantise:
    """The epilogue by the chip's way out of L0C. Raises NoKernel where the chip has none for it."""
    if not soc.has("fixpipe"):
        return epilogue
    if isinstance(epilogue, Requantise):
        if epilogue.short:
            return FixpipeRequantise(epilogue.zero_point, epilogue.relu, epilogue.out_dtype)
        return replace(epilogue, by_fixpipe=True, mixed=soc.has("split"))
    fields = (
        epilogue.steps,
        epilogue.inputs,
        epilogue.acc_dtype,
        epilogue.out_dtype,
        epilogue.accumulators,
        bias,
        soc.activations,
    )
    through = FixpipeEpilogue(*fields)
    if not through.direct and soc.has("split"):
        through = MixedEpilogue(*fields)
    if not through.direct:  # steps are computed in fp32 where the Vector has no arithmetic of the sums' type
        through = replace(through, acc_dtype=computed(epilogue.acc_dtype))
    if not through.direct and through.acc_dtype not in (DType.F16, DType.F32):
        raise NoKernel(f"FixPipe does not take sums to {epilogue.acc_dtype.mlir} in UB")
    return through
