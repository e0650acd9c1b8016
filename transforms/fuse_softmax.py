"""Recognise softmax in exponentials less the maximum, divided by their sum.

%m = ge.reduce_max %x {axes = [1]} : ...
%d = ge.sub %x, %m : ...
%e = ge.exp %d : ...
%s = ge.reduce_sum %e {axes = [1]} : ...
%y = ge.div %e, %s : ...
// becomes
%y = ge.softmax %x {axis = 1} : ...
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.elementwise import DivOp, ExpOp, MaximumOp, SubOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.ge.reduction import ReduceMaxOp, ReduceSumOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.normalizing import Operators, Reduced, reduced, through_reshapes
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.polynomials import stays_inside, with_number


def _maximum(value: SSAValue) -> Reduced | None:
    """`value` as a maximum along axes, of which TensorFlow takes the larger one of it and -inf."""
    operators: Operators = []
    inner = through_reshapes(value, operators)
    if isinstance(inner.owner, MaximumOp) and (pair := with_number(inner.owner)) is not None and pair[1] == -inf:
        operators.append(inner.owner)
        value = pair[0]
    found = reduced(value, ReduceMaxOp)
    return None if found is None else Reduced(found.x, found.axes, [*operators, *found.operators])


class FuseSoftmaxOfExp(Pattern):
    """exp(x - max) / sum(exp(x - max)) -> softmax(x), along one axis."""

    name = "fuse-softmax-of-exp"
    root: ClassVar[tuple[type[Operation], ...]] = (DivOp,)

    def rewrite(self, op: DivOp, rewriter: CountedRewriter) -> bool:
        power, total = op.lhs.owner, reduced(op.rhs, ReduceSumOp)
        if not isinstance(power, ExpOp) or total is None or total.x is not op.lhs or len(total.axes) != 1:
            return False
        shifted = power.x.owner
        if not isinstance(shifted, SubOp) or (largest := _maximum(shifted.rhs)) is None:
            return False
        x = shifted.lhs
        if largest.x is not x or largest.axes != total.axes or op.result.type != x.type:
            return False
        if not largest.stands_beside(shifted.rhs, x) or not total.stands_beside(op.rhs, op.lhs):
            return False
        if not stays_inside({op, power, shifted, *total.operators, *largest.operators}, op):
            return False
        rewriter.replace(op, SoftmaxOp(x, axis=total.axes[0]))
        return True


@dataclass(frozen=True)
class FuseSoftmax(GePass):
    """One pattern."""

    name = "fuse-softmax"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FuseSoftmaxOfExp()])
