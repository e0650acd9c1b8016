"""Compute what is quantised at run time: the range of x by reductions, products of 8 bits as products of floats.

    %q, %s, %z = ge.dynamic_quantize %x : (tensor<4x64xf32>) -> (tensor<4x64xui8>, tensor<f32>, tensor<ui8>)
    %i = ge.matmul_integer %q, %w, %z, %wz : ... -> tensor<4x8xi32>
    %y = ge.dequantize_sums %i, %s, %ws : ... -> tensor<4x8xf32>
    // becomes
    %s = (max(%x, 0) - min(%x, 0)) / 255;  %z = round(-min(%x, 0) / %s);  %q = ge.quantize %x, %s, %z
    %y = ge.matmul (ge.dequantize %q, %s, %z), (ge.dequantize %w, %ws, %wz) : ... -> tensor<4x8xf32>

x is still rounded to 8 bits, in fp32. The Cube's integer kernels want scales that are constants; as floats, the products
are those of any other layer, with its fusions and in its precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import CastOp, ClipOp, DivOp, MaximumOp, MinimumOp, NegOp, SubOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.precision import FP32, set_precision
from graph_engine.dialects.ge.quantization import (
    Conv2dIntegerOp,
    DequantizeOp,
    DequantizeSumsOp,
    DynamicQuantizeOp,
    MatmulIntegerOp,
    QuantizeOp,
)
from graph_engine.dialects.ge.reduction import ReduceMaxOp, ReduceMinOp, ReduceOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.dialects.ge.unary_math import RoundOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.made_operators import Made
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import known


class ExpandDynamicQuantize(Pattern):
    """dynamic_quantize -> its range, scale and zero point, and a quantize by these; all of it stays in fp32."""

    name = "expand-dynamic-quantize"
    root: ClassVar[tuple[type[Operation], ...]] = (DynamicQuantizeOp,)

    def rewrite(self, op: DynamicQuantizeOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        if DYNAMIC in shape or 0 in shape or not shape:
            return False
        made = Made()

        def put(new: GeOp) -> SSAValue:
            set_precision(new, FP32)
            return made.put(new)

        zero, one, most = (made.number(value, op.x) for value in (0.0, 1.0, 255.0))

        def extreme(kind: type[ReduceOp]) -> SSAValue:
            """Of rows first, which the cores share."""
            rows = put(kind(op.x, axes=[len(shape) - 1]))
            whole = rows if elements_of(rows) == 1 else put(kind(rows, axes=list(range(len(shape)))))
            return put(ReshapeOp(whole, shape=(1,)))

        low = put(MinimumOp(extreme(ReduceMinOp), zero))
        width = put(SubOp(put(MaximumOp(extreme(ReduceMaxOp), zero)), low))
        some = put(CompareOp(width, zero, predicate="gt"))
        scale = put(SelectOp(some, put(DivOp(width, most)), one))
        place = put(RoundOp(put(ClipOp(put(DivOp(put(NegOp(low)), scale)), min=0.0, max=255.0))))
        zero_point = put(CastOp(place, result_type=tensor_type((1,), element_of(op.zero_point))))
        results = [put(QuantizeOp(op.x, scale, zero_point))]
        results += [put(ReshapeOp(value, shape=())) for value in (scale, zero_point)]
        rewriter.replace(op, made.needed(results), results)
        return True


class ExpandIntegerProduct(Pattern):
    """dequantize_sums(integer product) -> a product of what the quantised numbers stand for.

    One scale is a single number, of the left side; the other is a constant, a number or one an output.
    """

    name = "expand-integer-product"
    root: ClassVar[tuple[type[Operation], ...]] = (DequantizeSumsOp,)

    def rewrite(self, op: DequantizeSumsOp, rewriter: CountedRewriter) -> bool:
        product = op.x.owner
        if not isinstance(product, MatmulIntegerOp | Conv2dIntegerOp) or single_user(op.x) is not op:
            return False
        if op.second is None or element_of(op.result) != element_of(op.first):
            return False
        right, left = sorted((op.first, op.second), key=lambda value: known(value) is None)
        columns = shape_of(product.operands[1])[0 if isinstance(product, Conv2dIntegerOp) else -1]
        x, w, x_zero, w_zero = product.operands
        if elements_of(left) != 1 or elements_of(x_zero) != 1 or known(right) is None or known(w) is None:
            return False
        count = max(elements_of(right), elements_of(w_zero))
        if known(w_zero) is None or count not in (1, columns) or not _by_output(right, op, columns):
            return False
        made = Made()
        a = made.put(DequantizeOp(x, made.shaped(left, ()), made.shaped(x_zero, ())))
        axis = 0 if isinstance(product, Conv2dIntegerOp) else len(shape_of(w)) - 1
        scale, zero = (made.spread(value, count) for value in (right, w_zero))
        b = made.put(DequantizeOp(w, scale, zero, axis=axis))
        if isinstance(product, Conv2dIntegerOp):
            strides, pads, dilations = (product.ints(name) for name in ("strides", "pads", "dilations"))
            group = product.group.value.data
            made.put(Conv2dOp(a, b, strides=strides, pads=pads, dilations=dilations, group=group))
        else:
            made.put(MatmulOp(a, b))
        rewriter.replace(op, made.made)
        return True


def _by_output(scale: SSAValue, op: DequantizeSumsOp, columns: int) -> bool:
    """Whether a scale is one number, or varies along the outputs of the product alone."""
    if elements_of(scale) == 1:
        return True
    axis = 1 if isinstance(op.x.owner, Conv2dIntegerOp) else len(shape_of(op.result)) - 1
    behind = len(shape_of(op.result)) - axis
    shape = shape_of(scale)
    return len(shape) >= behind and shape[-behind] == columns == elements_of(scale)


@dataclass(frozen=True)
class ExpandDynamicQuantized(GePass):
    """Applies the patterns above."""

    name = "expand-dynamic-quantized"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandDynamicQuantize(), ExpandIntegerProduct()])
