"""Element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from graph_engine.dialects.ge.reference.element_types import convert
from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def relu(x: Array) -> Array:
    """max(x, 0)."""
    return np.maximum(x, x.dtype.type(0))


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), by the branch that cannot overflow."""
    wide = widen(x)
    small = np.exp(-np.abs(wide))
    return narrow(np.where(wide >= 0, 1, small) / (1 + small), x.dtype)


def tanh(x: Array) -> Array:
    """Hyperbolic tangent."""
    return narrow(np.tanh(widen(x)), x.dtype)


def exp(x: Array) -> Array:
    """e to the power of x."""
    with np.errstate(over="ignore"):
        return narrow(np.exp(widen(x)), x.dtype)


def log(x: Array) -> Array:
    """Natural logarithm; -inf at 0, nan below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return narrow(np.log(widen(x)), x.dtype)


def sqrt(x: Array) -> Array:
    """Square root; nan below 0."""
    with np.errstate(invalid="ignore"):
        return narrow(np.sqrt(widen(x)), x.dtype)


def abs(x: Array) -> Array:
    """Absolute value."""
    return np.abs(x)


def neg(x: Array) -> Array:
    """-x."""
    return np.negative(x)


def reciprocal(x: Array) -> Array:
    """1 / x; infinite at 0."""
    with np.errstate(divide="ignore", over="ignore"):
        wide = widen(x)
        return narrow(wide.dtype.type(1) / wide, x.dtype)


def erf(x: Array) -> Array:
    """Gauss error function in fp64 by its Taylor series near 0 and a continued fraction far from it, then rounded."""
    wide = x.astype(np.float64)
    size = np.asarray(np.minimum(np.abs(wide), 6.0))
    near = size < 2.5
    size[near] = _erf_near(size[near])
    size[~near] = _erf_far(size[~near])
    return np.copysign(size, wide).astype(x.dtype)


def _erf_near(x: Array) -> Array:
    """exp(-x^2) times the sum of x (2 x^2)^k / (1 3 5 ... (2k+1)), all terms positive, innermost first."""
    square = x * x
    total = np.ones_like(x)
    for k in range(44, 0, -1):
        total *= square
        total *= 2.0 / (2 * k + 1)
        total += 1.0
    return 2.0 / np.sqrt(np.pi) * np.exp(-square) * x * total


def _erf_far(x: Array) -> Array:
    """1 - erfc x with erfc x = exp(-x^2) / sqrt(pi) / (x + 1/2/(x + 1/(x + 3/2/(x + ..."""
    fraction = x.copy()
    for k in range(60, 0, -1):
        np.divide(0.5 * k, fraction, out=fraction)
        fraction += x
    return 1.0 - np.exp(-x * x) / (np.sqrt(np.pi) * fraction)


def leaky_relu(x: Array, *, alpha: float = 0.01) -> Array:
    """x where x >= 0, else alpha * x."""
    wide = widen(x)
    return narrow(np.where(wide >= 0, wide, wide * wide.dtype.type(alpha)), x.dtype)


def clip(x: Array, *, min: float = -3.4028234663852886e38, max: float = 3.4028234663852886e38) -> Array:
    """min(max(x, `min`), `max`); integer types cut the bounds to their range."""
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        low = info.min if min <= info.min else int(min)
        high = info.max if max >= info.max else int(max)
        return np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))
    wide = widen(x)
    return narrow(np.minimum(np.maximum(wide, wide.dtype.type(min)), wide.dtype.type(max)), x.dtype)


def cast(x: Array, *, to: str, saturate: bool = True, round_mode: str = "up") -> Array:
    """x in element type `to` (MLIR's name); see `convert`."""
    return convert(x, to, saturate, round_mode)


def _binary(function: Any, lhs: Array, rhs: Array) -> Array:
    with np.errstate(all="ignore"):
        return narrow(function(widen(lhs), widen(rhs)), lhs.dtype)


def add(lhs: Array, rhs: Array) -> Array:
    """lhs + rhs."""
    return _binary(np.add, lhs, rhs)


def sub(lhs: Array, rhs: Array) -> Array:
    """lhs - rhs."""
    return _binary(np.subtract, lhs, rhs)


def mul(lhs: Array, rhs: Array) -> Array:
    """lhs * rhs."""
    return _binary(np.multiply, lhs, rhs)


def div(lhs: Array, rhs: Array) -> Array:
    """lhs / rhs; integers divide towards zero."""
    if lhs.dtype.kind in "iu":
        with np.errstate(divide="ignore", over="ignore"):
            quotient = np.floor_divide(lhs, rhs)
            inexact = (quotient * rhs != lhs) & ((lhs < 0) != (rhs < 0))
        return (quotient + inexact).astype(lhs.dtype)
    return _binary(np.true_divide, lhs, rhs)


def maximum(lhs: Array, rhs: Array) -> Array:
    """The larger of both."""
    return np.maximum(lhs, rhs)


def minimum(lhs: Array, rhs: Array) -> Array:
    """The smaller of both."""
    return np.minimum(lhs, rhs)


def pow(lhs: Array, rhs: Array) -> Array:
    """lhs to the power of rhs; integers exactly, wrapping around, those of negative exponents cut towards zero."""
    if lhs.dtype.kind not in "iu":
        return _binary(np.power, lhs, rhs)
    power = np.power(lhs, np.maximum(rhs, 0))
    sign = np.where((lhs == 1) | (rhs % 2 == 0), 1, -1)
    inverse = np.where(np.abs(lhs) == 1, sign, 0)
    return np.where(rhs < 0, inverse, power).astype(lhs.dtype)
