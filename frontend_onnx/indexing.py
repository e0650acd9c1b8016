"""Elements by index: the gathers and scatters, OneHot, ReverseSequence, Trilu."""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ge import indexing as ge
from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.shape import ReshapeOp, TriluOp
from graph_engine.frontend_onnx.extents import has_unknown
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, dtype_of, shape_of
from graph_engine.frontend_onnx.runs import pieces, take

FEW_PIECES = 2
"""A Gather at constant places becomes slices if they are this few."""


def gather(node: Node) -> SSAValue:
    """`ge.gather`; at constant places that are one range or two, slices."""
    x = node.operand(0)
    shape = shape_of(x)
    axis = axis_of(node.int("axis", 0), len(shape))
    places = node.known(1)
    if places is None or has_unknown(places) or shape[axis] == DYNAMIC or places.size > shape[axis]:
        return node.emit(ge.GatherOp(x, _indices(node, 1), axis=axis))
    extent = shape[axis]
    flat = [int(place) + extent if place < 0 else int(place) for place in places.reshape(-1).tolist()]
    if any(not 0 <= place < extent for place in flat):
        raise Unsupported(f"an index is outside axis {axis} of extent {extent}")
    if not flat or len(pieces(flat)) > FEW_PIECES:
        return node.emit(ge.GatherOp(x, _indices(node, 1), axis=axis))
    y = take(node, x, axis, flat)
    result = [*shape[:axis], *places.shape, *shape[axis + 1 :]]
    if tuple(result) == shape_of(y):
        return y
    if result.count(DYNAMIC) > 1:
        return node.emit(ge.GatherOp(x, _indices(node, 1), axis=axis))
    return node.emit(ReshapeOp(y, shape=result))


def _indices(node: Node, index: int) -> SSAValue:
    """Indices, which some operators may give as smaller integers or floats, as i64."""
    value = node.operand(index)
    return value if dtype_of(value) in ("i32", "i64") else node.emit(CastOp(value, "i64"))


def gather_elements(node: Node) -> SSAValue:
    """`ge.gather_elements`."""
    return node.emit(ge.GatherElementsOp(node.operand(0), node.operand(1), axis=_axis(node)))


def gather_nd(node: Node) -> SSAValue:
    """`ge.gather_nd`."""
    return node.emit(ge.GatherNdOp(node.operand(0), node.operand(1), batch_dims=node.int("batch_dims", 0)))


def scatter_elements(node: Node) -> SSAValue:
    """`ge.scatter_elements`, which is what Scatter was before opset 11 as well."""
    x, indices, updates = (node.operand(i) for i in range(3))
    reduction = node.string("reduction", "none")
    return node.emit(ge.ScatterElementsOp(x, indices, updates, axis=_axis(node), reduction=reduction))


def scatter_nd(node: Node) -> SSAValue:
    """`ge.scatter_nd`."""
    x, indices, updates = (node.operand(i) for i in range(3))
    return node.emit(ge.ScatterNdOp(x, indices, updates, reduction=node.string("reduction", "none")))


def tensor_scatter(node: Node) -> SSAValue:
    """`ge.tensor_scatter`: the update of a cache of keys and values."""
    x, updates, starts = node.operand(0), node.operand(1), node.optional(2)
    circular = node.string("mode", "linear") == "circular"
    axis = axis_of(node.int("axis", -2), len(shape_of(x)))
    return node.emit(ge.TensorScatterOp(x, updates, starts, axis=axis, circular=circular))


def _axis(node: Node) -> int:
    return axis_of(node.int("axis", 0), len(shape_of(node.operand(0))))


def one_hot(node: Node) -> SSAValue:
    """`ge.one_hot` of a constant depth."""
    indices, values = node.operand(0), node.operand(2)
    depth = int(node.constant(1, "the depth").item())
    axis = axis_of(node.int("axis", -1), len(shape_of(indices)) + 1)
    return node.emit(ge.OneHotOp(indices, values, depth=depth, axis=axis))


def reverse_sequence(node: Node) -> SSAValue:
    """`ge.reverse_sequence`."""
    time, batch = node.int("time_axis", 0), node.int("batch_axis", 1)
    return node.emit(ge.ReverseSequenceOp(node.operand(0), node.operand(1), time_axis=time, batch_axis=batch))


def trilu(node: Node) -> SSAValue:
    """`ge.trilu`; a constant diagonal is a property."""
    x, upper = node.operand(0), bool(node.int("upper", 1))
    diagonal = node.known(1)
    if diagonal is not None and not has_unknown(diagonal):
        return node.emit(TriluOp(x, upper=upper, k=int(diagonal.item())))
    return node.emit(TriluOp(x, node.optional(1), upper=upper))


CONVERTERS: dict[str, Converter] = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterElements": scatter_elements,
    "Scatter": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence,
    "Trilu": trilu,
}
