"""Numbers in other types: casts between all of them, and integers of any width as int32 words and back.

UB holds an unsigned number as the bits of the signed type of its width, and 64 bits as a plane of low and one of high int32
words. Booleans are bytes of 0 and 1. What the Vector unit cannot convert directly goes through types that hold every
number; an integer that is too wide for the result loses its high bits to a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels.step import Step, Value, Work
from graph_engine.target_ascend.isa.model import DType

F16, F32, I32, BOOL = DType.F16, DType.F32, DType.I32, DType.BOOL
FLOATS, BYTES, SHORTS = (F16, F32), (DType.I8, DType.U8), (DType.I16, DType.U16)
WORDS, LONGS = (I32, DType.U32), (DType.I64, DType.U64)
INTEGERS = (*BYTES, *SHORTS, *WORDS, *LONGS)
STORED = (*FLOATS, BOOL, *INTEGERS)
"""Element types that steps take."""
SPAN = 2.0**32
"""Numbers of a word."""

Long: TypeAlias = tuple[SSAValue, SSAValue]
"""Views of the low and the high words of 64-bit integers."""


def number(work: Work, value: Value, to: DType) -> SSAValue:
    """A value as fp16, fp32 or int32: exact if that type holds it, else the nearest float (of 32 bits: the same bits)."""
    source = value.dtype
    if source is to or (source in WORDS and to is I32):
        return value.view
    if source in LONGS or source is DType.U32:
        real = float_of_long(work, long_of(work, value), signed=source is DType.I64)
        return real if to is F32 else work.vec("conv", real, dtype=to)
    if source in SHORTS:
        real = work.vec("conv", value.view)
        real = _from_zero_on(work, real, 2.0**16) if source is DType.U16 else real
        return real if to is F32 else work.vec("conv", real, dtype=to)
    if source in (BOOL, *BYTES) and to is not F16:
        return work.vec("convz" if to is I32 else "conv", work.vec("conv", value.view, dtype=F16), dtype=to)
    return work.vec("conv", value.view, dtype=to)


def word_of(work: Work, value: Value) -> SSAValue:
    """An integer as int32, of a longer one the low bits."""
    return work.kb.words(value.view)[0] if value.dtype in LONGS else number(work, value, I32)


def long_of(work: Work, value: Value) -> Long:
    """An integer as two words."""
    if value.dtype in LONGS:
        return work.kb.words(value.view)
    low = word_of(work, value)
    return low, work.vec("dup", imm=0.0, dtype=I32) if value.dtype is DType.U32 else sign_word(work, low)


def sign_word(work: Work, low: SSAValue) -> SSAValue:
    """The high word of an int32: -1 or 0."""
    held = work.vec("maxs", low, imm=-1.0, dtype=I32)
    work.kb.vec("mins", held, held, imm=0.0)
    return held


def float_of_long(work: Work, words: Long, *, signed: bool) -> SSAValue:
    """low + high * 2^32 in fp32, both from zero on or the high one signed; exact where the number fits int32 and 24 bits."""
    low, high = (work.vec("conv", word) for word in words)
    high = high if signed else _from_zero_on(work, high, SPAN)
    rest = work.vec("sub", high, work.vec("conv", sign_word(work, words[0])))
    return work.vec("add", low, work.vec("muls", rest, imm=SPAN))


def _is_above(work: Work, x: SSAValue, limit: float) -> SSAValue:
    """1 where an fp32 that is an integer is larger than `limit`, else 0."""
    held = work.vec("adds", x, imm=-limit)
    work.kb.vec("maxs", held, held, imm=0.0)
    work.kb.vec("mins", held, held, imm=1.0)
    return held


def _from_zero_on(work: Work, x: SSAValue, span: float) -> SSAValue:
    """x, plus `span` where it is negative: the unsigned number with the bits of a signed one."""
    minus = work.vec("muls", x, imm=-1.0)
    return work.vec("add", x, work.vec("muls", _is_above(work, minus, 0.0), imm=span))


def _around_zero(work: Work, x: SSAValue, span: float) -> SSAValue:
    """x, minus `span` where it is not below half of that: the signed number with the bits of an unsigned one."""
    return work.vec("add", x, work.vec("muls", _is_above(work, x, span / 2 - 1), imm=-span))


def bits(work: Work, mnemonic: str, a: SSAValue, b: SSAValue) -> SSAValue:
    """`and` or `or` of two int32."""
    result = work.take(I32)
    work.kb.vec(mnemonic, *(work.kb.halves(view) for view in (result, a, b)))
    return result


def mask(work: Work, word: SSAValue, ones: int) -> SSAValue:
    """The bits of an int32 that are set in `ones`."""
    return bits(work, "and", word, work.vec("dup", imm=float(ones), dtype=I32))


def converted(work: Work, value: SSAValue, mnemonic: str = "conv") -> SSAValue:
    """The last step of a value: into the result's type."""
    result = work.target()
    work.kb.vec(mnemonic, result, value)
    return result


