"""Trigonometry, rounding, sign, bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def _of(function: Callable[[Array], Any], x: Array) -> Array:
    with np.errstate(all="ignore"):
        return narrow(np.asarray(function(widen(x))), x.dtype)


def sin(x: Array) -> Array:
    """Sine of radians."""
    return _of(np.sin, x)


def cos(x: Array) -> Array:
    """Cosine of radians."""
    return _of(np.cos, x)


def tan(x: Array) -> Array:
    """Tangent of radians."""
    return _of(np.tan, x)


def asin(x: Array) -> Array:
    """Inverse sine; nan outside [-1, 1]."""
    return _of(np.arcsin, x)


def acos(x: Array) -> Array:
    """Inverse cosine; nan outside [-1, 1]."""
    return _of(np.arccos, x)


def atan(x: Array) -> Array:
    """Inverse tangent."""
    return _of(np.arctan, x)


def sinh(x: Array) -> Array:
    """Hyperbolic sine."""
    return _of(np.sinh, x)


def cosh(x: Array) -> Array:
    """Hyperbolic cosine."""
    return _of(np.cosh, x)


def asinh(x: Array) -> Array:
    """Inverse hyperbolic sine."""
    return _of(np.arcsinh, x)


def acosh(x: Array) -> Array:
    """Inverse hyperbolic cosine; nan below 1."""
    return _of(np.arccosh, x)


def atanh(x: Array) -> Array:
    """Inverse hyperbolic tangent."""
    return _of(np.arctanh, x)


def ceil(x: Array) -> Array:
    """The smallest integer that is not below x."""
    return _of(np.ceil, x)


def floor(x: Array) -> Array:
    """The largest integer that is not above x."""
    return _of(np.floor, x)


def round(x: Array) -> Array:
    """The nearest integer, the even one of two."""
    return _of(np.rint, x)


def sign(x: Array) -> Array:
    """-1, 0 or 1; nan stays nan."""
    return _of(np.sign, x)


def invert(x: Array) -> Array:
    """All bits the other way round."""
    return np.asarray(np.invert(x))
