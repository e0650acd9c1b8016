"""What every `ge` operator shares: declared traits, readable assembly, type inference, cost.

Plain operators print as

    %y = ge.conv2d %x, %w, %b {strides = [2, 2], pads = [3, 3, 3, 3]} : (types) -> type

with integer lists, integers, floats and booleans bare and defaults left out. The generic form holds the same values
as ordinary MLIR properties. An operator class states its operands, its properties, `infer` and, where it differs
from one vector operation per result element, `cost`; its numeric meaning is the function of the same name in
`graph_engine.dialects.ge.reference`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import prod
from typing import Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerType,
    TensorType,
    f32,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import (
    BaseAttr,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.interning import (
    DYNAMIC,
    element_bits,
    shape_of_type,
    tensor_type,
)
from graph_engine.dialects.ge.properties import parse_properties, print_properties, python_value
from graph_engine.dialects.operator_class import Operator
from graph_engine.dialects.traits import VerifiedByForm

Tensor: TypeAlias = TensorType[Attribute]
TENSOR = BaseAttr[Tensor](TensorType)


class Trait(Enum):
    """What passes may ask of an operator without knowing it."""

    ELEMENTWISE = auto()
    """Every result element depends on one element of each operand (after broadcasting)."""
    BROADCAST = auto()
    """Operands follow numpy's broadcasting."""
    REDUCTION = auto()
    """Result elements combine many elements along given axes."""
    POOL = auto()
    """Result elements combine a spatial window per channel."""
    VIEW = auto()
    """Only the shape changes: the bytes of a plain row-major tensor stay as they are."""
    MOVEMENT = auto()
    """Elements are copied to other places without arithmetic."""
    HEAVY = auto()
    """Multiply-accumulates on the Cube, in the Cube's formats."""
    KEEPS_ZERO_PAD = auto()
    """Zero lanes of the padded channels stay zero; see `GeOp.keeps_zero_pad` for conditions."""
    CONSTANT = auto()
    """No operands, value known at compile time."""
    HOST = auto()
    """Elementwise, but no vector instruction sequence over floats of one type: only `works_on_masks` joins a group."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Work of one execution on logical shapes; an unknown dimension counts as 1.

    `macs`: multiply-accumulates on the Cube; `vector_ops`: elementary arithmetic operations of the Vector unit;
    bytes as stored without padding.
    """

    macs: int = 0
    vector_ops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.macs + other.macs,
            self.vector_ops + other.vector_ops,
            self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
        )


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The logical shape of a tensor value, -1 for an unknown dimension."""
    return shape_of_type(value.type)


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return cast(Tensor, value.type).element_type


def elements_of(value: SSAValue) -> int:
    """The number of logical elements; an unknown dimension counts as 1."""
    return prod(d for d in shape_of(value) if d != DYNAMIC)


def bytes_of(value: SSAValue) -> int:
    """The bytes of the logical elements, without padding; an unknown dimension counts as 1."""
    return elements_of(value) * element_bits(element_of(value)) // 8


def dims_agree(a: int, b: int) -> bool:
    """Whether two dimensions can be equal: known and equal, or one unknown."""
    return a == b or DYNAMIC in (a, b)


def shapes_agree(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes can be equal when unknown dimensions are known."""
    return len(a) == len(b) and all(map(dims_agree, a, b))


def shape_text(shape: Sequence[int]) -> str:
    """A shape as people write it: `1x3x?x224`, `scalar` for rank 0."""
    return "x".join("?" if d == DYNAMIC else str(d) for d in shape) or "scalar"


