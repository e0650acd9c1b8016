"""Images sampled at other places.

Coordinates in fp64 (of nearest neighbours in fp32), samples combined in fp32 or wider, results rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from graph_engine.dialects.ge.reference.resize_geometry import resized
from graph_engine.dialects.ge.reference.rounding import Array, narrow


def _working(x: Array) -> Array:
    """Numbers to weigh: fp64 stays, everything else becomes fp32 (integers fp64)."""
    return x.astype(np.float64 if x.dtype.kind in "iub" or x.dtype == np.float64 else np.float32, copy=False)


def _finished(y: Array, dtype: np.dtype[Any]) -> Array:
    """Integers are cut towards zero."""
    return narrow(y, dtype)


def _triangle(distance: Array) -> Array:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(a: float) -> Callable[[Array], Array]:
    """Keys' cubic convolution with parameter a."""

    def weight(distance: Array) -> Array:
        d = np.abs(distance)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0.0))

    return weight


def _coordinates(kind: str, extent: int, size: int, scale: Any, roi: tuple[float, float], dtype: Any) -> Array:
    """Where the elements of a resized axis lie on the axis of x, computed in `dtype`."""
    places = np.arange(size, dtype=dtype)
    scale = dtype(scale)
    length = scale * dtype(extent)
    match kind:
        case "align_corners":
            return places * 0 if length == 1 else places * (extent - 1) / (length - 1)
        case "asymmetric":
            return places / scale
        case "tf_crop_and_resize":
            start, end = map(dtype, roi)
            if length == 1:
                return places * 0 + (start + end) * (extent - 1) / 2
            return start * (extent - 1) + places * (end - start) * (extent - 1) / (length - 1)
        case "pytorch_half_pixel" if length == 1:
            return places * 0
        case "tf_half_pixel_for_nn":
            return (places + 0.5) / scale
        case "half_pixel_symmetric":
            return dtype(extent / 2) * (1 - dtype(size) / length) + (places + 0.5) / scale - 0.5
        case _:
            return (places + 0.5) / scale - 0.5


_ROUND: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def resize(
    x: Array,
    target: Array | None = None,
    *,
    axes: Sequence[int],
    sizes: Sequence[int] = (),
    scales: Sequence[float] = (),
    roi: Sequence[float] = (),
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    nearest: str = "round_prefer_floor",
    policy: str = "stretch",
    cubic_a: float = -0.75,
    extrapolation: float = 0.0,
    exclude_outside: bool = False,
    antialias: bool = False,
) -> Array:
    """x in other extents along `axes`, each axis by itself."""
    if target is not None and target.dtype.kind in "iu":
        sizes = [int(size) for size in target.tolist()]
    elif target is not None:
        scales = [float(scale) for scale in target.tolist()]
    extents = [x.shape[axis] for axis in axes]
    targets, factors = resized(extents, sizes, scales, policy)
    rules = Rules(mode, coordinates, nearest, cubic_a, exclude_outside, antialias)
    y = x if mode == "nearest" else _working(x)
    outside = np.zeros((1,) * x.ndim, np.bool_)
    for i, (axis, size, scale) in enumerate(zip(axes, targets, factors, strict=True)):
        part = (roi[i], roi[i + len(axes)]) if roi else (0.0, 1.0)
        if coordinates == "tf_crop_and_resize" or size != x.shape[axis] or scale != 1:
            y, beyond = resized_axis(y, axis, size, scale, part, rules)
            outside = outside | beyond.reshape([-1 if j == axis % x.ndim else 1 for j in range(x.ndim)])
    y = _finished(y, x.dtype)
    return np.where(outside, x.dtype.type(extrapolation), y) if outside.any() else y


