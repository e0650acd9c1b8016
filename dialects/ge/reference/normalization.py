"""Normalizations."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def batch_norm(x: Array, scale: Array, bias: Array, mean: Array, var: Array, *, epsilon: float = 1e-5) -> Array:
    """(x - mean) / sqrt(var + epsilon) * scale + bias along axis 1."""
    axes = (slice(None), *(None for _ in x.shape[2:]))
    wide = [widen(v) for v in (scale, bias, mean, var)]
    factor = wide[0] / np.sqrt(wide[3] + wide[3].dtype.type(epsilon))
    y = (widen(x) - wide[2][axes]) * factor[axes] + wide[1][axes]
    return narrow(y, x.dtype)


def lrn(x: Array, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Array:
    """x / (bias + alpha / size * window sum of squares over the channels) ^ beta."""
    wide = widen(x)
    channels = x.shape[1]
    squares = np.square(wide)
    total = np.zeros_like(squares)
    before = (size - 1) // 2
    for shift in range(-before, size - before):
        first, last = max(0, -shift), min(channels, channels - shift)
        if first < last:
            total[:, first:last] += squares[:, first + shift : last + shift]
    return narrow(wide * np.power(bias + (alpha / size) * total, -beta), x.dtype)


def softmax(x: Array, *, axis: int = -1) -> Array:
    """exp(x - max) / sum of exp(x - max) along `axis`."""
    wide = widen(x)
    y = np.exp(wide - wide.max(axis=axis, keepdims=True))
    y /= y.sum(axis=axis, keepdims=True)
    return narrow(y, x.dtype)
