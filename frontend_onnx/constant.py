"""Operators that only state constants, and Shape, which asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph_engine.dialects.ge.onnx_tensors import ConstantTensor, splat
from graph_engine.frontend_onnx.extents import UnknownExtent, elements, has_unknown
from graph_engine.frontend_onnx.folding import known_shape
from graph_engine.frontend_onnx.node import Node, Unsupported
from graph_engine.frontend_onnx.values import Values

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


FLOAT, INT64 = 1, 7
"""Of TensorProto.DataType."""


def constant(node: Node) -> ConstantTensor:
    """Constant in all its forms except strings and sparse tensors."""
    import numpy as np

    name = node.outputs[0]
    if node.has_attribute("value"):
        return node.tensor("value", name)
    if node.has_attribute("value_float") or node.has_attribute("value_floats"):
        scalar = node.has_attribute("value_float")
        kind, array = FLOAT, np.array(node.float("value_float") if scalar else node.floats("value_floats"), np.float32)
    elif node.has_attribute("value_int") or node.has_attribute("value_ints"):
        scalar = node.has_attribute("value_int")
        kind, array = INT64, np.array(node.int("value_int") if scalar else node.ints("value_ints"), np.int64)
    else:
        raise Unsupported(f"a value given as {', '.join(node.attribute_names()) or 'nothing'}")
    return ConstantTensor(name, kind, array.shape, lambda: array)


def constant_of_shape(node: Node, shape: Array) -> ConstantTensor:
    """ConstantOfShape of a known shape: float32 zeros unless a value says otherwise."""
    import numpy as np

    if has_unknown(shape):
        raise Unsupported("the shape depends on an unknown extent; give input shapes")
    extents = tuple(int(extent) for extent in shape.reshape(-1).tolist())
    if not node.has_attribute("value"):
        return splat(node.outputs[0], np.zeros((), np.float32), FLOAT, extents)
    value = node.tensor("value")
    return splat(node.outputs[0], value.load().reshape(()), value.data_type, extents)


def shape_value(node: Node, values: Values) -> Array:
    """Shape (with `start` and `end` since opset 15) or Size of a tensor of the graph or a constant."""
    import numpy as np

    shape = values.shape(node.inputs[0])
    if node.op_type == "Size":
        size = elements(shape)
        return np.full((), size, object) if isinstance(size, UnknownExtent) else np.array(size, np.int64)
    return known_shape(shape, node.int("start", 0), node.int("end") if node.has_attribute("end") else None)
