"""Arithmetic of integers that the Vector unit has no instruction for: sums of int64, quotients and rests of int32.

int64 lies in UB as a plane of low and one of high words (see `typed_steps`). A quotient is estimated in fp32 twice, the
second time of what the first one leaves, and then corrected by at most one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels.step import Step, Value, Work
from graph_engine.target_ascend.isa.model import DType

F16, I32, I64 = DType.F16, DType.I32, DType.I64
Order = Callable[[Work, SSAValue, SSAValue], SSAValue]
"""-1, 0 or 1 in fp16, of two int32."""


def _whole(work: Work, half: SSAValue) -> SSAValue:
    return work.vec("convz", half, dtype=I32)


def _below(work: Work, order: Order, a: SSAValue, b: SSAValue) -> SSAValue:
    """1 where a < b as unsigned words, else 0."""
    flipped = [work.vec("adds", side, imm=-(2.0**31), dtype=I32) for side in (a, b)]
    less = work.vec("muls", order(work, *flipped), imm=-1.0, dtype=F16)
    return _whole(work, work.vec("maxs", less, imm=0.0, dtype=F16))


def long_sum(order: Order, *, minus: bool) -> Callable[[Work, Step, Sequence[Value]], SSAValue]:
    """a + b or a - b of int64: the low words, and the high ones with what the low ones carry."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        (low_a, high_a), (low_b, high_b) = (work.kb.words(value.view) for value in operands)
        mnemonic = "sub" if minus else "add"
        low, high = (work.vec(mnemonic, a, b, dtype=I32) for a, b in ((low_a, low_b), (high_a, high_b)))
        carry = _below(work, order, low_a, low_b) if minus else _below(work, order, low, low_a)
        high = work.vec(mnemonic, high, carry, dtype=I32)
        result = work.target()
        for word, source in zip(work.kb.words(result), (low, high), strict=True):
            work.kb.vec("conv", word, source)
        return result

    return emit


def division(order: Order, *, rest: bool) -> Callable[[Work, Step, Sequence[Value]], SSAValue]:
    """a / b of int32 towards zero; or what it leaves, with the sign of b, or of a if the step says `fmod`."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        a, b = (value.view for value in operands)

        def vec(mnemonic: str, *sources: SSAValue) -> SSAValue:
            return work.vec(mnemonic, *sources, dtype=I32)

        zero = work.vec("dup", imm=0.0, dtype=I32)
        sign, sign_a = order(work, b, zero), order(work, a, zero)
        ones = _whole(work, sign)
        size, divisor = vec("mul", b, ones), work.vec("conv", b)
        quotient, left = zero, a
        for _ in range(2):
            part = vec("convz", work.vec("div", work.vec("conv", left), divisor))
            quotient, left = vec("add", quotient, part), vec("sub", left, vec("mul", part, b))
        # Now a = quotient * b + left; `left` counted in the direction of b belongs into 0 ... |b| - 1.
        left = vec("mul", left, ones)
        behind = work.vec("maxs", work.vec("muls", order(work, left, zero), imm=-1.0, dtype=F16), imm=0.0, dtype=F16)
        left = vec("add", left, vec("mul", _whole(work, behind), size))
        above = work.vec("maxs", work.vec("adds", order(work, left, size), imm=1.0, dtype=F16), imm=0.0, dtype=F16)
        above = work.vec("mins", above, imm=1.0, dtype=F16)
        left = vec("sub", left, vec("mul", _whole(work, above), size))
        steps = _whole(work, work.vec("sub", above, behind, dtype=F16))
        quotient = vec("add", quotient, steps)
        # Towards zero: one more where something is left and the signs differ.
        differ = work.vec("muls", work.vec("mul", sign, sign_a, dtype=F16), imm=-1.0, dtype=F16)
        inexact = work.vec("mul", work.vec("maxs", differ, imm=0.0, dtype=F16), order(work, left, zero), dtype=F16)
        more = _whole(work, inexact)
        if rest:
            left = vec("mul", left, ones)
            ends = ("sub", left, vec("mul", more, b)) if dict(step.attributes)["fmod"] else ("conv", left)
        else:
            ends = ("add", quotient, more)
        result = work.target()
        work.kb.vec(ends[0], result, *ends[1:])
        return result

    return emit
