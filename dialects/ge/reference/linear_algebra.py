"""Linear algebra beyond matrix products."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def det(x: Array) -> Array:
    """Determinants of the matrices in the last two axes."""
    return narrow(np.asarray(np.linalg.det(widen(x))), x.dtype)


def einsum(*xs: Array, equation: str) -> Array:
    """Einstein's sum in numpy's notation."""
    return narrow(np.asarray(np.einsum(equation, *map(widen, xs))), xs[0].dtype)
