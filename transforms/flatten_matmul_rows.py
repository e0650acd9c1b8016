"""Multiply all rows of a batch by one matrix at once, where each matrix of the batch has few rows.

    %y = ge.matmul %x, %w : (tensor<197x1x768xf32>, tensor<768x2304xf32>) -> tensor<197x1x2304xf32>
    // becomes
    %0 = ge.reshape %x {shape = [197, 768]} : ...
    %1 = ge.matmul %0, %w : (tensor<197x768xf32>, tensor<768x2304xf32>) -> tensor<197x2304xf32>
    %y = ge.reshape %1 {shape = [197, 1, 2304]} : ...

The Cube works on 16 rows at a time: a matrix of one row would leave 15 sixteenths of it idle, and be 16 times as large
in FRACTAL_NZ. Where the rows of each matrix are a multiple of 16 nothing is lost, and nothing is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.formats import FRACTAL_ROWS
from graph_engine.transforms.pass_base import ROUNDING, GePass


class FlattenMatmulRows(Pattern):
    """matmul(x, w) of a batch x and one matrix w -> one product of all rows."""

    name = "flatten-matmul-rows"
    root: ClassVar[tuple[type[Operation], ...]] = (MatmulOp,)

    def rewrite(self, op: MatmulOp, rewriter: CountedRewriter) -> bool:
        left, right, result = shape_of(op.a), shape_of(op.b), shape_of(op.result)
        bias = () if op.bias is None else shape_of(op.bias)
        if len(right) != 2 or len(bias) > 1 or DYNAMIC in (*left, *result) or op.transpose_a.value.data:
            return False
        if prod(left[:-2]) == 1 or left[-2] % FRACTAL_ROWS == 0:
            return False
        flat = ReshapeOp(op.a, shape=(prod(left[:-1]), left[-1]))
        product = MatmulOp(flat.result, op.b, op.bias, transpose_b=bool(op.transpose_b.value.data))
        rewriter.replace(op, [flat, product, ReshapeOp(product.result, shape=result)])
        return True


@dataclass(frozen=True)
class FlattenMatmulRowsPass(GePass):
    """One pattern."""

    name = "flatten-matmul-rows"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FlattenMatmulRows()])
