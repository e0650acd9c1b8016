"""Normalizations along the channels or an axis."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import (
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    Trait,
    bytes_of,
    dims_agree,
    elements_of,
    float_prop,
    int_prop,
    shape_of,
    typed,
)
from graph_engine.dialects.ge.interning import float_attr, int_attr


@irdl_op_definition
class BatchNormOp(GeOp):
    """(x - mean) / sqrt(var + epsilon) * scale + bias along axis 1 (ONNX BatchNormalization, inference).

    x[N,C,...]; scale, bias, mean, var [C].
    """

    name = "ge.batch_norm"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.KEEPS_ZERO_PAD})
    VECTOR_OPS: ClassVar[int] = 2

    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    bias = operand_def(TENSOR)
    mean = operand_def(TENSOR)
    var = operand_def(TENSOR)
    epsilon = float_prop(1e-5)

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        bias: SSAValue | Operation,
        mean: SSAValue | Operation,
        var: SSAValue | Operation,
        *,
        epsilon: float = 1e-5,
        result_type: Tensor | None = None,
    ):
        self.init((x, scale, bias, mean, var), {"epsilon": float_attr(epsilon)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element()
        shape = shape_of(self.x)
        if len(shape) < 2:
            raise self.fail(f"x must have rank 2 or more (operands {self.operand_shapes()})")
        for value, what in ((self.scale, "scale"), (self.bias, "bias"), (self.mean, "mean"), (self.var, "var")):
            if not dims_agree(self.require_rank(value, 1, what)[0], shape[1]):
                raise self.fail(f"{what} must have {shape[1]} elements (operands {self.operand_shapes()})")
        return typed(shape, self.x)


@irdl_op_definition
class LrnOp(GeOp):
    """x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta (ONNX LRN).

    The window of channel c is [c - floor((size-1)/2), c + ceil((size-1)/2)], cut at the ends.
    """

    name = "ge.lrn"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.KEEPS_ZERO_PAD})

    x = operand_def(TENSOR)
    size = int_prop()
    alpha = float_prop(1e-4)
    beta = float_prop(0.75)
    bias = float_prop(1.0)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        size: int,
        alpha: float = 1e-4,
        beta: float = 0.75,
        bias: float = 1.0,
        result_type: Tensor | None = None,
    ):
        properties = {
            "size": int_attr(size),
            "alpha": float_attr(alpha),
            "beta": float_attr(beta),
            "bias": float_attr(bias),
        }
        self.init((x,), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = shape_of(self.x)
        if len(shape) < 2:
            raise self.fail(f"x must have rank 2 or more, got {self.operand_shapes()}")
        if self.size.value.data < 1:
            raise self.fail(f"size must be positive, got {self.size.value.data}")
        return typed(shape, self.x)

    def cost(self) -> Cost:
        ops = elements_of(self.x) * (self.size.value.data + 5)
        return Cost(0, ops, bytes_of(self.x), bytes_of(self.result))


@irdl_op_definition
class SoftmaxOp(GeOp):
    """exp(x - max) / sum of exp(x - max) along one `axis` (ONNX Softmax from opset 13)."""

    name = "ge.softmax"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.REDUCTION})
    VECTOR_OPS: ClassVar[int] = 5

    x = operand_def(TENSOR)
    axis = int_prop(-1)

    def __init__(self, x: SSAValue | Operation, *, axis: int = -1, result_type: Tensor | None = None):
        self.init((x,), {"axis": int_attr(axis)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = shape_of(self.x)
        self.axis_in(self.axis.value.data, len(shape))
        return typed(shape, self.x)


NORMALIZATION = [BatchNormOp, LrnOp, SoftmaxOp]
