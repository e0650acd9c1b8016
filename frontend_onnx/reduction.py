"""Reductions along given axes."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.reduction import ReduceMaxOp, ReduceMeanOp, ReduceMinOp, ReduceOp, ReduceSumOp
from graph_engine.frontend_onnx.node import Converter, Node, axis_of, shape_of


def reduce(op: Callable[..., ReduceOp], axes_input_since: int) -> Converter:
    """The converter of a reduction whose axes are an attribute at first and an input since the given opset."""

    def convert(node: Node) -> SSAValue:
        x = node.operand(0)
        rank = len(shape_of(x))
        if node.opset >= axes_input_since:
            axes = node.constant_ints(1, "axes") if node.has(1) else []
        else:
            axes = node.ints("axes", [])
        if not axes:
            if node.int("noop_with_empty_axes", 0):
                return x
            axes = list(range(rank))
        axes = sorted({axis_of(axis, rank) for axis in axes})
        return node.emit(op(x, axes=axes, keepdims=bool(node.int("keepdims", 1))))

    return convert


CONVERTERS: dict[str, Converter] = {
    "ReduceMean": reduce(ReduceMeanOp, 18),
    "ReduceSum": reduce(ReduceSumOp, 13),
    "ReduceMax": reduce(ReduceMaxOp, 18),
    "ReduceMin": reduce(ReduceMinOp, 18),
}
