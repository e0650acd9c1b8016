"""Recognise ln(1 + exp(x)) as the softplus function, which does not overflow.

%e = ge.exp %x : ...
%s = ge.add %e, %one : ...
%y = ge.log %s : ...
// becomes
%y = ge.softplus %x : ...
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.activation import SoftplusOp
from graph_engine.dialects.ge.elementwise import ExpOp, LogOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.polynomials import polynomial, sources, stays_inside, tolerance


class FuseLogOfExp(Pattern):
    """log(1 + exp(x)) -> softplus(x)."""

    name = "fuse-log-of-exp"
    root: ClassVar[tuple[type[Operation], ...]] = (LogOp,)

    def rewrite(self, op: LogOp, rewriter: CountedRewriter) -> bool:
        for value in sources(op.x):
            if not isinstance(value.owner, ExpOp) or value.type != op.result.type:
                continue
            given = polynomial(op.x, [value])
            if given is None or not given.equals({(1,): 1.0, (0,): 1.0}, tolerance(value)):
                continue
            if stays_inside(given.operators | {value.owner, op}, op):
                rewriter.replace(op, SoftplusOp(value.owner.x))
                return True
        return False


@dataclass(frozen=True)
class FuseSoftplus(GePass):
    """One pattern."""

    name = "fuse-softplus"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FuseLogOfExp()])
