"""Matrix products."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    Trait,
    bytes_of,
    dims_agree,
    elements_of,
    shape_of,
    shapes_agree,
    typed,
)
from graph_engine.dialects.ge.elementwise import broadcast_shapes
from graph_engine.dialects.ge.interning import bool_attr
from graph_engine.dialects.ge.properties import bool_prop


@irdl_op_definition
class MatmulOp(GeOp):
    """Matrix product of the last two axes, numpy's broadcasting on the others (ONNX MatMul, Gemm without factors).

    a[..., M, K] (or [..., K, M] if `transpose_a`) times b[..., K, N] (or [..., N, K] if `transpose_b`), plus an
    optional bias that broadcasts onto the result [..., M, N] and may be fp32 whatever the others are.
    """

    name = "ge.matmul"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.HEAVY, Trait.KEEPS_ZERO_PAD})

    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    transpose_a = bool_prop(False)
    transpose_b = bool_prop(False)

    def __init__(
        self,
        a: SSAValue | Operation,
        b: SSAValue | Operation,
        bias: SSAValue | Operation | None = None,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        result_type: Tensor | None = None,
    ):
        properties = {"transpose_a": bool_attr(transpose_a), "transpose_b": bool_attr(transpose_b)}
        self.init((a, b, bias), properties, result_type)

    def reduction_extent(self) -> int:
        """K: how many products each result element sums; -1 if unknown."""
        return shape_of(self.a)[-2 if self.transpose_a.value.data else -1]

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element(self.bias)
        a, b = shape_of(self.a), shape_of(self.b)
        if min(len(a), len(b)) < 2:
            raise self.fail(f"operands must have rank 2 or more, got {self.operand_shapes()}")
        m, k = (a[-1], a[-2]) if self.transpose_a.value.data else (a[-2], a[-1])
        k_b, n = (b[-1], b[-2]) if self.transpose_b.value.data else (b[-2], b[-1])
        if not dims_agree(k, k_b):
            raise self.fail(f"inner extents {k} and {k_b} differ (operands {self.operand_shapes()})")
        batch = broadcast_shapes(a[:-2], b[:-2])
        if batch is None:
            raise self.fail(f"batch axes do not broadcast (operands {self.operand_shapes()})")
        shape = (*batch, m, n)
        if self.bias is not None:
            onto = broadcast_shapes(shape, shape_of(self.bias))
            if onto is None or not shapes_agree(onto, shape):
                raise self.fail(f"bias does not broadcast onto the result (operands {self.operand_shapes()})")
        return typed(shape, self.a)

    def cost(self) -> Cost:
        k = self.reduction_extent()
        bias = elements_of(self.result) if self.bias is not None else 0
        macs = elements_of(self.result) * (1 if k == DYNAMIC else k)
        return Cost(macs, bias, sum(map(bytes_of, self.operands)), bytes_of(self.result))


MATMUL = [MatmulOp]
