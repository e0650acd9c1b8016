"""Normalizations along the channels or an axis."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    Trait,
    bytes_of,
    dims_agree,
    elements_of,
    shape_of,
    shapes_agree,
    typed,
)
from graph_engine.dialects.ge.elementwise import broadcast_shapes
from graph_engine.dialects.ge.interning import float_attr, int_attr
from graph_engine.dialects.ge.properties import float_prop, int_prop


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


@irdl_op_definition
class LayerNormOp(GeOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over all axes from `axis` to `last_axis`.

    To the last one it is ONNX LayerNormalization; from 1 to 1 it normalizes the channels of each pixel of an image whose
    channels come first. scale and bias broadcast onto x. Mean and variance (of the population) are kept in fp32 at least.
    """

    name = "ge.layer_norm"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.REDUCTION})
    VECTOR_OPS: ClassVar[int] = 7

    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    axis = int_prop(-1)
    last_axis = int_prop(-1)
    epsilon = float_prop(1e-5)

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        bias: SSAValue | Operation | None = None,
        *,
        axis: int = -1,
        last_axis: int = -1,
        epsilon: float = 1e-5,
        result_type: Tensor | None = None,
    ):
        properties = {"axis": int_attr(axis), "last_axis": int_attr(last_axis), "epsilon": float_attr(epsilon)}
        self.init((x, scale, bias), properties, result_type)

    def axes(self) -> tuple[int, ...]:
        """The axes that are normalized together, counted from the front."""
        rank = len(shape_of(self.x))
        return tuple(range(self.axis.value.data % rank, self.last_axis.value.data % rank + 1))

    def infer(self) -> tuple[Tensor, ...]:
        types = _normalized(self, self.x, self.axis.value.data)
        self.axis_in(self.last_axis.value.data, len(shape_of(self.x)))
        if not self.axes():
            raise self.fail(f"axis {self.axis.value.data} must not lie behind last_axis {self.last_axis.value.data}")
        return types


@irdl_op_definition
class RmsNormOp(GeOp):
    """x / sqrt(mean of squares + epsilon) * scale over all axes from `axis` on (ONNX RMSNormalization).

    scale broadcasts onto x. The mean is kept in fp32 at least.
    """

    name = "ge.rms_norm"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.REDUCTION})
    VECTOR_OPS: ClassVar[int] = 5

    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    axis = int_prop(-1)
    epsilon = float_prop(1e-5)

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        *,
        axis: int = -1,
        epsilon: float = 1e-5,
        result_type: Tensor | None = None,
    ):
        self.init((x, scale), {"axis": int_attr(axis), "epsilon": float_attr(epsilon)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        return _normalized(self, self.x, self.axis.value.data)


def rows_of_scale(norm: RmsNormOp | LayerNormOp, scale: SSAValue) -> int | None:
    """How many rows the scale or bias of a norm of rows has: one, or one for each matrix. None for any other norm."""
    shape, own = shape_of(norm.x), shape_of(scale)
    if DYNAMIC in shape or len(shape) < 2 or norm.axis.value.data % len(shape) != len(shape) - 1:
        return None
    rows = prod(own[:-1])
    return rows if own[-1:] == shape[-1:] and (rows == 1 or (own[-2] == 1 and rows == prod(shape[:-2]))) else None


def _normalized(op: GeOp, x: SSAValue, axis: int) -> tuple[Tensor, ...]:
    """The result type of a normalization whose other operands broadcast onto x."""
    op.require_same_element()
    shape = shape_of(x)
    op.axis_in(axis, len(shape))
    for value in op.operands[1:]:
        if (joined := broadcast_shapes(shape, shape_of(value))) is None or not shapes_agree(joined, shape):
            raise op.fail(f"operands must broadcast onto x ({op.operand_shapes()})")
    return typed(shape, x)


@irdl_op_definition
class GroupNormOp(GeOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over each of `groups` groups of channels of an image.

    x[N,C,...]; scale, bias [C]; C a multiple of groups. One channel a group is ONNX InstanceNormalization, all of them
    one group is ONNX GroupNormalization with num_groups = 1. Mean and variance are kept in fp32 at least.
    """

    name = "ge.group_norm"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.REDUCTION})
    VECTOR_OPS: ClassVar[int] = 7

    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    bias = operand_def(TENSOR)
    groups = int_prop()
    epsilon = float_prop(1e-5)

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        bias: SSAValue | Operation,
        *,
        groups: int,
        epsilon: float = 1e-5,
        result_type: Tensor | None = None,
    ):
        self.init((x, scale, bias), {"groups": int_attr(groups), "epsilon": float_attr(epsilon)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element()
        shape, groups = shape_of(self.x), self.groups.value.data
        if len(shape) < 2:
            raise self.fail(f"x must have rank 2 or more (operands {self.operand_shapes()})")
        if groups < 1 or (shape[1] != DYNAMIC and shape[1] % groups):
            raise self.fail(f"groups {groups} do not divide the {shape[1]} channels of {self.operand_shapes()}")
        for value, what in ((self.scale, "scale"), (self.bias, "bias")):
            if not dims_agree(self.require_rank(value, 1, what)[0], shape[1]):
                raise self.fail(f"{what} must have {shape[1]} elements (operands {self.operand_shapes()})")
        return typed(shape, self.x)


NORMALIZATION = [BatchNormOp, LrnOp, SoftmaxOp, LayerNormOp, RmsNormOp, GroupNormOp]
