"""Quantise less between operators on quantised numbers: what only moves them works on 8 bits.

%f = ge.dequantize %q, %s, %z : (tensor<1x64x8x8xi8>, ...) -> tensor<1x64x8x8xf32>
%p = ge.max_pool %f {kernel = [2, 2], strides = [2, 2]} : ... -> tensor<1x64x4x4xf32>
%y = ge.quantize %p, %s, %z : ... -> tensor<1x64x4x4xi8>
// becomes
%y = ge.max_pool %q {kernel = [2, 2], strides = [2, 2]} : (tensor<1x64x8x8xi8>) -> tensor<1x64x4x4xi8>

What QLinear operators add and what they average takes the form that QDQ models have it in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i8
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, ClipOp, ReluOp
from graph_engine.dialects.ge.pooling import GlobalAvgPoolOp, MaxPoolOp
from graph_engine.dialects.ge.quantization import DequantizeOp, QuantizedAddOp, QuantizeOp
from graph_engine.dialects.ge.reduction import ReduceMeanOp
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp, TransposeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.pass_base import APPROXIMATE, GePass
from graph_engine.transforms.quantised_values import quantisation
from graph_engine.transforms.recipes import known

Roots = tuple[type[Operation], ...]

MOVES = (MaxPoolOp, ReshapeOp, TransposeOp, SliceOp)
"""Operators that give elements of their operand, in an order that quantisation keeps."""


class QuantiseOnce(Pattern):
    """quantize(relu(dequantize(quantize(x)))), all by the same numbers -> quantize(relu(x)): both round the same number."""

    name = "quantise-once"
    root: ClassVar[Roots] = (QuantizeOp,)

    def rewrite(self, op: QuantizeOp, rewriter: CountedRewriter) -> bool:
        relu = op.x.owner
        outer = relu.x.owner if isinstance(relu, ReluOp) else None
        inner = outer.x.owner if isinstance(outer, DequantizeOp) else None
        if not isinstance(relu, ReluOp) or not isinstance(outer, DequantizeOp) or not isinstance(inner, QuantizeOp):
            return False
        alone = single_user(op.x) is op and single_user(relu.x) is relu and single_user(outer.x) is outer
        if (
            not alone
            or quantisation(op) is None
            or not quantisation(op) == quantisation(outer) == quantisation(inner)
            or element_of(inner.x) != f32
        ):
            return False
        again = ReluOp(inner.x)
        rewriter.sources(inner, outer, relu)
        rewriter.replace(op, [again, QuantizeOp(again.result, op.scale, op.zero_point, result_type=op.result.type)])
        return True


class SaturatedClip(Pattern):
    """quantize(clip(x)) whose upper bound lies where 8 bits end -> quantize(relu(x)), or quantize(x) if the lower one does."""

    name = "saturated-clip"
    root: ClassVar[Roots] = (QuantizeOp,)

    def rewrite(self, op: QuantizeOp, rewriter: CountedRewriter) -> bool:
        clip, numbers = op.x.owner, quantisation(op)
        if not isinstance(clip, ClipOp) or numbers is None or single_user(op.x) is not op or element_of(op.x) != f32:
            return False
        scale, zero, element = numbers
        low, high = (-128, 127) if element == i8 else (0, 255)
        if not scale > 0:
            return False
        ends = np.array([clip.min.value.data, clip.max.value.data], np.float32)
        with np.errstate(over="ignore"):
            bounds = np.rint(ends / np.float32(scale)) + zero
        if bounds[1] < high or (bounds[0] > low and clip.min.value.data != 0):
            return False
        relu = [ReluOp(clip.x)] if bounds[0] > low else []
        x = relu[0].result if relu else clip.x
        rewriter.sources(clip)
        rewriter.replace(op, [*relu, QuantizeOp(x, op.scale, op.zero_point, result_type=op.result.type)])
        return True


class MoveQuantised(Pattern):
    """quantize(move(dequantize(q))) by the same numbers -> move(q): pools of maxima and what changes places alone."""

    name = "move-quantised"
    root: ClassVar[Roots] = (QuantizeOp,)

    def rewrite(self, op: QuantizeOp, rewriter: CountedRewriter) -> bool:
        move = op.x.owner
        back = move.operands[0].owner if isinstance(move, MOVES) else None
        if not isinstance(move, MOVES) or not isinstance(back, DequantizeOp) or single_user(op.x) is not op:
            return False
        if quantisation(op) is None or quantisation(op) != quantisation(back):
            return False
        rewriter.sources(move)
        rewriter.replace(
            op, type(move).create(operands=[back.x], result_types=op.result_types, properties=dict(move.properties))
        )
        return True


class PlainAddition(Pattern):
    """quantized_add(a, b) of one shape -> quantize(dequantize(a) + dequantize(b)): where a tie falls may differ by a step."""

    name = "plain-addition"
    root: ClassVar[Roots] = (QuantizedAddOp,)

    def rewrite(self, op: QuantizedAddOp, rewriter: CountedRewriter) -> bool:
        numbers = (op.a_scale, op.a_zero, op.b_scale, op.b_zero, op.y_scale, op.y_zero)
        same = shape_of(op.a) == shape_of(op.b)
        if not same or len(shape_of(op.a)) != 4 or any(known(number) is None for number in numbers):
            return False
        first, second = DequantizeOp(op.a, op.a_scale, op.a_zero), DequantizeOp(op.b, op.b_scale, op.b_zero)
        total = AddOp(first.result, second.result)
        rewriter.replace(op, [first, second, total, QuantizeOp(total.result, op.y_scale, op.y_zero)])
        return True


class MeanOfPixels(Pattern):
    """quantize(global_avg_pool(dequantize(x))) -> with a reduction in between, which needs no blocks of channels."""

    name = "mean-of-pixels"
    root: ClassVar[Roots] = (GlobalAvgPoolOp,)

    def rewrite(self, op: GlobalAvgPoolOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        quantised = isinstance(op.x.owner, DequantizeOp) and isinstance(single_user(op.result), QuantizeOp)
        if not quantised or DYNAMIC in shape:
            return False
        rewriter.replace(op, ReduceMeanOp(op.x, axes=list(range(2, len(shape))), keepdims=True))
        return True


@dataclass(frozen=True)
class SimplifyQuantized(GePass):
    """Quantise less between operators on quantised numbers: what only moves them works on 8 bits."""

    name = "simplify-quantized"
    numerics = APPROXIMATE(0.01)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [SaturatedClip(), QuantiseOnce(), MoveQuantised(), MeanOfPixels(), PlainAddition()])
