"""Affine expressions over loop counters, as operators carry them: index operands, coefficients, a constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, IntegerType
from xdsl.ir import SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.interning import ints_attr

INDEX = IndexType()


@dataclass(frozen=True)
class Expr:
    """`const + sum(coef * counter)`; the counters are SSA values of type index."""

    const: int = 0
    terms: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    @staticmethod
    def of(value: Expr | SSAValue | int) -> Expr:
        """An expression from a number, a counter or an expression."""
        if isinstance(value, Expr):
            return value
        if isinstance(value, int):
            return Expr(value)
        return Expr(0, {value: 1})

    def __add__(self, other: Expr | SSAValue | int) -> Expr:
        right = Expr.of(other)
        terms = dict(self.terms)
        for counter, coef in right.terms.items():
            terms[counter] = terms.get(counter, 0) + coef
        return Expr(self.const + right.const, {c: k for c, k in terms.items() if k})

    def __mul__(self, factor: int) -> Expr:
        return Expr(self.const * factor, {c: k * factor for c, k in self.terms.items()} if factor else {})

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def counters(self) -> list[SSAValue]:
        """The counters, in insertion order."""
        return list(self.terms)

    @property
    def coefs(self) -> DenseArrayBase[IntegerType]:
        """The coefficients as `array<i64: ...>`."""
        return ints_attr(tuple(self.terms.values()))

    @property
    def const_attr(self) -> IntegerAttr:
        """The constant as an i64 attribute."""
        return i64_attr(self.const)


@cache
def i64_attr(value: int) -> IntegerAttr:
    """A 64-bit integer attribute, built once."""
    return IntegerAttr(value, 64)


def expr_of(counters: Sequence[SSAValue], coefs: DenseArrayBase[IntegerType], const: IntegerAttr) -> Expr:
    """Inverse of the three properties; a counter that stands twice counts with both coefficients."""
    terms: dict[SSAValue, int] = {}
    for counter, coef in zip(counters, coefs.get_values(), strict=True):
        terms[counter] = terms.get(counter, 0) + int(coef)
    return Expr(const.value.data, terms)


def verify_expr(name: str, counters: Sequence[SSAValue], coefs: DenseArrayBase[IntegerType]) -> None:
    """Raises VerifyException unless there is a coefficient a counter."""
    if len(coefs) != len(counters):
        raise VerifyException(f"{name}: {len(coefs)} coefficients for {len(counters)} counters")


def print_expr(printer: Printer, expr: Expr) -> None:
    """Prints `%i * 128 + %j + 4`."""
    first = True
    for counter, coef in expr.terms.items():
        if not first:
            printer.print_string(" + ")
        first = False
        printer.print_ssa_value(counter)
        if coef != 1:
            printer.print_string(f" * {coef}")
    if expr.const or first:
        printer.print_string(f"{expr.const}" if first else f" + {expr.const}")


def parse_expr(parser: Parser) -> Expr:
    """Parses what `print_expr` prints."""
    total = Expr()
    while True:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=True)
        if number is not None:
            total = total + number
        else:
            counter = parser.resolve_operand(parser.parse_unresolved_operand(), INDEX)
            coef = parser.parse_integer(allow_boolean=False) if parser.parse_optional_punctuation("*") else 1
            total = total + Expr(0, {counter: coef})
        if parser.parse_optional_punctuation("+") is None:
            return total
