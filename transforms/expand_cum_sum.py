"""Sum along an axis so far, as a product with a triangle of ones.

    %y = ge.cum_sum %x {axis = 1} : (tensor<4x100xf32>) -> tensor<4x100xf32>
    // becomes, between reshapes,
    %y = ge.matmul %x, %ones_above : (tensor<4x100xf32>, tensor<100x100xf32>) -> tensor<4x100xf32>

`exclusive` leaves the diagonal out, `reverse` takes the triangle below. The Cube adds in fp32, one rounding a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.reduction import CumSumOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.transforms.axis_product import LARGEST_MATRIX, multiplied
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass


class ExpandCumSum(Pattern):
    """cum_sum of floats -> a product, of known extents."""

    name = "expand-cum-sum"
    root: ClassVar[tuple[type[Operation], ...]] = (CumSumOp,)

    def rewrite(self, op: CumSumOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        axis = op.axis.value.data % max(1, len(shape))
        if DYNAMIC in shape or 0 in shape or element_name(element_of(op.x)) not in ("f16", "f32"):
            return False
        if not shape or shape[axis] ** 2 > LARGEST_MATRIX:
            return False
        made: list[GeOp] = []
        # Row i of the matrix says which elements make up result i.
        offset = -int(op.exclusive.value.data != 0)
        matrix = np.tri(shape[axis], k=offset)
        matrix = matrix[::-1, ::-1] if op.reverse.value.data else matrix
        product = multiplied(made, op.x, shape, axis, matrix, "triangle")
        made.append(ReshapeOp(product, shape=shape, result_type=op.result.type))
        rewriter.replace(op, made)
        return True


@dataclass(frozen=True)
class ExpandCumSumPass(GePass):
    """Applies the pattern above."""

    name = "expand-cum-sum"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandCumSum()])
