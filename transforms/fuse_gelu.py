"""Recognise GELU in the operators that exporters write it with, the constants in any place and order.

    %d = ge.div %x, %sqrt_2 : ...
    %e = ge.erf %d : ...
    %s = ge.add %e, %one : ...
    %m = ge.mul %x, %s : ...
    %y = ge.mul %m, %half : ...
    // becomes
    %y = ge.gelu %x : ...

The form with a tanh becomes `ge.gelu %x {approximate = "tanh"}`; x * sigmoid(1.702 x) is left to `fuse-swish`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.activation import GeluOp
from graph_engine.dialects.ge.elementwise import ErfOp, TanhOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.polynomials import Polynomial, Terms, activation

HALF_EACH: Terms = {(1, 0): 0.5, (1, 1): 0.5}
"""x / 2 * (1 + f)."""
OF_ERF: Terms = {(1,): sqrt(0.5)}
OF_TANH: Terms = {(1,): sqrt(2 / pi), (3,): sqrt(2 / pi) * 0.044715}


class FuseGeluOfErf(Pattern):
    """x / 2 * (1 + erf(x / sqrt 2)) -> gelu(x)."""

    name = "fuse-gelu-of-erf"
    root: ClassVar[tuple[type[Operation], ...]] = (ErfOp,)

    def rewrite(self, op: ErfOp, rewriter: CountedRewriter) -> bool:
        def describes(argument: Polynomial, share: float) -> Terms | None:
            return HALF_EACH if argument.equals(OF_ERF, share) else None

        found = activation(op, op.x, [], describes)
        if found is None:
            return False
        rewriter.replace(found.last, GeluOp(found.x))
        return True


class FuseGeluOfTanh(Pattern):
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) -> gelu(x) {approximate = "tanh"}."""

    name = "fuse-gelu-of-tanh"
    root: ClassVar[tuple[type[Operation], ...]] = (TanhOp,)

    def rewrite(self, op: TanhOp, rewriter: CountedRewriter) -> bool:
        def describes(argument: Polynomial, share: float) -> Terms | None:
            return HALF_EACH if argument.equals(OF_TANH, share) else None

        found = activation(op, op.x, [], describes)
        if found is None:
            return False
        rewriter.replace(found.last, GeluOp(found.x, approximate="tanh"))
        return True


@dataclass(frozen=True)
class FuseGelu(GePass):
    """Both forms in one walk."""

    name = "fuse-gelu"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FuseGeluOfErf(), FuseGeluOfTanh()])
