"""Quantised numbers: q stands for (q - zero_point) * scale. Scales and zero points are operands, never part of a type.

Scale and zero point are one number, or [extent of `axis`], or, with `block` > 0, of the rank of x with one entry for
every `block` elements along `axis`. Rounding is to nearest even, results are cut to the range of their type.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from graph_engine.dialects.ge.convolution import window_extent
from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    Trait,
    bytes_of,
    dims_agree,
    element_of,
    elements_of,
    shape_of,
    shapes_agree,
    typed,
)
from graph_engine.dialects.ge.elementwise import broadcast_shapes
from graph_engine.dialects.ge.interning import bool_attr, element_name, int_attr, ints_attr, tensor_type
from graph_engine.dialects.ge.properties import bool_prop, int_prop, ints_prop

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "ui8")


class ScaledOp(GeOp):
    """Shared by `ge.quantize` and `ge.dequantize`."""

    VECTOR_OPS: ClassVar[int] = 3

    def keeps_type(self, index: int) -> bool:
        return index == 1

    def check_scale(self, x: SSAValue, scale: SSAValue, zero_point: SSAValue) -> None:
        """Raises if scale and zero point do not fit x along the axis."""
        shape, given = shape_of(x), shape_of(scale)
        axis, block = int_of(self, "axis"), int_of(self, "block")
        if prod(given) == prod(shape_of(zero_point)) == 1 and block == 0:
            return
        if not shapes_agree(given, shape_of(zero_point)):
            raise self.fail(f"scale and zero_point differ in shape (operands {self.operand_shapes()})")
        axis = self.axis_in(axis, len(shape))
        if block == 0:
            if len(given) != 1 or not dims_agree(given[0], shape[axis]):
                raise self.fail(f"scale must have one entry for axis {axis} (operands {self.operand_shapes()})")
            return
        blocks = DYNAMIC if shape[axis] == DYNAMIC else -(-shape[axis] // block)
        if block < 0 or not shapes_agree(given, [blocks if i == axis else n for i, n in enumerate(shape)]):
            raise self.fail(
                f"scale must have one entry for {block} elements of axis {axis} (operands {self.operand_shapes()})"
            )


def int_of(op: GeOp, name: str) -> int:
    """The value of an integer property."""
    return int(op.attribute_values()[name])


@irdl_op_definition
class QuantizeOp(ScaledOp):
    """round(x / scale) + zero_point in the type of zero_point (ONNX QuantizeLinear), computed in fp32.

    To floats of 8 bits and less: x / scale rounded there; what is too large becomes the largest number if `saturate`.
    """

    name = "ge.quantize"

    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    zero_point = operand_def(TENSOR)
    axis = int_prop(1)
    block = int_prop(0)
    saturate = bool_prop(True)

    def keeps_type(self, index: int) -> bool:
        return True  # in fp16 a number next to the middle between two steps would fall to the wrong one

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        zero_point: SSAValue | Operation,
        *,
        axis: int = 1,
        block: int = 0,
        saturate: bool = True,
        result_type: Tensor | None = None,
    ):
        properties = {"axis": int_attr(axis), "block": int_attr(block), "saturate": bool_attr(saturate)}
        self.init((x, scale, zero_point), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if element_name(element_of(self.scale)) not in FLOATS or element_name(element_of(self.zero_point)) in FLOATS:
            raise self.fail(f"scale must hold floats, zero_point quantised numbers, got {self.operand_types}")
        self.check_scale(self.x, self.scale, self.zero_point)
        return typed(shape_of(self.x), self.zero_point)


@irdl_op_definition
class DequantizeOp(ScaledOp):
    """(x - zero_point) * scale in the result's type, by default that of scale, rounded once (ONNX DequantizeLinear)."""

    name = "ge.dequantize"

    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    zero_point = operand_def(TENSOR)
    axis = int_prop(1)
    block = int_prop(0)

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        zero_point: SSAValue | Operation,
        *,
        axis: int = 1,
        block: int = 0,
        to: Attribute | None = None,
        result_type: Tensor | None = None,
    ):
        x, scale = SSAValue.get(x), SSAValue.get(scale)
        if result_type is None:
            result_type = tensor_type(shape_of(x), element_of(scale) if to is None else to)
        self.init((x, scale, zero_point), {"axis": int_attr(axis), "block": int_attr(block)}, result_type)

    def attribute_values(self) -> dict[str, Any]:
        return super().attribute_values() | {"to": element_name(element_of(self.result))}

    def infer(self) -> tuple[Tensor, ...]:
        if element_name(element_of(self.result)) not in FLOATS:
            raise self.fail(f"the result must hold floats, got {element_of(self.result)}")
        if element_name(element_of(self.scale)) not in FLOATS or element_of(self.x) != element_of(self.zero_point):
            raise self.fail("scale must hold floats, x and zero_point one type of quantised numbers")
        self.check_scale(self.x, self.scale, self.zero_point)
        return (tensor_type(shape_of(self.x), element_of(self.result)),)


