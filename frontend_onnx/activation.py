"""Activation functions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ge import activation as ge
from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.elementwise import AbsOp, AddOp, DivOp, LeakyReluOp, MulOp, SubOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.elementwise import unary
from graph_engine.frontend_onnx.node import Converter, Node, dtype_of, shape_of


def elu(node: Node) -> SSAValue:
    """`ge.elu`."""
    return node.emit(ge.EluOp(node.operand(0), alpha=node.float("alpha", 1.0)))


def selu(node: Node) -> SSAValue:
    """`ge.elu` whose scale is gamma."""
    alpha, gamma = node.float("alpha", 1.67326319217681884765625), node.float("gamma", 1.05070102214813232421875)
    return node.emit(ge.EluOp(node.operand(0), alpha=alpha, scale=gamma))


def celu(node: Node) -> SSAValue:
    """`ge.elu` of x / alpha below 0."""
    alpha = node.float("alpha", 1.0)
    return node.emit(ge.EluOp(node.operand(0), alpha=alpha, input_scale=1 / alpha))


def gelu(node: Node) -> SSAValue:
    """`ge.gelu`, exact or by tanh."""
    return node.emit(ge.GeluOp(node.operand(0), approximate=node.string("approximate", "none")))


def hard_sigmoid(node: Node) -> SSAValue:
    """`ge.hard_sigmoid`."""
    return node.emit(ge.HardSigmoidOp(node.operand(0), alpha=node.float("alpha", 0.2), beta=node.float("beta", 0.5)))


def swish(node: Node) -> SSAValue:
    """`ge.swish`."""
    return node.emit(ge.SwishOp(node.operand(0), alpha=node.float("alpha", 1.0)))


def swiglu(node: Node) -> SSAValue:
    """`ge.swish` of the gate times the value."""
    return node.emit(MulOp(swish(node), node.operand(1)))


def softsign(node: Node) -> SSAValue:
    """x / (1 + |x|)."""
    x = node.operand(0)
    return node.emit(DivOp(x, node.emit(AddOp(node.emit(AbsOp(x)), number(node, 1, x)))))


def thresholded_relu(node: Node) -> SSAValue:
    """x where x > alpha, else 0."""
    x = node.operand(0)
    above = node.emit(CompareOp(x, number(node, node.float("alpha", 1.0), x), predicate="gt"))
    return node.emit(SelectOp(above, x, number(node, 0, x)))


def shrink(node: Node) -> SSAValue:
    """x + bias below -lambd, x - bias above lambd, 0 between."""
    x, lambd, bias = node.operand(0), node.float("lambd", 0.5), node.float("bias", 0.0)
    below = node.emit(CompareOp(x, number(node, -lambd, x), predicate="lt"))
    above = node.emit(CompareOp(x, number(node, lambd, x), predicate="gt"))
    raised, lowered = x, x
    if bias:
        raised, lowered = node.emit(AddOp(x, number(node, bias, x))), node.emit(SubOp(x, number(node, bias, x)))
    inner = node.emit(SelectOp(above, lowered, number(node, 0, x)))
    return node.emit(SelectOp(below, raised, inner))


def prelu(node: Node) -> SSAValue:
    """`ge.prelu`, with one constant slope `ge.leaky_relu`; before opset 7 a slope of several elements has one a channel."""
    x, one = node.operand(0), node.known(1)
    if one is not None and one.size == 1 and len(one.shape) <= len(shape_of(x)) and dtype_of(x) in DEVICE_FLOATS:
        return node.emit(LeakyReluOp(x, alpha=float(one.item())))
    slope = node.operand(1)
    rank, shape = len(shape_of(x)), shape_of(slope)
    if node.opset < 7 and len(shape) == 1 and shape[0] != 1:
        shape = (*shape, *([1] * (rank - 2)))
    shape = (*([1] * (rank - len(shape))), *shape)
    if shape != shape_of(slope) and shape.count(DYNAMIC) <= 1:  # one rank, so that the slope may take x's format
        slope = node.emit(ReshapeOp(slope, shape=shape))
    return node.emit(ge.PReluOp(x, slope))


def number(node: Node, value: float, like: SSAValue) -> SSAValue:
    """A scalar constant of the element type of `like`."""
    import numpy as np

    return node.keep_constant(np.array(value).astype(numpy_dtype(dtype_of(like))))


CONVERTERS: dict[str, Converter] = {
    "Elu": elu,
    "Selu": selu,
    "Celu": celu,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": unary(ge.HardSwishOp),
    "Mish": unary(ge.MishOp),
    "Softplus": unary(ge.SoftplusOp),
    "Softsign": softsign,
    "Swish": swish,
    "SwiGLU": swiglu,
    "ThresholdedRelu": thresholded_relu,
    "Shrink": shrink,
    "PRelu": prelu,
}
