"""Comparing and choosing fp32, and fp32 as int32 and back, by a Vector unit that does so with fp16 alone.

A number between -2^22 and 2^22 plus 1.5 2^23 is a float whose last bit counts ones: the sum is rounded to the nearest even
integer, and its bits are those of 1.5 2^23 plus that integer. What is larger goes in two parts. All of it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.spaces import dtype_of
from graph_engine.dialects.ascend.vec import CmpOp
from graph_engine.lowering.kernels.sequence_writer import SequenceWriter
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.isa.specs import SPECS

WHOLE, WHOLE_BITS = 1.5 * 2.0**23, float(0x4B400000)
"""Added to a number it leaves an integer; its bits as an integer."""
LOW, LOW_BITS = 2.0**23, float(0x4B000000)
"""The float whose mantissa is nothing, to be filled with 23 bits of an integer; its bits."""
MANTISSA, PART = 23, 2.0**16
LARGEST = 3.4028234663852886e38
HUGE = 2.0**100
"""Twice times that, the smallest difference of two floats is above 1."""


def compared(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
    """The sign of a - b in fp16, compared with 0; infinite numbers are the largest ones, whose difference is a number."""
    assert isinstance(w.op, CmpOp)
    a, b = (_between(w, value, -LARGEST, LARGEST) for value in src)
    sign = _sign(w, w.onto(a, "sub", b))
    half = w.like(sign, DType.F16)
    w.kb.vec("conv", half, sign)
    w.kb.compare(w.op.predicate.data, dst, half, w.number(0.0, half))


def chosen(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
    """(a and m) or (b and not m), where all bits of m are the mask's."""
    mask, *choices = src
    half = w.like(mask, DType.F16)
    words = [w.like(mask, DType.I32) for _ in choices]
    ends = [w.number(number, half) for number in (-1.0, 0.0)]
    for word, choice, (here, elsewhere) in zip(words, choices, (ends, ends[::-1]), strict=True):
        w.kb.vec("sel", half, mask, here, elsewhere)
        w.kb.vec("conv", word, half)
        _bits(w, "and", word, choice, word)
    _bits(w, "or", dst, *words)


def converted(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
    """fp32 to int32, rounded as the instruction does, at most to the ends of int32; int32 to the nearest fp32."""
    if dtype_of(src[0].type) is DType.I32:
        _float_of_word(w, dst, src[0])
        return
    x, sign = _between(w, src[0], -(2.0**31), 2.0**31 - 128), None
    high, low = w.like(x), w.like(x)
    mnemonic = SPECS[w.op.OPCODE].mnemonic
    if mnemonic == "convz":
        sign = w.like(x)
        w.kb.vec("muls", sign, x, imm=1.0)
        x = w.onto(x, "abs")
    elif mnemonic == "convc":
        x = w.onto(x, "muls", imm=-1.0)
    if mnemonic != "conv":
        _round_down(w, x, high, low)
    if sign is not None:
        x = w.onto(x, "mul", _sign(w, sign))
    elif mnemonic == "convc":
        x = w.onto(x, "muls", imm=-1.0)
    _cut(w, x, high, low)
    upper, lower = (_word(w, part) for part in (high, low))
    w.kb.vec("add", dst, w.onto(upper, "mul", w.number(PART, upper)), lower)


def _between(w: SequenceWriter, x: SSAValue, low: float, high: float) -> SSAValue:
    """x from `low` to `high`, in a buffer of its own."""
    held = w.like(x)
    w.kb.vec("max", held, x, w.number(low, x))
    return w.onto(held, "min", w.number(high, x))


def _sign(w: SequenceWriter, x: SSAValue) -> SSAValue:
    """-1, 0 or 1, in the place of x."""
    for _ in range(2):
        x = w.onto(x, "muls", imm=HUGE)
        x = w.onto(w.onto(x, "max", w.number(-1.0, x)), "min", w.number(1.0, x))
    return x


def _round(w: SequenceWriter, x: SSAValue) -> SSAValue:
    """The nearest even integer of a number below 2^22, in its place."""
    return w.onto(w.onto(x, "adds", imm=WHOLE), "adds", imm=-WHOLE)


def _cut(w: SequenceWriter, x: SSAValue, high: SSAValue, low: SSAValue) -> None:
    """x = high 2^16 + low, high an integer and low at most 2^15."""
    w.kb.vec("muls", high, x, imm=1 / PART)
    w.kb.vec("muls", low, _round(w, high), imm=PART)
    w.kb.vec("sub", low, x, low)


def _round_down(w: SequenceWriter, x: SSAValue, high: SSAValue, low: SSAValue) -> None:
    """The nearest integer, less 1 where that is above x, in the place of x."""
    _cut(w, x, high, low)
    nearest = w.onto(w.onto(high, "muls", imm=PART), "add", _round(w, low))
    w.kb.vec("sub", low, nearest, x)
    above = w.onto(_sign(w, low), "max", w.number(0.0, low))
    w.kb.vec("sub", x, nearest, above)


def _word(w: SequenceWriter, x: SSAValue) -> SSAValue:
    """The nearest integer of a number below 2^22, as int32 in its place."""
    bits = w.kb.as_type(w.onto(x, "adds", imm=WHOLE), DType.I32)
    return w.onto(bits, "add", w.number(-WHOLE_BITS, bits))


def _bits(w: SequenceWriter, mnemonic: str, *views: SSAValue) -> None:
    """The bits of two words joined: result, words."""
    w.kb.vec(mnemonic, *(w.kb.halves(view) for view in views))


def _float_of_word(w: SequenceWriter, dst: SSAValue, x: SSAValue) -> None:
    """x = high 2^23 + low: low as the mantissa of a float, high bit by bit, and one sum that rounds."""
    low, high, held = w.like(x), w.like(x), w.like(x)
    _bits(w, "and", low, x, w.number(2.0**MANTISSA - 1, x))
    _bits(w, "or", low, low, w.number(LOW_BITS, x))
    _bits(w, "and", high, x, w.number(-(2.0**31), x))
    w.onto(w.onto(high, "max", w.number(-1.0, x)), "mul", w.number(2.0 ** (31 - MANTISSA), x))
    for bit in range(MANTISSA, 31):
        _bits(w, "and", held, x, w.number(2.0**bit, x))
        w.onto(w.onto(held, "min", w.number(1.0, x)), "mul", w.number(2.0 ** (bit - MANTISSA), x))
        w.onto(high, "add", held)
    w.onto(high, "add", w.number(WHOLE_BITS, x))
    lower, upper = (w.kb.as_type(word, DType.F32) for word in (low, high))
    w.onto(w.onto(upper, "adds", imm=-WHOLE), "muls", imm=2.0**MANTISSA)
    w.kb.vec("add", dst, upper, w.onto(lower, "adds", imm=-LOW))
