"""Matrices cut into heads and joined again."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array


def split_heads(x: Array, *, heads: int) -> Array:
    """x[..., S, H * D] as [..., H, S, D]."""
    return np.swapaxes(x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads), -2, -3)


def merge_heads(x: Array) -> Array:
    """x[..., H, S, D] as [..., S, H * D]."""
    y = np.swapaxes(x, -2, -3)
    return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1])
