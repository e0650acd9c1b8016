"""Recognise layer normalisation in the means, square roots and products that exporters write it with.

    %m = ge.reduce_mean %x {axes = [2]} : ...
    %d = ge.sub %x, %m : ...
    %s = ge.mul %d, %d : ...
    %v = ge.reduce_mean %s {axes = [2]} : ...
    %e = ge.add %v, %epsilon : ...
    %r = ge.sqrt %e : ...
    %n = ge.div %d, %r : ...
    %t = ge.mul %n, %scale : ...
    %y = ge.add %t, %bias : ...
    // becomes
    %y = ge.layer_norm %x, %scale, %bias {axis = 2} : ...

Also along other neighbouring axes than the last ones, as the channels of images; with the square as a power, the variance as the mean of squares less the square of the mean, and a reciprocal or a
power of -1/2 that may be multiplied by the scale first. Casts from and back to 16 bits around it go: it keeps fp32 inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.elementwise import PowOp, SqrtOp
from graph_engine.dialects.ge.normalization import LayerNormOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.normalizing import Reduced, centred, normalised, parameter, quotient, tail, variance
from graph_engine.transforms.pass_base import ROUNDING, GePass


class FuseLayerNormOfMeans(Pattern):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias -> layer_norm(x, scale, bias)."""

    name = "fuse-layer-norm-of-means"
    root: ClassVar[tuple[type[Operation], ...]] = (SqrtOp, PowOp)

    def rewrite(self, op: SqrtOp | PowOp, rewriter: CountedRewriter) -> bool:
        found = quotient(op)
        around = None if found is None else centred(found.source)
        spread = None if found is None else variance(found.spread)
        if found is None or around is None or spread is None:
            return False
        if spread.x is not around.x or spread.axes != around.axes:
            return False
        whole = Reduced(spread.x, spread.axes, [*found.operators, *spread.operators, *around.operators])
        axes = normalised(found, whole, spread.x)
        if axes is None:
            return False
        ended = tail(found, spread.x, axes, bias=True)
        scale = parameter(ended.scale, ended, axes, 1.0)
        bias = parameter(ended.bias, ended, axes)
        assert scale is not None
        last = axes[-1] if axes[-1] < len(shape_of(ended.source)) - 1 else -1
        norm = LayerNormOp(ended.source, scale, bias, axis=axes[0], last_axis=last, epsilon=found.epsilon)
        rewriter.replace(ended.last, [*ended.made, norm])
        return True


@dataclass(frozen=True)
class FuseLayerNorm(GePass):
    """One pattern, from the square root on."""

    name = "fuse-layer-norm"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FuseLayerNormOfMeans()])
