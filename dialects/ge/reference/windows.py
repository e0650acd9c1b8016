"""Rows of maps grouped by windows and put back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array


def _places(grid: Sequence[int], window: Sequence[int], shift: Sequence[int]) -> Array:
    """The row of the matrix at each place of each window, [windows, h * w]."""
    maps, height, width = grid
    h, w = window
    rows = np.arange(maps * height * width).reshape(maps, height, width)
    rows = np.roll(rows, (-shift[0], -shift[1]), axis=(1, 2))
    rows = rows.reshape(maps, height // h, h, width // w, w).transpose(0, 1, 3, 2, 4)
    return rows.reshape(-1, h * w)


def window_partition(x: Array, *, grid: Sequence[int], window: Sequence[int], shift: Sequence[int]) -> Array:
    """x[maps * H * W, C] as [windows, h * w, C]."""
    return x[_places(grid, window, shift)]


def window_merge(x: Array, *, grid: Sequence[int], window: Sequence[int], shift: Sequence[int]) -> Array:
    """x[windows, h * w, C] as [maps * H * W, C]."""
    y = np.empty((x.shape[0] * x.shape[1], x.shape[2]), x.dtype)
    y[_places(grid, window, shift).reshape(-1)] = x.reshape(-1, x.shape[2])
    return y
