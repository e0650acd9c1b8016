"""Turn a BatchNorm that no convolution took over into one multiply and one add per channel.

    %1 = ge.batch_norm %x, %scale, %bias, %mean, %var : ...
    // becomes
    %0 = ge.mul %x, %factor : ...      // factor = scale / sqrt(var + epsilon), [1, C, 1, 1], fp32 recipe
    %1 = ge.add %0, %shift : ...       // shift = bias - mean * factor

so that it fuses with its elementwise neighbours into one kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MulOp
from graph_engine.dialects.ge.normalization import BatchNormOp
from graph_engine.transforms.batch_norm import affine_of
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import cast_to, reshaped


class ExpandBatchNorm(Pattern):
    """batch_norm(x) with constant parameters -> add(mul(x, factor), shift)."""

    name = "expand-batch-norm"
    root: ClassVar[tuple[type[Operation], ...]] = (BatchNormOp,)

    def rewrite(self, op: BatchNormOp, rewriter: CountedRewriter) -> bool:
        affine = affine_of(op)
        if affine is None:
            return False
        rank = len(shape_of(op.x))
        factor, shift = (
            cast_to(reshaped(x, (1, *x.shape, *(1,) * (rank - 2))), element_of(op.x)).op()
            for x in (affine.factor, affine.shift)
        )
        scaled = MulOp(op.x, factor, result_type=op.result.type)
        rewriter.replace(op, [factor, shift, scaled, AddOp(scaled, shift, result_type=op.result.type)])
        return True


@dataclass(frozen=True)
class ExpandBatchNormPass(GePass):
    """Expands every BatchNorm with known parameters."""

    name = "expand-batch-norm"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandBatchNorm()])
