"""Fold constant scales and biases into matrix products, then fuse activations and residual Adds behind the Cube.

    %1 = ge.matmul %x, %w : ...
    %2 = ge.add %1, %bias : ...
    %3 = ge.add %2, %shortcut : ...
    %4 = ge.relu %3 : ...
    // becomes
    %4 = ge.fused ins(%x, %w, %bias, %shortcut : ...) {anchor = "ge.matmul"} { matmul, add, relu }

A bias varies along the columns only, and joins the fp32 sums. What goes along behind the product: `epilogue.py`; two
products of which one is the other's gate: `gated_products.py`; a BatchNorm: `norm_behind_product.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import DYNAMIC, Trait, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, BinaryOp, CastOp, MulOp, UnaryOp
from graph_engine.dialects.ge.interning import int_attr
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import LayerNormOp, RmsNormOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.driver import CountedRewriter, Pattern, RewriteContext, apply_patterns
from graph_engine.transforms.epilogue import MAX_OPERATORS, fuse_epilogues
from graph_engine.transforms.fusion import graphs, single_user
from graph_engine.transforms.gated_products import fuse_gated
from graph_engine.transforms.ge_canonicalize import MergeReshapes
from graph_engine.transforms.no_ops import RemoveSameShapeReshape
from graph_engine.transforms.norm_behind_product import FoldBatchNormIntoMatmul
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import Known, cast_to, elementwise, in_shape, known, per_channel, reshaped

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


class LiftElementwiseToMatmul(Pattern):
    """f(reshape(product), y) -> reshape(f(product, reshape(y))), so that f can leave with the product.

    The reshape keeps the columns; y is as large as the result, one number, or a row. Between product and reshape there
    may be elementwise operators that were lifted before.
    """

    name = "lift-elementwise-to-matmul"
    root: ClassVar[Roots] = (UnaryOp, BinaryOp)

    def rewrite(self, op: UnaryOp | BinaryOp, rewriter: CountedRewriter) -> bool:
        if Trait.ELEMENTWISE not in op.traits_ge or Trait.HOST in op.traits_ge or isinstance(op, CastOp):
            return False
        for value in op.operands:
            reshape = value.owner
            if not isinstance(reshape, ReshapeOp) or single_user(value) is not op or value.type != op.result.type:
                continue
            source, target = shape_of(reshape.x), shape_of(value)
            if DYNAMIC in (*source, *target) or source[-1:] != target[-1:] or not _leads_to_product(reshape):
                continue
            made: list[Operation] = []
            operands: list[SSAValue] = []
            for other in op.operands:
                shape = shape_of(other)
                if other is value:
                    operands.append(reshape.x)
                elif shape == target and not (single_user(other) is op and _leads_to_product(other.owner)):
                    made.append(in_shape(other, source))
                    made[-1].location = op.location
                    operands.append(made[-1].results[0])
                elif prod(shape) in (1, source[-1]) and prod(shape) in (1, *shape[-1:]):
                    if len(shape) > len(source):
                        made.append(in_shape(other, shape[-1:]))
                        other = made[-1].results[0]
                    operands.append(other)
            if len(operands) < len(op.operands):
                continue
            lifted = type(op).create(operands=operands, result_types=[reshape.x.type], properties=op.properties)
            rewriter.replace(op, [*made, lifted, ReshapeOp(lifted.results[0], shape=target)])
            return True
        return False


class LiftNormToMatmul(Pattern):
    """norm(reshape(x)) -> reshape(norm(x)) for rows x that come from a product: they stay as the next product reads them."""

    name = "lift-norm-to-matmul"
    root: ClassVar[Roots] = (LayerNormOp, RmsNormOp)

    def rewrite(self, op: LayerNormOp | RmsNormOp, rewriter: CountedRewriter) -> bool:
        reshape = op.x.owner
        if not isinstance(reshape, ReshapeOp) or op.axis.value.data % len(shape_of(op.x)) != len(shape_of(op.x)) - 1:
            return False
        source, target = shape_of(reshape.x), shape_of(op.x)
        if DYNAMIC in (*source, *target) or len(source) < 2 or source[-1:] != target[-1:]:
            return False
        if not _leads_to_product(reshape.x.owner) or any(len(shape_of(value)) != 1 for value in op.operands[1:]):
            return False
        properties = {**op.properties, "axis": int_attr(len(source) - 1)}
        operands = [reshape.x, *op.operands[1:]]
        lifted = type(op).create(operands=operands, result_types=[reshape.x.type], properties=properties)
        rewriter.replace(op, [lifted, ReshapeOp(lifted.results[0], shape=target)])
        return True


def _leads_to_product(op: object) -> bool:
    """Whether nothing but single readers stands between a matrix product and `op`, a reshape or elementwise operator."""
    waiting = [op]
    for _ in range(MAX_OPERATORS + 1):
        op = waiting.pop() if waiting else None
        inner: list[SSAValue] = []
        if isinstance(op, MatmulOp):
            return True
        if isinstance(op, ReshapeOp):
            inner = [op.x]
        elif isinstance(op, UnaryOp | BinaryOp):  # the other operand of one that was lifted is reshaped or small
            same = [value for value in op.operands if value.type == op.result.type]
            inner = [value for value in same if not isinstance(value.owner, ReshapeOp | ConstantOp)]
        waiting += [value.owner for value in inner if single_user(value) is op]
    return False


PATTERNS = (
    FoldBatchNormIntoMatmul,
    FoldBiasIntoMatmul,
    FoldScaleIntoMatmul,
    LiftElementwiseToMatmul,
    LiftNormToMatmul,
    MergeReshapes,
    RemoveSameShapeReshape,
)


@dataclass(frozen=True)
class FuseMatmulElementwise(GePass):
    """First the constants, by patterns; then gates, and one walk that gathers the epilogues."""

    name = "fuse-matmul-elementwise"
    numerics = ROUNDING

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose instruction times say what leaves along"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [pattern() for pattern in PATTERNS])
        context, soc = RewriteContext.current(), load_soc(self.soc)
        for block in graphs(op):
            fuse_gated(block, context, soc)
            fuse_epilogues(block, context, MatmulOp, soc)
