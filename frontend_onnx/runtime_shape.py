"""Shape arithmetic that stays in the graph, because an input keeps unknown extents or a size depends on data.

The importer folds shape arithmetic as far as extents are known. A folded vector that holds unknown extents and is read as
data after all is made by these converters, as its node says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge import runtime_shape as ge
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.reduction import ReduceProdOp
from graph_engine.dialects.ge.shape import ConcatOp, ReshapeOp, SliceOp
from graph_engine.frontend_onnx.extents import Extent, UnknownExtent, static
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, shape_of


def shape(node: Node) -> SSAValue:
    """Shape of a tensor with unknown extents: `ge.shape_of`."""
    end = node.int("end") if node.has_attribute("end") else ge.FAR
    return node.emit(ge.ShapeOfOp(node.operand(0), start=node.int("start", 0), end=end))


def size(node: Node) -> SSAValue:
    """Size of a tensor with unknown extents: the product of `ge.shape_of`."""
    return node.emit(ReduceProdOp(node.emit(ge.ShapeOfOp(node.operand(0))), axes=[0], keepdims=False))


def constant_of_shape(node: Node) -> SSAValue:
    """ConstantOfShape of a shape that is computed at run time: `ge.fill`."""
    import numpy as np

    value = node.tensor("value").load() if node.has_attribute("value") else np.zeros(1, np.float32)
    fill = node.keep_constant(value.reshape(1))
    target = vector_operand(node, 0)
    return _emit(node, ge.FillOp, (target, fill), fill, _extents(node, 0, target))


def vector_operand(node: Node, index: int) -> SSAValue:
    """Input `index` as an integer vector; a scalar becomes one of a single element."""
    value = node.operand(index)
    if dtype_of(value) not in ("i32", "i64"):
        value = node.emit(CastOp(value, "i64"))
    return value if len(shape_of(value)) == 1 else node.emit(ReshapeOp(value, shape=[prod(shape_of(value))]))


def reshaped_at_run_time(node: Node, extents: Sequence[Extent] | None = None) -> SSAValue:
    """Reshape of input 0 to the vector in input 1: `ge.reshape_to`; `extents` of the result as far as they are known."""
    x, target = node.operand(0), vector_operand(node, 1)
    allow_zero = bool(node.int("allowzero", 0))
    known = _extents(node, 1, target) if extents is None else extents
    return _emit(node, ge.ReshapeToOp, (x, target), x, known, allow_zero=allow_zero)


def expanded_at_run_time(node: Node) -> SSAValue:
    """Expand of input 0 with the vector in input 1: `ge.expand_to`, with what is known of the extents."""
    x, target = node.operand(0), vector_operand(node, 1)
    wanted, source = _extents(node, 1, target), node.shape(x)
    rank = max(len(wanted), len(source))
    pairs = zip([1] * (rank - len(wanted)) + [*wanted], [1] * (rank - len(source)) + [*source], strict=True)
    return _emit(node, ge.ExpandToOp, (x, target), x, [_broadcast(w, s) for w, s in pairs])


def _broadcast(wanted: Extent, own: Extent) -> Extent:
    """What two extents broadcast to, -1 if that is open: an unknown one beside a number above 1 is that number or 1."""
    if own == 1 or wanted == own:
        return wanted
    if wanted == 1:
        return own
    known = [extent for extent in (wanted, own) if isinstance(extent, int) and extent > 1]
    return known[0] if known else DYNAMIC


def with_shape(node: Node, x: SSAValue, extents: Sequence[Extent]) -> SSAValue:
    """x in another shape, whose unknown extents are extents of x but for one at most: `ge.reshape`, or `ge.reshape_to`."""
    own = node.shape(x)
    if tuple(extents) == own:
        return x
    shape = static(extents)
    if DYNAMIC not in shape or (shape.count(DYNAMIC) == 1 and 0 not in shape):  # of no elements -1 can be anything
        return node.emit(ReshapeOp(x, shape=shape))
    import numpy as np

    if sum(isinstance(extent, UnknownExtent) and extent not in own for extent in extents) > 1:
        raise Unsupported("more than one unknown extent that is none of the input's; give input shapes")
    vector = node.emit(ge.ShapeOfOp(x))
    parts: list[SSAValue] = []
    for extent in extents:
        if extent in own and isinstance(extent, UnknownExtent):
            axis = own.index(extent)
            parts.append(node.emit(SliceOp(vector, starts=[axis], ends=[axis + 1], axes=[0])))
        else:
            parts.append(node.keep_constant(np.array([extent if isinstance(extent, int) else -1], np.int64)))
    target = node.emit(ConcatOp(parts, axis=0))
    return _emit(node, ge.ReshapeToOp, (x, target), x, extents, allow_zero=True)


def _extents(node: Node, index: int, vector: SSAValue) -> list[Extent]:
    """What is known of the extents that a vector gives; -1 where nothing is."""
    return [DYNAMIC] * shape_of(vector)[0] if node.known(index) is None else node.extents(index, "the shape")


def _emit(
    node: Node,
    op: Callable[..., GeOp],
    operands: Sequence[SSAValue],
    like: SSAValue,
    extents: Sequence[Extent],
    **properties: Any,
) -> SSAValue:
    """An operator whose result has the element type of `like` and, as far as they are known, `extents`."""
    result = tensor_type(static(extents), element_of(like))
    return node.emit_shaped(op(*operands, result_type=result, **properties), extents)


CONVERTERS: dict[str, Converter] = {
    "Shape": shape,
    "Size": size,
    "ConstantOfShape": constant_of_shape,
}
