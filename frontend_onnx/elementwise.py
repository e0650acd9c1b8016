"""Element by element: unary functions, arithmetic, Clip, Cast, and the operators that only pass a tensor on."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.node import (
    Converter,
    Node,
    Unsupported,
    axis_of,
    dtype_of,
    is_float,
    shape_of,
    static_dim,
)


def unary(op: Callable[[SSAValue], ge.UnaryOp]) -> Converter:
    """The converter of an operator that `ge` has as it is."""

    def convert(node: Node) -> SSAValue:
        return node.emit(op(node.operand(0)))

    return described(convert, op)


def described(convert: Converter, op: Callable[..., GeOp]) -> Converter:
    """The converter of one `ge` operator, with that operator's name as its description."""
    convert.__doc__ = f"`{getattr(op, 'name', '')}`."
    return convert


def binary(op: Callable[[SSAValue, SSAValue], ge.BinaryOp]) -> Converter:
    """The converter of an arithmetic operator, with the broadcasting of its opset."""

    def convert(node: Node) -> SSAValue:
        lhs, rhs = node.operand(0), node.operand(1)
        if node.opset < 7:
            rhs = legacy_broadcast(node, lhs, rhs)
        return node.emit(op(lhs, rhs))

    return described(convert, op)


def legacy_broadcast(node: Node, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
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
        exponent = legacy_broadcast(node, base, exponent)
    kind = dtype_of(base)
    if is_float(exponent) and not is_float(base):
        power = node.emit(ge.PowOp(node.emit(ge.CastOp(base, dtype_of(exponent))), exponent))
        return node.emit(ge.CastOp(power, kind))
    if dtype_of(exponent) != kind:
        exponent = node.emit(ge.CastOp(exponent, kind))
    return node.emit(ge.PowOp(base, exponent))


def clip(node: Node) -> SSAValue:
    """Clip: `ge.clip` for constant fp16 and fp32 bounds, else maximum and minimum with the bounds given."""
    x = node.operand(0)
    if node.opset < 11:
        return node.emit(ge.ClipOp(x, min=node.float("min", -ge.FLOAT32_MAX), max=node.float("max", ge.FLOAT32_MAX)))
    bounds = [node.known(index) for index in (1, 2)]
    given = [index for index in (1, 2) if node.has(index)]
    if dtype_of(x) in DEVICE_FLOATS and all(bounds[index - 1] is not None for index in given):
        low, high = (None if bound is None else float(bound.item()) for bound in bounds)
        if not given:
            return x
        low = -ge.FLOAT32_MAX if low is None else low
        return node.emit(ge.ClipOp(x, min=low, max=ge.FLOAT32_MAX if high is None else high))
    if 1 in given:
        x = node.emit(ge.MaximumOp(x, node.operand(1)))
    return node.emit(ge.MinimumOp(x, node.operand(2))) if 2 in given else x


def leaky_relu(node: Node) -> SSAValue:
    """`ge.leaky_relu`."""
    return node.emit(ge.LeakyReluOp(node.operand(0), alpha=node.float("alpha", 0.01)))


def cast_to(node: Node) -> SSAValue:
    """Cast; to the type that a tensor has already it does nothing."""
    target = element_of_onnx(node.int("to"))
    if target is None:
        raise Unsupported(f"target type {node.int('to')} of ONNX's TensorProto")
    return _cast(node, target)


def cast_like(node: Node) -> SSAValue:
    """CastLike: a cast to the element type of the second operand."""
    return _cast(node, cast("TensorType[Attribute]", node.operand(1).type).element_type)


def _cast(node: Node, target: Attribute) -> SSAValue:
    x = node.operand(0)
    if cast("TensorType[Attribute]", x.type).element_type == target:
        return x
    saturate, mode = bool(node.int("saturate", 1)), node.string("round_mode", "up")
    return node.emit(ge.CastOp(x, target, saturate=saturate, round_mode=mode))


def identity(node: Node) -> SSAValue:
    """Identity: its input."""
    return node.operand(0)


def dropout(node: Node) -> list[SSAValue | None]:
    """Dropout at inference: its input, and a mask of ones; before opset 12, as onnxruntime has it, of zeros."""
    x = node.operand(0)
    training = node.has(2) and bool(node.constant(2, "training_mode").item())
    if training and not (node.has(1) and float(node.constant(1, "ratio").item()) == 0):
        raise Unsupported("training_mode is true: which elements drop out is random; export the model for inference")
    if not node.result_used(1):
        return [x, None]
    import numpy as np

    shape = [static_dim(extent, "every extent of the mask") for extent in shape_of(x)]
    mask = np.array(node.opset >= 12).astype(bool if node.opset >= 10 else numpy_dtype(dtype_of(x)))
    return [x, node.keep_constant(np.broadcast_to(mask, shape), node.outputs[1])]


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
    "CastLike": cast_like,
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
