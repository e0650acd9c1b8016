"""Shapes that are numbers of the graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graph_engine.dialects.ge.reference import shape as static
from graph_engine.dialects.ge.reference.rounding import Array


def _ints(vector: Array) -> list[int]:
    return [int(v) for v in vector.reshape(-1).tolist()]


def shape_of(x: Array, *, start: int = 0, end: int = 2**63 - 1) -> Array:
    """The extents of x."""
    return np.array(x.shape[start:end], np.int64)


def reshape_to(x: Array, shape: Array, *, allow_zero: bool = False) -> Array:
    """x in another shape; 0 copies unless `allow_zero`, -1 follows."""
    target = [x.shape[i] if extent == 0 and not allow_zero else extent for i, extent in enumerate(_ints(shape))]
    if -1 in target and 0 in target:  # numpy does not work out -1 of nothing
        target[target.index(-1)] = 0
    return x.reshape(target)


def expand_to(x: Array, shape: Array) -> Array:
    """x broadcast with a shape."""
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(_ints(shape)))).copy()


def tile_by(x: Array, repeats: Array) -> Array:
    """x repeated along each axis."""
    return np.tile(x, _ints(repeats))


def slice_at(x: Array, starts: Array, ends: Array, steps: Array | None = None, *, axes: Sequence[int]) -> Array:
    """x[start:end:step] along `axes`."""
    counts = [1] * len(axes) if steps is None else _ints(steps)
    return static.slice(x, starts=_ints(starts), ends=_ints(ends), axes=axes, steps=counts)


def pad_by(x: Array, pads: Array, value: Array | None = None, *, axes: Sequence[int], mode: str = "constant") -> Array:
    """x with a border along `axes`; negative pads cut."""
    amounts = _ints(pads)
    widths = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        widths[axis] = amounts[i], amounts[i + len(axes)]
    cut = tuple(np.s_[max(-a, 0) : n - max(-b, 0)] for (a, b), n in zip(widths, x.shape, strict=True))
    grown = [(max(a, 0), max(b, 0)) for a, b in widths]
    if mode == "constant":
        return np.pad(x[cut], grown, constant_values=x.dtype.type(0) if value is None else value.reshape(()))
    return np.pad(x[cut], grown, mode=mode)  # pyright: ignore[reportArgumentType, reportCallIssue]


def range(start: Array, limit: Array, delta: Array) -> Array:
    """start, start + delta, ... below `limit`."""
    first, step = start.reshape(()), delta.reshape(())
    count = max(0, int(np.ceil((limit.reshape(()) - first) / step)))
    return (first + np.arange(count).astype(start.dtype) * step).astype(start.dtype)


def fill(shape: Array, value: Array) -> Array:
    """One value everywhere."""
    return np.full(tuple(_ints(shape)), value.reshape(()))
