"""Shapes and places."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

import numpy as np

from graph_engine.dialects.ge.reference.element_types import numpy_dtype
from graph_engine.dialects.ge.reference.rounding import Array


def reshape(x: Array, *, shape: Sequence[int]) -> Array:
    """The same elements in row-major order; one extent may be -1."""
    return x.reshape(tuple(shape))


def transpose(x: Array, *, perm: Sequence[int]) -> Array:
    """Axis i of the result is axis perm[i] of x."""
    return np.asarray(x.transpose(tuple(perm)), order="C")


def concat(*xs: Array, axis: int) -> Array:
    """The operands one after another along `axis`."""
    return np.concatenate(xs, axis=axis)


def pad(x: Array, *, pads: Sequence[int], value: float = 0.0) -> Array:
    """x with `value` around it; `pads` = begins, then ends."""
    widths = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    return np.pad(x, widths, constant_values=x.dtype.type(value))


def slice(x: Array, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]) -> Array:
    """x[start:end:step] along each of `axes`."""
    index = [builtins.slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        index[axis] = builtins.slice(start, end, step)
    return np.asarray(x[tuple(index)], order="C")


def trilu(x: Array, diagonal: Array | None = None, *, upper: bool = True, k: int = 0) -> Array:
    """The upper or lower triangle, zero elsewhere."""
    k += 0 if diagonal is None else int(diagonal.reshape(()))
    kept = np.tri(x.shape[-2], x.shape[-1], k - 1 if upper else k, dtype=np.bool_) != upper
    return np.where(kept, x, x.dtype.type(0))


def bitcast(x: Array, *, to: str) -> Array:
    """The same bits as element type `to` (MLIR's name)."""
    return np.ascontiguousarray(x).view(numpy_dtype(to)).reshape(x.shape)
