"""Element by element: unary functions, binary arithmetic with numpy's broadcasting, casts.

All operands share one element type, which is the result's; only `ge.cast` changes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import DYNAMIC, TENSOR, GeOp, Tensor, Trait, element_of, shape_of, typed
from graph_engine.dialects.ge.interning import (
    bool_attr,
    element_name,
    element_type,
    float_attr,
    string_attr,
    tensor_type,
)
from graph_engine.dialects.ge.properties import bool_prop, float_prop, string_prop

FLOAT32_MAX = 3.4028234663852886e38

_UNARY = frozenset({Trait.ELEMENTWISE})
_UNARY_ZERO = frozenset({Trait.ELEMENTWISE, Trait.KEEPS_ZERO_PAD})
_BINARY = frozenset({Trait.ELEMENTWISE, Trait.BROADCAST})
_BINARY_ZERO = frozenset({Trait.ELEMENTWISE, Trait.BROADCAST, Trait.KEEPS_ZERO_PAD})


def broadcast_shapes(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    """numpy's broadcast of two shapes, None if there is none. An unknown extent against n > 1 must turn out n or 1."""
    rank = max(len(a), len(b))
    result: list[int] = []
    for x, y in zip((1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b), strict=True):
        if x == y or y == 1:
            result.append(x)
        elif x == 1:
            result.append(y)
        elif DYNAMIC in (x, y):
            result.append(max(x, y))
        else:
            return None
    return tuple(result)


class UnaryOp(GeOp):
    """y[i] = f(x[i])."""

    TRAITS: ClassVar[frozenset[Trait]] = _UNARY

    x = operand_def(TENSOR)

    def __init__(self, x: SSAValue | Operation, *, result_type: Tensor | None = None):
        self.init((x,), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        return typed(shape_of(self.x), self.x)


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0)."""

    name = "ge.relu"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x))."""

    name = "ge.sigmoid"
    VECTOR_OPS: ClassVar[int] = 4


@irdl_op_definition
class TanhOp(UnaryOp):
    """Hyperbolic tangent."""

    name = "ge.tanh"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO
    VECTOR_OPS: ClassVar[int] = 5


@irdl_op_definition
class ExpOp(UnaryOp):
    """e to the power of x."""

    name = "ge.exp"


@irdl_op_definition
class LogOp(UnaryOp):
    """Natural logarithm."""

    name = "ge.log"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """Square root."""

    name = "ge.sqrt"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO


@irdl_op_definition
class AbsOp(UnaryOp):
    """Absolute value."""

    name = "ge.abs"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO


@irdl_op_definition
class NegOp(UnaryOp):
    """-x."""

    name = "ge.neg"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """1 / x."""

    name = "ge.reciprocal"


@irdl_op_definition
class ErfOp(UnaryOp):
    """Gauss error function."""

    name = "ge.erf"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO
    VECTOR_OPS: ClassVar[int] = 16


@irdl_op_definition
class LeakyReluOp(UnaryOp):
    """x where x >= 0, else alpha * x."""

    name = "ge.leaky_relu"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO

    alpha = float_prop(0.01)

    def __init__(self, x: SSAValue | Operation, *, alpha: float = 0.01, result_type: Tensor | None = None):
        self.init((x,), {"alpha": float_attr(alpha)}, result_type)


@irdl_op_definition
class ClipOp(UnaryOp):
    """min(max(x, `min`), `max`); absent bounds are the largest fp32 numbers, as in ONNX."""

    name = "ge.clip"
    VECTOR_OPS: ClassVar[int] = 2

    min = float_prop(-FLOAT32_MAX)
    max = float_prop(FLOAT32_MAX)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        min: float = -FLOAT32_MAX,
        max: float = FLOAT32_MAX,
        result_type: Tensor | None = None,
    ):
        self.init((x,), {"min": float_attr(min), "max": float_attr(max)}, result_type)

    def keeps_zero_pad(self) -> bool:
        return self.min.value.data <= 0 <= self.max.value.data


