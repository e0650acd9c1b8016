"""Bounds of what adds many terms up: products with matrices and filters, reductions, normalizations.

With constant weights every output element has its own sums of positive and of negative weights; the bounds are the
hull over all of them. Standardising divides by the deviation, and no element of n is further than sqrt(n) deviations
from the mean (Samuelson's inequality: sqrt(n - 1)), whatever the elements are.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, isinf, log, prod, sqrt
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, shape_of
from graph_engine.planning.bounds import Bounds

if TYPE_CHECKING:
    import numpy as np

    from graph_engine.transforms.value_ranges import Ranges

    Array: TypeAlias = np.ndarray[Any, Any]

ZERO = Bounds(0, 0)
LARGE = 4096
"""From this many elements on, weights are added up in fp32."""
SLACK = 1e-3
"""More than the relative error of such a sum: 2^-24 a term, up to 16,000 terms."""


def weighted(x: Bounds, weights: Array, axis: int | tuple[int, ...], bias: Array | Bounds) -> Bounds:
    """Of sums of weights times numbers in `x` along `axis`, plus `bias` (an array along what is left, or bounds).

    Large weights are added up in fp32, its error allowed for, and not even read if `x` is unbounded.
    """
    import numpy as np

    exact = weights.size < LARGE
    if not exact and not x.finite:
        return Bounds()
    wide = weights.astype(np.float64 if exact else np.float32)
    total, size = wide.sum(axis), np.abs(wide).sum(axis)
    with np.errstate(all="ignore"):
        if x.finite:
            middle, radius = x.low / 2 + x.high / 2, x.high / 2 - x.low / 2
            reach = size * (radius + (0.0 if exact else SLACK * x.largest))
            low, high = middle * total - reach, middle * total + reach
        else:
            positive, negative = (size + total) / 2, (total - size) / 2
            high = _times(positive, x.high) + _times(negative, x.low)
            low = _times(positive, x.low) + _times(negative, x.high)
        if not isinstance(bias, Bounds):
            return Bounds(float(np.nanmin(low + bias)), float(np.nanmax(high + bias)))
    return Bounds(float(low.min()), float(high.max())) + bias


def _times(sums: Array, end: float) -> Array:
    import numpy as np

    return np.where(sums == 0, 0.0, sums * end)


def convolved(op: GeOp, ranges: Ranges) -> Bounds:
    """conv2d, conv3d: x padded with zeros, filters of any shape."""
    x, w, *bias = op.operands
    weights = ranges.array(w)
    seen = ranges[x].hull(ZERO) if any(op.attribute_values()["pads"]) else ranges[x]
    if weights is None or not weights.size:
        count = prod(shape_of(w)[1:])
        return terms(seen * ranges[w], count if DYNAMIC not in shape_of(w) else inf) + _bias(bias, ranges)
    constant = ranges.array(bias[0]) if bias else None
    return weighted(seen, weights, tuple(range(1, weights.ndim)), _bias(bias, ranges) if constant is None else constant)


def multiplied(op: GeOp, ranges: Ranges) -> Bounds:
    """matmul: a constant matrix, weights that sum to one (softmax), or anything."""
    a, b, *bias = op.operands
    attributes = op.attribute_values()
    if is_softmax_of_rows(a, ranges) and not attributes["transpose_a"]:
        return ranges[b].hull(ZERO) + _bias(bias, ranges)
    for value, other, axis in (
        (b, a, -1 if attributes["transpose_b"] else -2),
        (a, b, -2 if attributes["transpose_a"] else -1),
    ):
        weights = ranges.array(value)
        if weights is not None and weights.size and weights.ndim >= 2:
            added = ranges.array(bias[0]) if bias and value is b and weights.ndim == 2 else None
            fits = added is not None and (added.ndim == 0 or added.ndim == 1)
            return weighted(ranges[other], weights, axis, added if fits and added is not None else _bias(bias, ranges))
    shape = shape_of(a)
    count = shape[-2 if attributes["transpose_a"] and len(shape) > 1 else -1]
    return terms(ranges[a] * ranges[b], inf if count == DYNAMIC else count) + _bias(bias, ranges)


def is_softmax_of_rows(value: SSAValue, ranges: Ranges) -> bool:
    """Whether `value` is a softmax along its last axis, so that its rows sum to one."""
    op = ranges.definition(value)
    if op is None or op.name != "ge.softmax":
        return False
    return op.attribute_values()["axis"] in (-1, len(shape_of(value)) - 1)  # pyright: ignore


def _bias(bias: list[SSAValue], ranges: Ranges) -> Bounds:
    return ranges[bias[0]] if bias else ZERO


def terms(x: Bounds, count: float) -> Bounds:
    """Of the sum of `count` numbers in `x`; `count` may be infinite: any number of them."""
    return x.scaled(count) if count else ZERO


def reduced(op: GeOp, ranges: Ranges) -> Bounds:
    """Sums along the axes of a reduction."""
    x, count = ranges[op.operands[0]], reduced_count(op)
    match op.name.removeprefix("ge.reduce_"):
        case "sum":
            total = terms(x, count)
            return Bounds(max(total.low, 1.0), total.high) if has_exp_of_zero(op, ranges) else total
        case "sum_square":
            return terms(x.square(), count)
        case "l2":
            square = terms(x.square(), count)
            return Bounds(sqrt(square.low), inf if isinf(square.high) else sqrt(square.high))
        case "log_sum_exp" if count and not isinf(count):
            return x + Bounds(log(count), log(count))
        case "prod" if x.within(Bounds(-1, 1)):
            return Bounds(0, 1) if x.low >= 0 else Bounds(-1, 1)
        case _:
            return Bounds()


def has_exp_of_zero(op: GeOp, ranges: Ranges) -> bool:
    """Whether `op` adds up exp(x - max(x)), no fewer terms than the maximum is of: one of them is then exp(0)."""
    exponent = _operand(op.operands[0], "ge.exp", ranges)
    difference = None if exponent is None else ranges.definition(exponent)
    if difference is None or difference.name != "ge.sub" or not reduced_count(op):
        return False
    x, largest = difference.operands
    maximum = ranges.definition(_operand(largest, "ge.reshape", ranges) or largest)
    return (
        isinstance(maximum, GeOp)
        and maximum.name == "ge.reduce_max"
        and ranges.same(maximum.operands[0], x)
        and shape_of(largest) == kept_shape(maximum) == kept_shape(op)
    )


def reduced_count(op: GeOp) -> float:
    """How many elements a reduction combines; infinite if unknown."""
    shape = shape_of(op.operands[0])
    extents = [shape[axis] for axis in op.ints("axes")]
    return inf if DYNAMIC in extents else prod(extents)


def kept_shape(op: GeOp) -> tuple[int, ...]:
    """The shape of a reduction's result if it keeps its axes, and so lines up with what is reduced."""
    shape = shape_of(op.operands[0])
    axes = {axis % len(shape) for axis in op.ints("axes")}
    return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))