def narrowed(work: Work, word: SSAValue, to: DType) -> SSAValue:
    """The last step of an int32: its low bits as an integer of at most 32."""
    if to in WORDS:
        return converted(work, word)
    span = 256**to.bytes
    low = work.vec("conv", mask(work, word, span - 1))
    if to is not DType.U8:
        low = _around_zero(work, low, span)
    return converted(work, low if to in SHORTS else work.vec("conv", low, dtype=F16))


def joined(work: Work, words: Long) -> SSAValue:
    """The last step of a 64-bit integer."""
    result = work.target()
    for word, source in zip(work.kb.words(result), words, strict=True):
        work.kb.vec("conv", word, source)
    return result


def integer_result(work: Work, value: Value, to: DType) -> SSAValue:
    """The last step of an integer that goes into another integer type: sign or zeros in front, or the low bits."""
    return joined(work, long_of(work, value)) if to in LONGS else narrowed(work, word_of(work, value), to)


def cast(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """Floats to integers towards zero, anything to a boolean as x != 0, integers by their low bits, else the nearest number."""
    (x,) = operands
    source, result = x.dtype, step.dtype
    if result is source and source not in LONGS:
        return converted(work, x.view)
    if result is BOOL:
        return _truth(work, x)
    if source in (*INTEGERS, BOOL):
        if result in INTEGERS:
            return integer_result(work, x, result)
        direct = source in (BOOL, *BYTES) and result is F16 or source is I32
        return converted(work, x.view if direct else number(work, x, F16 if source in (BOOL, *BYTES) else F32))
    if result in FLOATS:
        return converted(work, x.view)
    if result in LONGS:
        return joined(work, _long_of_float(work, x))
    if result is DType.U32:
        return converted(work, _long_of_float(work, x)[0])
    if result is I32 or (result in BYTES and source is F16):
        return converted(work, x.view, "convz")
    whole = work.vec("convz", x.view, dtype=I32)
    return narrowed(work, whole, result) if result in SHORTS else converted(work, work.vec("conv", whole, dtype=F16))


def _truth(work: Work, x: Value) -> SSAValue:
    """x != 0; no conversion of a word makes zero that is not."""
    if x.dtype in LONGS:
        value = work.vec("add", *(work.vec("abs", work.vec("conv", word)) for word in work.kb.words(x.view)))
    elif x.dtype in (*WORDS, *SHORTS):
        value = work.vec("conv", x.view)
    else:
        value = number(work, x, x.dtype if x.dtype in FLOATS else F16)
    zero = work.constant(0.0, F16 if x.dtype in (F16, BOOL, *BYTES) else F32)
    result = work.target()
    work.kb.compare("ne", result, value, zero)
    return result


def _long_of_float(work: Work, x: Value) -> Long:
    """A float as two words: of an fp32 a multiple of 2^32 and the rest, both exact."""
    if x.dtype is F16:
        low = work.vec("convz", x.view, dtype=I32)
        return low, sign_word(work, low)
    short = work.compare("lt", work.vec("abs", x.view), work.constant(2.0**24))
    whole = work.vec("sel", short, work.vec("conv", work.vec("convz", x.view, dtype=I32)), x.view)
    multiple = work.vec("conv", work.vec("muls", whole, imm=1 / SPAN), dtype=I32)
    rest = work.vec("sub", whole, work.vec("muls", work.vec("conv", multiple), imm=SPAN))
    half = work.compare("ge", rest, work.constant(SPAN / 2))
    rest = work.vec("sel", half, work.vec("adds", rest, imm=-SPAN), rest)
    low = work.vec("conv", rest, dtype=I32)
    high = work.vec("conv", work.vec("muls", work.vec("sub", whole, rest), imm=1 / SPAN), dtype=I32)
    return low, work.vec("add", high, sign_word(work, low), dtype=I32)
