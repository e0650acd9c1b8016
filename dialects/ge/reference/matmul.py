"""Matrix products."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def matmul(
    a: Array, b: Array, bias: Array | None = None, *, transpose_a: bool = False, transpose_b: bool = False
) -> Array:
    """a[...,M,K] @ b[...,K,N] + bias, either operand with its last two axes swapped if so asked."""
    left, right = widen(a), widen(b)
    if transpose_a:
        left = np.swapaxes(left, -1, -2)
    if transpose_b:
        right = np.swapaxes(right, -1, -2)
    y = np.matmul(left, right)
    if bias is not None:
        y += widen(bias)
    return narrow(y, a.dtype)
