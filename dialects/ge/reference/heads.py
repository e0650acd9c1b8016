"""Matrices cut into heads and joined again."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def split_heads(x: Array, *, heads: int) -> Array:
    """x[..., S, H * D] as [..., H, S, D]."""
    return np.swapaxes(x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads), -2, -3)


def merge_heads(x: Array) -> Array:
    """x[..., H, S, D] as [..., S, H * D]."""
    y = np.swapaxes(x, -2, -3)
    return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1])


def rotary_mul(x: Array, cos: Array, sin: Array) -> Array:
    """x * cos + [-right half of x, left half of x] * sin, columns in halves; fp16 as fp32, rounded once."""
    wide = widen(x)
    left, right = np.split(wide, 2, axis=-1)
    return narrow(wide * widen(cos) + np.concatenate([-right, left], axis=-1) * widen(sin), x.dtype)
