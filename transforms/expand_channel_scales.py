"""Quantise and dequantise by a scale a channel, or a block of elements, as arithmetic in fp32.

    %y = ge.dequantize %x, %s, %z {axis = 1} : (tensor<1x64x8x8xi8>, tensor<64xf32>, tensor<64xi8>) -> tensor<1x64x8x8xf32>
    // becomes, with %s and %z as tensor<1x64x1x1xf32>,
    %0 = ge.sub %x32, %z32 : (tensor<1x64x8x8xf32>, tensor<1x64x1x1xf32>) -> tensor<1x64x8x8xf32>
    %y = ge.mul %0, %s32

One scale for all elements stays: the kernel of the operator itself takes it. Integers are quantised as fp32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, ClipOp, DivOp, MulOp, SubOp
from graph_engine.dialects.ge.interning import element_name, numpy_dtype
from graph_engine.dialects.ge.quantization import DequantizeOp, QuantizeOp, ScaledOp, int_of
from graph_engine.dialects.ge.repetition import ExpandOp
from graph_engine.dialects.ge.unary_math import RoundOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made, MadeInFp32
from graph_engine.transforms.pass_base import EXACT, GePass

FLOATS, INTEGERS = ("f16", "f32"), ("i8", "ui8", "i16", "ui16", "i32")


class ExpandChannelScales(Pattern):
    """quantize, dequantize by several scales -> division and rounding, difference and product."""

    name = "expand-channel-scales"
    root: ClassVar[tuple[type[Operation], ...]] = (QuantizeOp, DequantizeOp)

    def rewrite(self, op: QuantizeOp | DequantizeOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        floats, integers = (op.x, op.zero_point) if isinstance(op, QuantizeOp) else (op.result, op.x)
        if DYNAMIC in shape or 0 in shape or elements_of(op.scale) == 1:
            return False
        if element_name(element_of(floats)) not in FLOATS or element_name(element_of(integers)) not in INTEGERS:
            return False
        made = MadeInFp32()
        scale, zero = (_along(made, value, op) for value in (op.scale, op.zero_point))
        if isinstance(op, QuantizeOp):
            info = np.iinfo(numpy_dtype(element_name(element_of(op.zero_point))))
            real = made.put(DivOp(made.as_element(op.x, f32), made.as_element(scale, f32)))
            whole = made.put(AddOp(made.put(RoundOp(real)), made.as_element(zero, f32)))
            result = made.put(ClipOp(whole, min=float(info.min), max=float(info.max)))
        else:
            exact = i32 if element_of(op.x) == i32 else f32
            steps = made.put(SubOp(made.as_element(op.x, exact), made.as_element(zero, exact)))
            result = made.put(MulOp(made.as_element(steps, f32), made.as_element(scale, f32)))
        result = made.as_element(result, element_of(op.result))
        rewriter.replace(op, made.needed([result]), [result])
        return True


class QuantizeIntegers(Pattern):
    """quantize of integers -> of the same numbers in fp32."""

    name = "quantize-integers"
    root: ClassVar[tuple[type[Operation], ...]] = (QuantizeOp,)

    def rewrite(self, op: QuantizeOp, rewriter: CountedRewriter) -> bool:
        if element_of(op.x) != i32:
            return False
        made = MadeInFp32()
        x = made.as_element(op.x, f32)
        made.put(QuantizeOp(x, op.scale, op.zero_point, **op.attribute_values(), result_type=op.result.type))
        rewriter.replace(op, made.made)
        return True


def _along(made: Made, value: SSAValue, op: ScaledOp) -> SSAValue:
    """A scale or zero point in a shape that broadcasts onto x."""
    shape = shape_of(op.operands[0])
    axis, block = int_of(op, "axis") % len(shape), int_of(op, "block")
    if not block:
        return made.shaped(value, [n if i == axis else 1 for i, n in enumerate(shape)])
    given = shape_of(value)
    apart = made.shaped(value, (*given[: axis + 1], 1, *given[axis + 1 :]))
    repeated = made.put(ExpandOp(apart, shape=(*given[: axis + 1], block, *given[axis + 1 :])))
    whole = made.shaped(repeated, (*given[:axis], given[axis] * block, *given[axis + 1 :]))
    return made.part(whole, axis, 0, shape[axis])


@dataclass(frozen=True)
class ExpandChannelScalesPass(GePass):
    """Applies the patterns above."""

    name = "expand-channel-scales"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [QuantizeIntegers(), ExpandChannelScales()])
