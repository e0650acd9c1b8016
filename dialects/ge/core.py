"""What every `ge` operator shares: declared traits, readable assembly, type inference, cost.

Plain operators print as

    %y = ge.conv2d %x, %w, %b {strides = [2, 2], pads = [3, 3, 3, 3]} : (types) -> type

with integer lists, integers, floats and booleans bare and defaults left out. The generic form holds the same values
as ordinary MLIR properties. An operator class states its operands, its properties, `infer` and, where it differs
from one vector operation per result element, `cost`; its numeric meaning is the function of the same name in
`graph_engine.dialects.ge.reference`.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import isfinite, prod
from typing import Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import (
    AttrConstraint,
    BaseAttr,
    IRDLOperation,
    base,
    eq,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.float_text import parse_float
from graph_engine.dialects.ge.interning import (
    DYNAMIC,
    bool_attr,
    element_bits,
    float_attr,
    int_attr,
    ints_attr,
    shape_of_type,
    string_attr,
    tensor_type,
)
from graph_engine.dialects.operator_class import Operator
from graph_engine.dialects.traits import VerifiedByForm

Tensor: TypeAlias = TensorType[Attribute]
TENSOR = BaseAttr[Tensor](TensorType)

INTS: AttrConstraint[DenseArrayBase[IntegerType]] = DenseArrayBase.constr(i64)
INT = cast(AttrConstraint[IntegerAttr[IntegerType]], IntegerAttr.constr(type=eq(i64)))
BOOL = cast(AttrConstraint[IntegerAttr[IntegerType]], IntegerAttr.constr(type=eq(i1)))
FLOAT: AttrConstraint[FloatAttr] = FloatAttr.constr(f32)
FLOATS = cast(AttrConstraint[ArrayAttr[FloatAttr]], ArrayAttr.constr(FLOAT))
STRINGS: AttrConstraint[ArrayAttr[StringAttr]] = ArrayAttr.constr(BaseAttr(StringAttr))
STRING = base(StringAttr)


def ints_prop(default: Sequence[int] | None = None) -> DenseArrayBase[IntegerType]:
    """A property that is a list of integers."""
    return prop_def(INTS, default_value=None if default is None else ints_attr(default))


def int_prop(default: int | None = None) -> IntegerAttr[IntegerType]:
    """A property that is an integer."""
    return prop_def(INT, default_value=None if default is None else int_attr(default))


def bool_prop(default: bool | None = None) -> IntegerAttr[IntegerType]:
    """A property that is true or false."""
    return prop_def(BOOL, default_value=None if default is None else bool_attr(default))


def float_prop(default: float | None = None) -> FloatAttr:
    """A property that is a float, held as fp32 as in ONNX."""
    return prop_def(FLOAT, default_value=None if default is None else float_attr(default))


def floats_prop(default: Sequence[float] | None = None) -> ArrayAttr[FloatAttr]:
    """A property that is a list of floats, each held as fp32."""
    return prop_def(FLOATS, default_value=None if default is None else floats_attr(default))


def strings_prop(default: Sequence[str] | None = None) -> ArrayAttr[StringAttr]:
    """A property that is a list of strings."""
    return prop_def(STRINGS, default_value=None if default is None else ArrayAttr(map(string_attr, default)))


def floats_attr(values: Sequence[float]) -> ArrayAttr[FloatAttr]:
    """A list of floats as a property."""
    return ArrayAttr([float_attr(value) for value in values])


def string_prop(default: str | None = None) -> StringAttr:
    """A property that is a string."""
    return prop_def(STRING, default_value=None if default is None else string_attr(default))


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


def python_value(attribute: Attribute) -> Any:
    """The JSON-able Python value of a property: int, float, bool, str or list (nested lists, dictionaries)."""
    match attribute:
        case DenseArrayBase():
            return list(cast(DenseArrayBase[IntegerType], attribute).get_values())
        case IntegerAttr():
            return bool(attribute.value.data) if attribute.type == i1 else attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case ArrayAttr():
            return [python_value(item) for item in attribute]
        case DictionaryAttr():
            return {key: python_value(item) for key, item in attribute.data.items()}
        case _:
            raise TypeError(f"no plain value for {attribute}")


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
        Operation.__init__(self, operands=values, properties=properties, result_types=given or ())
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


def _parse_value(parser: Parser, kind: AttrConstraint) -> Attribute:
    if kind == INTS:
        return ints_attr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))
    if kind == INT:
        return int_attr(parser.parse_integer(allow_boolean=False))
    if kind == BOOL:
        return bool_attr(parser.parse_boolean())
    if kind == STRING:
        return string_attr(parser.parse_str_literal())
    if kind == FLOAT:
        return float_attr(parse_float(parser))
    if kind == FLOATS:
        return floats_attr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_float(parser)))
    return parser.parse_attribute()


def parse_properties(cls: type[IRDLOperation], parser: Parser) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Parses `{name = value, ...}`: declared names are properties in their bare form, others plain attributes."""
    declared = cls.get_irdl_definition().properties
    properties: dict[str, Attribute] = {}
    attributes: dict[str, Attribute] = {}

    def entry() -> None:
        name = parser.parse_identifier_or_str_literal()
        if name in properties or name in attributes:
            parser.raise_error(f"duplicate attribute '{name}' of {cls.name}")
        if name in declared:
            parser.parse_punctuation("=")
            properties[name] = _parse_value(parser, declared[name].constr)
        elif "." not in name:
            parser.raise_error(f"{cls.name} has no attribute '{name}'; it has {', '.join(declared) or 'none'}")
        elif parser.parse_optional_punctuation("=") is None:
            attributes[name] = UnitAttr()
        else:
            attributes[name] = parser.parse_attribute()

    parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, entry)
    return properties, attributes


def print_properties(op: IRDLOperation, printer: Printer, hidden: Sequence[str] = ()) -> None:
    """Prints `{name = value, ...}`, leaving out `hidden` names and properties that equal their default."""
    declared = op.get_irdl_definition().properties
    shown = [
        (name, op.properties[name], True)
        for name, definition in declared.items()
        if name in op.properties and name not in hidden and definition.default_value != op.properties[name]
    ]
    shown += [(name, value, False) for name, value in op.attributes.items()]
    if not shown:
        return

    def entry(item: tuple[str, Attribute, bool]) -> None:
        name, value, bare = item
        if isinstance(value, UnitAttr):
            return printer.print_string(name)
        printer.print_string(f"{name} = ")
        match value:
            case DenseArrayBase() if bare:
                printer.print_string(str(python_value(value)))
            case IntegerAttr() if bare and value.type == i64:
                printer.print_string(str(value.value.data))
            case FloatAttr() if bare:
                _print_float(value, printer)
            case ArrayAttr() if bare and all(isinstance(v, FloatAttr) for v in value):
                with printer.in_square_brackets():
                    printer.print_list(cast(ArrayAttr[FloatAttr], value), lambda v: _print_float(v, printer))
            case _:
                printer.print_attribute(value)

    printer.print_string(" {")
    printer.print_list(shown, entry)
    printer.print_string("}")


def _print_float(value: FloatAttr, printer: Printer) -> None:
    if isfinite(value.value.data):
        printer.print_float(value.value.data, f32)
    else:
        printer.print_string(f"0x{struct.pack('>f', value.value.data).hex().upper()}")


def typed(shape: Sequence[int], like: SSAValue) -> tuple[Tensor]:
    """A one-result inference: `shape` with the element type of `like`."""
    return (tensor_type(shape, element_of(like)),)
