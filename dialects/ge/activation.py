"""Activation functions that kernels treat as one operator, because a chain of smaller ones would round in between."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import TENSOR, GeOp, Tensor, Trait, shape_of, typed
from graph_engine.dialects.ge.elementwise import UnaryOp, broadcast_shapes
from graph_engine.dialects.ge.interning import float_attr, string_attr
from graph_engine.dialects.ge.properties import float_prop, string_prop

_UNARY = frozenset({Trait.ELEMENTWISE})
_UNARY_ZERO = frozenset({Trait.ELEMENTWISE, Trait.KEEPS_ZERO_PAD})


@irdl_op_definition
class EluOp(UnaryOp):
    """`scale` * x where x > 0, else `scale` * `alpha` * (exp(`input_scale` * x) - 1).

    Serves ONNX Elu (alpha), Selu (alpha, scale = gamma) and Celu (alpha, input_scale = 1 / alpha).
    """

    name = "ge.elu"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO
    VECTOR_OPS: ClassVar[int] = 6

    alpha = float_prop(1.0)
    scale = float_prop(1.0)
    input_scale = float_prop(1.0)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        alpha: float = 1.0,
        scale: float = 1.0,
        input_scale: float = 1.0,
        result_type: Tensor | None = None,
    ):
        properties = {
            "alpha": float_attr(alpha),
            "scale": float_attr(scale),
            "input_scale": float_attr(input_scale),
        }
        self.init((x,), properties, result_type)


@irdl_op_definition
class GeluOp(UnaryOp):
    """x * Phi(x), Phi the standard normal distribution function (ONNX Gelu).

    `approximate` = "none": x / 2 * (1 + erf(x / sqrt 2)); "tanh": x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
    """

    name = "ge.gelu"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO
    VECTOR_OPS: ClassVar[int] = 12

    approximate = string_prop("none")

    def __init__(self, x: SSAValue | Operation, *, approximate: str = "none", result_type: Tensor | None = None):
        self.init((x,), {"approximate": string_attr(approximate)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if self.approximate.data not in ("none", "tanh"):
            raise self.fail(f'approximate must be "none" or "tanh", got "{self.approximate.data}"')
        return typed(shape_of(self.x), self.x)


@irdl_op_definition
class SwishOp(UnaryOp):
    """x * sigmoid(`alpha` * x); alpha = 1 is SiLU."""

    name = "ge.swish"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO
    VECTOR_OPS: ClassVar[int] = 5

    alpha = float_prop(1.0)

    def __init__(self, x: SSAValue | Operation, *, alpha: float = 1.0, result_type: Tensor | None = None):
        self.init((x,), {"alpha": float_attr(alpha)}, result_type)


@irdl_op_definition
class HardSigmoidOp(UnaryOp):
    """min(max(`alpha` * x + `beta`, 0), 1)."""

    name = "ge.hard_sigmoid"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY
    VECTOR_OPS: ClassVar[int] = 4

    alpha = float_prop(0.2)
    beta = float_prop(0.5)

    def __init__(
        self, x: SSAValue | Operation, *, alpha: float = 0.2, beta: float = 0.5, result_type: Tensor | None = None
    ):
        self.init((x,), {"alpha": float_attr(alpha), "beta": float_attr(beta)}, result_type)


@irdl_op_definition
class HardSwishOp(UnaryOp):
    """x * min(max(x / 6 + 1/2, 0), 1)."""

    name = "ge.hard_swish"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO
    VECTOR_OPS: ClassVar[int] = 5


@irdl_op_definition
class SoftplusOp(UnaryOp):
    """ln(1 + exp(x))."""

    name = "ge.softplus"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY
    VECTOR_OPS: ClassVar[int] = 7


@irdl_op_definition
class MishOp(UnaryOp):
    """x * tanh(ln(1 + exp(x)))."""

    name = "ge.mish"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO
    VECTOR_OPS: ClassVar[int] = 8


@irdl_op_definition
class PReluOp(GeOp):
    """x where x >= 0, else slope * x; slope broadcasts onto x (ONNX PRelu)."""

    name = "ge.prelu"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.ELEMENTWISE, Trait.BROADCAST, Trait.KEEPS_ZERO_PAD})
    VECTOR_OPS: ClassVar[int] = 4

    x = operand_def(TENSOR)
    slope = operand_def(TENSOR)

    def __init__(self, x: SSAValue | Operation, slope: SSAValue | Operation, *, result_type: Tensor | None = None):
        self.init((x, slope), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element()
        shape = shape_of(self.x)
        if broadcast_shapes(shape, shape_of(self.slope)) != shape:
            raise self.fail(f"slope does not broadcast onto x ({self.operand_shapes()})")
        return typed(shape, self.x)


ACTIVATION = [EluOp, GeluOp, SwishOp, HardSigmoidOp, HardSwishOp, SoftplusOp, MishOp, PReluOp]
