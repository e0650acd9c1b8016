"""Compile-time constants."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.irdl import AnyOf, BaseAttr, irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from graph_engine.dialects.float_text import print_constant
from graph_engine.dialects.ge.core import Cost, GeOp, Tensor, Trait
from graph_engine.dialects.ge.properties import parse_properties, print_properties
from graph_engine.dialects.ge.weights import FoldAttr, WeightAttr, attribute_type


@irdl_op_definition
class ConstantOp(GeOp):
    """A tensor known at compile time.

    `value` is `dense<...>` for small tensors, a `#ge.weight` handle for large ones, or a `#ge.fold` recipe that says
    how to compute it from others. Only a recipe that packs may give an encoded type.

        %b = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %w = ge.constant #ge.weight<"conv1.weight", sha256 = "..."> : tensor<64x3x7x7xf32>
    """

    name = "ge.constant"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.CONSTANT})

    value = prop_def(AnyOf((BaseAttr(DenseIntOrFPElementsAttr), BaseAttr(WeightAttr), BaseAttr(FoldAttr))))

    def __init__(self, value: Attribute, *, result_type: Tensor | None = None):
        self.init((), {"value": value}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if isinstance(self.value, WeightAttr) and not self.value.data.known and self.results:
            return (self.result.type,)  # the store that knows need not be open to parse and verify
        return (attribute_type(self.value),)

    def form(self) -> tuple[object, ...]:
        value: Attribute = self.properties["value"]  # of any kind: this one is not verified yet
        known = (
            value.data.known
            if isinstance(value, WeightAttr)
            else isinstance(value, DenseIntOrFPElementsAttr | FoldAttr)
        )
        return (type(value), attribute_type(value)) if known else (value,)

    def verify_(self) -> None:
        super().verify_()
        declared, held = self.result.type, self.infer()[0]
        if declared.encoding != held.encoding:
            raise self.fail(f"the value is stored as {held}, the result is declared {declared}")

    def cost(self) -> Cost:
        return Cost()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_attribute()
        _, attributes = parse_properties(cls, parser)
        if isinstance(value, DenseIntOrFPElementsAttr):
            result_type: Attribute = value.type
        else:
            parser.parse_punctuation(":")
            result_type = parser.parse_type()
        return cls.create(result_types=(result_type,), properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_constant(self.value, printer)
        print_properties(self, printer, hidden=("value",))
        if not isinstance(self.value, DenseIntOrFPElementsAttr):
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)


CONSTANT = [ConstantOp]
