"""Recognise RMS normalisation in the mean of squares, square root and products that exporters write it with.

    %s = ge.pow %x, %two : ...
    %v = ge.reduce_mean %s {axes = [2]} : ...
    %e = ge.add %v, %epsilon : ...
    %r = ge.sqrt %e : ...
    %i = ge.reciprocal %r : ...
    %n = ge.mul %x, %i : ...
    %y = ge.mul %scale, %n : ...
    // becomes
    %y = ge.rms_norm %x, %scale {axis = 2} : ...

Casts from and back to 16 bits around it go, as Llama has them: the operator keeps fp32 inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.elementwise import PowOp, SqrtOp
from graph_engine.dialects.ge.normalization import RmsNormOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.normalizing import Reduced, mean_of_squares, normalised, parameter, quotient, tail
from graph_engine.transforms.pass_base import ROUNDING, GePass


class FuseRmsNormOfSquares(Pattern):
    """x / sqrt(mean of squares + epsilon) * scale -> rms_norm(x, scale)."""

    name = "fuse-rms-norm-of-squares"
    root: ClassVar[tuple[type[Operation], ...]] = (SqrtOp, PowOp)

    def rewrite(self, op: SqrtOp | PowOp, rewriter: CountedRewriter) -> bool:
        found = quotient(op)
        spread = None if found is None else mean_of_squares(found.spread)
        if found is None or spread is None or spread.x is not found.source:
            return False
        whole = Reduced(spread.x, spread.axes, [*found.operators, *spread.operators])
        axes = normalised(found, whole, spread.x)
        if axes is None or axes[-1] != len(shape_of(spread.x)) - 1:
            return False
        ended = tail(found, spread.x, axes, bias=False)
        scale = parameter(ended.scale, ended, axes, 1.0)
        assert scale is not None
        rewriter.replace(ended.last, [*ended.made, RmsNormOp(ended.source, scale, axis=axes[0], epsilon=found.epsilon)])
        return True


@dataclass(frozen=True)
class FuseRmsNorm(GePass):
    """One pattern, from the square root on; behind `fuse-layer-norm`, which takes what also subtracts the mean."""

    name = "fuse-rms-norm"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FuseRmsNormOfSquares()])
