"""Pooling, one shifted slice of the input per kernel element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def _extent(extent: int, kernel: int, stride: int, begin: int, end: int, dilation: int, ceil_mode: bool) -> int:
    room = extent + begin + end - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= extent + begin:
        count -= 1  # a window must not begin in the padding behind the input
    return count


def _taps(
    x: Array,
    fill: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: bool,
) -> Iterator[Array]:
    """For every kernel element, the input elements under it at all output positions; `fill` outside the input."""
    spatial = x.shape[2:]
    counts = [
        _extent(spatial[i], kernel[i], strides[i], pads[i], pads[i + 2], dilations[i], ceil_mode) for i in range(2)
    ]
    reach = [(counts[i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 for i in range(2)]
    behind = [max(0, reach[i] - spatial[i] - pads[i]) for i in range(2)]
    padded = x
    if any(pads[:2]) or any(behind):
        widths = ((0, 0), (0, 0), (pads[0], behind[0]), (pads[1], behind[1]))
        padded = np.pad(x, widths, constant_values=fill)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilations[0], j * dilations[1]
            yield padded[
                :,
                :,
                top : top + (counts[0] - 1) * strides[0] + 1 : strides[0],
                left : left + (counts[1] - 1) * strides[1] + 1 : strides[1],
            ]


def _combine(function: Callable[..., Any], taps: Iterator[Array]) -> Array:
    result = next(taps).copy()
    for tap in taps:
        function(result, tap, out=result)
    return result


def max_pool(
    x: Array,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
) -> Array:
    """The largest element of each window."""
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    return _combine(np.maximum, _taps(x, lowest, kernel, strides, pads, dilations, ceil_mode))


def max_pool3d(
    x: Array,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1, 1),
    pads: Sequence[int] = (0, 0, 0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1, 1),
    ceil_mode: bool = False,
) -> Array:
    """The largest element of each window: of its planes, then of those."""
    n, c, d, h, w = x.shape
    plane = (pads[1], pads[2], pads[4], pads[5])
    planes = max_pool(
        x.reshape(n, c * d, h, w), kernel=kernel[1:], strides=strides[1:], pads=plane, dilations=dilations[1:],
        ceil_mode=ceil_mode,
    )  # fmt: skip
    y = max_pool(
        planes.reshape(n, c, d, -1), kernel=(kernel[0], 1), strides=(strides[0], 1), pads=(pads[0], 0, pads[3], 0),
        dilations=(dilations[0], 1), ceil_mode=ceil_mode,
    )  # fmt: skip
    return y.reshape(n, c, -1, *planes.shape[2:])


def avg_pool(
    x: Array,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Array:
    """The mean of each window over the input, or over input and pads if `count_include_pad`."""
    wide = widen(x)
    total = _combine(np.add, _taps(wide, 0, kernel, strides, pads, (1, 1), ceil_mode))
    counted = np.ones((1, 1, *x.shape[2:]), wide.dtype)
    window_pads: Sequence[int] = pads
    if count_include_pad:
        counted = np.pad(counted, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=1)
        window_pads = (0, 0, 0, 0)
    counts = _combine(np.add, _taps(counted, 0, kernel, strides, window_pads, (1, 1), ceil_mode))
    counts = counts[:, :, : total.shape[2], : total.shape[3]]
    return narrow(total / counts, x.dtype)


def global_avg_pool(x: Array) -> Array:
    """The mean over all spatial positions."""
    wide = widen(x)
    return narrow(wide.mean(axis=tuple(range(2, x.ndim)), keepdims=True, dtype=np.float64), x.dtype)


def global_max_pool(x: Array) -> Array:
    """The largest element over all spatial positions."""
    return x.max(axis=tuple(range(2, x.ndim)), keepdims=True)


def max_pool_indices(
    x: Array,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: bool = False,
    column_major: bool = False,
) -> list[Array]:
    """The largest element of each window over any number of axes, and its place in x; the first of equals."""
    spatial = x.shape[2:]
    n = len(spatial)
    counts = [
        _extent(spatial[i], kernel[i], strides[i], pads[i], pads[i + n], dilations[i], ceil_mode) for i in range(n)
    ]
    order = range(n) if column_major else reversed(range(n))
    steps, step = [0] * n, 1
    for i in order:
        steps[i] = step
        step *= spatial[i]
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    best = np.full((*x.shape[:2], *counts), lowest, x.dtype)
    place = np.zeros(best.shape, np.int64)
    found = np.zeros(best.shape, bool)
    for tap in np.ndindex(*kernel):
        along: list[Array] = [np.arange(counts[i]) * strides[i] + tap[i] * dilations[i] - pads[i] for i in range(n)]
        rows: list[Array] = [row.reshape([-1 if j == i else 1 for j in range(n)]) for i, row in enumerate(along)]
        valid, index = np.ones((), bool), np.zeros((), np.int64)
        for i, row in enumerate(rows):
            valid, index = valid & (row >= 0) & (row < spatial[i]), index + row * steps[i]
        values = x[(slice(None), slice(None), *(row.clip(0, spatial[i] - 1) for i, row in enumerate(rows)))]
        better = valid & ((values > best) | ~found)
        best, place, found = np.where(better, values, best), np.where(better, index, place), found | better
    channel = np.arange(int(np.prod(x.shape[:2]))).reshape(*x.shape[:2], *(1 for _ in spatial))
    return [best, place + channel * step]
