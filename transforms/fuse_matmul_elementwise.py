"""Fold constant scales and biases into matrix products, then fuse activations and residual Adds behind the Cube.

    %1 = ge.matmul %x, %w : ...
    %2 = ge.add %1, %bias : ...
    %3 = ge.add %2, %shortcut : ...
    %4 = ge.relu %3 : ...
    // becomes
    %4 = ge.fused ins(%x, %w, %bias, %shortcut : ...) {anchor = "ge.matmul"} { matmul, add, relu }

A bias varies along the columns only, and joins the fp32 sums. What goes along behind the product: `epilogue.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MulOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, RewriteContext, apply_patterns
from graph_engine.transforms.epilogue import fuse_epilogues
from graph_engine.transforms.fusion import graphs, single_user
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import Known, cast_to, elementwise, known, per_channel, reshaped

Roots = tuple[type[Operation], ...]


def _columns(constant: Known | None, product: SSAValue) -> Known | None:
    """`constant` as [N] or [1] if it varies along the columns of `product` only."""
    shape = shape_of(product)
    return per_channel(constant, product, axis=len(shape) - 1) if shape else None


class FoldBiasIntoMatmul(Pattern):
    """add(matmul(a, b), c) -> matmul(a, b, c) for a constant c along the last axis."""

    name = "fold-bias-into-matmul"
    root: ClassVar[Roots] = (AddOp,)

    def rewrite(self, op: AddOp, rewriter: CountedRewriter) -> bool:
        for value in op.operands:
            matmul = value.owner
            if not isinstance(matmul, MatmulOp) or matmul.bias is not None or single_user(value) is not op:
                continue
            constant = _columns(known(op.other(value)), value)
            if constant is None or constant.shape != shape_of(value)[-1:] or op.result.type != value.type:
                continue
            bias = constant.op()
            new = MatmulOp.create(
                operands=[matmul.a, matmul.b, bias.result], result_types=[value.type], properties=matmul.properties
            )
            rewriter.replace(op, [bias, new])
            return True
        return False


class FoldScaleIntoMatmul(Pattern):
    """mul(matmul(a, b, bias), c), b, bias and c constant, c one number or one a column -> matmul(a, b * c, bias * c)."""

    name = "fold-scale-into-matmul"
    root: ClassVar[Roots] = (MulOp,)

    def rewrite(self, op: MulOp, rewriter: CountedRewriter) -> bool:
        for value in op.operands:
            matmul = value.owner
            if not isinstance(matmul, MatmulOp) or single_user(value) is not op or op.result.type != value.type:
                continue
            weights, bias = known(matmul.b), known(matmul.bias)
            factor = _columns(known(op.other(value)), value)
            if factor is None or weights is None or (matmul.bias is not None and bias is None):
                continue
            if matmul.transpose_b.value.data and factor.elements > 1:
                scaled = reshaped(factor, (factor.elements, 1))
            else:
                scaled = factor
            constants = [_scaled(weights, scaled).op()]
            if bias is not None:
                constants.append(_scaled(bias, factor).op())
            operands = [matmul.a, *(constant.result for constant in constants)]
            new = MatmulOp.create(operands=operands, result_types=[value.type], properties=matmul.properties)
            rewriter.replace(op, [*constants, new])
            return True
        return False


def _scaled(constant: Known, factor: Known) -> Known:
    """The product, computed in fp32, in the type of `constant`."""
    return cast_to(elementwise("ge.mul", cast_to(constant, f32), cast_to(factor, f32)), constant.type.element_type)


PATTERNS = (FoldBiasIntoMatmul, FoldScaleIntoMatmul)


@dataclass(frozen=True)
class FuseMatmulElementwise(GePass):
    """First the constants, by patterns; then one walk that gathers the epilogues."""

    name = "fuse-matmul-elementwise"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [pattern() for pattern in PATTERNS])
        context = RewriteContext.current()
        for block in graphs(op):
            fuse_epilogues(block, context, MatmulOp)
