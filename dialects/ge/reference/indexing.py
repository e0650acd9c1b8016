"""Places named by index arrays; elements keep their values, reductions compute fp16 in fp32."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen


def _counted(indices: Array, extent: int) -> Array:
    """Indices counted from the front; raises IndexError for one outside the axis."""
    places = indices.astype(np.int64)
    places = np.where(places < 0, places + extent, places)
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < extent:
        raise IndexError(f"an index is outside an axis of extent {extent}")
    return places


def gather(x: Array, indices: Array, *, axis: int = 0) -> Array:
    """Whole slices of x along `axis`; the shape of `indices` replaces the axis."""
    return np.take(x, _counted(indices, x.shape[axis]), axis=axis)


def gather_elements(x: Array, indices: Array, *, axis: int = 0) -> Array:
    """Element by element along `axis`; the result has the shape of `indices`."""
    return x[_element_places(x, indices, axis)]


def _element_places(x: Array, indices: Array, axis: int) -> tuple[Array, ...]:
    grid = list(np.ogrid[tuple(slice(0, n) for n in indices.shape)])
    grid[axis] = _counted(indices, x.shape[axis])
    return tuple(grid)


def gather_nd(x: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    """Slices of x at the coordinates in the last axis of `indices`, behind `batch_dims` axes that run together."""
    return x[_coordinates(x, indices, batch_dims)]


def _coordinates(x: Array, indices: Array, batch_dims: int = 0) -> tuple[Array, ...]:
    lead = indices.shape[:-1]
    batch = [np.arange(x.shape[i]).reshape([-1 if j == i else 1 for j in range(len(lead))]) for i in range(batch_dims)]
    named = [_counted(indices[..., i], x.shape[batch_dims + i]) for i in range(indices.shape[-1])]
    return (*batch, *named)


def _put(x: Array, places: tuple[Array, ...], updates: Array, reduction: str) -> Array:
    if reduction == "none":
        result = x.copy()
        result[places] = updates
        return result
    ufunc = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]
    result = widen(x).copy() if x.dtype == np.float16 else x.copy()
    ufunc.at(result, places, widen(updates))
    return narrow(result, x.dtype)


def scatter_elements(x: Array, indices: Array, updates: Array, *, axis: int = 0, reduction: str = "none") -> Array:
    """x with `updates` put, element by element, at `indices` along `axis`."""
    return _put(x, np.broadcast_arrays(*_element_places(x, indices, axis)), updates, reduction)  # pyright: ignore[reportArgumentType]


def scatter_nd(x: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Array:
    """x with `updates` put at the coordinates in the last axis of `indices`."""
    if not indices.shape[-1]:
        return x if not updates.size else _put(x, (), updates.reshape(-1, *x.shape)[-1], reduction)
    return _put(x, _coordinates(x, indices), updates, reduction)


def tensor_scatter(
    x: Array, updates: Array, starts: Array | None = None, *, axis: int = -2, circular: bool = False
) -> Array:
    """x with `updates` written along `axis` from `starts`[batch] on."""
    axis %= x.ndim
    result = x.copy()
    for b in range(x.shape[0]):
        first = 0 if starts is None else int(starts[b])
        places = np.arange(first, first + updates.shape[axis])
        if circular:
            places %= x.shape[axis]
        elif first < 0 or (places.size and places[-1] >= x.shape[axis]):
            raise IndexError(f"positions {first} to {first + len(places) - 1} are outside an axis of {x.shape[axis]}")
        np.moveaxis(result[b], axis - 1, 0)[places] = np.moveaxis(updates[b], axis - 1, 0)
    return result


def one_hot(indices: Array, values: Array, *, depth: int, axis: int = -1) -> Array:
    """`values`[1] where the index along the new axis equals the element of `indices`, else `values`[0]."""
    axis %= indices.ndim + 1
    hot = indices.astype(np.int64)
    hot = np.expand_dims(np.where(hot < 0, hot + depth, hot), axis)
    counter = np.arange(depth).reshape([-1 if i == axis else 1 for i in range(hot.ndim)])
    return np.where(hot == counter, values[1], values[0]).astype(values.dtype)


def reverse_sequence(x: Array, lengths: Array, *, time_axis: int = 0, batch_axis: int = 1) -> Array:
    """The first `lengths`[b] elements along `time_axis` of every batch entry in reverse order."""
    extent = x.shape[time_axis]
    steps, ends = np.arange(extent)[:, None], lengths.astype(np.int64)[None, :]
    places = np.where(steps < ends, ends - 1 - steps, steps)
    moved = np.moveaxis(x, (time_axis, batch_axis), (0, 1))
    result = np.moveaxis(moved[places, np.arange(x.shape[batch_axis])[None, :]], (0, 1), (time_axis, batch_axis))
    return np.ascontiguousarray(result)
