"""Steps whose operands and result differ in type: casts, comparison, choice, logic; and what is built of masks.

Booleans are bytes of 0 and 1 in UB: the mask of `cmp` and `sel`, and a number once converted to fp16. The Vector unit
compares floats; int32 is ordered exactly by max and a difference, which is zero or not in fp32 as well. int64 lies in
UB as a plane of low and one of high int32 words. What the unit cannot convert directly goes through types that hold every number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels import integer_steps as integers
from graph_engine.lowering.kernels import trigonometry_steps as trigonometry
from graph_engine.lowering.kernels.step import Step, Value, Work
from graph_engine.target_ascend.isa.model import PREDICATES, DType

F16, F32, I32, I64, BOOL = DType.F16, DType.F32, DType.I32, DType.I64, DType.BOOL
FLOATS, BYTES = (F16, F32), (DType.I8, DType.U8)
WORD = 2.0**32


@dataclass(frozen=True)
class TypedStep:
    """How an operator of mixed types is emitted, and which operand and result types it takes."""

    emit: Callable[[Work, Step, Sequence[Value]], SSAValue]
    takes: Callable[[tuple[DType, ...], DType], bool]


def number(work: Work, value: Value, to: DType) -> SSAValue:
    """A value in another type that holds all its numbers (int64 in fp32: those of 24 bits)."""
    if value.dtype is to:
        return value.view
    if value.dtype is I64:
        return _float_of_words(work, *work.kb.words(value.view))
    if value.dtype in (BOOL, *BYTES) and to is not F16:
        half = work.vec("conv", value.view, dtype=F16)
        return work.vec("convz" if to is I32 else "conv", half, dtype=to)
    return work.vec("conv", value.view, dtype=to)


def _float_of_words(work: Work, low: SSAValue, high: SSAValue) -> SSAValue:
    """low + (high - sign of low) * 2^32, exact where the number fits int32 and 24 bits."""
    rest = work.vec("sub", high, _sign_word(work, low), dtype=I32)
    scaled = work.vec("muls", work.vec("conv", rest), imm=WORD)
    return work.vec("add", work.vec("conv", low), scaled)


def _sign_word(work: Work, low: SSAValue) -> SSAValue:
    """The high word of an int32: -1 or 0."""
    held = work.vec("maxs", low, imm=-1.0, dtype=I32)
    work.kb.vec("mins", held, held, imm=0.0)
    return held


def order(work: Work, a: SSAValue, b: SSAValue) -> SSAValue:
    """-1, 0 or 1 in fp16 as int32 a is less than, equal to or greater than b: max(a, b) is not b, minus is not a."""
    larger = work.vec("max", a, b, dtype=I32)
    sides = [_is_not_zero(work, work.vec("sub", larger, side, dtype=I32)) for side in (b, a)]
    return work.vec("sub", *(work.vec("conv", side, dtype=F16) for side in sides), dtype=F16)


def _is_not_zero(work: Work, x: SSAValue) -> SSAValue:
    """Mask of an int32, which no conversion makes zero that is not."""
    return work.compare("ne", work.vec("conv", x), work.constant(0.0))


def _long_order(work: Work, a: SSAValue, b: SSAValue) -> SSAValue:
    """The same of int64: the high words decide, then the low ones as unsigned numbers."""
    (low_a, high_a), (low_b, high_b) = work.kb.words(a), work.kb.words(b)
    flipped = [work.vec("adds", low, imm=-(2.0**31), dtype=I32) for low in (low_a, low_b)]
    high = work.vec("muls", order(work, high_a, high_b), imm=2.0, dtype=F16)
    return work.vec("add", high, order(work, *flipped), dtype=F16)


def long_extreme(predicate: str) -> Callable[[Work, Step, Sequence[Value]], SSAValue]:
    """The int64 of two of which the predicate holds."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        a, b = (value.view for value in operands)
        first = work.compare(predicate, _long_order(work, a, b), work.constant(0.0, F16))
        pairs = zip(work.kb.words(a), work.kb.words(b), strict=True)
        return _join_words(work, *(work.vec("sel", first, *pair, dtype=I32) for pair in pairs))

    return emit


