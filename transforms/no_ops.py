"""Patterns that remove operators which give back what they get, bit for bit."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AbsOp, AddOp, BinaryOp, CastOp, DivOp, ExpOp, MulOp, SigmoidOp, SubOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.repetition import ExpandOp, TileOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from graph_engine.dialects.ge.weights import INLINE_ELEMENTS
from graph_engine.transforms.driver import CountedRewriter, Pattern
from graph_engine.transforms.recipes import known

Roots = tuple[type[Operation], ...]


class RemoveNoOp(Pattern):
    """What the patterns of one operand share: the types agree and `does_nothing` says yes."""

    def rewrite(self, op: GeOp, rewriter: CountedRewriter) -> bool:
        if len(op.operands) != 1 or op.operands[0].type != op.result.type or not self.does_nothing(op):
            return False
        rewriter.replace(op, (), [op.operands[0]])
        return True

    @abstractmethod
    def does_nothing(self, op: GeOp) -> bool:
        """Whether `op`, with equal types of operand and result, changes no element."""


class RemoveSameTypeCast(RemoveNoOp):
    """cast(x) -> x where the element types are equal."""

    name = "remove-same-type-cast"
    root: ClassVar[Roots] = (CastOp,)

    def does_nothing(self, op: GeOp) -> bool:
        return True


class RemoveSameShapeReshape(RemoveNoOp):
    """reshape(x) -> x where the shapes are equal, with at most one unknown extent."""

    name = "remove-same-shape-reshape"
    root: ClassVar[Roots] = (ReshapeOp,)

    def does_nothing(self, op: GeOp) -> bool:
        return shape_of(op.result).count(DYNAMIC) <= 1


class RemoveIdentityTranspose(RemoveNoOp):
    """transpose(x) -> x where the axes stay in order."""

    name = "remove-identity-transpose"
    root: ClassVar[Roots] = (TransposeOp,)

    def does_nothing(self, op: GeOp) -> bool:
        perm = op.ints("perm")
        return list(perm) == list(range(len(perm)))


class RemoveZeroPad(RemoveNoOp):
    """pad(x) -> x where nothing is put around x."""

    name = "remove-zero-pad"
    root: ClassVar[Roots] = (PadOp,)

    def does_nothing(self, op: GeOp) -> bool:
        return not any(op.ints("pads"))


class RemoveFullSlice(RemoveNoOp):
    """slice(x) -> x where every element is taken, in order; an axis of unknown extent only up to an end beyond all."""

    name = "remove-full-slice"
    root: ClassVar[Roots] = (SliceOp,)

    def does_nothing(self, op: GeOp) -> bool:
        shape = shape_of(op.operands[0])
        for axis, start, end, step in zip(
            *(op.ints(name) for name in ("axes", "starts", "ends", "steps")), strict=True
        ):
            extent = shape[axis]
            if extent == DYNAMIC:
                if (start, step) != (0, 1) or end < 2**31 - 1:
                    return False
            elif range(*slice(start, end, step).indices(extent)) != range(extent):
                return False
        return True


class RemoveSingleConcat(RemoveNoOp):
    """concat(x) -> x."""

    name = "remove-single-concat"
    root: ClassVar[Roots] = (ConcatOp,)

    def does_nothing(self, op: GeOp) -> bool:
        return True


class RemoveSameShapeExpand(RemoveNoOp):
    """expand(x) -> x where no axis is stretched."""

    name = "remove-same-shape-expand"
    root: ClassVar[Roots] = (ExpandOp,)

    def does_nothing(self, op: GeOp) -> bool:
        target = op.ints("shape")
        return all(
            goal == 1 or goal == extent != DYNAMIC
            for extent, goal in zip(shape_of(op.result)[::-1], target[::-1], strict=False)
        )


class RemoveSingleTile(RemoveNoOp):
    """tile(x) -> x where every axis is there once."""

    name = "remove-single-tile"
    root: ClassVar[Roots] = (TileOp,)

    def does_nothing(self, op: GeOp) -> bool:
        return all(count == 1 for count in op.ints("repeats"))


class RemoveNeutral(Pattern):
    """What the patterns of two operands share: one of them is a short constant that changes nothing in the other."""

    def rewrite(self, op: BinaryOp, rewriter: CountedRewriter) -> bool:
        for kept, neutral in ((op.lhs, op.rhs), (op.rhs, op.lhs))[: 2 if isinstance(op, AddOp | MulOp) else 1]:
            if kept.type == op.result.type and _stretches_nothing(neutral, kept) and self.is_neutral(neutral, kept, op):
                rewriter.replace(op, (), [kept])
                return True
        return False

    @abstractmethod
    def is_neutral(self, neutral: SSAValue, kept: SSAValue, op: BinaryOp) -> bool:
        """Whether `op` with `neutral` gives every bit of `kept`; the shapes are known to fit."""


class RemoveMultiplyByOne(RemoveNeutral):
    """x * 1, 1 * x and x / 1 -> x."""

    name = "remove-multiply-by-one"
    root: ClassVar[Roots] = (MulOp, DivOp)

    def is_neutral(self, neutral: SSAValue, kept: SSAValue, op: BinaryOp) -> bool:
        numbers = _short_constant(neutral)
        return numbers is not None and all(number == 1 for number in numbers)


class RemoveAddZero(RemoveNeutral):
    """x + 0 and x - 0 -> x where exact: of floats x - 0.0 and x + -0.0, and x + 0.0 only if x is never -0.0."""

    name = "remove-add-zero"
    root: ClassVar[Roots] = (AddOp, SubOp)

    def is_neutral(self, neutral: SSAValue, kept: SSAValue, op: BinaryOp) -> bool:
        numbers = _short_constant(neutral)
        if numbers is None or any(number != 0 for number in numbers):
            return False
        if not isinstance(element_of(kept), AnyFloat) or isinstance(kept.owner, _NEVER_MINUS_ZERO):
            return True
        minus = [str(number).startswith("-") for number in numbers]
        return not any(minus) if isinstance(op, SubOp) else all(minus)


_NEVER_MINUS_ZERO = (AbsOp, ExpOp, SigmoidOp)


def _stretches_nothing(neutral: SSAValue, kept: SSAValue) -> bool:
    """Whether broadcasting with `neutral` leaves the shape of `kept`, whatever its unknown extents are."""
    pairs = zip(shape_of(neutral)[::-1], shape_of(kept)[::-1], strict=False)
    return all(extent == 1 or extent == own != DYNAMIC for extent, own in pairs)


def _short_constant(value: SSAValue) -> list[int | float] | None:
    """The numbers of a constant that stands in the text; longer ones are not read for this."""
    constant = known(value)
    if constant is None or not 0 < constant.elements <= INLINE_ELEMENTS:
        return None
    return constant.numbers().reshape(-1).tolist()


class MergeLosslessCasts(Pattern):
    """cast(cast(x)) -> one cast, where the inner one keeps every value; a pair that rounds or clips stays."""

    name = "merge-lossless-casts"
    root: ClassVar[Roots] = (CastOp,)

    def rewrite(self, op: CastOp, rewriter: CountedRewriter) -> bool:
        inner = op.x.owner
        if not isinstance(inner, CastOp) or not merges(*map(element_of, (inner.x, inner.result, op.result))):
            return False
        if inner.x.type == op.result.type:
            rewriter.replace(op, (), [inner.x])
        else:
            new = CastOp.create(operands=[inner.x], result_types=op.result_types, properties=op.properties)
            rewriter.replace(op, new)
        return True


_FLOAT_DIGITS = {"bf16": (8, 127), "f16": (11, 15), "f32": (24, 127), "f64": (53, 1023)}
"""Significand digits and largest binary exponent (IEEE 754)."""


def embeds(source: Attribute, target: Attribute) -> bool:
    """Whether every value of `source` is one of `target`; False for types of which this is not known."""
    names = element_name(source), element_name(target)
    if names[0] == names[1]:
        return True
    floats = [_FLOAT_DIGITS.get(name) for name in names]
    if isinstance(source, IntegerType):
        digits = _integer_digits(source)
        if isinstance(target, IntegerType):
            return digits <= _integer_digits(target) and (_unsigned(source) or not _unsigned(target))
        # The value -2**digits has one significant digit; only its exponent counts.
        return floats[1] is not None and digits <= floats[1][0] and digits <= floats[1][1]
    if floats[0] is None or floats[1] is None:
        return False
    return floats[0][0] <= floats[1][0] and floats[0][1] <= floats[1][1]


def _unsigned(element: IntegerType) -> bool:
    return element_name(element).startswith("u") or element.width.data == 1


def _integer_digits(element: IntegerType) -> int:
    """Binary digits of the largest value."""
    return element.width.data - (not _unsigned(element))


def merges(source: Attribute, middle: Attribute, target: Attribute) -> bool:
    """Whether source -> middle -> target equals source -> target.

    A float that is too large for an integer has no agreed result, so integers may go to narrower integers only by way
    of integers, and floats to other types only by way of floats. Any way to `i1` asks for zero or not.
    """
    if not embeds(source, middle):
        return False
    if embeds(source, target):
        return True
    if not isinstance(target, IntegerType):
        known_floats = element_name(target) in _FLOAT_DIGITS
        return known_floats and isinstance(source, IntegerType) == isinstance(middle, IntegerType)
    to_bool = target.width.data == 1
    return to_bool or (isinstance(source, IntegerType) and isinstance(middle, IntegerType))


NO_OPS = (
    RemoveSameTypeCast,
    RemoveSameShapeReshape,
    RemoveIdentityTranspose,
    RemoveZeroPad,
    RemoveFullSlice,
    RemoveSingleConcat,
    RemoveSameShapeExpand,
    RemoveSingleTile,
    RemoveMultiplyByOne,
    RemoveAddZero,
    MergeLosslessCasts,
)
