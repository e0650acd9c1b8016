"""Normalizations along the channels or an axis."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.elementwise import (
    AbsOp,
    AddOp,
    CastOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    ReciprocalOp,
    SqrtOp,
    SubOp,
)
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.normalization import BatchNormOp, GroupNormOp, LayerNormOp, LrnOp, RmsNormOp, SoftmaxOp
from graph_engine.dialects.ge.reduction import ReduceL2Op, ReduceMaxOp, ReduceMeanOp, ReduceSumOp
from graph_engine.dialects.ge.repetition import ExpandOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.activation import number
from graph_engine.frontend_onnx.node import (
    Converter,
    Node,
    Unsupported,
    axis_of,
    dtype_of,
    joined,
    shape_of,
    static_dim,
)
from graph_engine.frontend_onnx.reduction import one_hot_at_maximum


def batch_normalization(node: Node) -> list[SSAValue | None]:
    """`ge.batch_norm`; before opset 7 `is_test` said so, models left it out, so it is not asked for. In training mode with
    the mean and variance of the batch, and the running ones as further results."""
    x, scale, bias, mean, variance = (node.operand(index) for index in range(5))
    epsilon = node.float("epsilon", 1e-5)
    if not node.int("spatial", 1):  # before opset 9: statistics of every element of a sample
        deviation = node.emit(SqrtOp(node.emit(AddOp(variance, number(node, epsilon, variance)))))
        scaled = node.emit(MulOp(node.emit(SubOp(x, mean)), node.emit(DivOp(scale, deviation))))
        return [node.emit(AddOp(scaled, bias))]
    if not node.int("training_mode", 0):
        if any(node.result_used(index) for index in range(1, len(node.outputs))):
            raise Unsupported("its training outputs are used")
        same = [
            value if dtype_of(value) == dtype_of(x) else node.emit(CastOp(value, dtype_of(x)))
            for value in (scale, bias, mean, variance)
        ]
        return [node.emit(BatchNormOp(x, *same, epsilon=epsilon))]
    axes = [i for i in range(len(shape_of(x))) if i != 1]
    batch_mean = node.emit(ReduceMeanOp(x, axes=axes))
    centred = node.emit(SubOp(x, batch_mean))
    batch_variance = node.emit(ReduceMeanOp(node.emit(MulOp(centred, centred)), axes=axes, keepdims=False))
    batch_mean = node.emit(ReshapeOp(batch_mean, shape=shape_of(mean)))
    momentum = node.float("momentum", 0.9)

    def running(old: SSAValue, new: SSAValue) -> SSAValue:
        kept = node.emit(MulOp(old, number(node, momentum, old)))
        return node.emit(AddOp(kept, node.emit(MulOp(new, number(node, 1 - momentum, new)))))

    y = node.emit(BatchNormOp(x, scale, bias, batch_mean, batch_variance, epsilon=epsilon))
    return [y, running(mean, batch_mean), running(variance, batch_variance)]


def layer_normalization(node: Node) -> list[SSAValue | None]:
    """`ge.layer_norm`; mean and inverse deviation, where they are used, by themselves in fp32."""
    x, epsilon = node.operand(0), node.float("epsilon", 1e-5)
    rank = len(shape_of(x))
    axis = axis_of(node.int("axis", -1), rank)
    y = node.emit(LayerNormOp(x, node.operand(1), node.optional(2), axis=axis, epsilon=epsilon))
    if not node.result_used(1) and not node.result_used(2):
        return [y]
    axes = list(range(axis, rank))
    wide = x if dtype_of(x) in ("f32", "f64") else node.emit(CastOp(x, "f32"))
    mean = node.emit(ReduceMeanOp(wide, axes=axes))
    centred = node.emit(SubOp(wide, mean))
    variance = node.emit(ReduceMeanOp(node.emit(MulOp(centred, centred)), axes=axes))
    deviation = node.emit(SqrtOp(node.emit(AddOp(variance, number(node, epsilon, variance)))))
    statistics = [mean, node.emit(ReciprocalOp(deviation))]
    return [y, *(value if dtype_of(value) == "f32" else node.emit(CastOp(value, "f32")) for value in statistics)]


def rms_normalization(node: Node) -> SSAValue:
    """`ge.rms_norm`; a scale of another element type gives its own to the result."""
    x, scale = node.operand(0), node.operand(1)
    axis, epsilon = axis_of(node.int("axis", -1), len(shape_of(x))), node.float("epsilon", 1e-5)
    if dtype_of(x) != dtype_of(scale):
        x = node.emit(CastOp(x, dtype_of(scale)))
    return node.emit(RmsNormOp(x, scale, axis=axis, epsilon=epsilon))


def group_normalization(node: Node) -> SSAValue:
    """`ge.group_norm`; before opset 21 scale and bias have one value a group, which is repeated for its channels."""
    x, groups = node.operand(0), node.int("num_groups")
    channels = static_dim(shape_of(x)[1], "the number of channels")
    scale, bias = (_per_channel(node, node.operand(index), groups, channels) for index in (1, 2))
    return node.emit(GroupNormOp(x, scale, bias, groups=groups, epsilon=node.float("epsilon", 1e-5)))


def _per_channel(node: Node, value: SSAValue, groups: int, channels: int) -> SSAValue:
    if shape_of(value) == (channels,):
        return value
    column = node.emit(ReshapeOp(value, shape=[groups, 1]))
    wide = node.emit(ExpandOp(column, shape=[groups, channels // groups]))
    return node.emit(ReshapeOp(wide, shape=[channels]))


def instance_normalization(node: Node) -> SSAValue:
    """`ge.group_norm` with one channel a group."""
    x, scale, bias = (node.operand(index) for index in range(3))
    channels = static_dim(shape_of(scale)[0], "the number of channels")
    return node.emit(GroupNormOp(x, scale, bias, groups=channels, epsilon=node.float("epsilon", 1e-5)))


def mean_variance_normalization(node: Node) -> SSAValue:
    """(x - mean) / (deviation + 1e-9) over `axes`."""
    x = node.operand(0)
    axes = sorted({axis_of(axis, len(shape_of(x))) for axis in node.ints("axes", [0, 2, 3])})
    centred = node.emit(SubOp(x, node.emit(ReduceMeanOp(x, axes=axes))))
    variance = node.emit(ReduceMeanOp(node.emit(MulOp(centred, centred)), axes=axes))
    deviation = node.emit(SqrtOp(variance))
    return node.emit(DivOp(centred, node.emit(AddOp(deviation, number(node, 1e-9, deviation)))))


def lp_normalization(node: Node) -> SSAValue:
    """x divided by its L1 or L2 norm along an axis; 0 where the norm is 0."""
    x = node.operand(0)
    axis, p = axis_of(node.int("axis", -1), len(shape_of(x))), node.int("p", 2)
    if p not in (1, 2):
        raise Unsupported(f"p = {p}; 1 and 2 are supported")
    norm = node.emit(ReduceL2Op(x, axes=[axis]) if p == 2 else ReduceSumOp(node.emit(AbsOp(x)), axes=[axis]))
    empty = node.emit(CompareOp(norm, number(node, 0, norm), predicate="eq"))
    return node.emit(DivOp(x, node.emit(SelectOp(empty, number(node, 1, norm), norm))))


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
    y = log_softmax_along(node, x, axis)
    return y if restore is None else node.emit(ReshapeOp(y, shape=restore))


def log_softmax_along(node: Node, x: SSAValue, axis: int) -> SSAValue:
    """Log-softmax along one axis."""
    shifted = node.emit(SubOp(x, node.emit(ReduceMaxOp(x, axes=[axis]))))
    total = node.emit(ReduceSumOp(node.emit(ExpOp(shifted)), axes=[axis]))
    return node.emit(SubOp(shifted, node.emit(LogOp(total))))


def hardmax(node: Node) -> SSAValue:
    """Hardmax: 1 at the first largest element along the axis, as Softmax counts it, else 0."""
    x, axis, restore = _softmax_view(node)
    y = x if 0 in shape_of(x) else one_hot_at_maximum(node, x, axis)
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
    rows = joined(shape[:axis])
    if shape.count(DYNAMIC) > 1:
        raise Unsupported("more than one unknown extent before opset 13")
    return node.emit(ReshapeOp(x, shape=[rows, columns])), 1, list(shape)


CONVERTERS: dict[str, Converter] = {
    "BatchNormalization": batch_normalization,
    "LRN": lrn,
    "Softmax": softmax,
    "LogSoftmax": log_softmax,
    "Hardmax": hardmax,
    "LayerNormalization": layer_normalization,
    "RMSNormalization": rms_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "LpNormalization": lp_normalization,
}
