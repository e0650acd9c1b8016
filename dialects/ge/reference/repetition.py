"""Operators that repeat elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array


def expand(x: Array, *, shape: Sequence[int]) -> Array:
    """x broadcast with a tensor of `shape`."""
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape))).copy()


def tile(x: Array, *, repeats: Sequence[int]) -> Array:
    """x repeats[i] times along axis i."""
    return np.tile(x, tuple(repeats))
