"""Element by element with numpy's broadcasting: comparison, choice, bits, remainders."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import TENSOR, GeOp, Tensor, Trait, element_of, shape_of, typed
from graph_engine.dialects.ge.elementwise import BinaryOp, broadcast_shapes
from graph_engine.dialects.ge.interning import bool_attr, element_name, shape_of_type, string_attr, tensor_type
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.dialects.ge.properties import bool_prop, string_prop

_HOST = frozenset({Trait.ELEMENTWISE, Trait.BROADCAST, Trait.HOST})

PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")
FLOATS = ("f16", "bf16", "f32", "f64")


@irdl_op_definition
class CompareOp(BinaryOp):
    """Whether lhs `predicate` rhs holds, as `i1`: eq, ne, lt, le, gt, ge. With a nan only ne holds."""

    name = "ge.compare"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST

    predicate = string_prop()

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        *,
        predicate: str,
        result_type: Tensor | None = None,
    ):
        self.init((lhs, rhs), {"predicate": string_attr(predicate)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if self.predicate.data not in PREDICATES:
            raise self.fail(f'predicate must be one of {", ".join(PREDICATES)}, got "{self.predicate.data}"')
        return (tensor_type(shape_of_type(super().infer()[0]), i1),)


@irdl_op_definition
class SelectOp(GeOp):
    """x where condition (`i1`) holds, else y; all three broadcast (ONNX Where)."""

    name = "ge.select"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST

    condition = operand_def(TENSOR)
    x = operand_def(TENSOR)
    y = operand_def(TENSOR)

    def __init__(
        self,
        condition: SSAValue | Operation,
        x: SSAValue | Operation,
        y: SSAValue | Operation,
        *,
        result_type: Tensor | None = None,
    ):
        self.init((condition, x, y), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if element_of(self.condition) != i1:
            raise self.fail(f"condition must hold booleans (i1), got {element_of(self.condition)}")
        if element_of(self.x) != element_of(self.y):
            raise self.fail(f"x and y must have one element type, got {element_of(self.x)} and {element_of(self.y)}")
        shape = broadcast_shapes(shape_of(self.x), shape_of(self.y))
        shape = None if shape is None else broadcast_shapes(shape, shape_of(self.condition))
        if shape is None:
            raise self.fail(f"operands {self.operand_shapes()} do not broadcast")
        return typed(shape, self.x)


class BitwiseOp(BinaryOp):
    """A function of the bits; for `i1` the logical one."""

    TRAITS: ClassVar[frozenset[Trait]] = _HOST

    def infer(self) -> tuple[Tensor, ...]:
        if element_name(element_of(self.lhs)) in FLOATS:
            raise self.fail(f"operands must hold integers or booleans, got {element_of(self.lhs)}")
        return super().infer()


@irdl_op_definition
class AndOp(BitwiseOp):
    """Both bits (ONNX And, BitwiseAnd)."""

    name = "ge.and"


@irdl_op_definition
class OrOp(BitwiseOp):
    """One bit at least (ONNX Or, BitwiseOr)."""

    name = "ge.or"


@irdl_op_definition
class XorOp(BitwiseOp):
    """One bit of the two (ONNX Xor, BitwiseXor)."""

    name = "ge.xor"


@irdl_op_definition
class ShiftOp(BitwiseOp):
    """lhs moved by rhs bits to the `direction` "left" or "right" (ONNX BitShift).

    A right shift of a signed type repeats the sign. An amount that is negative or not below the width leaves what the
    sign alone gives: -1 for a right shift of a negative number, else 0.
    """

    name = "ge.shift"

    direction = string_prop("left")

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        *,
        direction: str = "left",
        result_type: Tensor | None = None,
    ):
        self.init((lhs, rhs), {"direction": string_attr(direction)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if self.direction.data not in ("left", "right"):
            raise self.fail(f'direction must be "left" or "right", got "{self.direction.data}"')
        return super().infer()


@irdl_op_definition
class ModOp(BinaryOp):
    """What lhs / rhs leaves: with the sign of rhs, or of lhs if `fmod` (ONNX Mod)."""

    name = "ge.mod"
    TRAITS: ClassVar[frozenset[Trait]] = _HOST
    VECTOR_OPS: ClassVar[int] = 3

    fmod = bool_prop(False)

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        *,
        fmod: bool = False,
        result_type: Tensor | None = None,
    ):
        self.init((lhs, rhs), {"fmod": bool_attr(fmod)}, result_type)


def works_on_masks(op: object) -> bool:
    """Whether an operator compares floats, chooses among them, or joins masks: what the Vector does in groups of floats."""
    match op:
        case CompareOp():
            return element_name(element_of(op.lhs)) in DEVICE_FLOATS
        case SelectOp():
            return element_name(element_of(op.x)) in DEVICE_FLOATS
        case AndOp() | OrOp() | XorOp():
            return element_of(op.lhs) == i1
        case _:
            return False


LOGIC = [CompareOp, SelectOp, AndOp, OrOp, XorOp, ShiftOp, ModOp]