def cumulated(op: GeOp, ranges: Ranges) -> Bounds:
    """cum_sum: of one element up to all along the axis, or of none if exclusive."""
    x, attributes = ranges[op.operands[0]], op.attribute_values()
    count = shape_of(op.operands[0])[attributes["axis"]]
    total = x.hull(terms(x, inf if count == DYNAMIC else count))
    return total.hull(ZERO) if attributes["exclusive"] else total


def normalized(op: GeOp, ranges: Ranges) -> Bounds:
    """layer_norm, rms_norm, group_norm: a standard score, scaled and moved."""
    shape, attributes = shape_of(op.operands[0]), op.attribute_values()
    if op.name == "ge.group_norm":
        extents = shape[1:]  # of which a group has 1 / groups
    else:
        last = attributes.get("last_axis", -1) % len(shape)
        extents = shape[attributes["axis"] % len(shape) : last + 1]
    if DYNAMIC in extents:
        return Bounds()
    score = sqrt(prod(extents) / attributes.get("groups", 1))
    scale, *bias = op.operands[1:]
    return Bounds(-score, score) * ranges[scale] + _bias(bias, ranges)


def batch_normalized(op: GeOp, ranges: Ranges) -> Bounds:
    """x times a factor and plus a term, of each channel if they are constants."""
    import numpy as np

    x, scale, bias, mean, var = op.operands
    epsilon = op.attribute_values()["epsilon"]
    arrays = [ranges.array(value) for value in (scale, bias, mean, var)]
    if any(array is None or not array.size for array in arrays):
        deviation = ranges[var] + Bounds(epsilon, epsilon)
        if deviation.low <= 0:
            return Bounds()
        factor = ranges[scale] / Bounds(sqrt(deviation.low), sqrt(deviation.high) if deviation.high < inf else inf)
        return (ranges[x] - ranges[mean]) * factor + ranges[bias]
    s, b, m, v = (np.asarray(array, np.float64) for array in arrays)
    with np.errstate(all="ignore"):
        factors = s / np.sqrt(v + epsilon)
    return weighted(ranges[x], factors[:, None], 1, b - m * factors)


