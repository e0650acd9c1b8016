"""The integer convolution of 8-bit numbers with its way back to 8 bits: constants as the Cube wants them.

The Cube multiplies x by w as they are. Zero points of x leave by the bias, since sum((x - z) w) = sum(x w) - z sum(w);
padding holds the zero point, so that the same holds at the borders. Weights that have 9 bits around their zero point are
the sum of two filters (three if some are 255), which doubles the work.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MaximumOp
from graph_engine.dialects.ge.interning import element_type, tensor_type
from graph_engine.dialects.ge.quantization import Conv2dIntegerOp, RequantizeOp
from graph_engine.dialects.ge.weights import FoldAttr, attribute_type, constant_attr, fold_attr, materialize
from graph_engine.dialects.layout import NC1HWC0, FractalZ, encoding_of, with_encoding
from graph_engine.errors import GraphEngineError
from graph_engine.lowering.kernels.conv2d import build_conv2d
from graph_engine.lowering.kernels.conv_shape import ConvShape
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.requantise import RANGES, Requantise
from graph_engine.lowering.selection.choice import (
    Choice,
    ConstantArgument,
    Region,
    dtype_of_tensor,
    region_of,
    require_encoding,
    require_static,
    tensor,
)
from graph_engine.lowering.selection.groups import blocks_of_groups
from graph_engine.target_ascend.isa.model import FACTOR_BITS, OFFSET_BITS, OFFSET_SHIFT, SIGNED_BIT, DType


def select_integer_convolution(op: Operation) -> Choice:
    """The kernel of `conv2d_integer`, `add`, `requantize`, `maximum`. Raises NoKernel with the reason if there is none."""
    require_static(*(tensor(v) for v in (*op.operands, *op.results)))
    region = region_of(op)
    conv = region.anchor
    if not isinstance(conv, Conv2dIntegerOp):
        raise NoKernel(f"{conv.name} is no convolution of integers")
    added, requantize, relu = _way_out(region, conv)
    y = tensor(region.yielded[0])
    for ty in (tensor(conv.x), y):
        require_encoding(ty, NC1HWC0)
    if not isinstance(encoding_of(tensor(conv.w)), FractalZ):
        raise NoKernel("the filter is not stored as FRACTAL_Z")
    dtype, out = dtype_of_tensor(tensor(conv.x)), dtype_of_tensor(y)
    if dtype not in RANGES or out not in RANGES:
        raise NoKernel("the kernel of integers reads and writes 8 bits")

    values = conv.attribute_values()
    n, c, h, wd = shape_of(conv.x)
    _, cout, ho, wo = shape_of(conv.result)
    kernel = shape_of(conv.w)[2], shape_of(conv.w)[3]
    group: int = values["group"]
    blocks = blocks_of_groups(shape_of(conv.w), group, 32)
    zero = _number(_constant(region, conv.x_zero))
    filters = _filters(region, conv)
    target = _number(_constant(region, requantize.zero_point))
    pads = values["pads"]
    shape = ConvShape(
        n, blocks.count, blocks.c1, h, wd, blocks.n1, ho, wo, kernel, tuple(values["strides"]),
        tuple(values["dilations"]), (pads[0], pads[1], pads[2], pads[3]), False, dtype, zero if any(pads) else 0,
        len(filters), blocks.last,
    )  # fmt: skip
    scales = _constant(region, requantize.factor)
    epilogue = Requantise(target, relu, out, short=_is_short(scales))
    channels = shape.out_blocks * 16
    bias = _bias(region, conv, added, zero, channels)
    factor = _vector(scales, cout, channels, f32)
    inputs: list[SSAValue | ConstantArgument] = [_outside(region, conv.x), *filters, bias]
    return Choice(
        ("conv2d", shape, epilogue),
        "conv2d_integer_relu" if relu else "conv2d_integer",
        "DepthwiseConv2D" if group > 1 and group == c else "Conv2D",
        lambda name, soc: build_conv2d(name, shape, epilogue, soc),
        [*inputs, factor],
        fixpipe_inputs=[*inputs, _words(factor, target, out)] if epilogue.short else None,
    )


def _way_out(region: Region, conv: Conv2dIntegerOp) -> tuple[SSAValue | None, RequantizeOp, bool]:
    """The bias, what makes 8 bits of the sums, and whether a maximum with its zero point follows."""
    value: SSAValue = conv.result
    bias: SSAValue | None = None
    rest = list(region.rest)
    if rest and isinstance(rest[0], AddOp):
        bias, value = rest[0].other(value), rest.pop(0).results[0]
    requantize = rest.pop(0) if rest else None
    if not isinstance(requantize, RequantizeOp) or requantize.x is not value:
        raise NoKernel("nothing makes 8 bits of the sums")
    relu = bool(rest)
    if relu:
        last = rest.pop(0)
        if not isinstance(last, MaximumOp) or last.other(requantize.result) is not requantize.zero_point or rest:
            raise NoKernel("something else than a maximum with the zero point follows")
    return bias, requantize, relu


def _outside(region: Region, value: SSAValue) -> SSAValue:
    outside = region.outside(value)
    if outside is None:
        raise NoKernel("an operand of the convolution is computed inside the region")
    return outside


def _constant(region: Region, value: SSAValue) -> Attribute:
    """The value of a constant operand, before it was packed."""
    owner = _outside(region, value).owner
    if not isinstance(owner, ConstantOp):
        raise NoKernel("the convolution of integers takes constants beside its input")
    packed = owner.value
    if isinstance(packed, FoldAttr) and packed.op.data == "layout.transdata":
        (packed,) = packed.operands
    return packed


def _number(constant: Attribute) -> int:
    numbers = materialize(constant, attribute_type(constant))
    if (numbers != numbers.flat[0]).any():
        raise NoKernel("one zero point a channel")
    return int(numbers.flat[0])


def _filters(region: Region, conv: Conv2dIntegerOp) -> list[SSAValue | ConstantArgument]:
    """The weights around zero as they are if they are signed numbers of 8 bits; else filters that add up to them."""
    zero = _constant(region, conv.w_zero)
    points = materialize(zero, attribute_type(zero))
    element = dtype_of_tensor(tensor(conv.w))
    if element is DType.I8 and not points.any():
        return [_outside(region, conv.w)]
    around = _around_zero(region, conv)
    shape = shape_of(conv.w)
    stored = with_encoding(tensor_type(shape, i8), encoding_of(tensor(conv.w)))

    def packed(numbers: Attribute) -> ConstantArgument:
        small = fold_attr("ge.cast", [numbers], {"to": "i8"}, tensor_type(shape, i8))
        return ConstantArgument(fold_attr("layout.transdata", [small], {}, stored), stored)

    wide, (low, high) = tensor_type(shape, i32), RANGES[DType.I8]
    ends = [constant_attr(np.array([end], np.int32), "end") for end in (low, high)]
    smallest, largest = (
        end - int(point) for end, point in zip(RANGES[element], (points.max(), points.min()), strict=True)
    )
    filters: list[SSAValue | ConstantArgument] = []
    while smallest < low or largest > high:
        part = fold_attr("ge.minimum", [fold_attr("ge.maximum", [around, ends[0]], {}, wide), ends[1]], {}, wide)
        filters.append(packed(part))
        around = fold_attr("ge.sub", [around, part], {}, wide)
        smallest, largest = min(0, smallest - low), max(0, largest - high)
    return [*filters, packed(around)]


def _around_zero(region: Region, conv: Conv2dIntegerOp) -> Attribute:
    """w - zero point in i32, a recipe."""
    w, zero = _constant(region, conv.w), _constant(region, conv.w_zero)
    wide = tensor_type(shape_of(conv.w), i32)
    point_type = tensor_type(attribute_type(zero).get_shape(), i32)
    operands = [fold_attr("ge.cast", [a], {"to": "i32"}, t) for a, t in ((w, wide), (zero, point_type))]
    return fold_attr("ge.sub", operands, {}, wide)


def _bias(region: Region, conv: Conv2dIntegerOp, added: SSAValue | None, zero: int, channels: int) -> ConstantArgument:
    """bias - zero * (sum of each filter), a recipe."""
    outputs = shape_of(conv.w)[0]
    vector = tensor_type((outputs,), i32)
    bias = constant_attr(np.zeros(outputs, np.int32), "no bias")
    if added is not None:
        bias = _vector(_constant(region, added), outputs, outputs, i32).value
    if zero:
        total = fold_attr("ge.reduce_sum", [_around_zero(region, conv)], {"axes": [1, 2, 3], "keepdims": False}, vector)
        point = constant_attr(np.array([zero], np.int32), "zero_point")
        bias = fold_attr("ge.sub", [bias, fold_attr("ge.mul", [total, point], {}, vector)], {}, vector)
    return _padded(bias, outputs, channels, i32)


def _vector(constant: Attribute, outputs: int, channels: int, element: Attribute) -> ConstantArgument:
    """One number an output, repeated if there is only one, zeros behind the last."""
    ty = tensor_type((outputs,), element)
    count = prod(attribute_type(constant).get_shape())
    constant = fold_attr("ge.reshape", [constant], {"shape": [count]}, tensor_type((count,), element))
    if count != outputs:
        zeros = constant_attr(np.zeros(outputs, np.int32 if element == i32 else np.float32), "zeros")
        constant = fold_attr("ge.add", [zeros, constant], {}, ty)
    return _padded(constant, outputs, channels, element)


def _is_short(factor: Attribute) -> bool:
    """Whether FixPipe reads all digits of all factors; of those that no store has it may not."""
    try:
        bits = materialize(factor, attribute_type(factor)).view(np.uint32)
    except GraphEngineError:
        return False
    return not (bits & ~np.uint32(FACTOR_BITS)).any()


def _words(factor: ConstantArgument, offset: int, out: DType) -> ConstantArgument:
    """What FixPipe's `requantise` scales each channel by, a recipe."""
    channels = factor.type.get_shape()
    narrow, wide = (tensor_type(channels, element_type(name)) for name in ("ui32", "ui64"))
    bits = fold_attr("ge.bitcast", [factor.value], {"to": "ui32"}, narrow)
    rest = (offset & (1 << OFFSET_BITS) - 1) << OFFSET_SHIFT | int(out is DType.I8) << SIGNED_BIT
    upper = constant_attr(np.array([rest], np.uint64), "offset")
    low = fold_attr("ge.cast", [bits], {"to": "ui64"}, wide)
    return ConstantArgument(fold_attr("ge.add", [low, upper], {}, wide), wide)


def _padded(constant: Attribute, outputs: int, channels: int, element: Attribute) -> ConstantArgument:
    ty = tensor_type((channels,), element)
    if outputs != channels:
        constant = fold_attr("ge.pad", [constant], {"pads": [0, channels - outputs], "value": 0.0}, ty)
    return ConstantArgument(constant, ty)
