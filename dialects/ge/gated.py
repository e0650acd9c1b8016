"""A gated product as one kernel: a `ge.fused` of two matrix products with one input, joined element by element.

    join(gate(x w), x u)        x[..., M, K], w[K, N] and u[K, N], result [..., M, N]

The gate is a chain of elementwise operators (SiLU in Llama, GELU in T5), the join a Mul or another elementwise operator
of two operands. As for attention the region says what is computed: both products, the gate, the join, in this order.
"""

from __future__ import annotations

from xdsl.ir import Operation

from graph_engine.dialects.ge.core import element_of, shape_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.matmul import MatmulOp


def beside(one: MatmulOp, other: MatmulOp) -> bool:
    """Whether two products read one input and have the same form: one pass over the input makes both."""
    flags = [(op.transpose_a.value.data, op.transpose_b.value.data, op.bias is None) for op in (one, other)]
    rights = [(shape_of(op.b), element_of(op.b)) for op in (one, other)]
    return one.a is other.a and flags[0] == flags[1] and rights[0] == rights[1]


def gated_of(op: Operation | None) -> tuple[MatmulOp, MatmulOp] | None:
    """The two products of a `ge.fused` that is a gated one; None for any other operator."""
    if not isinstance(op, FusedOp) or op.anchor.data != MatmulOp.name:
        return None
    match list(op.block.ops)[:2]:
        case [MatmulOp() as gate, MatmulOp() as through]:
            return gate, through
        case _:
            return None
