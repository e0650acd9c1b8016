"""Quantised operators: scales and zero points become operands; sums are i32, brought back by one fp32 factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.elementwise import AddOp, CastOp, DivOp, MulOp, SubOp
from graph_engine.dialects.ge.interning import element_name, numpy_dtype
from graph_engine.dialects.ge.quantization import (
    Conv2dIntegerOp,
    DequantizeOp,
    DynamicQuantizeOp,
    MatmulIntegerOp,
    QuantizeOp,
    RequantizeOp,
)
from graph_engine.frontend_onnx.convolve import convolve, kernel_of
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, shape_of
from graph_engine.frontend_onnx.windows import (
    reshape,
    spatial_extents,
    window_of,
    with_unit_axis,
    without_unit_axis,
)


def zeros_like(node: Node, like: SSAValue, shape: Sequence[int] = (), element: str = "") -> SSAValue:
    """A constant of zeros, by default one zero of the type of `like`."""
    import numpy as np

    zeros: Any = np.zeros(tuple(shape), np.int8).astype(numpy_dtype(element or dtype_of(like)))
    return node.keep_constant(zeros, f"{node.name}.zero_point")


def _zero_point(node: Node, index: int, like: SSAValue, shape: Sequence[int] = ()) -> SSAValue:
    """Input `index`, by default zeros of the type of `like`."""
    given = node.optional(index)
    return zeros_like(node, like, shape) if given is None else given


def quantize_linear(node: Node) -> SSAValue:
    """`ge.quantize`; the type comes from the zero point or from `output_dtype`, else it is ui8."""
    x, scale = node.operand(0), node.operand(1)
    if node.has(2):
        zero_point = node.operand(2)
    else:
        element = element_of_onnx(node.int("output_dtype", 0) or 2)
        if element is None:
            raise Unsupported(f"output_dtype {node.int('output_dtype', 0)} is not known")
        zero_point = zeros_like(node, scale, shape_of(scale), element_name(element))
    axis, block = node.int("axis", 1), node.int("block_size", 0)
    saturate = bool(node.int("saturate", 1))
    return node.emit(QuantizeOp(x, scale, zero_point, axis=axis, block=block, saturate=saturate))


def dequantize_linear(node: Node) -> SSAValue:
    """`ge.dequantize`."""
    x, scale = node.operand(0), node.operand(1)
    zero_point = _zero_point(node, 2, x, shape_of(scale))
    to = element_of_onnx(node.int("output_dtype", 0))
    axis, block = node.int("axis", 1), node.int("block_size", 0)
    return node.emit(DequantizeOp(x, scale, zero_point, axis=axis, block=block, to=to))


def dynamic_quantize_linear(node: Node) -> list[SSAValue | None]:
    """`ge.dynamic_quantize`."""
    return [*node.emit_all(DynamicQuantizeOp(node.operand(0)))]


def integer_product(node: Node, a: SSAValue, b: SSAValue, a_zero: SSAValue, b_zero: SSAValue) -> SSAValue:
    """A matrix product in i32; a zero point [M] of the left one belongs to its rows, vectors are one row or column."""
    a_shape, b_shape = shape_of(a), shape_of(b)
    if len(a_shape) == 1:
        a = reshape(node, a, (1, *a_shape))
    if len(b_shape) == 1:
        b = reshape(node, b, (*b_shape, 1))
    y = node.emit(MatmulIntegerOp(a, b, rows_of(node, a_zero), b_zero))
    shape = shape_of(y)
    if len(a_shape) == 1:
        shape = (*shape[:-2], shape[-1])
    if len(b_shape) == 1:
        shape = shape[:-1]
    return reshape(node, y, shape)


def rows_of(node: Node, value: SSAValue) -> SSAValue:
    """A vector with one number a row as a column; one number stays as it is."""
    shape = shape_of(value)
    return reshape(node, value, (*shape, 1)) if len(shape) == 1 and shape[0] != 1 else value


def matmul_integer(node: Node) -> SSAValue:
    """`ge.matmul_integer`."""
    a, b = node.operand(0), node.operand(1)
    return integer_product(node, a, b, _zero_point(node, 2, a), _zero_point(node, 3, b))


def _as_f32(node: Node, value: SSAValue) -> SSAValue:
    return value if dtype_of(value) == "f32" else node.emit(CastOp(value, "f32"))


def factor_of(node: Node, first: SSAValue, second: SSAValue, result: SSAValue | None) -> SSAValue:
    """first * second / result in fp32, as onnxruntime computes it."""
    product = node.emit(MulOp(_as_f32(node, first), _as_f32(node, second)))
    return product if result is None else node.emit(DivOp(product, _as_f32(node, result)))


def qlinear_matmul(node: Node) -> SSAValue:
    """A product in i32, requantised."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.operand(i) for i in range(8))
    total = integer_product(node, a, b, a_zero, b_zero)
    factor = factor_of(node, rows_of(node, a_scale), b_scale, rows_of(node, y_scale))
    return node.emit(RequantizeOp(total, factor, rows_of(node, y_zero)))