class Rules(NamedTuple):
    """How a resize finds what makes up an element: attributes of `resize`."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False


def resized_axis(
    x: Array, axis: int, size: int, scale: float, part: tuple[float, float], rules: Rules
) -> tuple[Array, Array]:
    """x with `size` elements along one axis, and which of them lie outside `part` of it, of a crop alone."""
    extent = x.shape[axis]
    # A nearest neighbour flips at the last bit: fp32 is what exporters and onnxruntime computed it in.
    dtype = np.float32 if rules.mode == "nearest" else np.float64
    place = _coordinates(rules.coordinates, extent, size, scale, part, dtype)
    outside = (place < 0) | (place > extent - 1)
    if rules.coordinates != "tf_crop_and_resize":
        outside = np.zeros_like(outside)
    if rules.mode == "nearest":
        rule = rules.nearest if rules.nearest != "ceil_if_shrunk" else "ceil" if scale < 1 else "floor"
        return np.take(x, np.clip(_ROUND[rule](place), 0, extent - 1).astype(np.int64), axis=axis), outside
    filter_, support = (_triangle, 1) if rules.mode == "linear" else (_cubic(rules.cubic_a), 2)
    taps, weights = _taps(place, filter_, support, min(scale, 1.0) if rules.antialias else 1.0)
    return _weighted(x, axis, taps, weights, rules.exclude_outside), outside


def _taps(place: Array, filter_: Callable[[Array], Array], support: int, scale: float) -> tuple[Array, Array]:
    """(positions, weights), both (size, taps), of the elements that make up each result element."""
    first = int(np.floor(-support / scale)) + 1
    taps = np.floor(place)[:, None] + np.arange(first - 1, 2 - first)
    weights = filter_((taps - place[:, None]) * scale)
    return taps.astype(np.int64), weights / weights.sum(axis=1, keepdims=True)


def _weighted(x: Array, axis: int, taps: Array, weights: Array, exclude_outside: bool) -> Array:
    extent = x.shape[axis]
    if exclude_outside:
        weights = np.where((taps < 0) | (taps >= extent), 0.0, weights)
        weights = weights / np.where((total := weights.sum(axis=1, keepdims=True)) == 0, 1.0, total)
    taps = np.clip(taps, 0, extent - 1)
    moved = np.moveaxis(x, axis, -1)
    result = np.zeros((*moved.shape[:-1], len(taps)), x.dtype)
    for t in range(taps.shape[1]):
        if weights[:, t].any():
            result += moved[..., taps[:, t]] * weights[:, t].astype(x.dtype)
    return np.moveaxis(result, -1, axis)


def grid_sample(
    x: Array, grid: Array, *, mode: str = "linear", padding: str = "zeros", align_corners: bool = False
) -> Array:
    """x sampled at the places of `grid`, whose last axis names the spatial axes backwards."""
    extents = x.shape[2:]
    wide = _working(x)
    batch = np.arange(x.shape[0]).reshape([-1] + [1] * len(extents))
    taps: list[list[tuple[Array, Array]]] = []  # per axis: (positions, weights) of its neighbours
    for axis, extent in enumerate(extents):
        where = grid[..., len(extents) - 1 - axis].astype(np.float64)
        place = (where + 1) / 2 * (extent - 1) if align_corners else ((where + 1) * extent - 1) / 2
        if mode == "nearest":
            place = np.rint(place)
        if mode != "cubic":
            place = _inside(place, extent, padding, align_corners)
        low = np.floor(place)
        if mode == "nearest":
            taps.append([(low, np.ones_like(low))])
            continue
        reach, weight = (range(2), _triangle) if mode == "linear" else (range(-1, 3), _cubic(-0.75))
        taps.append([(low + i, weight(low + i - place)) for i in reach])
    result = np.zeros((*np.broadcast_shapes(batch.shape, grid.shape[:-1]), x.shape[1]), wide.dtype)
    for combination in product(*taps):
        weight = np.prod([w for _, w in combination], axis=0)
        places: list[Array] = []
        for (position, _), extent in zip(combination, extents, strict=True):
            if padding == "zeros":
                weight = np.where((position < 0) | (position > extent - 1), 0.0, weight)
            places.append(np.clip(_inside(position, extent, padding, align_corners), 0, extent - 1).astype(np.int64))
        result += np.moveaxis(wide, 1, -1)[(batch, *places)] * weight[..., None].astype(wide.dtype)
    return _finished(np.ascontiguousarray(np.moveaxis(result, -1, 1)), x.dtype)


def _inside(place: Array, extent: int, padding: str, align_corners: bool) -> Array:
    """Coordinates outside the axis brought to its border or mirrored into it."""
    if padding == "border":
        return np.clip(place, 0, extent - 1)
    if padding != "reflection":
        return place
    low, high = (0.0, extent - 1.0) if align_corners else (-0.5, extent - 0.5)
    span = high - low
    if span <= 0:
        return np.zeros_like(place)
    period = np.mod(place - low, 2 * span)
    return np.where((place < low) | (place > high), low + np.minimum(period, 2 * span - period), place)


def roi_align(
    x: Array,
    regions: Array,
    batch: Array,
    *,
    output: Sequence[int],
    spatial_scale: float = 1.0,
    mode: str = "avg",
    sampling_ratio: int = 0,
    half_pixel: bool = True,
) -> Array:
    """Bins of regions, averaged or maximised over bilinear samples."""
    wide = _working(x)
    result = np.zeros((len(regions), x.shape[1], *output), wide.dtype)
    for number, (region, image) in enumerate(zip(regions.astype(np.float64), batch, strict=True)):
        corners = region * spatial_scale - (0.5 if half_pixel else 0.0)
        axes: list[tuple[Array, Array, Array, int]] = []
        for axis, bins in enumerate(output):
            start, end = corners[1 - axis], corners[3 - axis]
            length = end - start if half_pixel else max(end - start, 1.0)
            count = sampling_ratio if sampling_ratio > 0 else int(np.ceil(length / bins))
            axes.append((*_samples(start, length, bins, count, x.shape[2 + axis]), count))
        (y_taps, y_weights, y_in, rows), (x_taps, x_weights, x_in, columns) = axes
        if not rows * columns:
            continue
        inside = (y_in[:, None] & x_in[None, :]).astype(wide.dtype)
        parts = [
            wide[int(image)][:, y_taps[i][:, None], x_taps[j][None, :]]
            * (y_weights[i][:, None] * x_weights[j][None, :] * inside).astype(wide.dtype)
            for i in range(2)
            for j in range(2)
        ]
        samples = np.maximum.reduce(parts) if mode == "max" else sum(parts)
        grid = np.asarray(samples).reshape(x.shape[1], output[0], rows, output[1], columns)
        result[number] = grid.max((2, 4)) if mode == "max" else grid.mean((2, 4))
    return _finished(result, x.dtype)


def _samples(start: float, length: float, bins: int, count: int, extent: int) -> tuple[Array, Array, Array]:
    """Lower and upper neighbours (2, samples), their weights, and whether the sample counts, of all bins of an axis."""
    step = length / bins
    place = start + (np.arange(bins)[:, None] + (np.arange(count)[None, :] + 0.5) / max(count, 1)) * step
    place = place.reshape(-1)
    inside = (place >= -1) & (place <= extent)
    place = np.clip(place, 0, extent - 1)
    low = np.floor(place).astype(np.int64)
    rest = place - low
    return np.stack([low, np.minimum(low + 1, extent - 1)]), np.stack([1 - rest, rest]), inside


def max_roi_pool(x: Array, regions: Array, *, output: Sequence[int], spatial_scale: float = 1.0) -> Array:
    """The largest element of each bin of rounded regions."""
    result = np.zeros((len(regions), x.shape[1], *output), x.dtype)
    for number, region in enumerate(regions.astype(np.float64)):
        corners = np.floor(region[1:] * spatial_scale + 0.5).astype(np.int64)
        bounds: list[list[tuple[int, int]]] = []
        for axis, bins in enumerate(output):
            start, extent = int(corners[1 - axis]), x.shape[2 + axis]
            step = max(int(corners[3 - axis]) - start + 1, 1) / bins
            edges = [(int(np.floor(i * step)) + start, int(np.ceil((i + 1) * step)) + start) for i in range(bins)]
            bounds.append([(min(max(a, 0), extent), min(max(b, 0), extent)) for a, b in edges])
        for (i, (top, bottom)), (j, (left, right)) in product(*map(enumerate, bounds)):
            if bottom > top and right > left:
                result[number, :, i, j] = x[int(region[0]), :, top:bottom, left:right].max((1, 2))
    return result


def col2im(
    x: Array,
    *,
    image: Sequence[int],
    block: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
) -> Array:
    """Columns added up into images."""
    rank = len(image)
    padded = [image[i] + pads[i] + pads[rank + i] for i in range(rank)]
    counts = [(padded[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    wide = x if x.dtype.kind in "iub" else _working(x)
    columns = wide.reshape(x.shape[0], -1, *block, *counts)
    result = np.zeros((*columns.shape[:2], *padded), wide.dtype)
    for offset in product(*map(range, block)):
        window = tuple(
            slice(o * d, o * d + s * (n - 1) + 1, s)
            for o, d, s, n in zip(offset, dilations, strides, counts, strict=True)
        )
        result[(slice(None), slice(None), *window)] += columns[(slice(None), slice(None), *offset)]
    inner = tuple(slice(pads[i], pads[i] + image[i]) for i in range(rank))
    return narrow(np.ascontiguousarray(result[(slice(None), slice(None), *inner)]), x.dtype)
