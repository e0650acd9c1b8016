"""Fold a BatchNorm over the columns of a matrix product into its weights and bias, part of `fuse-matmul-elementwise`.

    %1 = ge.matmul %x, %w : (tensor<1x196x128xf32>, tensor<128x256xf32>) -> tensor<1x196x256xf32>
    %2 = ge.reshape %1 {shape = [196, 256]} : ...
    %3 = ge.batch_norm %2, %scale, %bias, %mean, %var : ...
    // becomes
    %1 = ge.matmul %x, %w2, %b2 : ...
    %3 = ge.reshape %1 {shape = [196, 256]} : ...

with w2 = w * factor and b2 = b * factor + shift per column, in fp32 and rounded once. Of a matrix the channels are the
columns, so that LeViT and networks of plain layers flatten what they multiply first.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import BatchNormOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.transforms.batch_norm import affine_of
from graph_engine.transforms.driver import CountedRewriter, Pattern
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.recipes import cast_to, elementwise, known, reshaped, spread
from graph_engine.transforms.remarks import passed


def product_before(op: BatchNormOp) -> tuple[MatmulOp, ReshapeOp | None] | None:
    """The product with constant weights whose columns `op` alone normalises, and a reshape that keeps them."""
    value, user, reshape = op.x, op, None
    if len(shape_of(value)) != 2:
        return None
    if isinstance(value.owner, ReshapeOp) and single_user(value) is op:
        reshape = user = value.owner
        value = reshape.x
    matmul, columns = value.owner, shape_of(op.x)[-1]
    if not isinstance(matmul, MatmulOp) or single_user(value) is not user or shape_of(value)[-1:] != (columns,):
        return None
    if (weights := known(matmul.b)) is None or len(weights.shape) < 2 or op.result.type != op.x.type:
        return None
    if matmul.bias is not None and (known(matmul.bias) is None or shape_of(matmul.bias) not in ((columns,), (1,))):
        return None
    return matmul, reshape


class FoldBatchNormIntoMatmul(Pattern):
    """batch_norm(matmul(a, b, bias)) -> matmul(a, b * factor, bias * factor + shift), also behind a reshape of rows."""

    name = "fold-batch-norm-into-matmul"
    root: ClassVar[tuple[type[Operation], ...]] = (BatchNormOp,)

    def rewrite(self, op: BatchNormOp, rewriter: CountedRewriter) -> bool:
        found = product_before(op)
        affine = affine_of(op) if found is not None else None
        weights = known(found[0].b) if found is not None else None
        if found is None or affine is None or weights is None:
            return False
        matmul, reshape = found
        element, bias, shift = weights.type.element_type, known(matmul.bias), affine.shift
        columns = (affine.factor.elements, 1) if matmul.transpose_b.value.data else (affine.factor.elements,)
        scaled = elementwise("ge.mul", cast_to(weights, f32), reshaped(affine.factor, columns))
        if bias is not None:
            whole = spread(cast_to(bias, f32), affine.factor.shape)
            shift = elementwise("ge.add", elementwise("ge.mul", whole, affine.factor), shift)
        constants = [cast_to(scaled, element).op(), cast_to(shift, element).op()]
        operands = [matmul.a, *(constant.result for constant in constants)]
        made: list[Operation] = [
            *constants,
            MatmulOp.create(operands=operands, result_types=[matmul.result.type], properties=matmul.properties),
        ]
        if reshape is not None:
            made.append(
                ReshapeOp.create(
                    operands=[made[-1].results[0]], result_types=[op.result.type], properties=reshape.properties
                )
            )
        passed("FoldedIntoWeights", op, f"{op.name} went into the weights of {matmul.name}")
        rewriter.replace(op, made)
        return True
