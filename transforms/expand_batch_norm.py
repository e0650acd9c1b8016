"""Turn a BatchNorm that no convolution took over into one multiply and one add per channel.

    %1 = ge.batch_norm %x, %scale, %bias, %mean, %var : ...
    // becomes
    %0 = ge.mul %x, %factor : ...      // factor = scale / sqrt(var + epsilon), [1, C, 1, 1], fp32 recipe
    %1 = ge.add %0, %shift : ...       // shift = bias - mean * factor

so that it fuses with its elementwise neighbours into one kernel. Parameters that are known when the graph runs make factor and
shift in fp32, a few numbers a channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, DivOp, MulOp, SqrtOp, SubOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.normalization import BatchNormOp
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.transforms.batch_norm import affine_of
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import MadeInFp32
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import cast_to, known, reshaped


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


class ExpandLateBatchNorm(Pattern):
    """batch_norm(x) with parameters that are no constants -> add(mul(x, factor), shift), and what these are."""

    name = "expand-late-batch-norm"
    root: ClassVar[tuple[type[Operation], ...]] = (BatchNormOp,)

    def rewrite(self, op: BatchNormOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        if all(known(value) is not None for value in op.operands[1:]) or DYNAMIC in shape:
            return False
        if element_name(element_of(op.x)) not in DEVICE_FLOATS:
            return False
        made = MadeInFp32()
        form = (1, shape[1], *(1 for _ in shape[2:]))
        scale, bias, mean, variance = (
            made.as_element(made.shaped(value, form), f32) for value in (op.scale, op.bias, op.mean, op.var)
        )
        epsilon = made.number(float(op.epsilon.value.data), variance)
        factor = made.put(DivOp(scale, made.put(SqrtOp(made.put(AddOp(variance, epsilon))))))
        shift = made.put(SubOp(bias, made.put(MulOp(mean, factor))))
        factor, shift = (made.as_element(value, element_of(op.x)) for value in (factor, shift))
        scaled = MulOp(op.x, factor, result_type=op.result.type)
        rewriter.replace(op, [*made.made, scaled, AddOp(scaled, shift, result_type=op.result.type)])
        return True


@dataclass(frozen=True)
class ExpandBatchNormPass(GePass):
    """Expands every BatchNorm."""

    name = "expand-batch-norm"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandBatchNorm(), ExpandLateBatchNorm()])