@irdl_op_definition
class RequantizeOp(GeOp):
    """round(x * factor) + zero_point in the type of zero_point: sums in i32 made quantised numbers again.

    factor (f32: input scales over output scale) and zero_point broadcast onto x. The product is one of fp32.
    """

    name = "ge.requantize"
    VECTOR_OPS: ClassVar[int] = 3

    x = operand_def(TENSOR)
    factor = operand_def(TENSOR)
    zero_point = operand_def(TENSOR)

    def keeps_type(self, index: int) -> bool:
        return index == 1

    def __init__(
        self,
        x: SSAValue | Operation,
        factor: SSAValue | Operation,
        zero_point: SSAValue | Operation,
        *,
        result_type: Tensor | None = None,
    ):
        self.init((x, factor, zero_point), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if element_of(self.x) != i32 or element_of(self.factor) != f32:
            raise self.fail(f"x must be i32 and factor f32, got {element_of(self.x)} and {element_of(self.factor)}")
        shape = shape_of(self.x)
        for value in (self.factor, self.zero_point):
            onto = broadcast_shapes(shape, shape_of(value))
            if onto is None or not shapes_agree(onto, shape):
                raise self.fail(f"operands {self.operand_shapes()} do not broadcast onto x")
        return typed(shape, self.zero_point)


@irdl_op_definition
class DequantizeSumsOp(GeOp):
    """x * (first * second): sums in i32 as floats, by the scales of both factors, in fp32 and rounded once.

    first and second (f32, the latter may be absent) broadcast onto x.
    """

    name = "ge.dequantize_sums"
    VECTOR_OPS: ClassVar[int] = 2

    x = operand_def(TENSOR)
    first = operand_def(TENSOR)
    second = opt_operand_def(TENSOR)

    def keeps_type(self, index: int) -> bool:
        return index > 0

    def __init__(
        self,
        x: SSAValue | Operation,
        first: SSAValue | Operation,
        second: SSAValue | Operation | None = None,
        *,
        result_type: Tensor | None = None,
    ):
        x = SSAValue.get(x)
        self.init((x, first, second), {}, result_type or tensor_type(shape_of(x), f32))

    def attribute_values(self) -> dict[str, Any]:
        return {"to": element_name(element_of(self.result))}

    def infer(self) -> tuple[Tensor, ...]:
        if element_of(self.x) != i32 or any(element_of(value) != f32 for value in self.operands[1:]):
            raise self.fail(f"x must be i32 and scales f32, got {self.operand_types}")
        shape = shape_of(self.x)
        for value in self.operands[1:]:
            onto = broadcast_shapes(shape, shape_of(value))
            if onto is None or not shapes_agree(onto, shape):
                raise self.fail(f"operands {self.operand_shapes()} do not broadcast onto x")
        if element_name(element_of(self.result)) not in FLOATS:
            raise self.fail(f"the result must hold floats, got {element_of(self.result)}")
        return (tensor_type(shape, element_of(self.result)),)


@irdl_op_definition
class DynamicQuantizeOp(GeOp):
    """x in 8 unsigned bits, its scale and its zero point, so that 0 and all of x are in range (ONNX DynamicQuantizeLinear).

    scale = (max(x, 0) - min(x, 0)) / 255, or 1 if that is 0; zero point = -min(x, 0) / scale, rounded.
    """

    name = "ge.dynamic_quantize"
    VECTOR_OPS: ClassVar[int] = 5

    x = operand_def(TENSOR)
    result = result_def(TENSOR)
    scale = result_def(TENSOR)
    zero_point = result_def(TENSOR)

    def keeps_type(self, index: int) -> bool:
        return True

    def __init__(self, x: SSAValue | Operation, *, result_type: Sequence[Tensor] | None = None):
        self.init((x,), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if element_of(self.x) != f32:
            raise self.fail(f"x must be f32, got {element_of(self.x)}")
        return tensor_type(shape_of(self.x), "ui8"), tensor_type((), f32), tensor_type((), "ui8")


@irdl_op_definition
class QuantizedAddOp(GeOp):
    """The sum of two quantised tensors, quantised (ONNX contrib QLinearAdd); a and b broadcast, scales are single numbers.

    y = round(a * ra + (b * rb + (y_zero - (ra * a_zero + rb * b_zero)))), ra = a_scale / y_scale, rb = b_scale / y_scale,
    in fp32 by fused multiply-adds from the inside out: so ties fall as in onnxruntime.
    """

    name = "ge.quantized_add"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.ELEMENTWISE, Trait.BROADCAST, Trait.HOST})
    VECTOR_OPS: ClassVar[int] = 5

    a = operand_def(TENSOR)
    a_scale = operand_def(TENSOR)
    a_zero = operand_def(TENSOR)
    b = operand_def(TENSOR)
    b_scale = operand_def(TENSOR)
    b_zero = operand_def(TENSOR)
    y_scale = operand_def(TENSOR)
    y_zero = operand_def(TENSOR)

    def keeps_type(self, index: int) -> bool:
        return True

    def __init__(self, *operands: SSAValue | Operation, result_type: Tensor | None = None):
        self.init(operands, {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if any(prod(shape_of(value)) != 1 for i, value in enumerate(self.operands) if i not in (0, 3)):
            raise self.fail(f"scales and zero points must be single numbers (operands {self.operand_shapes()})")
        if len({element_of(value) for value in (self.a, self.a_zero, self.b, self.b_zero, self.y_zero)}) > 1:
            raise self.fail(f"operands must have one element type, got {self.operand_types}")
        shape = broadcast_shapes(shape_of(self.a), shape_of(self.b))
        if shape is None:
            raise self.fail(f"operands {self.operand_shapes()} do not broadcast")
        return typed(shape, self.a)


class IntegerProductOp(GeOp):
    """Shared by products of 8-bit numbers that are summed in i32."""

    def require_bytes(self, *pairs: tuple[SSAValue, SSAValue]) -> None:
        """Raises unless every number and its zero point have one type of 8 bits."""
        for value, zero_point in pairs:
            name = element_name(element_of(value))
            if name not in INTEGERS or element_of(zero_point) != element_of(value):
                raise self.fail(f"operands and their zero points must be i8 or ui8, got {self.operand_types}")

    def require_onto(self, value: SSAValue, zero_point: SSAValue) -> None:
        """Raises unless a zero point broadcasts onto its numbers."""
        onto = broadcast_shapes(shape_of(value), shape_of(zero_point))
        if onto is None or not shapes_agree(onto, shape_of(value)):
            raise self.fail(f"a zero point does not broadcast onto its numbers (operands {self.operand_shapes()})")


@irdl_op_definition
class MatmulIntegerOp(IntegerProductOp):
    """(a - a_zero) @ (b - b_zero) in i32, exact (ONNX MatMulInteger). a, b: i8 or ui8, batch axes broadcast."""

    name = "ge.matmul_integer"

    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    a_zero = operand_def(TENSOR)
    b_zero = operand_def(TENSOR)

    def __init__(
        self,
        a: SSAValue | Operation,
        b: SSAValue | Operation,
        a_zero: SSAValue | Operation,
        b_zero: SSAValue | Operation,
        *,
        result_type: Tensor | None = None,
    ):
        self.init((a, b, a_zero, b_zero), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_bytes((self.a, self.a_zero), (self.b, self.b_zero))
        a, b = shape_of(self.a), shape_of(self.b)
        if len(a) < 2 or len(b) < 2 or not dims_agree(a[-1], b[-2]):
            raise self.fail(f"inner extents differ (operands {self.operand_shapes()})")
        self.require_onto(self.a, self.a_zero)
        self.require_onto(self.b, self.b_zero)
        batch = broadcast_shapes(a[:-2], b[:-2])
        if batch is None:
            raise self.fail(f"batch axes do not broadcast (operands {self.operand_shapes()})")
        return (tensor_type((*batch, a[-2], b[-1]), i32),)

    def cost(self) -> Cost:
        macs = elements_of(self.result) * max(1, shape_of(self.a)[-1])
        return Cost(macs, 0, sum(map(bytes_of, self.operands)), bytes_of(self.result))


@irdl_op_definition
class Conv2dIntegerOp(IntegerProductOp):
    """The convolution of x - x_zero by w - w_zero in i32, exact (ONNX ConvInteger). Padding stands for zeros of x - x_zero.

    x[N,C,H,W], w[O,C/group,kh,kw]: i8 or ui8; `pads` as for `ge.conv2d`.
    """

    name = "ge.conv2d_integer"

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    x_zero = operand_def(TENSOR)
    w_zero = operand_def(TENSOR)
    strides = ints_prop((1, 1))
    pads = ints_prop((0, 0, 0, 0))
    dilations = ints_prop((1, 1))
    group = int_prop(1)

    def __init__(
        self,
        x: SSAValue | Operation,
        w: SSAValue | Operation,
        x_zero: SSAValue | Operation,
        w_zero: SSAValue | Operation,
        *,
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        dilations: Sequence[int] = (1, 1),
        group: int = 1,
        result_type: Tensor | None = None,
    ):
        properties: dict[str, Attribute] = {
            "strides": ints_attr(strides),
            "pads": ints_attr(pads),
            "dilations": ints_attr(dilations),
            "group": int_attr(group),
        }
        self.init((x, w, x_zero, w_zero), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_bytes((self.x, self.x_zero), (self.w, self.w_zero))
        self.require_onto(self.x, self.x_zero)
        self.require_onto(self.w, self.w_zero)
        batch, channels, *spatial = self.require_rank(self.x, 4, "x")
        outputs, group_channels, *kernel = self.require_rank(self.w, 4, "w")
        strides, dilations = self.require_length("strides", 2), self.require_length("dilations", 2)
        pads, group = self.require_length("pads", 4), self.group.value.data
        if min(*strides, *dilations, group) < 1 or min(pads) < 0:
            raise self.fail("strides, dilations and group must be positive, pads not negative")
        if not dims_agree(channels, group_channels * group) or outputs % group:
            raise self.fail(f"group {group} does not divide the channels (operands {self.operand_shapes()})")
        extents = [
            window_extent(spatial[i], kernel[i], strides[i], pads[i] + pads[i + 2], dilations[i]) for i in range(2)
        ]
        if any(e < 1 and e != DYNAMIC for e in extents):
            raise self.fail(f"the kernel does not fit into the padded input (operands {self.operand_shapes()})")
        return (tensor_type((batch, outputs, *extents), i32),)

    def cost(self) -> Cost:
        macs = elements_of(self.result) * prod(shape_of(self.w)[1:])
        return Cost(macs, 0, sum(map(bytes_of, self.operands)), bytes_of(self.result))


QUANTIZATION = [
    QuantizeOp,
    DequantizeOp,
    RequantizeOp,
    DequantizeSumsOp,
    DynamicQuantizeOp,
    QuantizedAddOp,
    MatmulIntegerOp,
    Conv2dIntegerOp,
]
