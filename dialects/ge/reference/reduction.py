"""Reductions; floats are summed in fp64 and rounded once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow


def reduce_mean(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Arithmetic mean; integers round towards zero."""
    y = np.asarray(x.mean(axis=tuple(axes), keepdims=keepdims, dtype=np.float64))
    return narrow(np.trunc(y) if x.dtype.kind in "iu" else y, x.dtype)


def reduce_sum(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Sum; integers wrap around."""
    dtype = x.dtype if x.dtype.kind in "iu" else np.dtype(np.float64)
    return narrow(np.asarray(x.sum(axis=tuple(axes), keepdims=keepdims, dtype=dtype)), x.dtype)


def reduce_max(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Largest element."""
    return np.asarray(x.max(axis=tuple(axes), keepdims=keepdims))


def reduce_min(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Smallest element."""
    return np.asarray(x.min(axis=tuple(axes), keepdims=keepdims))
