"""In which order a tensor's elements stand after reshapes and transposes, as strides of the tensor that it was.

A tensor is a list of axes, each a list of (extent, stride) with strides counted in elements of the row-major original,
outermost first. A transpose reorders axes; a reshape cuts and joins them, and leaves the order of elements as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Run = tuple[int, int]
"""Elements `stride` apart in the original: (extent, stride)."""
Axes = list[list[Run]]


def row_major_axes(shape: Sequence[int]) -> Axes:
    """A tensor as it is."""
    axes: Axes = []
    stride = 1
    for extent in reversed(shape):
        axes.insert(0, [(extent, stride)])
        stride *= extent
    return axes


def order(runs: Iterable[Run]) -> list[Run]:
    """The same order in as few runs as possible: equal for equal orders."""
    joined: list[Run] = []
    for extent, stride in runs:
        if extent == 1:
            continue
        if joined and joined[-1][1] == extent * stride:
            joined[-1] = (joined[-1][0] * extent, stride)
        else:
            joined.append((extent, stride))
    return joined


def order_of(axes: Axes) -> list[Run]:
    """The order of all elements."""
    return order(run for axis in axes for run in axis)


def transposed(axes: Axes, perm: Sequence[int]) -> Axes:
    """The axes reordered."""
    return [axes[axis] for axis in perm]


def reshaped(axes: Axes, shape: Sequence[int]) -> Axes | None:
    """The elements in another shape; None where an axis begins within a run that it does not divide."""
    left = order_of(axes)[::-1]
    result: Axes = []
    for extent in reversed(shape):
        axis: list[Run] = []
        while extent > 1:
            if not left:
                return None
            count, stride = left.pop(0)
            if extent % count == 0:
                taken = count
            elif count % extent == 0:
                taken = extent
                left.insert(0, (count // taken, stride * taken))
            else:
                return None
            axis.insert(0, (taken, stride))
            extent //= taken
        result.insert(0, axis)
    return result
