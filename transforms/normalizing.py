"""Normalisations written with small operators, read piece by piece: means, variances, x / sqrt(v + epsilon), scale and bias.

A mean may drop its axes and have them back by a reshape anywhere before it meets x again: what counts is that there its
shape is that of x with 1 in place of the axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.elementwise import (
    AddOp,
    CastOp,
    DivOp,
    MaximumOp,
    MulOp,
    PowOp,
    ReciprocalOp,
    SqrtOp,
    SubOp,
)
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.reduction import ReduceMeanOp, ReduceOp, ReduceSumOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.polynomials import is_float, scalar, stays_inside, tolerance, with_number
from graph_engine.transforms.recipes import Known, cast_to, filled, known, reshaped

Operators = list[Operation]


@dataclass(frozen=True)
class Reduced:
    """A reduction of `x` along `axes`, which count from the front, and the operators that compute it."""

    x: SSAValue
    axes: tuple[int, ...]
    operators: Operators

    def stands_beside(self, value: SSAValue, x: SSAValue) -> bool:
        """Whether `value`, which holds the reduction, broadcasts onto `x` as a number for each row of `x`."""
        shape = shape_of(self.x)
        kept = tuple(1 if axis in self.axes else extent for axis, extent in enumerate(shape))
        reshapes = any(isinstance(op, ReshapeOp) for op in self.operators)
        return shape_of(value) == kept and shape_of(x) == shape and not (reshapes and DYNAMIC in shape)


def through_reshapes(value: SSAValue, operators: Operators) -> SSAValue:
    """The value in front of reshapes, which are added to `operators`."""
    while isinstance(value.owner, ReshapeOp):
        operators.append(value.owner)
        value = value.owner.x
    return value


def reduced(value: SSAValue, kind: type[ReduceOp]) -> Reduced | None:
    """`value` as a reduction of that kind, reshaped or not."""
    operators: Operators = []
    op = through_reshapes(value, operators).owner
    if not isinstance(op, kind):
        return None
    rank = len(shape_of(op.x))
    return Reduced(op.x, tuple(sorted(axis % rank for axis in op.ints("axes"))), [*operators, op])


def mean(value: SSAValue) -> Reduced | None:
    """`value` as a mean: one operator, or a sum times 1 / n."""
    if (found := reduced(value, ReduceMeanOp)) is not None:
        return found
    operators: Operators = []
    op = through_reshapes(value, operators).owner
    if not isinstance(op, MulOp | DivOp):
        return None
    pair = with_number(op) if isinstance(op, MulOp) else (op.lhs, scalar(op.rhs))
    if pair is None or not pair[1] or (total := reduced(pair[0], ReduceSumOp)) is None:
        return None
    count = prod(shape_of(total.x)[axis] for axis in total.axes)
    factor = pair[1] if isinstance(op, MulOp) else 1 / pair[1]
    if abs(factor * count - 1) > tolerance(value):
        return None
    return Reduced(total.x, total.axes, [*operators, op, *total.operators])


def squared(value: SSAValue) -> tuple[SSAValue, Operation] | None:
    """What `value` is the square of, and the operator."""
    op = value.owner
    if isinstance(op, MulOp) and op.lhs is op.rhs:
        return op.lhs, op
    if isinstance(op, PowOp) and scalar(op.rhs) == 2 and op.lhs.type == op.result.type:
        return op.lhs, op
    return None


def mean_of_squares(value: SSAValue) -> Reduced | None:
    """`value` as a mean of squares; `x` is what is squared."""
    found = mean(value)
    square = None if found is None else squared(found.x)
    if found is None or square is None:
        return None
    return Reduced(square[0], found.axes, [*found.operators, square[1]])


def centred(value: SSAValue) -> Reduced | None:
    """`value` as x less its mean."""
    op = value.owner
    if not isinstance(op, SubOp):
        return None
    found = mean(op.rhs)
    if found is None or found.x is not op.lhs or not found.stands_beside(op.rhs, op.lhs):
        return None
    return Reduced(op.lhs, found.axes, [op, *found.operators])


def variance(value: SSAValue) -> Reduced | None:
    """`value` as the variance of x: the mean of (x - mean)^2, or the mean of x^2 less that of x squared."""
    found = mean_of_squares(value)
    if found is not None:
        around = centred(found.x)
        if around is None or around.axes != found.axes:
            return None
        return Reduced(around.x, around.axes, [*found.operators, *around.operators])
    operators: Operators = []
    value = through_reshapes(value, operators)
    if isinstance(value.owner, MaximumOp):  # rounding may leave less than zero
        pair = with_number(value.owner)
        if pair is None or pair[1] != 0:
            return None
        operators.append(value.owner)
        value = through_reshapes(pair[0], operators)
    op = value.owner
    if not isinstance(op, SubOp) or op.lhs.type != op.rhs.type:
        return None
    squares, square = mean_of_squares(op.lhs), squared(op.rhs)
    average = None if square is None else mean(square[0])
    if squares is None or square is None or average is None:
        return None
    if squares.x is not average.x or squares.axes != average.axes:
        return None
    return Reduced(squares.x, squares.axes, [*operators, op, square[1], *squares.operators, *average.operators])


@dataclass(frozen=True)
class Quotient:
    """`source` / sqrt(`spread` + `epsilon`), times `factor` if there is one, at the result of `last`.

    `root` is what stands for the square root or its reciprocal where it meets the source.
    """

    source: SSAValue
    spread: SSAValue
    epsilon: float
    root: SSAValue
    factor: SSAValue | None
    last: Operation
    operators: Operators


def quotient(op: SqrtOp | PowOp) -> Quotient | None:
    """The division by a square root that `op` computes, or by a power of one half."""
    if not is_float(op.result):
        return None
    exponent = 0.5 if isinstance(op, SqrtOp) else scalar(op.operands[1])
    if exponent not in (0.5, -0.5):
        return None
    operators: Operators = [op]
    total = through_reshapes(op.operands[0], operators).owner
    pair = with_number(total) if isinstance(total, AddOp) else None
    if not isinstance(total, AddOp) or pair is None or not 0 < pair[1] < 1:
        return None
    operators.append(total)
    spread, epsilon = pair
    value, inverse = op.result, exponent < 0
    root, factor = value, None
    while (user := single_user(value)) is not None:
        operators.append(user)
        if isinstance(user, ReshapeOp):
            value = user.result
        elif not inverse and isinstance(user, ReciprocalOp):
            value, inverse = user.result, True
        elif not inverse and isinstance(user, DivOp) and user.rhs is value:
            if scalar(user.lhs) != 1:
                return Quotient(user.lhs, spread, epsilon, value, None, user, operators)
            value, inverse = user.result, True
        elif inverse and isinstance(user, MulOp):
            other = user.other(value)
            if factor is not None or known(other) is None:
                return Quotient(other, spread, epsilon, root, factor, user, operators)
            factor, value = other, user.result
            continue
        else:
            return None
        root = value
    return None


@dataclass
class Tail:
    """What follows a normalisation and belongs to it: a cast back to 16 bits, a scale, a bias."""

    source: SSAValue
    last: Operation
    scale: SSAValue | None = None
    bias: SSAValue | None = None
    made: Operators = field(default_factory=list[Operation])


def row_of(x: SSAValue, axes: Sequence[int]) -> tuple[int, ...]:
    """The shape of what has an element for each one along `axes` of `x` and broadcasts onto it."""
    shape = shape_of(x)
    return tuple(shape[axis] if axis in axes else 1 for axis in range(axes[0], len(shape)))


def varies_within(value: SSAValue, x: SSAValue, axes: Sequence[int]) -> bool:
    """Whether `value` has an element for each element of the rows of `x`, which run along `axes`."""
    shape, row = shape_of(value), row_of(x, axes)
    return (
        DYNAMIC not in row
        and shape[-len(row) :] == row
        and all(extent == 1 for extent in shape[: -len(row)])
        and len(shape) <= len(shape_of(x))
    )


def tail(found: Quotient, source: SSAValue, axes: Sequence[int], *, bias: bool) -> Tail:
    """What belongs to a normalisation of `source` along `axes`.

    A cast of the source from 16 bits goes if the result is cast back to them: the operator keeps fp32 inside anyway.
    """
    result = Tail(source, found.last, found.factor)
    narrow = source.owner.x if isinstance(source.owner, CastOp) else None
    while (user := single_user(result.last.results[0])) is not None:
        value = result.last.results[0]
        if isinstance(user, CastOp):
            constants = all(v is None or known(v) is not None for v in (result.scale, result.bias))
            if narrow is None or result.source is narrow or user.result.type != narrow.type or not constants:
                break
            if element_name(element_of(narrow)) not in ("f16", "bf16"):
                break
            result.source = narrow
        elif isinstance(user, MulOp | AddOp) and user.result.type == value.type and user.lhs is not user.rhs:
            other = user.other(value)
            is_bias = isinstance(user, AddOp)
            if result.bias is not None or not varies_within(other, source, axes):
                break
            if (is_bias and not bias) or (not is_bias and result.scale is not None):
                break
            result.scale, result.bias = (result.scale, other) if is_bias else (other, None)
        else:
            break
        result.last = user
    return result


def parameter(
    value: SSAValue | None, ended: Tail, axes: Sequence[int], default: float | None = None
) -> SSAValue | None:
    """A scale or bias as the operator takes it: constants in the type and shape of a row; numbers where there is none."""
    row = row_of(ended.source, axes)
    constant: Known | None = known(value)
    if value is None and default is not None:
        constant = filled(default, row)
    if constant is None:
        return value
    made = cast_to(reshaped(constant, row), element_of(ended.source)).op()
    ended.made.append(made)
    return made.result


def normalised(found: Quotient, around: Reduced, source: SSAValue) -> tuple[int, ...] | None:
    """The axes along which `found` normalises the rows of `source`, whose variance or mean square is `around`.

    None if other axes lie between them, shapes do not fit, or something else reads what is between.
    """
    axes = around.axes
    if not axes or axes != tuple(range(axes[0], axes[-1] + 1)) or DYNAMIC in row_of(source, axes):
        return None
    if found.last.results[0].type != source.type or not around.stands_beside(found.root, source):
        return None
    if found.factor is not None and not varies_within(found.factor, source, axes):
        return None
    return axes if stays_inside({*found.operators, *around.operators}, found.last) else None
