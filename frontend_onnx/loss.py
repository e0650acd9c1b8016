"""Losses of classifiers: the probability of the right class is picked by comparing class numbers with the target."""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.elementwise import DivOp, MulOp, NegOp
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.reduction import ReduceMeanOp, ReduceSumOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.activation import number
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, shape_of, static_dim
from graph_engine.frontend_onnx.normalization import log_softmax_along
from graph_engine.frontend_onnx.reduction import class_numbers


def negative_log_likelihood(node: Node) -> SSAValue:
    """NegativeLogLikelihoodLoss: minus the weighted log-probability of the target class, summed, averaged or neither."""
    return _loss(node, node.operand(0))


def softmax_cross_entropy(node: Node) -> list[SSAValue | None]:
    """SoftmaxCrossEntropyLoss: the same of the log-softmax along axis 1, which is the second result."""
    log_probability = log_softmax_along(node, node.operand(0), 1)
    return [_loss(node, log_probability), log_probability]


def _loss(node: Node, log_probability: SSAValue) -> SSAValue:
    shape = [static_dim(extent, "every extent of a loss") for extent in shape_of(log_probability)]
    target, zero = node.operand(1), number(node, 0, log_probability)
    column = node.emit(ReshapeOp(target, shape=[shape[0], 1, *shape[2:]]))
    classes = class_numbers(node, shape[1], 1, len(shape), dtype_of(target))
    is_target = node.emit(CompareOp(classes, column, predicate="eq"))

    def pick(values: SSAValue) -> SSAValue:
        chosen = node.emit(SelectOp(is_target, values, zero))
        return node.emit(ReduceSumOp(chosen, axes=[1], keepdims=False))

    loss = node.emit(NegOp(pick(log_probability)))
    weight = None
    if node.has(2):
        weight = pick(node.emit(ReshapeOp(node.operand(2), shape=[1, shape[1], *([1] * (len(shape) - 2))])))
    if node.has_attribute("ignore_index"):
        weight = weight if weight is not None else number(node, 1, log_probability)
        ignored = number(node, node.int("ignore_index"), target)
        counts = node.emit(CompareOp(target, ignored, predicate="ne"))
        weight = node.emit(SelectOp(counts, weight, zero))
    if weight is not None:
        loss = node.emit(MulOp(loss, weight))
    reduction = node.string("reduction", "mean")
    if reduction not in ("none", "sum", "mean"):
        raise Unsupported(f"reduction {reduction}")
    if reduction == "none":
        return loss
    axes = list(range(len(shape_of(loss))))
    if reduction == "mean" and weight is None:
        return node.emit(ReduceMeanOp(loss, axes=axes, keepdims=False))
    total = node.emit(ReduceSumOp(loss, axes=axes, keepdims=False))
    if reduction == "sum" or weight is None:
        return total
    return node.emit(DivOp(total, node.emit(ReduceSumOp(weight, axes=axes, keepdims=False))))


CONVERTERS: dict[str, Converter] = {
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
}
