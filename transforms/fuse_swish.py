"""Recognise activations that multiply x by a gate of x: swish (SiLU), hard swish and mish.

    %s = ge.sigmoid %x : ...
    %y = ge.mul %x, %s : ...
    // becomes
    %y = ge.swish %x : ...

x * sigmoid(1.702 x), the fast GELU, is swish with `alpha`. A gate computed from another tensor stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.activation import HardSigmoidOp, HardSwishOp, MishOp, SoftplusOp, SwishOp
from graph_engine.dialects.ge.elementwise import ClipOp, MaximumOp, MinimumOp, ReluOp, SigmoidOp, TanhOp
from graph_engine.transforms.activation_pattern import ActivationPattern, Form, Roots
from graph_engine.transforms.driver import apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.polynomials import Polynomial, Terms, with_number

GATED: Terms = {(1, 1): 1.0}
"""x * f."""


class FuseSwishOfSigmoid(ActivationPattern):
    """x * sigmoid(alpha x) -> swish(x), for alpha > 0."""

    name = "fuse-swish-of-sigmoid"
    root: ClassVar[Roots] = (SigmoidOp,)

    def form(self, op: SigmoidOp) -> Form:
        def whole(given: Polynomial, share: float) -> Terms | None:
            alpha = given.terms.get((1,), 0.0)
            return GATED if alpha > 0 and given.equals({(1,): alpha}, share) else None

        return Form(op.x, whole, lambda x, given: SwishOp(x, alpha=given.terms[1,]))


def _gate(op: Operation) -> tuple[SSAValue, float, list[Operation]] | None:
    """v, its upper limit and what is between, if `op` limits v to at least 0 and at most that limit."""
    if isinstance(op, ClipOp):
        low, high = op.min.value.data, op.max.value.data
        return (op.x, high, []) if low == 0 else None
    pair = with_number(op)
    if pair is None:
        return None
    value, high = pair
    inner = value.owner
    if isinstance(inner, ReluOp):
        return inner.x, high, [inner]
    if isinstance(inner, MaximumOp) and (below := with_number(inner)) is not None and below[1] == 0:
        return below[0], high, [inner]
    return None


class FuseHardSwishOfClip(ActivationPattern):
    """x * min(max(x + 3, 0), 6) / 6, or the same divided by 6 inside -> hard_swish(x)."""

    name = "fuse-hard-swish-of-clip"
    root: ClassVar[Roots] = (ClipOp, MinimumOp)

    def form(self, op: ClipOp | MinimumOp) -> Form | None:
        gate = _gate(op)
        if gate is None or not 0 < gate[1] < 1e3:
            return None
        value, high, between = gate
        line = {(1,): high / 6, (0,): high / 2}
        return Form(
            value,
            lambda given, share: {(1, 1): 1 / high} if given.equals(line, share) else None,
            lambda x, _: HardSwishOp(x),
            between,
        )


class FuseHardSwishOfHardSigmoid(ActivationPattern):
    """x * hard_sigmoid(x) with alpha = 1/6 and beta = 1/2 -> hard_swish(x)."""

    name = "fuse-hard-swish-of-hard-sigmoid"
    root: ClassVar[Roots] = (HardSigmoidOp,)

    def form(self, op: HardSigmoidOp) -> Form:
        alpha, beta = op.alpha.value.data, op.beta.value.data

        def whole(given: Polynomial, share: float) -> Terms | None:
            line = {key: alpha * number + beta * (key == (0,)) for key, number in ({(0,): 0.0} | given.terms).items()}
            fits = Polynomial(line, given.operators).equals({(1,): 1 / 6, (0,): 1 / 2}, share)
            return GATED if fits else None

        return Form(op.x, whole, lambda x, _: HardSwishOp(x))


class FuseMishOfTanh(ActivationPattern):
    """x * tanh(softplus(x)) -> mish(x)."""

    name = "fuse-mish-of-tanh"
    root: ClassVar[Roots] = (TanhOp,)

    def form(self, op: TanhOp) -> Form | None:
        inner = op.x.owner
        if not isinstance(inner, SoftplusOp):
            return None
        return Form(
            inner.x,
            lambda given, share: GATED if given.equals({(1,): 1.0}, share) else None,
            lambda x, _: MishOp(x),
            [inner],
        )


PATTERNS = (FuseSwishOfSigmoid, FuseHardSwishOfClip, FuseHardSwishOfHardSigmoid, FuseMishOfTanh)


@dataclass(frozen=True)
class FuseSwish(GePass):
    """All gates in one walk."""

    name = "fuse-swish"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [pattern() for pattern in PATTERNS])
