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

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from graph_engine.dialects.ge.activation import GeluOp
from graph_engine.dialects.ge.elementwise import ErfOp, TanhOp
from graph_engine.transforms.activation_pattern import ActivationPattern, Form, Roots
from graph_engine.transforms.driver import apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.polynomials import Polynomial, Terms

OF_ERF: Terms = {(1,): sqrt(0.5)}
OF_TANH: Terms = {(1,): sqrt(2 / pi), (3,): sqrt(2 / pi) * 0.044715}


def _half_each(argument: Terms) -> Callable[[Polynomial, float], Terms | None]:
    """x / 2 * (1 + f), f of this argument."""
    return lambda given, share: {(1, 0): 0.5, (1, 1): 0.5} if given.equals(argument, share) else None


class FuseGeluOfErf(ActivationPattern):
    """x / 2 * (1 + erf(x / sqrt 2)) -> gelu(x)."""

    name = "fuse-gelu-of-erf"
    root: ClassVar[Roots] = (ErfOp,)

    def form(self, op: ErfOp) -> Form:
        return Form(op.x, _half_each(OF_ERF), lambda x, _: GeluOp(x))


class FuseGeluOfTanh(ActivationPattern):
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) -> gelu(x) {approximate = "tanh"}."""

    name = "fuse-gelu-of-tanh"
    root: ClassVar[Roots] = (TanhOp,)

    def form(self, op: TanhOp) -> Form:
        return Form(op.x, _half_each(OF_TANH), lambda x, _: GeluOp(x, approximate="tanh"))


@dataclass(frozen=True)
class FuseGelu(GePass):
    """Both forms in one walk."""

    name = "fuse-gelu"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FuseGeluOfErf(), FuseGeluOfTanh()])
