"""Which resizes only repeat elements: a movement, whatever the format."""

from __future__ import annotations

from math import prod

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.sampling import ResizeOp

MOST_COPIES = 16
"""In ND each copy of an element is a move of its own: a kernel makes up to so many."""
FILLED_LANES = 8
"""A feature map of fewer channels is mostly padding in NC1HWC0."""
REPEATING = {("asymmetric", "floor"), ("half_pixel", "round_prefer_floor"), ("half_pixel", "round_prefer_ceil")}
"""Coordinates and rounding by which element i of s times as many is element floor(i / s)."""


def repetitions(op: ResizeOp) -> tuple[int, ...] | None:
    """How often each element is repeated along every axis; None if the resize does anything else."""
    shape, result = shape_of(op.x), shape_of(op.result)
    if op.target is not None or op.mode.data != "nearest" or DYNAMIC in (*shape, *result) or 0 in shape:
        return None
    if (op.coordinates.data, op.nearest.data) not in REPEATING or any(
        new % old for new, old in zip(result, shape, strict=True)
    ):
        return None
    times = tuple(new // old for new, old in zip(result, shape, strict=True))
    scales = [scale.value.data for scale in op.scales]
    exact = all(scale == times[axis] for axis, scale in zip(op.ints("axes"), scales, strict=False))
    return times if exact else None


def repeats_pixels(op: ResizeOp) -> bool:
    """Whether a resize repeats the pixels of a feature map so often that it moves them in NC1HWC0 alone, in one go."""
    times = repetitions(op)
    if times is None or len(times) != 4 or times[:2] != (1, 1):
        return False
    return prod(times) > MOST_COPIES and shape_of(op.x)[1] >= FILLED_LANES
