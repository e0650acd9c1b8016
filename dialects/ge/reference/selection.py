"""Elements chosen by value; results may be as long as the data wants."""

from __future__ import annotations

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, widen


def top_k(
    x: Array, count: Array | None = None, *, k: int = -1, axis: int = -1, largest: bool = True, sorted: bool = True
) -> list[Array]:
    """The `k` largest or smallest elements along `axis` and their indices; the lower index first among equals."""
    del sorted
    k = k if count is None else min(int(count.reshape(())), x.shape[axis])
    if largest:  # a stable sort of the reversed axis, read backwards: ties keep the lower index in front
        places = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    else:
        places = np.argsort(x, axis=axis, kind="stable")
    places = np.take(places, np.arange(k), axis=axis)
    return [np.take_along_axis(x, places, axis=axis), places.astype(np.int64)]


def unique(x: Array, *, axis: int = 0, sorted: bool = True) -> list[Array]:
    """The different slices along `axis`, where each appears first, the slice of every entry, and how often each appears."""
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        values, first, inverse, counts = np.take(values, order, axis=axis), first[order], rank[inverse], counts[order]
    return [values, *(array.astype(np.int64) for array in (first, inverse, counts))]


def non_zero(x: Array) -> Array:
    """The coordinates of the elements that are not zero, one column an element."""
    return np.stack(np.nonzero(x)).astype(np.int64) if x.ndim else np.zeros((0, int(x != 0)), np.int64)


def compress(x: Array, condition: Array, *, axis: int = 0) -> Array:
    """The slices along `axis` whose condition is true."""
    return np.compress(condition, x, axis=axis)


def non_max_suppression(
    boxes: Array,
    scores: Array,
    limit: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    center_point_box: bool = False,
) -> Array:
    """(batch, class, box) of the boxes that no better box of their class suppresses."""
    low, high = _corners(widen(boxes), center_point_box)
    area = np.prod(high - low, axis=-1)
    most, overlap, threshold = (
        int(limit.reshape(())),
        float(iou_threshold.reshape(())),
        float(score_threshold.reshape(())),
    )
    chosen: list[tuple[int, int, int]] = []
    for batch in range(scores.shape[0]):
        for category in range(scores.shape[1]):
            score = widen(scores[batch, category])
            order = np.argsort(-score, kind="stable")
            order = order[score[order] > threshold]
            for _ in range(min(most, len(order))):
                if not len(order):
                    break
                best, order = int(order[0]), order[1:]
                chosen.append((batch, category, best))
                inner_low = np.maximum(low[batch, best], low[batch, order])
                inner_high = np.minimum(high[batch, best], high[batch, order])
                shared = np.prod(np.maximum(inner_high - inner_low, 0), axis=-1)
                union = area[batch, best] + area[batch, order] - shared
                order = order[~(shared > overlap * union) | (union <= 0)]
    return np.array(chosen, np.int64).reshape(-1, 3)


def _corners(boxes: Array, center_point_box: bool) -> tuple[Array, Array]:
    first, second = boxes[..., :2], boxes[..., 2:]
    if center_point_box:
        return first - second / 2, first + second / 2
    return np.minimum(first, second), np.maximum(first, second)