def compare(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """a predicate b."""
    predicate = PREDICATES[int(dict(step.attributes)["predicate"])]
    dtype = operands[0].dtype
    if dtype in (I32, I64):
        sides = (order if dtype is I32 else _long_order)(work, *(v.view for v in operands)), work.constant(0.0, F16)
    else:
        sides = tuple(number(work, v, dtype if dtype in FLOATS else F16) for v in operands)
    result = work.target()
    work.kb.compare(predicate, result, *sides)
    return result


def select(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """x where the mask holds, else y; the bits stay."""
    mask, *choices = operands
    if step.dtype is I64:
        pairs = zip(*(work.kb.words(v.view) for v in choices), strict=True)
        chosen = [work.vec("sel", mask.view, *pair, dtype=I32) for pair in pairs]
        return _join_words(work, *chosen)
    if step.dtype in (BOOL, *BYTES):
        half = work.vec("sel", mask.view, *(number(work, v, F16) for v in choices), dtype=F16)
        return _converted(work, half)
    result = work.target()
    work.kb.vec("sel", result, mask.view, *(v.view for v in choices))
    return result


def _converted(work: Work, value: SSAValue, mnemonic: str = "conv") -> SSAValue:
    """The last step of a value: into the result's type."""
    result = work.target()
    work.kb.vec(mnemonic, result, value)
    return result


def _join_words(work: Work, low: SSAValue, high: SSAValue) -> SSAValue:
    result = work.target()
    for word, source in zip(work.kb.words(result), (low, high), strict=True):
        work.kb.vec("conv", word, source)
    return result


def logic(mnemonic: str) -> Callable[[Work, Step, Sequence[Value]], SSAValue]:
    """A function of booleans as one of the numbers 0 and 1."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        halves = [number(work, v, F16) for v in operands]
        return _converted(work, work.vec(mnemonic, *halves, dtype=F16))

    return emit


def differ(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """Exclusive or."""
    halves = [number(work, v, F16) for v in operands]
    result = work.target()
    work.kb.compare("ne", result, *halves)
    return result


def invert(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """Not."""
    half, zero = number(work, operands[0], F16), work.constant(0.0, F16)
    result = work.target()
    work.kb.compare("eq", result, half, zero)
    return result


def cast(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """Floats to integers towards zero, anything to a boolean as x != 0, everything else to the nearest number."""
    (x,) = operands
    source, result = x.dtype, step.dtype
    if result is BOOL and source is not BOOL:
        return _truth(work, x)
    if result is I64 and source is not I64:
        return _to_long(work, x)
    if source is I64 and result is not I64:
        low, high = work.kb.words(x.view)
        return _converted(work, low if result is I32 else _float_of_words(work, low, high))
    if source is I64:
        return _join_words(work, *work.kb.words(x.view))
    if source in FLOATS and result not in FLOATS:
        if source is F32 and result in BYTES:
            whole = work.vec("convz", x.view, dtype=I32)
            return _converted(work, work.vec("conv", whole, dtype=F16))
        return _converted(work, x.view, "convz")
    if source in (BOOL, *BYTES) and result is not source:
        half = number(work, x, F16)
        if result is F16:
            return _converted(work, x.view)
        return _converted(work, half, "convz" if result is I32 else "conv")
    return _converted(work, x.view)


def _truth(work: Work, x: Value) -> SSAValue:
    """x != 0."""
    if x.dtype is I64:
        sizes = [work.vec("abs", work.vec("conv", word)) for word in work.kb.words(x.view)]
        value = work.vec("add", *sizes)
    elif x.dtype is I32:
        value = work.vec("conv", x.view)
    else:
        value = number(work, x, x.dtype if x.dtype in FLOATS else F16)
    zero = work.constant(0.0, F32 if x.dtype in (F32, I32, I64) else F16)
    result = work.target()
    work.kb.compare("ne", result, value, zero)
    return result


def _to_long(work: Work, x: Value) -> SSAValue:
    """A number as two words; an fp32 is split into a multiple of 2^32 and the rest, both exact."""
    if x.dtype is not F32:
        low = work.vec("convz", x.view, dtype=I32) if x.dtype is F16 else number(work, x, I32)
        return _join_words(work, low, _sign_word(work, low))
    short = work.compare("lt", work.vec("abs", x.view), work.constant(2.0**24))
    whole = work.vec("conv", work.vec("convz", x.view, dtype=I32))
    whole = work.vec("sel", short, whole, x.view)
    multiple = work.vec("conv", work.vec("muls", whole, imm=1 / WORD), dtype=I32)
    rest = work.vec("sub", whole, work.vec("muls", work.vec("conv", multiple), imm=WORD))
    half = work.compare("ge", rest, work.constant(WORD / 2))
    rest = work.vec("sel", half, work.vec("adds", rest, imm=-WORD), rest)
    low = work.vec("conv", rest, dtype=I32)
    high = work.vec("conv", work.vec("muls", work.vec("sub", whole, rest), imm=1 / WORD), dtype=I32)
    return _join_words(work, low, work.vec("add", high, _sign_word(work, low), dtype=I32))


def rounded(mnemonic: str) -> Callable[[Work, Step, Sequence[Value]], SSAValue]:
    """A float rounded to an integer; what is too large to have a fraction, infinite or no number stays."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        x, dtype = operands[0].view, step.dtype
        whole = work.vec("conv", work.vec(mnemonic, x, dtype=I32), dtype=dtype)
        limit = work.constant(2.0**11 if dtype is F16 else 2.0**23, dtype)
        small = work.compare("lt", work.vec("abs", x, dtype=dtype), limit)
        result = work.target()
        work.kb.vec("sel", result, small, whole, x)
        return result

    return emit


def sign(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """1 where x > 0, minus 1 where x < 0; no number stays none."""
    (x,) = operands
    if x.dtype is I32:
        return _converted(work, order(work, x.view, work.vec("dup", imm=0.0, dtype=I32)), "convz")
    zero = work.constant(0.0, x.dtype)
    sides = [number(work, Value(work.compare(p, x.view, zero), BOOL), x.dtype) for p in ("gt", "lt")]
    value = work.vec("sub", *sides, dtype=x.dtype)
    is_number = work.compare("eq", x.view, x.view)
    result = work.target()
    work.kb.vec("sel", result, is_number, value, x.view)
    return result


def magnitude(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """|x|; of int32 the larger of x and -x."""
    (x,) = operands
    if x.dtype in FLOATS:
        return _converted(work, x.view, "abs")
    negative = work.vec("muls", x.view, imm=-1.0, dtype=I32)
    result = work.target()
    work.kb.vec("max", result, x.view, negative)
    return result


def power(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """exp(y ln |x|), negative where x is and y is odd; no number where x is negative and y no integer.

    The relative error is that of y ln x in fp32: up to 88 * 2^-24 = 5e-6 where the result is near the end of fp32. An
    `exponent` that is known and whole is a product instead, of a rounding each.
    """
    exponent = dict(step.attributes).get("exponent")
    if exponent is not None:
        return _converted(work, _whole_power(work, number(work, operands[0], F32), int(exponent)))
    x, y = (number(work, v, F32) for v in operands)
    value = work.vec("exp", work.vec("mul", y, work.vec("ln", work.vec("abs", x))))
    half = work.vec("muls", y, imm=0.5)
    odd = work.vec("sub", y, work.vec("muls", work.vec("conv", work.vec("convf", half, dtype=I32)), imm=2.0))
    # An odd y leaves 1, an even one 0, any other a fraction: 1 - 2 odd is the sign, and infinity times 0 is no number.
    zero, one = work.constant(0.0), work.constant(1.0)
    integer = work.compare("eq", odd, work.vec("mul", odd, odd))
    signed = work.vec("mul", value, work.vec("adds", work.vec("muls", odd, imm=-2.0), imm=1.0))
    none = work.vec("ln", work.constant(-1.0))
    signed = work.vec("sel", integer, signed, none)
    value = work.vec("sel", work.compare("lt", x, zero), signed, value)
    value = work.vec("sel", work.compare("eq", y, zero), one, value)
    value = work.vec("sel", work.compare("eq", x, one), one, value)
    return _converted(work, value)


FARTHEST = 1024.0
"""Steps beyond which 8 bits are at their end whatever the zero point."""


def quantise(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """round(x / scale) + zero point, cut to 8 bits by the last conversion; behind the rounding fp16 holds every number."""
    x, scale, zero = operands
    real = work.vec("div", number(work, x, F32), scale.view)
    work.kb.vec("maxs", real, real, imm=-FARTHEST)
    work.kb.vec("mins", real, real, imm=FARTHEST)
    whole = work.vec("conv", work.vec("conv", real, dtype=I32), dtype=F16)
    return _converted(work, work.vec("add", whole, number(work, zero, F16), dtype=F16))


def dequantise(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """(x - zero point) * scale, in fp32 and rounded once."""
    x, scale, zero = operands
    steps = work.vec("sub", number(work, x, F16), number(work, zero, F16), dtype=F16)
    real = work.vec("conv", steps)
    if step.dtype is F32:
        result = work.target()
        work.kb.vec("mul", result, real, scale.view)
        return result
    return _converted(work, work.vec("mul", real, scale.view))


def _whole_power(work: Work, x: SSAValue, exponent: int) -> SSAValue:
    """x to a whole power by squaring; 1 / x to that power if it is negative."""
    left, result = abs(exponent), None
    base = work.vec("rec", x) if exponent < 0 else x
    while left:
        if left % 2:
            result = base if result is None else work.vec("mul", result, base)
        left //= 2
        base = work.vec("mul", base, base) if left else base
    return work.constant(1.0) if result is None else result


def in_fp32(function: Callable[[Work, SSAValue], SSAValue]) -> TypedStep:
    """A function of one fp32 value, rounded once."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        return _converted(work, function(work, number(work, operands[0], F32)))

    return TypedStep(emit, _floats)


def _floats(operands: tuple[DType, ...], result: DType) -> bool:
    return all(dtype in FLOATS for dtype in (*operands, result))


def _all(dtype: DType) -> Callable[[tuple[DType, ...], DType], bool]:
    return lambda operands, result: {*operands, result} == {dtype}


def _booleans(operands: tuple[DType, ...], result: DType) -> bool:
    return all(dtype is BOOL for dtype in (*operands, result))


def _floats_or_int32(operands: tuple[DType, ...], result: DType) -> bool:
    return _floats(operands, result) or set(operands) | {result} == {I32}


_STORED = (*FLOATS, I32, I64, BOOL, *BYTES)


def _compared(operands: tuple[DType, ...], result: DType) -> bool:
    return operands[0] in _STORED


def _chosen(operands: tuple[DType, ...], result: DType) -> bool:
    return result in _STORED


def _cast_types(operands: tuple[DType, ...], result: DType) -> bool:
    """Narrower integers wrap around, for which there is no instruction."""
    (source,) = operands
    if source not in _STORED or result not in _STORED:
        return False
    return source in (*FLOATS, BOOL, result) or result not in BYTES


def _quantised(operands: tuple[DType, ...], result: DType) -> bool:
    return operands[0] in FLOATS and operands[1] is F32 and operands[2] is result and result in BYTES


def _dequantised(operands: tuple[DType, ...], result: DType) -> bool:
    return operands[0] in BYTES and operands[1] is F32 and result in FLOATS


TYPED: dict[str, TypedStep] = {
    "ge.quantize": TypedStep(quantise, _quantised),
    "ge.dequantize": TypedStep(dequantise, _dequantised),
    "ge.cast": TypedStep(cast, _cast_types),
    "ge.compare": TypedStep(compare, _compared),
    "ge.select": TypedStep(select, _chosen),
    "ge.and": TypedStep(logic("min"), _booleans),
    "ge.or": TypedStep(logic("max"), _booleans),
    "ge.xor": TypedStep(differ, _booleans),
    "ge.not": TypedStep(invert, _booleans),
    "ge.floor": TypedStep(rounded("convf"), _floats),
    "ge.ceil": TypedStep(rounded("convc"), _floats),
    "ge.round": TypedStep(rounded("conv"), _floats),
    "ge.sign": TypedStep(sign, _floats_or_int32),
    "ge.abs": TypedStep(magnitude, _floats_or_int32),
    "ge.pow": TypedStep(power, _floats),
    "ge.add": TypedStep(integers.long_sum(order, minus=False), _all(I64)),
    "ge.sub": TypedStep(integers.long_sum(order, minus=True), _all(I64)),
    "ge.maximum": TypedStep(long_extreme("ge"), _all(I64)),
    "ge.minimum": TypedStep(long_extreme("le"), _all(I64)),
    "ge.div": TypedStep(integers.division(order, rest=False), _all(I32)),
    "ge.mod": TypedStep(integers.division(order, rest=True), _all(I32)),
    **{name: in_fp32(function) for name, function in trigonometry.FUNCTIONS.items()},
}
"""Operators whose types differ, or that need masks; of what they do not take here, some are in `vector_steps` as well."""