@irdl_op_definition
class CastOp(UnaryOp):
    """The same values in the result's element type.

    Float to narrower float rounds to nearest even, float to integer towards zero, anything to `i1` is x != 0. Floats of
    8 bits: `saturate` cuts what is too large, `round_mode` is up, down or nearest for f8E8M0FNU.
    """

    name = "ge.cast"
    TRAITS: ClassVar[frozenset[Trait]] = _UNARY_ZERO

    saturate = bool_prop(True)
    round_mode = string_prop("up")

    def __init__(
        self,
        x: SSAValue | Operation,
        to: Attribute | str | None = None,
        *,
        saturate: bool = True,
        round_mode: str = "up",
        result_type: Tensor | None = None,
    ):
        x = SSAValue.get(x)
        if result_type is None:
            if to is None:
                raise ValueError("ge.cast needs a target element type")
            result_type = tensor_type(shape_of(x), element_type(to) if isinstance(to, str) else to)
        properties = {"saturate": bool_attr(saturate), "round_mode": string_attr(round_mode)}
        self.init((x,), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        return (tensor_type(shape_of(self.x), element_of(self.result)),)

    def attribute_values(self) -> dict[str, Any]:
        stated = {"saturate": self.saturate.value.data != 0, "round_mode": self.round_mode.data}
        target = element_name(element_of(self.result))
        return {"to": target} | (stated if target.startswith("f8") else {})


class BinaryOp(GeOp):
    """z = f(lhs, rhs) element by element after numpy's broadcasting."""

    TRAITS: ClassVar[frozenset[Trait]] = _BINARY

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, *, result_type: Tensor | None = None):
        self.init((lhs, rhs), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element()
        shape = broadcast_shapes(shape_of(self.lhs), shape_of(self.rhs))
        if shape is None:
            raise self.fail(f"operands {self.operand_shapes()} do not broadcast")
        return typed(shape, self.lhs)

    def other(self, value: SSAValue) -> SSAValue:
        """The operand beside `value`."""
        return self.rhs if self.lhs is value else self.lhs

    def keeps_zero_pad(self) -> bool:
        """Zero op zero is zero, but an operand stretched along the channels (axis -3) has no zero lanes to offer."""
        if Trait.KEEPS_ZERO_PAD not in self.TRAITS:
            return False
        shape = shape_of(self.result)
        axis = len(shape) - 3 if len(shape) > 3 else min(1, len(shape) - 1)
        if axis < 0:
            return True
        full = [shape_of(v)[axis - len(shape) :][:1] == (shape[axis],) for v in self.operands]
        return all(full) or (self.name == "ge.mul" and any(full))


@irdl_op_definition
class AddOp(BinaryOp):
    """lhs + rhs."""

    name = "ge.add"
    TRAITS: ClassVar[frozenset[Trait]] = _BINARY_ZERO


@irdl_op_definition
class SubOp(BinaryOp):
    """lhs - rhs."""

    name = "ge.sub"
    TRAITS: ClassVar[frozenset[Trait]] = _BINARY_ZERO


@irdl_op_definition
class MulOp(BinaryOp):
    """lhs * rhs."""

    name = "ge.mul"
    TRAITS: ClassVar[frozenset[Trait]] = _BINARY_ZERO


@irdl_op_definition
class DivOp(BinaryOp):
    """lhs / rhs; integers divide towards zero (ONNX Div)."""

    name = "ge.div"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger of both; nan if either is nan."""

    name = "ge.maximum"
    TRAITS: ClassVar[frozenset[Trait]] = _BINARY_ZERO


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller of both; nan if either is nan."""

    name = "ge.minimum"
    TRAITS: ClassVar[frozenset[Trait]] = _BINARY_ZERO


@irdl_op_definition
class PowOp(BinaryOp):
    """lhs to the power of rhs."""

    name = "ge.pow"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.ELEMENTWISE, Trait.BROADCAST, Trait.HOST})
    VECTOR_OPS: ClassVar[int] = 3


ELEMENTWISE = [
    ReluOp,
    SigmoidOp,
    TanhOp,
    ExpOp,
    LogOp,
    SqrtOp,
    AbsOp,
    NegOp,
    ReciprocalOp,
    ErfOp,
    LeakyReluOp,
    ClipOp,
    CastOp,
    AddOp,
    SubOp,
    MulOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    PowOp,
]