def integer_convolution(node: Node, x: SSAValue, w: SSAValue, x_zero: SSAValue, w_zero: SSAValue) -> SSAValue:
    """A convolution in i32; a zero point [O] of the weight belongs to its outputs. Over three axes in fp64, which is exact."""
    window = window_of(node, kernel_of(node, shape_of(w), len(spatial_extents(node))))
    strides, pads, dilations = window.strides, window.pads, window.dilations
    row = len(strides) == 1
    if row:
        x, w = with_unit_axis(node, x), with_unit_axis(node, w)
        strides, pads, dilations = (1, *strides), [0, pads[0], 0, pads[1]], (1, *dilations)
    outputs = shape_of(w_zero)
    if outputs and outputs != (1,):
        w_zero = reshape(node, w_zero, (*outputs, *[1] * (len(shape_of(w)) - 1)))
    group = node.int("group", 1)
    if len(strides) > 2:
        x, w = (
            node.emit(SubOp(node.emit(CastOp(value, "f64")), node.emit(CastOp(zero, "f64"))))
            for value, zero in ((x, x_zero), (w, w_zero))
        )
        y = convolve(node, x, w, strides=strides, pads=pads, dilations=dilations, group=group)
        return node.emit(CastOp(y, "i32"))
    y = node.emit(Conv2dIntegerOp(x, w, x_zero, w_zero, strides=strides, pads=pads, dilations=dilations, group=group))
    return without_unit_axis(node, y) if row else y


def conv_integer(node: Node) -> SSAValue:
    """`ge.conv2d_integer`, 1-D as images of one row."""
    x, w = node.operand(0), node.operand(1)
    return integer_convolution(node, x, w, _zero_point(node, 2, x), _zero_point(node, 3, w))


def per_channel(node: Node, value: SSAValue, rank: int) -> SSAValue:
    """One number a channel so that it broadcasts onto a tensor of `rank`."""
    shape = shape_of(value)
    return value if shape in ((), (1,)) else reshape(node, value, (*shape, *[1] * (rank - 2)))


def qlinear_conv(node: Node) -> SSAValue:
    """A convolution and bias in i32, requantised."""
    _, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (node.operand(i) for i in range(8))
    total = integer_convolution(node, node.operand(0), w, x_zero, w_zero)
    rank = len(shape_of(total))
    if node.has(8):
        total = node.emit(AddOp(total, per_channel(node, node.operand(8), rank)))
    factor = per_channel(node, factor_of(node, x_scale, w_scale, y_scale), rank)
    return node.emit(RequantizeOp(total, factor, y_zero))


CONVERTERS: dict[str, Converter] = {
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    "MatMulInteger": matmul_integer,
    "ConvInteger": conv_integer,
    "QLinearMatMul": qlinear_matmul,
    "QLinearConv": qlinear_conv,
}
