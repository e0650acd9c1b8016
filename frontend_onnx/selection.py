"""Elements by value: TopK, Unique, NonZero, Compress, NonMaxSuppression."""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ge import selection as ge
from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.extents import has_unknown
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, joined, shape_of
from graph_engine.frontend_onnx.runs import take


def top_k(node: Node) -> list[SSAValue | None]:
    """`ge.top_k`; k is an attribute before opset 10, an input since."""
    x = node.operand(0)
    count = node.operand(1) if node.opset >= 10 and not node.is_constant(1) else None
    k = -1 if count is not None else node.int("k") if node.opset < 10 else int(node.constant(1, "k").item())
    axis = axis_of(node.int("axis", -1), len(shape_of(x)))
    largest, in_order = bool(node.int("largest", 1)), bool(node.int("sorted", 1))
    return list(node.emit_all(ge.TopKOp(x, count, k=k, axis=axis, largest=largest, sorted=in_order)))


def unique(node: Node) -> list[SSAValue | None]:
    """`ge.unique`; without an axis, of all elements in a row."""
    x = node.operand(0)
    if node.has_attribute("axis"):
        axis = axis_of(node.int("axis"), len(shape_of(x)))
    else:
        x, axis = flattened(node, x), 0
    return list(node.emit_all(ge.UniqueOp(x, axis=axis, sorted=bool(node.int("sorted", 1)))))


def flattened(node: Node, x: SSAValue) -> SSAValue:
    """All elements in one axis."""
    shape = shape_of(x)
    if len(shape) == 1:
        return x
    return node.emit(ReshapeOp(x, shape=[joined(shape)]))


def non_zero(node: Node) -> SSAValue:
    """`ge.non_zero`."""
    return node.emit(ge.NonZeroOp(node.operand(0)))


def compress(node: Node) -> SSAValue:
    """`ge.compress`; by a constant condition, slices or a gather."""
    import numpy as np

    x = node.operand(0)
    if node.has_attribute("axis"):
        axis = axis_of(node.int("axis"), len(shape_of(x)))
    else:
        x, axis = flattened(node, x), 0
    condition, extent = node.known(1), shape_of(x)[axis]
    if condition is None or has_unknown(condition) or extent == DYNAMIC:
        return node.emit(ge.CompressOp(x, node.operand(1), axis=axis))
    places = [int(i) for i in np.flatnonzero(condition)]
    if places and places[-1] >= extent:
        raise Unsupported(f"the condition chooses entry {places[-1]} of an axis of extent {extent}")
    return take(node, x, axis, places)


def non_max_suppression(node: Node) -> SSAValue:
    """`ge.non_max_suppression`; no limit given means no box, no score threshold means every box."""
    import numpy as np

    boxes, scores = node.operand(0), node.operand(1)
    limit = node.operand(2) if node.has(2) else node.keep_constant(np.zeros(1, np.int64))
    overlap = node.operand(3) if node.has(3) else node.keep_constant(np.zeros(1, np.float32))
    threshold = node.operand(4) if node.has(4) else node.keep_constant(np.full(1, -np.inf, np.float32))
    center = bool(node.int("center_point_box", 0))
    return node.emit(ge.NonMaxSuppressionOp(boxes, scores, limit, overlap, threshold, center_point_box=center))


CONVERTERS: dict[str, Converter] = {
    "TopK": top_k,
    "Unique": unique,
    "NonZero": non_zero,
    "Compress": compress,
    "NonMaxSuppression": non_max_suppression,
}
