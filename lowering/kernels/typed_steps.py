"""Steps whose operands and result differ in type: comparison, choice, logic; what is built of masks; and which types all take.

Booleans are bytes of 0 and 1 in UB: the mask of `cmp` and `sel`, and a number once converted to fp16. The Vector unit
compares floats; int32 is ordered exactly by max and a difference, which is zero or not in fp32 as well. How other
integers lie in UB is said in `conversion_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels import bit_steps as bitwise
from graph_engine.lowering.kernels import integer_steps as integers
from graph_engine.lowering.kernels import trigonometry_steps as trigonometry
from graph_engine.lowering.kernels.conversion_steps import (
    BOOL,
    BYTES,
    F16,
    F32,
    FLOATS,
    I32,
    INTEGERS,
    LONGS,
    SHORTS,
    STORED,
    WORDS,
    cast,
    converted,
    integer_result,
    joined,
    narrowed,
    number,
    word_of,
)
from graph_engine.lowering.kernels.step import Step, Value, Work
from graph_engine.target_ascend.isa.model import PREDICATES, DType

U32, I64, NARROW = DType.U32, DType.I64, (*BYTES, *SHORTS)


@dataclass(frozen=True)
class TypedStep:
    """How an operator of mixed types is emitted, and which operand and result types it takes."""

    emit: Callable[[Work, Step, Sequence[Value]], SSAValue]
    takes: Callable[[tuple[DType, ...], DType], bool]


def compare(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """a predicate b."""
    predicate = PREDICATES[int(dict(step.attributes)["predicate"])]
    dtype = operands[0].dtype
    if dtype in (*WORDS, *LONGS):
        sides = integers.order_of(work, *operands), work.constant(0.0, F16)
    else:
        exact = dtype if dtype in FLOATS else F32 if dtype in SHORTS else F16
        sides = tuple(number(work, v, exact) for v in operands)
    result = work.target()
    work.kb.compare(predicate, result, *sides)
    return result


def select(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """x where the mask holds, else y; the bits stay."""
    mask, *choices = operands
    if step.dtype in LONGS:
        pairs = zip(*(work.kb.words(v.view) for v in choices), strict=True)
        chosen = [work.vec("sel", mask.view, *pair, dtype=I32) for pair in pairs]
        return joined(work, (chosen[0], chosen[1]))
    if step.dtype in (BOOL, *BYTES):
        half = work.vec("sel", mask.view, *(number(work, v, F16) for v in choices), dtype=F16)
        return converted(work, half)
    result = work.target()
    work.kb.vec("sel", result, mask.view, *(v.view for v in choices))
    return result


def logic(mnemonic: str) -> Callable[[Work, Step, Sequence[Value]], SSAValue]:
    """A function of booleans as one of the numbers 0 and 1."""

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        halves = [number(work, v, F16) for v in operands]
        return converted(work, work.vec(mnemonic, *halves, dtype=F16))

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
        return converted(work, integers.order(work, x.view, work.vec("dup", imm=0.0, dtype=I32)), "convz")
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
        return converted(work, x.view, "abs")
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
        return converted(work, _whole_power(work, number(work, operands[0], F32), int(exponent)))
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
    return converted(work, value)


EVEN = 1.5 * 2.0**23
"""What is added to this is rounded to an integer, to nearest even, if it is below 2^22."""


def quantise(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """round(x / scale) + zero point, cut to the integers of the result."""
    x, scale, zero = operands
    return _in_steps(work, work.vec("div", number(work, x, F32), number(work, scale, F32)), zero, step.dtype)


def requantise(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """round(x * factor) + zero point, cut to the integers of the result."""
    x, factor, zero = operands
    return _in_steps(work, work.vec("mul", number(work, x, F32), factor.view), zero, step.dtype)


def _in_steps(work: Work, real: SSAValue, zero: Value, to: DType) -> SSAValue:
    """round(real) + zero point, cut to the integers of a type in fp32, which holds them all."""
    low, high = limits(to)
    work.kb.vec("maxs", real, real, imm=2.0 * (low - high))
    work.kb.vec("mins", real, real, imm=2.0 * (high - low))
    for shift in (EVEN, -EVEN):  # no conversion: the first family has none between fp32 and integers
        work.kb.vec("adds", real, real, imm=shift)
    whole = work.vec("add", real, number(work, zero, F32))
    work.kb.vec("maxs", whole, whole, imm=float(low))
    work.kb.vec("mins", whole, whole, imm=float(high))
    if to in BYTES:
        return converted(work, work.vec("conv", whole, dtype=F16))
    return narrowed(work, work.vec("conv", whole, dtype=I32), to)


def limits(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    span = 256**dtype.bytes
    return (0, span - 1) if dtype in (DType.U8, DType.U16) else (-span // 2, span // 2 - 1)


def dequantise(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """(x - zero point) * scale, in fp32 and rounded once."""
    x, scale, zero = operands
    between = F16 if x.dtype in BYTES else I32 if x.dtype is I32 else F32
    steps = work.vec("sub", number(work, x, between), number(work, zero, between), dtype=between)
    real = steps if between is F32 else work.vec("conv", steps)
    factor = number(work, scale, F32)
    if step.dtype is F32:
        result = work.target()
        work.kb.vec("mul", result, real, factor)
        return result
    return converted(work, work.vec("mul", real, factor))


def float_rest(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    """What a / b leaves, with the sign of b, or of a if the step says `fmod`, in fp32; exact where quotient times b is."""
    a, b = (number(work, v, F32) for v in operands)
    left, zero = a, work.constant(0.0)
    for _ in range(2):
        quotient = work.vec("conv", work.vec("convz", work.vec("div", left, b), dtype=I32))
        less = work.vec("sub", left, work.vec("mul", quotient, b))
        left = work.vec("sel", work.compare("eq", quotient, zero), left, less)  # 0 times infinity is no number
    size = work.vec("abs", b)
    direction = a if dict(step.attributes)["fmod"] else b
    # Counted in the direction of the sign that it has to have, the rest is from 0 on to below |b|.
    below = work.compare("lt", direction, zero)
    counted = work.vec("sel", below, work.vec("muls", left, imm=-1.0), left)
    for predicate, mnemonic, limit in (("lt", "add", zero), ("ge", "sub", size)):
        beyond = work.compare(predicate, counted, limit)
        counted = work.vec("sel", beyond, work.vec(mnemonic, counted, size), counted)
    return converted(work, work.vec("sel", below, work.vec("muls", counted, imm=-1.0), counted))


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
        return converted(work, function(work, number(work, operands[0], F32)))

    return TypedStep(emit, _floats)


def _floats(operands: tuple[DType, ...], result: DType) -> bool:
    return all(dtype in FLOATS for dtype in (*operands, result))


def _stored(operands: tuple[DType, ...], result: DType) -> bool:
    return all(dtype in STORED for dtype in (*operands, result))


def _quantised(operands: tuple[DType, ...], result: DType) -> bool:
    return operands[0] in FLOATS and operands[1] in FLOATS and operands[2] is result and result in NARROW


def _requantised(operands: tuple[DType, ...], result: DType) -> bool:
    return operands[:2] == (I32, F32) and operands[2] is result and result in NARROW


def _dequantised(operands: tuple[DType, ...], result: DType) -> bool:
    return operands[0] in (*NARROW, I32) and operands[1] in FLOATS and result in FLOATS


def by_type(*choices: tuple[Sequence[DType], integers.Emit]) -> TypedStep:
    """An operator whose operands and result are of one type, with a sequence for some of these each."""
    table = {dtype: emit for types, emit in choices for dtype in types}

    def emit(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
        return table[operands[0].dtype](work, step, operands)

    return TypedStep(emit, lambda operands, result: set(operands) == {result} and result in table)


def _bits(of_booleans: integers.Emit, of_words: Callable[[Work, Sequence[SSAValue]], SSAValue]) -> TypedStep:
    every = integers.word_by_word(of_words)
    return by_type(((BOOL,), of_booleans), (NARROW, integers.widened(every)), ((*WORDS, *LONGS), every))


def _quotient(*, rest: bool) -> tuple[tuple[Sequence[DType], integers.Emit], ...]:
    of_words, of_longs = integers.division(rest=rest), integers.long_division(rest=rest)
    return (
        (NARROW, integers.widened(of_words)), ((I32,), of_words), ((U32,), integers.as_longs(of_longs)), (LONGS, of_longs)
    )  # fmt: skip


def _as_it_is(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    return integer_result(work, operands[0], step.dtype) if step.dtype in LONGS else converted(work, operands[0].view)


def _negative(work: Work, step: Step, operands: Sequence[Value]) -> SSAValue:
    return converted(work, work.vec("muls", word_of(work, operands[0]), imm=-1.0, dtype=I32))


_SIGNED, _UNSIGNED = (DType.I8, DType.I16), (DType.U8, DType.U16, U32, DType.U64)

TYPED: dict[str, TypedStep] = {
    "ge.quantize": TypedStep(quantise, _quantised),
    "ge.requantize": TypedStep(requantise, _requantised),
    "ge.dequantize": TypedStep(dequantise, _dequantised),
    "ge.cast": TypedStep(cast, _stored),
    "ge.compare": TypedStep(compare, _stored),
    "ge.select": TypedStep(select, _stored),
    "ge.and": _bits(logic("min"), bitwise.both),
    "ge.or": _bits(logic("max"), bitwise.either),
    "ge.xor": _bits(differ, bitwise.one_of),
    "ge.not": _bits(invert, bitwise.flipped),
    "ge.shift": by_type((INTEGERS, bitwise.shift)),
    "ge.floor": TypedStep(rounded("convf"), _floats),
    "ge.ceil": TypedStep(rounded("convc"), _floats),
    "ge.round": TypedStep(rounded("conv"), _floats),
    "ge.sign": by_type(((*FLOATS, I32), sign), (_SIGNED, integers.widened(sign)), ((I64,), integers.long_sign)),
    "ge.abs": by_type(
        ((*FLOATS, I32), magnitude), (_SIGNED, integers.widened(magnitude)), ((I64,), integers.long_sizes),
        (_UNSIGNED, _as_it_is),
    ),
    "ge.neg": by_type((NARROW, integers.widened(_negative)), ((U32,), _negative), (LONGS, integers.long_negative)),
    "ge.pow": TypedStep(power, _floats),
    **{
        f"ge.{name}": by_type(
            (NARROW, integers.widened(integers.words(name))), ((U32,), integers.words(name)), (LONGS, of_longs)
        )
        for name, of_longs in (
            ("add", integers.long_sum(minus=False)),
            ("sub", integers.long_sum(minus=True)),
            ("mul", integers.long_product),
        )
    },
    **{
        f"ge.{name}": by_type((NARROW, integers.widened(integers.words(mnemonic))), ((U32, *LONGS), extreme))
        for name, mnemonic, extreme in (
            ("maximum", "max", integers.extreme("ge")),
            ("minimum", "min", integers.extreme("le")),
        )
    },
    "ge.div": by_type(*_quotient(rest=False)),
    "ge.mod": by_type(*_quotient(rest=True), (FLOATS, float_rest)),
    **{name: in_fp32(function) for name, function in trigonometry.FUNCTIONS.items()},
}  # fmt: skip
"""Operators whose types differ, or that need masks; of what they do not take here, some are in `vector_steps` as well."""
