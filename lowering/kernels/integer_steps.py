"""Arithmetic of integers of all widths out of int32 instructions and fp32 estimates; results wrap around, quotients are exact.

At most 16 bits are computed as int32 and narrowed. 64 bits are two words (see `conversion_steps`), multiplied by their
halves of 16 bits. A quotient is estimated in fp32, again of what is left, and then corrected by at most one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels.conversion_steps import (
    F16,
    I32,
    LONGS,
    SPAN,
    Long,
    converted,
    float_of_long,
    integer_result,
    joined,
    long_of,
    mask,
    narrowed,
    number,
)
from graph_engine.lowering.kernels.step import Step, Value, Work
from graph_engine.target_ascend.isa.model import DType

Emit: TypeAlias = Callable[[Work, Step, Sequence[Value]], SSAValue]


def order(work: Work, a: SSAValue, b: SSAValue) -> SSAValue:
    """-1, 0 or 1 in fp16 as int32 a is less than, equal to or greater than b: max(a, b) is not b, minus is not a."""
    larger = work.vec("max", a, b, dtype=I32)
    sides = [_is_not_zero(work, work.vec("sub", larger, side, dtype=I32)) for side in (b, a)]
    return work.vec("sub", *(work.vec("conv", side, dtype=F16) for side in sides), dtype=F16)


def _is_not_zero(work: Work, x: SSAValue) -> SSAValue:
    """Mask of an int32, which no conversion makes zero that is not."""
    return work.compare("ne", work.vec("conv", x), work.constant(0.0))


def _flipped(work: Work, word: SSAValue) -> SSAValue:
    """An unsigned word as a signed one of the same order."""
    return work.vec("adds", word, imm=-(2.0**31), dtype=I32)


def _long_order(work: Work, a: Long, b: Long, *, signed: bool) -> SSAValue:
    """The high words decide, then the low ones as unsigned numbers."""
    high_a, high_b = (word if signed else _flipped(work, word) for word in (a[1], b[1]))
    high = work.vec("muls", order(work, high_a, high_b), imm=2.0, dtype=F16)
    return work.vec("add", high, order(work, _flipped(work, a[0]), _flipped(work, b[0])), dtype=F16)


def order_of(work: Work, a: Value, b: Value) -> SSAValue:
    """The order of two integers of one type of 32 or 64 bits."""
    if a.dtype in LONGS:
        signed = a.dtype is DType.I64
        return _long_order(work, work.kb.words(a.view), work.kb.words(b.view), signed=signed)
    return order(work, *(v.view if v.dtype is I32 else _flipped(work, v.view) for v in (a, b)))


def extreme(predicate: str) -> Emit:
    """The one of two words or longs of which the predicate holds."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        first = work.compare(predicate, order_of(work, *operands), work.constant(0.0, F16))
        if step.dtype in LONGS:
            pairs = zip(*(work.kb.words(v.view) for v in operands), strict=True)
            low, high = (work.vec("sel", first, *pair, dtype=I32) for pair in pairs)
            return joined(work, (low, high))
        return converted(work, work.vec("sel", first, *(v.view for v in operands), dtype=I32))

    return emit


