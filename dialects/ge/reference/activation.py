"""Activation functions."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.elementwise import erf, sigmoid
from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def elu(x: Array, *, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Array:
    """scale * x where x > 0, else scale * alpha * (exp(input_scale * x) - 1)."""
    wide = widen(x)
    real = wide.dtype.type
    below = real(scale * alpha) * np.expm1(np.minimum(wide, 0) * real(input_scale))
    return narrow(np.where(wide > 0, wide * real(scale), below), x.dtype)


def gelu(x: Array, *, approximate: str = "none") -> Array:
    """x times the normal distribution function, exactly ("none") or by "tanh"."""
    wide = widen(x)
    real = wide.dtype.type
    if approximate == "tanh":
        return narrow(wide * sigmoid(real(np.sqrt(8 / np.pi)) * (wide + real(0.044715) * wide**3)), x.dtype)
    half = real(0.5) * wide
    return narrow(half + half * erf(wide * real(np.sqrt(0.5))), x.dtype)


def swish(x: Array, *, alpha: float = 1.0) -> Array:
    """x * sigmoid(alpha * x)."""
    wide = widen(x)
    return narrow(wide * sigmoid(wide.dtype.type(alpha) * wide), x.dtype)


def hard_sigmoid(x: Array, *, alpha: float = 0.2, beta: float = 0.5) -> Array:
    """min(max(alpha * x + beta, 0), 1)."""
    wide = widen(x)
    real = wide.dtype.type
    return narrow(np.clip(real(alpha) * wide + real(beta), 0, 1), x.dtype)


def hard_swish(x: Array) -> Array:
    """x * min(max(x / 6 + 1/2, 0), 1)."""
    wide = widen(x)
    return narrow(wide * np.clip(wide / wide.dtype.type(6) + wide.dtype.type(0.5), 0, 1), x.dtype)


def softplus(x: Array) -> Array:
    """ln(1 + exp(x)), by the branch that cannot overflow."""
    wide = widen(x)
    return narrow(np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide))), x.dtype)


def mish(x: Array) -> Array:
    """x * tanh(ln(1 + exp(x)))."""
    wide = widen(x)
    return narrow(wide * np.tanh(softplus(wide)), x.dtype)


def prelu(x: Array, slope: Array) -> Array:
    """x where x >= 0, else slope * x."""
    wide = widen(x)
    with np.errstate(over="ignore", invalid="ignore"):
        return narrow(np.where(x >= 0, wide, wide * widen(slope)), x.dtype)
