"""Which two products of one input become one kernel because the first is a gate for the second.

    %g = ge.matmul %x, %w : ...
    %s = ge.swish %g : ...
    %u = ge.matmul %x, %v : ...
    %y = ge.mul %s, %u : ...
    // becomes
    %y = ge.fused ins(%x, %w, %v : ...) {anchor = "ge.matmul"} { matmul, matmul, swish, mul }

The input is read once, one task starts, and the gate never reaches memory. A gate whose instructions are faster as a
task of their own (`epilogue_time.py`) counts against it.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, Trait, element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import BinaryOp, CastOp, UnaryOp
from graph_engine.dialects.ge.gated import beside
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.target_ascend.soc.soc import Soc
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.epilogue_time import leaving_gain_us
from graph_engine.transforms.fusion import gather, single_user
from graph_engine.transforms.recipes import known
from graph_engine.transforms.remarks import missed
from graph_engine.transforms.task_time import moved_us, product_us

MOST_GATES = 4
"""Operators between a product and the join at most."""


def behind_gates(value: SSAValue, user: Operation) -> tuple[MatmulOp, list[Operation]] | None:
    """The product that makes `value` for `user` alone, and the elementwise operators between them."""
    gates: list[Operation] = []
    while len(gates) <= MOST_GATES and single_user(value) is user:
        op = value.owner
        if isinstance(op, MatmulOp):
            return op, gates[::-1]
        if not isinstance(op, UnaryOp) or isinstance(op, CastOp) or op.has(Trait.HOST) or op.x.type != value.type:
            return None
        gates.append(op)
        value, user = op.x, op
    return None


def members_of(join: BinaryOp) -> list[Operation] | None:
    """Both products, the gates and the join; None where they are not one kernel."""
    sides = [behind_gates(value, join) for value in (join.lhs, join.rhs)]
    if join.has(Trait.HOST) or sides[0] is None or sides[1] is None:
        return None
    (one, one_gates), (other, other_gates) = sides[0], sides[1]
    if one is other or not beside(one, other) or {one.result.type, other.result.type} != {join.result.type}:
        return None
    if element_name(element_of(one.result)) not in DEVICE_FLOATS or DYNAMIC in shape_of(one.result):
        return None
    if any(known(op.b) is None or len(shape_of(op.b)) != 2 for op in (one, other)):
        return None
    return [one, other, *one_gates, *other_gates, join]


def gain_us(members: list[Operation], soc: Soc) -> float:
    """Microseconds that one kernel is expected to take less than a product behind the other."""
    product = members[0]
    assert isinstance(product, MatmulOp)
    m, k, n = prod(shape_of(product.result)[:-1]), product.reduction_extent(), shape_of(product.result)[-1]
    apart = 2 * product_us(soc, m, k, n) + moved_us(soc, 2 * elements_of(product.result))
    dear = sum(min(0.0, leaving_gain_us(gate, soc)) for gate in members[2:-1] if isinstance(gate, UnaryOp))
    return apart - product_us(soc, m, k, 2 * n) + dear


def fuse_gated(block: Block, context: RewriteContext, soc: Soc) -> None:
    """Every join of two products that gains by it. Linear."""
    if not context.allows("fuse-gated"):
        return
    for join in [op for op in block.ops if isinstance(op, BinaryOp)]:
        members = members_of(join)
        if members is None:
            continue
        gain = gain_us(members, soc)
        if gain < 0:
            missed("Gated", join, f"two products of one input stay apart: {-gain:.1f} us cheaper", gain_us=gain)
            continue
        with context.rewrite("fuse-gated", [join]) as rewriter:
            gather(rewriter, members, members[0])
