"""Quantised operators of domain com.microsoft: products in i32 requantised, everything else computed on real numbers.

The latter, dequantise - compute - quantise, is what these operators mean; onnxruntime takes short cuts that differ from
it in ties of rounding at most.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.elementwise import AddOp, BinaryOp, LeakyReluOp, MulOp, SigmoidOp
from graph_engine.dialects.ge.logic import SelectOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.ge.pooling import GlobalAvgPoolOp
from graph_engine.dialects.ge.quantization import (
    DequantizeOp,
    DequantizeSumsOp,
    DynamicQuantizeOp,
    QuantizedAddOp,
    QuantizeOp,
    RequantizeOp,
)
from graph_engine.dialects.ge.reduction import ReduceMeanOp
from graph_engine.dialects.ge.shape import ConcatOp, TransposeOp
from graph_engine.frontend_onnx.activation import number
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, shape_of
from graph_engine.frontend_onnx.pooling import average_pool_of
from graph_engine.frontend_onnx.quantization import (
    dequantize_linear,
    factor_of,
    integer_product,
    qlinear_conv,
    quantize_linear,
    rows_of,
    zeros_like,
)


def _real(node: Node, first: int, place: int | None = None) -> SSAValue:
    """Inputs `first` to `first` + 2 (number, scale, zero point), or number and parameters from `place` on, as reals."""
    place = first + 1 if place is None else place
    x, scale = node.operand(first), node.operand(place)
    zero_point = node.optional(place + 1) or zeros_like(node, x)
    return node.emit(DequantizeOp(x, scale, zero_point))


def _quantised(node: Node, y: SSAValue, place: int, like: int = 0) -> SSAValue:
    """Reals as quantised numbers with the scale and zero point from input `place` on."""
    zero_point = node.optional(place + 1) or zeros_like(node, node.operand(like))
    return node.emit(QuantizeOp(y, node.operand(place), zero_point))


def _binary(op: type[BinaryOp]) -> Converter:
    def convert(node: Node) -> SSAValue:
        """Computed on real numbers."""
        return _quantised(node, node.emit(op(_real(node, 0), _real(node, 3))), 6)

    return convert


def _unary(function: Callable[[Node, SSAValue], SSAValue]) -> Converter:
    def convert(node: Node) -> SSAValue:
        """Computed on real numbers."""
        return _quantised(node, function(node, _real(node, 0)), 3)

    return convert


def _leaky_relu(node: Node, x: SSAValue) -> SSAValue:
    return node.emit(LeakyReluOp(x, alpha=node.float("alpha", 0.01)))


def _softmax(node: Node, x: SSAValue) -> SSAValue:
    rank = len(shape_of(x))
    axis = axis_of(node.int("axis", -1), rank)
    if node.int("opset", 13) < 13 and any(extent != 1 for extent in shape_of(x)[axis + 1 :]):
        raise Unsupported("several axes taken as one (opset below 13)")
    return node.emit(SoftmaxOp(x, axis=axis))


def _reduce_mean(node: Node, x: SSAValue) -> SSAValue:
    axes = node.ints("axes", range(len(shape_of(x))))
    return node.emit(ReduceMeanOp(x, axes=axes, keepdims=bool(node.int("keepdims", 1))))


def _channels_first(node: Node, x: SSAValue) -> SSAValue:
    """x[N,...,C] as [N,C,...]."""
    rank = len(shape_of(x))
    return node.emit(TransposeOp(x, perm=(0, rank - 1, *range(1, rank - 1))))


def _channels_last(node: Node, x: SSAValue) -> SSAValue:
    """x[N,C,...] as [N,...,C]."""
    rank = len(shape_of(x))
    return node.emit(TransposeOp(x, perm=(0, *range(2, rank), 1)))


def _pool(pool: Callable[[Node, SSAValue], SSAValue], attribute: str) -> Callable[[Node, SSAValue], SSAValue]:
    def function(node: Node, x: SSAValue) -> SSAValue:
        if not node.int(attribute, 0):
            return pool(node, x)
        return _channels_last(node, pool(node, _channels_first(node, x)))

    return function


def qlinear_add(node: Node) -> SSAValue:
    """`ge.quantized_add`; absent zero points are zeros."""
    a = node.operand(0)
    given = [node.optional(index) or zeros_like(node, a) for index in range(8)]
    return node.emit(QuantizedAddOp(*given))


def qlinear_concat(node: Node) -> SSAValue:
    """Computed on real numbers."""
    parts = [_real(node, index) for index in range(2, len(node.inputs), 3)]
    y = node.emit(ConcatOp(parts, axis=node.int("axis"))) if len(parts) > 1 else parts[0]
    return _quantised(node, y, 0, like=2)


def qlinear_where(node: Node) -> SSAValue:
    """Computed on real numbers."""
    return _quantised(node, node.emit(SelectOp(node.operand(0), _real(node, 1), _real(node, 4))), 7, like=1)


def qgemm(node: Node) -> SSAValue:
    """A product and bias in i32, requantised; without an output scale as reals."""
    a, a_scale, a_zero, b, b_scale, b_zero = (node.operand(i) for i in range(6))
    if node.int("transA", 0):
        a = node.emit(TransposeOp(a, perm=(1, 0)))
    if node.int("transB", 0):
        b = node.emit(TransposeOp(b, perm=(1, 0)))
    total = integer_product(node, a, b, a_zero, b_zero)
    if node.has(6):
        total = node.emit(AddOp(total, node.operand(6)))
    alpha = node.float("alpha", 1.0)
    if alpha != 1.0:
        a_scale = node.emit(MulOp(a_scale, number(node, alpha, a_scale)))
    factor = factor_of(node, a_scale, b_scale, node.optional(7))
    if not node.has(7):
        return node.emit(DequantizeSumsOp(total, factor))
    zero_point = node.optional(8) or zeros_like(node, a)
    return node.emit(RequantizeOp(total, factor, zero_point))


def _scaled_product(
    node: Node,
    a: SSAValue,
    a_zero: SSAValue,
    a_scale: SSAValue,
    b_place: tuple[int, int, int],
    bias: int,
) -> SSAValue:
    """a times b (its input, its scale, its zero point) in i32, as reals, plus a bias."""
    b_index, scale, zero = b_place
    b = node.operand(b_index)
    total = integer_product(node, a, b, a_zero, node.optional(zero) or zeros_like(node, b))
    y = node.emit(DequantizeSumsOp(total, rows_of(node, a_scale), node.operand(scale)))
    return node.emit(AddOp(y, node.operand(bias))) if node.has(bias) else y


def matmul_integer_to_float(node: Node) -> SSAValue:
    """A product in i32 as reals, plus a bias."""
    a = node.operand(0)
    a_zero = node.optional(4) or zeros_like(node, a)
    return _scaled_product(node, a, rows_of(node, a_zero), node.operand(2), (1, 3, 5), 6)


def dynamic_quantize_matmul(node: Node) -> SSAValue:
    """A quantised while running, a product in i32 as reals, plus a bias."""
    a, scale, zero_point = node.emit_all(DynamicQuantizeOp(node.operand(0)))
    return _scaled_product(node, a, zero_point, scale, (1, 2, 3), 4)


def qlinear_conv_of_microsoft(node: Node) -> SSAValue:
    """QLinearConv, channels first."""
    if node.int("channels_last", 0):
        raise Unsupported("channels_last is 1; channels first are supported")
    return qlinear_conv(node)


_OPERATORS: dict[str, Converter] = {
    "QLinearAdd": qlinear_add,
    "QLinearMul": _binary(MulOp),
    "QLinearSigmoid": _unary(lambda node, x: node.emit(SigmoidOp(x))),
    "QLinearLeakyRelu": _unary(_leaky_relu),
    "QLinearSoftmax": _unary(_softmax),
    "QLinearReduceMean": _unary(_reduce_mean),
    "QLinearAveragePool": _unary(_pool(average_pool_of, "channels_last")),
    "QLinearGlobalAveragePool": _unary(_pool(lambda node, x: node.emit(GlobalAvgPoolOp(x)), "channels_last")),
    "QLinearConcat": qlinear_concat,
    "QLinearWhere": qlinear_where,
    "QLinearConv": qlinear_conv_of_microsoft,
    "QGemm": qgemm,
    "MatMulIntegerToFloat": matmul_integer_to_float,
    "DynamicQuantizeMatMul": dynamic_quantize_matmul,
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
}
CONVERTERS: dict[str, Converter] = {f"com.microsoft:{name}": convert for name, convert in _OPERATORS.items()}
