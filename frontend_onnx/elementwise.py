"""Element by element: unary functions, arithmetic, Clip, Cast, and the operators that only pass a tensor on."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.interning import element_name, numpy_dtype
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, dtype_of, is_float, shape_of


def unary(op: Callable[[SSAValue], ge.UnaryOp]) -> Converter:
    """The converter of an operator that `ge` has as it is."""
    return lambda node: node.emit(op(node.operand(0)))


def binary(op: Callable[[SSAValue, SSAValue], ge.BinaryOp]) -> Converter:
    """The converter of an arithmetic operator, with the broadcasting of its opset."""

    def convert(node: Node) -> SSAValue:
        lhs, rhs = node.operand(0), node.operand(1)
        if node.opset < 7:
            rhs = _legacy_broadcast(node, lhs, rhs)
        return node.emit(op(lhs, rhs))

    return convert


def _legacy_broadcast(node: Node, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Before opset 7 the right operand was laid along the left one's axes from `axis` on: add the missing extents of 1."""
    left, right = shape_of(lhs), shape_of(rhs)
    if not node.int("broadcast", 0):
        if left != right:
            raise Unsupported(f"operands of shapes {left} and {right} without broadcast=1 (opset {node.opset})")
        return rhs
    start = axis_of(node.int("axis", len(left) - len(right)), len(left) + 1)
    missing = len(left) - start - len(right)
    return node.emit(ReshapeOp(rhs, shape=(*right, *([1] * missing)))) if missing > 0 else rhs


def variadic(op: Callable[[SSAValue, SSAValue], ge.BinaryOp]) -> Converter:
    """The converter of Sum, Max, Min: a chain from the left (one input alone is the result)."""

    def convert(node: Node) -> SSAValue:
        total, *rest = node.operands()
        for value in rest:
            total = node.emit(op(total, value))
        return total

    return convert


def mean(node: Node) -> SSAValue:
    """Mean: the sum times 1/n."""
    total = variadic(ge.AddOp)(node)
    assert isinstance(total, SSAValue)
    count = len(node.inputs)
    if count == 1:
        return total
    import numpy as np

    return node.emit(ge.MulOp(total, node.keep_constant(np.array(1 / count, numpy_dtype(dtype_of(total))))))


def power(node: Node) -> SSAValue:
    """Pow; the exponent may have another element type, the result has the base's."""
    base, exponent = node.operand(0), node.operand(1)
    if node.opset < 7:
        exponent = _legacy_broadcast(node, base, exponent)
    if dtype_of(exponent) != dtype_of(base):
        if not is_float(base):
            raise Unsupported("an integer base with an exponent of another type")
        exponent = node.emit(ge.CastOp(exponent, dtype_of(base)))
    return node.emit(ge.PowOp(base, exponent))


def clip(node: Node) -> SSAValue:
    """Clip: bounds are attributes before opset 11, constant inputs since."""
    x = node.operand(0)
    if not is_float(x):
        raise Unsupported(f"element type {dtype_of(x)}; floats are supported")
    if node.opset < 11:
        return node.emit(ge.ClipOp(x, min=node.float("min", -ge.FLOAT32_MAX), max=node.float("max", ge.FLOAT32_MAX)))
    low = float(node.constant(1, "min").item()) if node.has(1) else -ge.FLOAT32_MAX
    high = float(node.constant(2, "max").item()) if node.has(2) else ge.FLOAT32_MAX
    return node.emit(ge.ClipOp(x, min=low, max=high))


def leaky_relu(node: Node) -> SSAValue:
    """LeakyRelu."""
    return node.emit(ge.LeakyReluOp(node.operand(0), alpha=node.float("alpha", 0.01)))


def cast_to(node: Node) -> SSAValue:
    """Cast; to the type that a tensor has already it does nothing."""
    x, target = node.operand(0), element_of_onnx(node.int("to"))
    if target is None:
        raise Unsupported(f"target type {node.int('to')} of ONNX's TensorProto")
    if cast("TensorType[Attribute]", x.type).element_type == target:
        return x
    return node.emit(ge.CastOp(x, element_name(target)))


def identity(node: Node) -> SSAValue:
    """Identity: its input."""
    return node.operand(0)


def dropout(node: Node) -> list[SSAValue | None]:
    """Dropout at inference: its input. The mask and training mode have no meaning here."""
    if node.result_used(1):
        raise Unsupported("its output mask is used")
    if node.has(2) and bool(node.constant(2, "training_mode").item()):
        raise Unsupported("training_mode is true")
    return [node.operand(0), None]


CONVERTERS: dict[str, Converter] = {
    "Relu": unary(ge.ReluOp),
    "Sigmoid": unary(ge.SigmoidOp),
    "Tanh": unary(ge.TanhOp),
    "Exp": unary(ge.ExpOp),
    "Log": unary(ge.LogOp),
    "Sqrt": unary(ge.SqrtOp),
    "Abs": unary(ge.AbsOp),
    "Neg": unary(ge.NegOp),
    "Reciprocal": unary(ge.ReciprocalOp),
    "Erf": unary(ge.ErfOp),
    "LeakyRelu": leaky_relu,
    "Clip": clip,
    "Cast": cast_to,
    "Add": binary(ge.AddOp),
    "Sub": binary(ge.SubOp),
    "Mul": binary(ge.MulOp),
    "Div": binary(ge.DivOp),
    "Pow": power,
    "Sum": variadic(ge.AddOp),
    "Max": variadic(ge.MaximumOp),
    "Min": variadic(ge.MinimumOp),
    "Mean": mean,
    "Identity": identity,
    "Dropout": dropout,
}
