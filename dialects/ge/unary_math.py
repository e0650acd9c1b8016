"""Element by element: trigonometry, rounding, sign, bits. The Vector unit has no instruction for these."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from graph_engine.dialects.ge.core import Tensor, Trait, element_of, shape_of, typed
from graph_engine.dialects.ge.elementwise import UnaryOp
from graph_engine.dialects.ge.interning import element_name

_HOST = frozenset({Trait.ELEMENTWISE, Trait.HOST})
_HOST_ZERO = _HOST | {Trait.KEEPS_ZERO_PAD}


@irdl_op_definition
class SinOp(UnaryOp):
    """Sine of radians."""

    name = "ge.sin"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO
    VECTOR_OPS: ClassVar[int] = 8


@irdl_op_definition
class CosOp(UnaryOp):
    """Cosine of radians."""

    name = "ge.cos"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST
    VECTOR_OPS: ClassVar[int] = 8


@irdl_op_definition
class TanOp(UnaryOp):
    """Tangent of radians."""

    name = "ge.tan"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO
    VECTOR_OPS: ClassVar[int] = 16


@irdl_op_definition
class AsinOp(UnaryOp):
    """Inverse sine in radians; nan outside [-1, 1]."""

    name = "ge.asin"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO
    VECTOR_OPS: ClassVar[int] = 12


@irdl_op_definition
class AcosOp(UnaryOp):
    """Inverse cosine in radians; nan outside [-1, 1]."""

    name = "ge.acos"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST
    VECTOR_OPS: ClassVar[int] = 12


@irdl_op_definition
class AtanOp(UnaryOp):
    """Inverse tangent in radians."""

    name = "ge.atan"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO
    VECTOR_OPS: ClassVar[int] = 12


@irdl_op_definition
class SinhOp(UnaryOp):
    """Hyperbolic sine."""

    name = "ge.sinh"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO
    VECTOR_OPS: ClassVar[int] = 4


@irdl_op_definition
class CoshOp(UnaryOp):
    """Hyperbolic cosine."""

    name = "ge.cosh"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST
    VECTOR_OPS: ClassVar[int] = 4


@irdl_op_definition
class AsinhOp(UnaryOp):
    """Inverse hyperbolic sine."""

    name = "ge.asinh"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO
    VECTOR_OPS: ClassVar[int] = 6


@irdl_op_definition
class AcoshOp(UnaryOp):
    """Inverse hyperbolic cosine; nan below 1."""

    name = "ge.acosh"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST
    VECTOR_OPS: ClassVar[int] = 6


@irdl_op_definition
class AtanhOp(UnaryOp):
    """Inverse hyperbolic tangent; infinite at -1 and 1, nan outside."""

    name = "ge.atanh"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO
    VECTOR_OPS: ClassVar[int] = 6


@irdl_op_definition
class CeilOp(UnaryOp):
    """The smallest integer that is not below x."""

    name = "ge.ceil"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO


@irdl_op_definition
class FloorOp(UnaryOp):
    """The largest integer that is not above x."""

    name = "ge.floor"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO


@irdl_op_definition
class RoundOp(UnaryOp):
    """The nearest integer, the even one of two (ONNX Round)."""

    name = "ge.round"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1; nan stays nan."""

    name = "ge.sign"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST_ZERO


@irdl_op_definition
class NotOp(UnaryOp):
    """All bits the other way round; for `i1` that is the logical not (ONNX Not, BitwiseNot)."""

    name = "ge.not"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST

    def infer(self) -> tuple[Tensor, ...]:
        if element_name(element_of(self.x)) in ("f16", "bf16", "f32", "f64"):
            raise self.fail(f"x must hold integers or booleans, got {element_of(self.x)}")
        return typed(shape_of(self.x), self.x)


UNARY_MATH = [
    SinOp,
    CosOp,
    TanOp,
    AsinOp,
    AcosOp,
    AtanOp,
    SinhOp,
    CoshOp,
    AsinhOp,
    AcoshOp,
    AtanhOp,
    CeilOp,
    FloorOp,
    RoundOp,
    SignOp,
    NotOp,
]
