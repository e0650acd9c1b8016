"""Reductions; floats are combined in fp64 and rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def reduce_mean(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Arithmetic mean; integers round towards zero; nan of nothing."""
    total = x.sum(axis=tuple(axes), keepdims=keepdims, dtype=np.float64)
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.asarray(total / np.float64(count))
    return narrow(np.trunc(y) if x.dtype.kind in "iu" else y, x.dtype)


def reduce_sum(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Sum; integers wrap around."""
    return narrow(np.asarray(x.sum(axis=tuple(axes), keepdims=keepdims, dtype=_sums(x))), x.dtype)


def reduce_prod(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Product; integers wrap around."""
    with np.errstate(over="ignore", invalid="ignore"):
        return narrow(np.asarray(x.prod(axis=tuple(axes), keepdims=keepdims, dtype=_sums(x))), x.dtype)


def reduce_sum_square(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Sum of squares; integers wrap around."""
    squares = np.square(x.astype(_sums(x)))
    return narrow(np.asarray(squares.sum(axis=tuple(axes), keepdims=keepdims, dtype=_sums(x))), x.dtype)


def reduce_l2(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Square root of the sum of squares; integers are cut towards zero."""
    squares = np.square(x.astype(np.float64))
    return narrow(np.sqrt(np.asarray(squares.sum(axis=tuple(axes), keepdims=keepdims))), x.dtype)


def reduce_log_sum_exp(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """ln(sum of exp(x)), the maximum taken out first."""
    wide = x.astype(np.float64)
    top = wide.max(axis=tuple(axes), keepdims=True, initial=-np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        finite = np.where(np.isfinite(top), top, 0)
        total = np.exp(wide - finite).sum(axis=tuple(axes), keepdims=True)
        y = np.log(total) + finite
    return narrow(y if keepdims else y.squeeze(tuple(axes)), x.dtype)


def reduce_max(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Largest element; of nothing the smallest number."""
    return np.asarray(x.max(axis=tuple(axes), keepdims=keepdims, initial=_ends(x.dtype)[0]))


def reduce_min(x: Array, *, axes: Sequence[int], keepdims: bool = True) -> Array:
    """Smallest element; of nothing the largest number."""
    return np.asarray(x.min(axis=tuple(axes), keepdims=keepdims, initial=_ends(x.dtype)[1]))


def _sums(x: Array) -> np.dtype[Any]:
    """The type in which elements are added up."""
    return x.dtype if x.dtype.kind in "iu" else np.dtype(np.float64)


def _ends(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The smallest and largest number."""
    if dtype.kind == "b":
        return False, True
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return dtype.type(-np.inf), dtype.type(np.inf)


def _place(x: Array, largest: bool, axis: int, keepdims: bool, select_last: bool) -> Array:
    find = np.argmax if largest else np.argmin
    if select_last:
        place = x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis, keepdims=keepdims)
    else:
        place = find(x, axis=axis, keepdims=keepdims)
    return np.asarray(place, np.int64)


def arg_max(x: Array, *, axis: int = 0, keepdims: bool = True, select_last: bool = False) -> Array:
    """The place of the largest element along `axis`."""
    return _place(x, True, axis, keepdims, select_last)


def arg_min(x: Array, *, axis: int = 0, keepdims: bool = True, select_last: bool = False) -> Array:
    """The place of the smallest element along `axis`."""
    return _place(x, False, axis, keepdims, select_last)


def _cumulative(function: Any, neutral: int, x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
    wide = np.flip(widen(x), axis) if reverse else widen(x)
    with np.errstate(over="ignore", invalid="ignore"):
        y = function(wide, axis=axis, dtype=wide.dtype)
    if exclusive and x.shape[axis]:
        first = np.full_like(np.take(y, [0], axis), neutral)
        y = np.concatenate([first, np.take(y, range(x.shape[axis] - 1), axis)], axis)
    return narrow(np.ascontiguousarray(np.flip(y, axis)) if reverse else y, x.dtype)


def cum_sum(x: Array, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Array:
    """Sums so far along `axis`."""
    return _cumulative(np.cumsum, 0, x, axis, exclusive, reverse)


def cum_prod(x: Array, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Array:
    """Products so far along `axis`."""
    return _cumulative(np.cumprod, 1, x, axis, exclusive, reverse)
