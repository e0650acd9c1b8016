"""Properties of operators: how each kind is declared, written bare in readable assembly, and read as a Python value."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import isfinite
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, BaseAttr, IRDLOperation, base, eq, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from graph_engine.dialects.float_text import parse_float
from graph_engine.dialects.ge.interning import bool_attr, float_attr, int_attr, ints_attr, string_attr

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
