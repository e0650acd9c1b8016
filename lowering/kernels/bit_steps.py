"""Bits of integers: and, or, exclusive or, not, shifts by a number of bits of each element's own.

The Vector unit joins bits of 16-bit lanes and shifts by one number for all. A shift is a product with a power of two, which
is built as the exponent of an fp32: to the left of words that wrap around, to the right of halves that fp32 holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels.conversion_steps import (
    F16,
    F32,
    I32,
    LONGS,
    WORDS,
    bits,
    joined,
    mask,
    narrowed,
    number,
    sign_word,
)
from graph_engine.lowering.kernels.step import Step, Value, Work
from graph_engine.target_ascend.isa.model import DType

MANTISSA, BIAS = 23, 127
"""Bits of an fp32 behind its exponent, and what is added to that."""


def both(work: Work, words: Sequence[SSAValue]) -> SSAValue:
    """a and b."""
    return bits(work, "and", *words)


def either(work: Work, words: Sequence[SSAValue]) -> SSAValue:
    """a or b."""
    return bits(work, "or", *words)


def one_of(work: Work, words: Sequence[SSAValue]) -> SSAValue:
    """a xor b = a + b - 2 (a and b)."""
    total = work.vec("add", *words, dtype=I32)
    return work.vec("sub", total, work.vec("muls", bits(work, "and", *words), imm=2.0, dtype=I32), dtype=I32)


def flipped(work: Work, words: Sequence[SSAValue]) -> SSAValue:
    """not x = -x - 1."""
    return work.vec("adds", work.vec("muls", words[0], imm=-1.0, dtype=I32), imm=-1.0, dtype=I32)


def _clipped(work: Work, word: SSAValue, low: int, high: int) -> SSAValue:
    held = work.vec("maxs", word, imm=float(low), dtype=I32)
    work.kb.vec("mins", held, held, imm=float(high))
    return held


def _power(work: Work, exponent: SSAValue, sign: int = 1) -> SSAValue:
    """2 to plus or minus an int32 of at most 30, in fp32."""
    signed = work.vec("muls", exponent, imm=float(sign), dtype=I32)
    exponents = work.vec("adds", signed, imm=float(BIAS), dtype=I32)
    return work.kb.as_type(work.vec("muls", exponents, imm=2.0**MANTISSA, dtype=I32), F32)


def _scaled(work: Work, word: SSAValue, power: SSAValue) -> SSAValue:
    """A word times a power of two from 1 on; what is too large wraps around."""
    return work.vec("mul", word, work.vec("conv", power, dtype=I32), dtype=I32)


def _inside(work: Work, amount: SSAValue, width: int) -> SSAValue:
    """Mask of the amounts from 0 to less than `width`; no conversion brings another one there."""
    held = work.vec("conv", _clipped(work, amount, -1, width))
    low = work.vec("conv", work.compare("ge", held, work.constant(0.0)), dtype=F16)
    high = work.vec("conv", work.compare("lt", held, work.constant(float(width))), dtype=F16)
    return work.compare("eq", work.vec("mul", low, high, dtype=F16), work.constant(1.0, F16))


def _left(work: Work, word: SSAValue, amount: SSAValue) -> SSAValue:
    """word << amount; 0 for amounts outside 0 ... 31."""
    held = _clipped(work, amount, 0, 31)
    first = _clipped(work, held, 0, 16)
    second = work.vec("sub", held, first, dtype=I32)
    moved = _scaled(work, _scaled(work, word, _power(work, first)), _power(work, second))
    return work.vec("sel", _inside(work, amount, 32), moved, work.vec("dup", imm=0.0, dtype=I32), dtype=I32)


def _right(work: Work, word: SSAValue, amount: SSAValue, *, signed: bool, outside: SSAValue) -> SSAValue:
    """word >> amount; `outside` for amounts outside 0 ... 31.

    word = high 2^16 + low: up to 16 bits are high 2^(16 - amount) + low / 2^amount, more are high / 2^(amount - 16).
    """
    held = _clipped(work, amount, 0, 31)
    first = _clipped(work, held, 0, 16)
    high = work.vec("muls", work.vec("conv", mask(work, word, -65536)), imm=2.0**-16)
    if not signed:
        high = work.vec("conv", mask(work, work.vec("conv", high, dtype=I32), 65535))
    upper = work.vec("mul", high, _power(work, work.vec("sub", held, first, dtype=I32), -1))
    upper = work.vec("convf", upper, dtype=I32)
    low = work.vec("mul", work.vec("conv", mask(work, word, 65535)), _power(work, first, -1))
    steps = work.vec("adds", work.vec("muls", first, imm=-1.0, dtype=I32), imm=16.0, dtype=I32)
    scaled = _scaled(work, work.vec("conv", high, dtype=I32), _power(work, steps))
    lower = work.vec("add", scaled, work.vec("convf", low, dtype=I32), dtype=I32)
    moved = work.vec("sel", _inside(work, amount, 16), lower, upper, dtype=I32)
    return work.vec("sel", _inside(work, amount, 32), moved, outside, dtype=I32)


def shift(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """x << y or x >> y; amounts outside the width leave what the sign alone gives."""
    x, y = operands
    to_left, signed = bool(dict(step.attributes)["left"]), x.dtype in (DType.I8, DType.I16, I32, DType.I64)
    if x.dtype in LONGS:
        return _shift_of_longs(work, x, y, to_left=to_left, signed=signed)
    word, amount = number(work, x, I32), number(work, y, I32)
    if x.dtype not in WORDS:  # an amount of the width or more moves all bits out of the word
        outside = work.compare("ge", work.vec("conv", amount), work.constant(8.0 * x.dtype.bytes))
        amount = work.vec("sel", outside, work.vec("dup", imm=-1.0, dtype=I32), amount, dtype=I32)
    if to_left:
        return narrowed(work, _left(work, word, amount), x.dtype)
    fill = sign_word(work, word) if signed else work.vec("dup", imm=0.0, dtype=I32)
    return narrowed(work, _right(work, word, amount, signed=signed, outside=fill), x.dtype)


def _shift_of_longs(work: Work, x: Value, y: Value, *, to_left: bool, signed: bool) -> SSAValue:
    """Each word, and what comes to it from the other one, by 32 bits more or less."""
    (low, high), (amount, above) = work.kb.words(x.view), work.kb.words(y.view)
    # Amounts outside 0 ... 63 become 64.
    inside = work.compare("eq", work.vec("conv", above), work.constant(0.0))
    far = work.vec("dup", imm=64.0, dtype=I32)
    amount = work.vec("sel", inside, amount, far, dtype=I32)
    amount = work.vec("sel", _inside(work, amount, 64), amount, far, dtype=I32)
    less = work.vec("adds", amount, imm=-32.0, dtype=I32)
    more = work.vec("muls", less, imm=-1.0, dtype=I32)
    zero = work.vec("dup", imm=0.0, dtype=I32)
    beyond = work.compare("ge", work.vec("conv", less), work.constant(0.0))
    if to_left:
        within = work.vec(
            "add", _left(work, high, amount), _right(work, low, more, signed=False, outside=zero), dtype=I32
        )
        upper = work.vec("sel", beyond, _left(work, low, less), within, dtype=I32)
        return joined(work, (_left(work, low, amount), upper))
    fill = sign_word(work, high) if signed else zero
    upper = _right(work, high, amount, signed=signed, outside=fill)
    within = work.vec("add", _right(work, low, amount, signed=False, outside=zero), _left(work, high, more), dtype=I32)
    lower = work.vec("sel", beyond, _right(work, high, less, signed=signed, outside=fill), within, dtype=I32)
    return joined(work, (lower, upper))
