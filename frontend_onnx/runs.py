"""Elements of an axis at constant places, as slices where these are few: slices are strided boxes, which have a kernel.

take(node, x, 2, [2, 1, 0, 1, 2, 3])   slices [2:3], [1:2], [0:4] and a concat
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.indexing import GatherOp
from graph_engine.dialects.ge.shape import ConcatOp, SliceOp
from graph_engine.frontend_onnx.node import Node, shape_of

MOST_RUNS = 8
"""More pieces than this are gathered instead."""
SHORT_REVERSE = 4
"""A reversed run of up to this many elements falls into single slices: a slice with a negative step has no kernel."""


def runs(places: Sequence[int]) -> list[range]:
    """`places` as arithmetic progressions, each as long as can be, from the left."""
    found: list[range] = []
    start = 0
    while start < len(places):
        end = start + 1
        if end < len(places) and (step := places[end] - places[start]):
            while end < len(places) and places[end] - places[end - 1] == step:
                end += 1
            if end - start == 2 and end < len(places) and places[end] - places[end - 1] in (1, -1) and abs(step) != 1:
                end -= 1  # the second element begins a run of neighbours
        step = places[start + 1] - places[start] if end - start > 1 else 1
        found.append(range(places[start], places[end - 1] + (1 if step > 0 else -1), step))
        start = end
    return found


def pieces(places: Sequence[int]) -> list[range]:
    """Like `runs`, with short reversed ones cut into single elements."""
    result: list[range] = []
    for run in runs(places):
        if run.step < 0 and len(run) <= SHORT_REVERSE:
            result += [range(i, i + 1) for i in run]
        else:
            result.append(run)
    return result


def take(node: Node, x: SSAValue, axis: int, places: Sequence[int], most: int = MOST_RUNS) -> SSAValue:
    """The elements of x at `places` (counted from the front) along `axis`, in their order."""
    if list(places) == list(range(shape_of(x)[axis])):
        return x
    boxes = pieces(places)
    if len(boxes) > most:
        import numpy as np

        return node.emit(GatherOp(x, node.keep_constant(np.array(places, np.int64)), axis=axis))
    parts = [_box(node, x, axis, box) for box in boxes or [range(0)]]
    return parts[0] if len(parts) == 1 else node.emit(ConcatOp(parts, axis=axis))


def _box(node: Node, x: SSAValue, axis: int, box: range) -> SSAValue:
    if box == range(shape_of(x)[axis]):
        return x
    end = box.stop if box.stop >= 0 else -shape_of(x)[axis] - 1
    return node.emit(SliceOp(x, starts=[box.start], ends=[end], axes=[axis], steps=[box.step]))
