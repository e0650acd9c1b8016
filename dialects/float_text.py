"""Floats in text, bit for bit: infinities, NaNs and whole numbers of many digits.

MLIR and xDSL print such a number as the hexadecimal digits of its bits, `0xFF800000`. xDSL 0.75 reads that back as its bits in
`0xFF800000 : f32`, but as the whole number 4286578688 inside of `dense<...>` and where an operator parses a number. So
tensors get whole numbers in decimal, `dense<[1234567.0, 0.5]>`, and those with infinities or NaNs are written as the
string of all their bytes, `dense<"0x000080FF"> : tensor<f32>`; xDSL and mlir-opt read both alike. `parse_float` and
`BitsLiteral` take hexadecimal digits for bits.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat, ComplexType, DenseIntOrFPElementsAttr, f32
from xdsl.ir import Attribute
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer


def dense_literal(attribute: Attribute) -> str | None:
    """`dense<...>` for a tensor of floats some of which print as hexadecimal digits; None for any other attribute."""
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        return None
    tensor = cast(DenseIntOrFPElementsAttr[Any], attribute)
    element, data = tensor.get_element_type(), tensor.data.data
    if not isinstance(element, AnyFloat | ComplexType) or "0x" not in (text := str(tensor).rpartition(" : ")[0]):
        return None
    part = cast(AnyFloat, element.element_type if isinstance(element, ComplexType) else element)
    if all(map(isfinite, part.iter_unpack(data))):
        return _BITS.sub(lambda digits: f"{_number(int(digits[0], 16), part):.1f}", text)
    first = data[: element.compile_time_size]
    return f'dense<"0x{(first if first * len(tensor) == data else data).hex().upper()}">'


def print_constant(attribute: Attribute, printer: Printer) -> None:
    """Prints an attribute, a tensor of floats so that any parser reads the same bits."""
    literal = dense_literal(attribute)
    if literal is None:
        return printer.print_attribute(attribute)
    printer.print_string(f"{literal} : ")
    printer.print_attribute(cast(DenseIntOrFPElementsAttr[Any], attribute).type)


def parse_float(parser: Parser) -> float:
    """Parses an fp32 number; hexadecimal digits are its bits. Raises a parse error for more than 32 bits."""
    start = parser.pos
    number = parser.parse_number()
    text = str(parser.lexer.input.slice(start, parser.pos))
    return float_of_bits(int(number), f32, parser, start) if is_bits(text) else float(number)


def is_bits(text: str) -> bool:
    """Whether a literal is written in hexadecimal digits."""
    return text.startswith(("0x", "0X"))


def float_of_bits(bits: int, type: AnyFloat, parser: AttrParser, position: int) -> float:
    """The number of a float type that has these bits; a parse error at `position` if they are too many."""
    if bits.bit_length() > type.bitwidth:
        parser.raise_error(f"{bits:#x} has more bits than {type}", position)
    return _number(bits, type)


_BITS = re.compile(r"0x[0-9A-F]+")


def _number(bits: int, type: AnyFloat) -> float:
    return next(iter(type.iter_unpack(bits.to_bytes(type.compile_time_size, "little"))))


class BitsLiteral(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """An element of `dense<...>` in hexadecimal digits: bits for a float type, a whole number for an integer type."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if isinstance(type, AnyFloat):
            return float_of_bits(int(cast(int, self.value)), type, parser, self.span.start)
        if isinstance(type, ComplexType):
            parser.raise_error("parts of complex numbers must not be in hexadecimal digits", self.span)
        return super().to_type(parser, type)
