"""Scale sums of quantised products in one operator, so that neither the sums nor the scales pass through fp16.

%s = ge.mul %a_scale, %w_scale : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
%f = ge.cast %sums : (tensor<4x8xi32>) -> tensor<4x8xf32>
%y = ge.mul %f, %s : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// becomes
%y = ge.dequantize_sums %sums, %a_scale, %w_scale : (tensor<4x8xi32>, tensor<f32>, tensor<8xf32>) -> tensor<4x8xf32>
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.elementwise import CastOp, MulOp, broadcast_shapes
from graph_engine.dialects.ge.quantization import DequantizeSumsOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass


class ScaleIntegerSums(Pattern):
    """cast(sums in i32) * scale, or * (scale * scale), where the scales broadcast onto the sums -> dequantize_sums."""

    name = "scale-integer-sums"
    root: ClassVar[tuple[type[Operation], ...]] = (MulOp,)

    def rewrite(self, op: MulOp, rewriter: CountedRewriter) -> bool:
        for sums, scale in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            cast = sums.owner
            if not isinstance(cast, CastOp) or element_of(cast.x) != i32 or element_of(scale) != f32:
                continue
            product = scale.owner
            scales = [product.lhs, product.rhs] if isinstance(product, MulOp) else [scale]
            if all(_fits(cast.x, value) for value in scales):
                rewriter.replace(op, DequantizeSumsOp(cast.x, *scales, result_type=op.result.type))
                return True
        return False


def _fits(sums: SSAValue, scale: SSAValue) -> bool:
    """Whether a scale broadcasts onto the sums for certain."""
    onto = broadcast_shapes(shape_of(sums), shape_of(scale))
    return onto == shape_of(sums) and DYNAMIC not in shape_of(scale)


@dataclass(frozen=True)
class FuseIntegerSums(GePass):
    """Applies the pattern above."""

    name = "fuse-integer-sums"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ScaleIntegerSums()])
