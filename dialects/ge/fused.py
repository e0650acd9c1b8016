"""The one fused form: several operators that become one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    lazy_traits_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.core import TENSOR, Cost, GeOp, Tensor, Trait, bytes_of
from graph_engine.dialects.ge.interning import string_attr
from graph_engine.dialects.ge.properties import parse_properties, print_properties, string_prop
from graph_engine.dialects.operator_class import Operator
from graph_engine.dialects.traits import VerifiedByForm


def _control_flow() -> Sequence[type[Operation]]:
    from graph_engine.dialects.ge.control_flow import CONTROL_FLOW

    return CONTROL_FLOW


@irdl_op_definition
class YieldOp(Operator):
    """Ends the body of a `ge.fused` or of control flow; its operands are the results."""

    name = "ge.yield"

    values = var_operand_def(TENSOR)

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(FusedOp, *_control_flow()), Pure(), VerifiedByForm()))

    def __init__(self, *values: SSAValue | Operation):
        self.fill([SSAValue.get(v) for v in values])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        unresolved = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(operands=parser.resolve_operands(unresolved, types, position))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.values, printer.print_operand)
        printer.print_string(" : ")
        printer.print_list(self.values, lambda v: printer.print_attribute(v.type))


@irdl_op_definition
class FusedOp(Operator):
    """One kernel made of several operators: an anchor (`anchor` = its operator name) with prologue and epilogue.

    The region sees nothing but its arguments, which are the operands in order. Layouts treat the whole as one
    operator with its anchor's formats.

        %y = ge.fused ins(%x, %w : types) {anchor = "ge.conv2d"} {
        ^bb0(%a: type, %f: type):
          %t = ge.conv2d %a, %f : (types) -> type
          %u = ge.relu %t : (type) -> type
          ge.yield %u : type
        } -> type
    """

    name = "ge.fused"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset()

    inputs = var_operand_def(TENSOR)
    outputs = var_result_def(TENSOR)
    anchor = string_prop()
    region = region_def("single_block")

    traits = traits_def(Pure(), IsolatedFromAbove(), VerifiedByForm())

    def __init__(self, inputs: Sequence[SSAValue | Operation], region: Region, *, anchor: str):
        block = region.block
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("ge.fused: the region must end in ge.yield")
        self.fill(
            [SSAValue.get(v) for v in inputs],
            result_types=[v.type for v in last.values],
            properties={"anchor": string_attr(anchor)},
            regions=[region],
        )

    @property
    def block(self) -> Block:
        """The body."""
        return self.region.block

    @property
    def terminator(self) -> YieldOp:
        """The yield at the end of the body."""
        return cast(YieldOp, self.block.last_op)

    @property
    def anchor_op(self) -> Operation:
        """The operator that decides formats and tiling: the first one named `anchor`."""
        for op in self.block.ops:
            if op.name == self.anchor.data:
                return op
        raise VerifyException(f"ge.fused: no {self.anchor.data} in the region")

    @property
    def traits_ge(self) -> frozenset[Trait]:
        """The anchor's traits."""
        anchor = self.anchor_op
        return anchor.TRAITS if isinstance(anchor, GeOp) else frozenset()

    @classmethod
    def has(cls, trait: Trait) -> bool:
        """Whether every `ge.fused` has a trait: none does; ask `traits_ge` of the instance."""
        return trait in cls.TRAITS

    def keeps_zero_pad(self) -> bool:
        """Whether every operator inside keeps zero channel padding."""
        return all(isinstance(op, YieldOp) or (isinstance(op, GeOp) and op.keeps_zero_pad()) for op in self.block.ops)

    def infer(self) -> tuple[Tensor, ...]:
        """The types that the region yields, with their encodings."""
        return tuple(cast(Tensor, v.type) for v in self.terminator.values)

    def cost(self) -> Cost:
        """Arithmetic of everything inside, bytes of operands and results only."""
        costs = [op.cost() for op in self.block.ops if isinstance(op, GeOp)]
        return Cost(
            sum(c.macs for c in costs),
            sum(c.vector_ops for c in costs),
            sum(map(bytes_of, self.inputs)),
            sum(map(bytes_of, self.outputs)),
        )

    def verify_(self) -> None:
        block = self.block
        if not isinstance(block.last_op, YieldOp):
            raise VerifyException("ge.fused: the region must end in ge.yield")
        for what, outer, inner in (
            ("operand", self.inputs, block.args),
            ("result", self.outputs, block.last_op.values),
        ):
            if len(outer) != len(inner):
                raise VerifyException(f"ge.fused: {len(outer)} {what}s, but the region has {len(inner)}")
            for i, (a, b) in enumerate(zip(outer, inner, strict=True)):
                if a.type is not b.type and a.type != b.type:
                    raise VerifyException(f"ge.fused: {what} {i} is {a.type} outside and {b.type} inside the region")
        _ = self.anchor_op

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("ins")
        parser.parse_punctuation("(")
        unresolved = (
            parser.parse_optional_undelimited_comma_separated_list(
                parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
            )
            or []
        )
        position = parser.pos
        types: list[Attribute] = []
        if unresolved:
            parser.parse_punctuation(":")
            types.extend(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))
        parser.parse_punctuation(")")
        properties, attributes = parse_properties(cls, parser)
        region = parser.parse_region()
        parser.parse_punctuation("->")
        result_types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        return cls.create(
            operands=parser.resolve_operands(unresolved, types, position),
            result_types=result_types if result_types is not None else [parser.parse_type()],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ins(")
        printer.print_list(self.inputs, printer.print_operand)
        if self.inputs:
            printer.print_string(" : ")
            printer.print_list(self.inputs, lambda v: printer.print_attribute(v.type))
        printer.print_string(")")
        print_properties(self, printer)
        printer.print_string(" ")
        printer.print_region(self.region)
        printer.print_string(" -> ")
        if len(self.outputs) == 1:
            printer.print_attribute(self.outputs[0].type)
        else:
            with printer.in_parens():
                printer.print_list(self.outputs, lambda v: printer.print_attribute(v.type))


FUSED = [FusedOp, YieldOp]