class GeOp(Operator, ABC):
    """A plain operator: tensors in, tensors out, properties that the reference function takes as keywords.

    Most operators have one result. One with several declares `result` again, in front of the others (`result_def`,
    and last one `opt_result_def` or `var_result_def`); `infer` gives all their types. Its reference returns a list,
    which may go on behind the results that the operator has.
    """

    TRAITS: ClassVar[frozenset[Trait]] = frozenset()
    VECTOR_OPS: ClassVar[int] = 1
    """Vector operations per result element, for the default `cost`."""

    result = result_def(TENSOR)

    traits = traits_def(Pure(), VerifiedByForm())

    def init(
        self,
        operands: Sequence[SSAValue | Operation | None],
        properties: Mapping[str, Attribute],
        result_type: Tensor | Sequence[Tensor] | None,
    ) -> None:
        """Builds the operator in one go (cheaper than the general builder); missing result types are inferred."""
        values = [v if isinstance(v, SSAValue) else SSAValue.get(v) for v in operands if v is not None]
        given = (result_type,) if isinstance(result_type, TensorType) else result_type
        self.fill(values, properties=properties, result_types=given or ())
        if given is None:
            self.results = SSAValues(OpResult(t, self, i) for i, t in enumerate(self.infer()))

    @property
    def traits_ge(self) -> frozenset[Trait]:
        """The operator's traits."""
        return self.TRAITS

    @property
    def reference(self) -> str:
        """The name of the function in the reference package that gives the operator its meaning."""
        return self.name.removeprefix("ge.")

    @classmethod
    def has(cls, trait: Trait) -> bool:
        """Whether the operator has a trait."""
        return trait in cls.TRAITS

    def keeps_zero_pad(self) -> bool:
        """Whether zero lanes in the channel padding of every operand give zero lanes in the result."""
        return Trait.KEEPS_ZERO_PAD in self.TRAITS

    def keeps_type(self, index: int) -> bool:
        """Whether operand `index` holds coordinates, thresholds or bits, which no pass may round to another type.

        An operator all of whose operands are so keeps the types of its results as well.
        """
        del index
        return False

    @abstractmethod
    def infer(self) -> tuple[Tensor, ...]:
        """Result types (logical shape and element type, no encoding) from operand types and properties.

        Unknown dimensions pass through. Raises VerifyException naming the operator and the shapes at fault.
        """

    def cost(self) -> Cost:
        """The work of one execution."""
        return Cost(
            vector_ops=self.VECTOR_OPS * elements_of(self.result),
            bytes_read=sum(map(bytes_of, self.operands)),
            bytes_written=sum(map(bytes_of, self.results)),
        )

    def attribute_values(self) -> dict[str, Any]:
        """The properties as plain JSON-able values: the keywords of the reference function."""
        return {name: python_value(value) for name, value in self.properties.items()}

    def ints(self, name: str) -> tuple[int, ...]:
        """The values of an integer-list property."""
        return cast(DenseArrayBase[IntegerType], self.properties[name]).get_values()

    def fail(self, message: str) -> VerifyException:
        """An error to raise, beginning with the operator's name."""
        return VerifyException(f"{self.name}: {message}")

    def operand_shapes(self) -> str:
        """All operand shapes, for messages."""
        return ", ".join(shape_text(shape_of(v)) for v in self.operands)

    def require_rank(self, value: SSAValue, rank: int, what: str) -> tuple[int, ...]:
        """The shape of `value`, which must have `rank` dimensions."""
        shape = shape_of(value)
        if len(shape) != rank:
            raise self.fail(f"{what} must have rank {rank}, got {shape_text(shape)}")
        return shape

    def require_length(self, name: str, length: int) -> tuple[int, ...]:
        """The values of an integer-list property, which must be `length` many."""
        values = self.ints(name)
        if len(values) != length:
            raise self.fail(f"{name} must have {length} values, got {list(values)}")
        return values

    def require_same_element(self, accumulated: SSAValue | None = None) -> Attribute:
        """The element type, which all operands must share; an `accumulated` one may be fp32, as the Cube's sums are."""
        element = element_of(self.operands[0])
        for value in self.operands[1:]:
            other = element_of(value)
            if other is not element and other != element and not (value is accumulated and other == f32):
                raise self.fail(f"operands must have one element type, got {element} and {other}")
        return element

    def axis_in(self, axis: int, rank: int) -> int:
        """`axis` counted from the front; raises if it is outside the rank."""
        if not -rank <= axis < rank:
            raise self.fail(f"axis {axis} is outside rank {rank} of {self.operand_shapes()}")
        return axis % rank

    def verify_(self) -> None:
        inferred_types = self.infer()
        if len(inferred_types) != len(self.results):
            raise self.fail(f"{len(inferred_types)} results are inferred, {len(self.results)} are declared")
        for value, inferred in zip(self.results, inferred_types, strict=True):
            declared = cast(Tensor, value.type)
            if inferred is declared:
                continue
            if inferred.element_type != declared.element_type:
                raise self.fail(
                    f"result element type must be {inferred.element_type}, got {declared.element_type} "
                    f"(operands {self.operand_shapes()})"
                )
            if not shapes_agree(shape_of_type(inferred), shape_of_type(declared)):
                raise self.fail(
                    f"operands {self.operand_shapes()} give {shape_text(shape_of_type(inferred))}, "
                    f"result is declared {shape_text(shape_of_type(declared))}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unresolved = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        properties, attributes = parse_properties(cls, parser)
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_function_type()
        operands = parser.resolve_operands(unresolved or [], types.inputs.data, position)
        return cls.create(
            operands=operands, result_types=types.outputs.data, properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_operand)
        print_properties(self, printer)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)


def typed(shape: Sequence[int], like: SSAValue) -> tuple[Tensor]:
    """A one-result inference: `shape` with the element type of `like`."""
    return (tensor_type(shape, element_of(like)),)
