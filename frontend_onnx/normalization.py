"""Normalizations along the channels or an axis."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.elementwise import ExpOp, LogOp, SubOp
from graph_engine.dialects.ge.normalization import BatchNormOp, LrnOp, SoftmaxOp
from graph_engine.dialects.ge.reduction import ReduceMaxOp, ReduceSumOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, shape_of, static_dim


def batch_normalization(node: Node) -> SSAValue:
    """BatchNormalization at inference (before opset 7 `is_test` said so; models left it out, so it is not asked for)."""
    if node.int("training_mode", 0):
        raise Unsupported("training_mode is 1; export the model for inference")
    if not node.int("spatial", 1):
        raise Unsupported("spatial is 0; per-channel statistics are supported")
    if any(node.result_used(index) for index in range(1, len(node.outputs))):
        raise Unsupported("its training outputs are used")
    x, scale, bias, mean, variance = (node.operand(index) for index in range(5))
    return node.emit(BatchNormOp(x, scale, bias, mean, variance, epsilon=node.float("epsilon", 1e-5)))


def lrn(node: Node) -> SSAValue:
    """LRN across channels."""
    return node.emit(
        LrnOp(
            node.operand(0),
            size=node.int("size"),
            alpha=node.float("alpha", 1e-4),
            beta=node.float("beta", 0.75),
            bias=node.float("bias", 1.0),
        )
    )


def softmax(node: Node) -> SSAValue:
    """Softmax: along one axis since opset 13, before over all axes from `axis` on taken as one."""
    x, axis, restore = _softmax_view(node)
    y = node.emit(SoftmaxOp(x, axis=axis))
    return y if restore is None else node.emit(ReshapeOp(y, shape=restore))


def log_softmax(node: Node) -> SSAValue:
    """LogSoftmax: x - max - log(sum(exp(x - max))), which keeps the digits that log(softmax(x)) loses."""
    x, axis, restore = _softmax_view(node)
    shifted = node.emit(SubOp(x, node.emit(ReduceMaxOp(x, axes=[axis]))))
    total = node.emit(ReduceSumOp(node.emit(ExpOp(shifted)), axes=[axis]))
    y = node.emit(SubOp(shifted, node.emit(LogOp(total))))
    return y if restore is None else node.emit(ReshapeOp(y, shape=restore))


def _softmax_view(node: Node) -> tuple[SSAValue, int, list[int] | None]:
    """The tensor and the one axis to normalise along, and the shape to go back to if the tensor had to be reshaped."""
    x = node.operand(0)
    shape = shape_of(x)
    if node.opset >= 13:
        return x, axis_of(node.int("axis", -1), len(shape)), None
    axis = node.int("axis", 1)
    axis = len(shape) if axis == len(shape) else axis_of(axis, len(shape))
    wide = [i for i in range(axis, len(shape)) if shape[i] != 1]
    if len(wide) <= 1 and axis < len(shape):
        return x, wide[0] if wide else axis, None
    columns = prod(static_dim(d, "every extent that softmax joins") for d in shape[axis:])
    rows = DYNAMIC if DYNAMIC in shape[:axis] else prod(shape[:axis])
    if shape.count(DYNAMIC) > 1:
        raise Unsupported("more than one unknown extent before opset 13")
    return node.emit(ReshapeOp(x, shape=[rows, columns])), 1, list(shape)


CONVERTERS: dict[str, Converter] = {
    "BatchNormalization": batch_normalization,
    "LRN": lrn,
    "Softmax": softmax,
    "LogSoftmax": log_softmax,
}