def widened(emit: Emit) -> Emit:
    """An operator of at most 32 bits in int32, of which the result keeps the low bits."""

    def in_words(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        wide = [Value(number(work, value, I32), I32) for value in operands]
        inner = Work(work.kb, work.scratch, lambda: work.take(I32), work.taken)
        return narrowed(work, emit(inner, replace(step, dtype=I32), wide), step.dtype)

    return in_words


def as_longs(emit: Emit) -> Emit:
    """An operator of unsigned words in int64, of which the result keeps the low ones."""

    def in_longs(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        wide: list[Value] = []
        for value in operands:
            view = work.take(DType.I64)
            for target, word in zip(work.kb.words(view), long_of(work, value), strict=True):
                work.kb.vec("conv", target, word)
            wide.append(Value(view, DType.I64))
        inner = Work(work.kb, work.scratch, lambda: work.take(DType.I64), work.taken)
        result = Value(emit(inner, replace(step, dtype=DType.I64), wide), DType.I64)
        return integer_result(work, result, step.dtype)

    return in_longs


def words(mnemonic: str) -> Emit:
    """An instruction of int32, which unsigned words take as well."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        result = work.target()
        work.kb.vec(mnemonic, result, *(v.view for v in operands))
        return result

    return emit


def word_by_word(function: Callable[[Work, Sequence[SSAValue]], SSAValue]) -> Emit:
    """A function of each word of 32 or 64 bits."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        if step.dtype in LONGS:
            low, high = (
                function(work, views) for views in zip(*(work.kb.words(v.view) for v in operands), strict=True)
            )
            return joined(work, (low, high))
        return converted(work, function(work, [v.view for v in operands]))

    return emit


def whole(work: Work, number: SSAValue) -> SSAValue:
    """A float as int32, towards zero."""
    return work.vec("convz", number, dtype=I32)


def _below(work: Work, a: SSAValue, b: SSAValue) -> SSAValue:
    """1 where a < b as unsigned words, else 0."""
    less = work.vec("muls", order(work, _flipped(work, a), _flipped(work, b)), imm=-1.0, dtype=F16)
    return whole(work, work.vec("maxs", less, imm=0.0, dtype=F16))


def sum_of_longs(work: Work, a: Long, b: Long, *, minus: bool = False) -> Long:
    """a + b or a - b: the low words, and the high ones with what the low ones carry."""
    mnemonic = "sub" if minus else "add"
    low, high = (work.vec(mnemonic, *pair, dtype=I32) for pair in zip(a, b, strict=True))
    carry = _below(work, a[0], b[0]) if minus else _below(work, low, a[0])
    return low, work.vec(mnemonic, high, carry, dtype=I32)


def long_sum(*, minus: bool) -> Emit:
    """a + b or a - b of 64 bits."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        a, b = (work.kb.words(value.view) for value in operands)
        return joined(work, sum_of_longs(work, a, b, minus=minus))

    return emit


def _high_half(work: Work, word: SSAValue) -> SSAValue:
    """The upper 16 bits of a word as a number from 0 on."""
    real = work.vec("muls", work.vec("conv", mask(work, word, -65536)), imm=2.0**-16)
    return mask(work, work.vec("conv", real, dtype=I32), 65535)


def product_of_longs(work: Work, a: Long, b: Long) -> Long:
    """The low 64 bits of a b, by halves of the low words."""

    def add(*terms: SSAValue) -> SSAValue:
        first, *rest = terms
        for term in rest:
            first = work.vec("add", first, term, dtype=I32)
        return first

    (a0, b0), (a1, b1) = (
        [mask(work, side[0], 65535) for side in (a, b)],
        [_high_half(work, side[0]) for side in (a, b)],
    )
    lowest, left, right, highest = (
        work.vec("mul", *pair, dtype=I32) for pair in ((a0, b0), (a1, b0), (a0, b1), (a1, b1))
    )
    middle = add(_high_half(work, lowest), mask(work, left, 65535), mask(work, right, 65535))
    low = add(mask(work, lowest, 65535), work.vec("muls", middle, imm=65536.0, dtype=I32))
    crossed = [work.vec("mul", *pair, dtype=I32) for pair in ((a[0], b[1]), (a[1], b[0]))]
    return low, add(highest, *(_high_half(work, part) for part in (left, right, middle)), *crossed)


def long_product(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """a b of 64 bits."""
    a, b = (work.kb.words(value.view) for value in operands)
    return joined(work, product_of_longs(work, a, b))


def _chosen(work: Work, first: SSAValue, a: Long, b: Long) -> Long:
    low, high = (work.vec("sel", first, *pair, dtype=I32) for pair in zip(a, b, strict=True))
    return low, high


def _negative(work: Work, x: Long) -> SSAValue:
    """Mask of signed 64 bits below zero."""
    return work.compare("lt", work.vec("conv", x[1]), work.constant(0.0))


def _zero(work: Work) -> Long:
    zero = work.vec("dup", imm=0.0, dtype=I32)
    return zero, zero


def negated_where(work: Work, negative: SSAValue, x: Long) -> Long:
    """-x where the mask holds, else x."""
    return _chosen(work, negative, sum_of_longs(work, _zero(work), x, minus=True), x)


def long_sizes(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """|x| of int64."""
    x = work.kb.words(operands[0].view)
    return joined(work, negated_where(work, _negative(work, x), x))


def long_negative(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """-x of 64 bits."""
    return joined(work, sum_of_longs(work, _zero(work), work.kb.words(operands[0].view), minus=True))


def long_sign(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """-1, 0 or 1 of int64."""
    side = _long_order(work, work.kb.words(operands[0].view), _zero(work), signed=True)
    held = work.vec("maxs", work.vec("mins", side, imm=1.0, dtype=F16), imm=-1.0, dtype=F16)
    return integer_result(work, Value(whole(work, held), I32), step.dtype)


def _words_of_estimate(work: Work, real: SSAValue) -> Long:
    """An fp32 from 0 to less than 2^63, rounded down."""
    high = work.vec("convz", work.vec("muls", real, imm=1 / SPAN), dtype=I32)
    rest = work.vec("sub", real, work.vec("muls", work.vec("conv", high), imm=SPAN))
    upper = work.compare("ge", rest, work.constant(SPAN / 2))
    rest = work.vec("sel", upper, work.vec("adds", rest, imm=-SPAN), rest)
    return work.vec("convz", rest, dtype=I32), high


SHY = 1 - 2.0**-20
"""Estimates of quotients times this are never too large: what is left is never negative."""


def _divide(work: Work, a: Long, b: Long) -> tuple[Long, Long]:
    """Quotient and rest of numbers from zero on; every round leaves 2^-19 of what there was, and b at most."""
    quotient, left = ((work.take(I32), work.take(I32)) for _ in "ql")

    def keep(target: Long, words: Long) -> None:
        for into, word in zip(target, words, strict=True):
            work.kb.vec("conv", into, word)

    keep(quotient, _zero(work))
    keep(left, a)
    for _ in range(5):
        with work.passing():
            sides = [float_of_long(work, side, signed=False) for side in (left, b)]
            estimate = work.vec("muls", work.vec("div", *sides), imm=SHY)
            part = _words_of_estimate(work, work.vec("mins", estimate, imm=2.0**63 * SHY))
            keep(left, sum_of_longs(work, left, product_of_longs(work, part, b), minus=True))
            keep(quotient, sum_of_longs(work, quotient, part))
    with work.passing():
        fits = work.compare("ge", _long_order(work, left, b, signed=False), work.constant(0.0, F16))
        one = work.vec("dup", imm=1.0, dtype=I32), work.vec("dup", imm=0.0, dtype=I32)
        keep(quotient, _chosen(work, fits, sum_of_longs(work, quotient, one), quotient))
        keep(left, _chosen(work, fits, sum_of_longs(work, left, b, minus=True), left))
    return quotient, left


def long_division(*, rest: bool) -> Emit:
    """a / b of 64 bits towards zero; or what it leaves, with the sign of b, or of a if the step says `fmod`."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        a, b = (work.kb.words(value.view) for value in operands)
        if step.dtype is DType.U64:
            return joined(work, _divide(work, a, b)[rest])
        below_a, below_b = (_negative(work, side) for side in (a, b))
        sizes = negated_where(work, below_a, a), negated_where(work, below_b, b)
        quotient, left = _divide(work, *sizes)
        halves = [work.vec("conv", side, dtype=F16) for side in (below_a, below_b)]
        differ = work.compare("ne", *halves)
        if not rest:
            return joined(work, negated_where(work, differ, quotient))
        if dict(step.attributes)["fmod"]:
            return joined(work, negated_where(work, below_a, left))
        something = work.vec("add", *(work.vec("abs", work.vec("conv", word)) for word in left))
        there = work.vec("conv", work.compare("ne", something, work.constant(0.0)), dtype=F16)
        sides = work.vec("mul", there, work.vec("conv", differ, dtype=F16), dtype=F16)
        # Of differing signs the rest is |b| - left in the direction of b, else left.
        counted = _chosen(
            work,
            work.compare("ne", sides, work.constant(0.0, F16)),
            sum_of_longs(work, sizes[1], left, minus=True),
            left,
        )
        return joined(work, negated_where(work, below_b, counted))

    return emit


def division(*, rest: bool) -> Emit:
    """a / b of int32 towards zero; or what it leaves, with the sign of b, or of a if the step says `fmod`."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        a, b = (value.view for value in operands)

        def vec(mnemonic: str, *sources: SSAValue) -> SSAValue:
            return work.vec(mnemonic, *sources, dtype=I32)

        zero = work.vec("dup", imm=0.0, dtype=I32)
        sign, sign_a = order(work, b, zero), order(work, a, zero)
        ones = whole(work, sign)
        size, divisor = vec("mul", b, ones), work.vec("conv", b)
        quotient, left = zero, a
        for _ in range(2):
            part = vec("convz", work.vec("div", work.vec("conv", left), divisor))
            quotient, left = vec("add", quotient, part), vec("sub", left, vec("mul", part, b))
        # Now a = quotient * b + left; `left` counted in the direction of b belongs into 0 ... |b| - 1.
        left = vec("mul", left, ones)
        behind = work.vec("maxs", work.vec("muls", order(work, left, zero), imm=-1.0, dtype=F16), imm=0.0, dtype=F16)
        left = vec("add", left, vec("mul", whole(work, behind), size))
        above = work.vec("maxs", work.vec("adds", order(work, left, size), imm=1.0, dtype=F16), imm=0.0, dtype=F16)
        above = work.vec("mins", above, imm=1.0, dtype=F16)
        left = vec("sub", left, vec("mul", whole(work, above), size))
        steps = whole(work, work.vec("sub", above, behind, dtype=F16))
        quotient = vec("add", quotient, steps)
        # Towards zero: one more where something is left and the signs differ.
        differ = work.vec("muls", work.vec("mul", sign, sign_a, dtype=F16), imm=-1.0, dtype=F16)
        inexact = work.vec("mul", work.vec("maxs", differ, imm=0.0, dtype=F16), order(work, left, zero), dtype=F16)
        more = whole(work, inexact)
        if rest:
            left = vec("mul", left, ones)
            ends = ("sub", left, vec("mul", more, b)) if dict(step.attributes)["fmod"] else ("conv", left)
        else:
            ends = ("add", quotient, more)
        result = work.target()
        work.kb.vec(ends[0], result, *ends[1:])
        return result

    return emit