def response_normalized(op: GeOp, ranges: Ranges) -> Bounds:
    """lrn: divided by no less than bias ^ beta, if nothing is negative."""
    attributes = op.attribute_values()
    if min(attributes["alpha"], attributes["beta"]) < 0 or attributes["bias"] <= 0:
        return Bounds()
    return ranges[op.operands[0]] * Bounds(0, exp(-attributes["beta"] * log(attributes["bias"])))


def standard_score(op: Operation, ranges: Ranges) -> Bounds | None:
    """The bounds of x / sqrt(mean of x * x + e), written out in operators as x / s or x * (1 / s); else None."""
    x, other = op.operands
    for value, divisor in ((x, other),) if op.name == "ge.div" else ((x, other), (other, x)):
        root: SSAValue | None = divisor
        if op.name == "ge.mul":
            inverse = ranges.definition(divisor)
            if inverse is not None and inverse.name == "ge.div" and ranges[inverse.operands[0]].within(Bounds(0, 1)):
                root = inverse.operands[1]
            else:
                root = _operand(divisor, "ge.reciprocal", ranges)
        mean = _without_epsilon(_operand(root, "ge.sqrt", ranges), ranges)
        square = _operand(mean, "ge.reduce_mean", ranges)
        if square is None or mean is None or not _is_square(square, value, ranges):
            continue
        reduction = ranges.definition(mean)
        assert isinstance(reduction, GeOp)
        if shape_of(divisor) != kept_shape(reduction):
            continue
        count = reduced_count(reduction)
        return Bounds(-sqrt(count), sqrt(count)) if not isinf(count) else None
    return None


def _operand(value: SSAValue | None, name: str, ranges: Ranges) -> SSAValue | None:
    """The first operand of the operator `name` that makes `value`, if that makes it."""
    op = None if value is None else ranges.definition(value)
    return op.operands[0] if op is not None and op.name == name else None


def _without_epsilon(value: SSAValue | None, ranges: Ranges) -> SSAValue | None:
    """What an Add of something not negative adds to, or the value itself."""
    op = None if value is None else ranges.definition(value)
    if op is not None and op.name == "ge.add":
        for mean, epsilon in (op.operands, op.operands[::-1]):
            if ranges[epsilon].low >= 0 and ranges.array(epsilon) is not None:
                return mean
    return value


def squared(value: SSAValue, ranges: Ranges) -> SSAValue | None:
    """x if `value` is x * x or x ^ 2."""
    op = ranges.definition(value)
    if op is None or op.name not in ("ge.mul", "ge.pow"):
        return None
    x, other = op.operands
    if op.name == "ge.mul":
        return x if ranges.same(x, other) else None
    return x if ranges[other] == Bounds(2, 2) else None


def _is_square(value: SSAValue, of: SSAValue, ranges: Ranges) -> bool:
    x = squared(value, ranges)
    return x is not None and ranges.same(x, of)


SUM_RULES: dict[str, Callable[[GeOp, Ranges], Bounds]] = {
    "ge.conv2d": convolved,
    "ge.conv3d": convolved,
    "ge.matmul": multiplied,
    **{f"ge.reduce_{name}": reduced for name in ("sum", "sum_square", "l2", "log_sum_exp", "prod")},
    "ge.cum_sum": cumulated,
    **{f"ge.{name}_norm": normalized for name in ("layer", "rms", "group")},
    "ge.batch_norm": batch_normalized,
    "ge.lrn": response_normalized,
}
"""Operator name -> its rule."""
