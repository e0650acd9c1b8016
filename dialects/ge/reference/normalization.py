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
    with np.errstate(invalid="ignore"):  # a row of -inf, all masked, is nan
        y = np.exp(wide - wide.max(axis=axis, keepdims=True, initial=-np.inf))  # of no elements there is no maximum
        y /= y.sum(axis=axis, keepdims=True)
    return narrow(y, x.dtype)


def _standardised(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """(x - mean) / sqrt(variance + epsilon) along `axes`, fp16 as fp32."""
    wide = widen(x)
    centred = wide - wide.mean(axis=axes, keepdims=True)
    variance = np.square(centred).mean(axis=axes, keepdims=True)
    return centred / np.sqrt(variance + wide.dtype.type(epsilon))


def layer_norm(
    x: Array, scale: Array, bias: Array | None = None, *, axis: int = -1, last_axis: int = -1, epsilon: float = 1e-5
) -> Array:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over all axes from `axis` to `last_axis`."""
    y = _standardised(x, tuple(range(axis % x.ndim, last_axis % x.ndim + 1)), epsilon) * widen(scale)
    return narrow(y if bias is None else y + widen(bias), x.dtype)


def rms_norm(x: Array, scale: Array, *, axis: int = -1, epsilon: float = 1e-5) -> Array:
    """x / sqrt(mean of squares + epsilon) * scale over all axes from `axis` on."""
    wide = widen(x)
    mean = np.square(wide).mean(axis=tuple(range(axis % x.ndim, x.ndim)), keepdims=True)
    return narrow(wide / np.sqrt(mean + wide.dtype.type(epsilon)) * widen(scale), x.dtype)


def group_norm(x: Array, scale: Array, bias: Array, *, groups: int, epsilon: float = 1e-5) -> Array:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over each group of channels."""
    y = _standardised(x.reshape(x.shape[0], groups, -1), (2,), epsilon).reshape(x.shape)
    axes = (slice(None), *(None for _ in x.shape[2:]))
    return narrow(y * widen(scale)[axes] + widen(bias)[axes], x.dtype)
