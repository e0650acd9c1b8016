"""Operators with bodies: If, Loop and Scan of ONNX. They run on the host, where they are one task.

    %y = ge.if ins(%c, %x : tensor<i1>, tensor<4xf32>) then {
    ^bb0(%a: tensor<4xf32>):
      ...
      ge.yield %t : tensor<4xf32>
    } else { ... } -> tensor<4xf32>

A body sees nothing but its arguments. Constants that it needs are arguments too, so it holds operators alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue, SSAValues
from xdsl.irdl import irdl_op_definition, region_def, result_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    bytes_of,
    element_of,
    shape_of,
    shape_text,
)
from graph_engine.dialects.ge.fused import YieldOp
from graph_engine.dialects.ge.interning import element_name, int_attr, ints_attr, shape_of_type, tensor_type
from graph_engine.dialects.ge.properties import int_prop, ints_prop, parse_properties, print_properties


def common_type(a: Tensor, b: Tensor) -> Tensor | None:
    """The type of a value that is `a` or `b`: extents that differ are unknown. None for other ranks or element types."""
    left, right = shape_of_type(a), shape_of_type(b)
    if a.element_type != b.element_type or len(left) != len(right):
        return None
    return tensor_type([x if x == y else DYNAMIC for x, y in zip(left, right, strict=True)], a.element_type)


class RegionOp(GeOp):
    """An operator with bodies; `BODIES` are the keywords in front of them."""

    BODIES: ClassVar[tuple[str, ...]] = ("do",)

    traits = traits_def(Pure(), IsolatedFromAbove())

    def build_with(self, operands: Sequence[SSAValue], properties: dict[str, Attribute], blocks: list[Block]) -> None:
        """Builds the operator; result types are inferred."""
        self.fill(operands, properties=properties, regions=[Region(block) for block in blocks])
        self.results = SSAValues(OpResult(t, self, i) for i, t in enumerate(self.infer()))

    def blocks(self) -> list[Block]:
        """The bodies."""
        return [region.block for region in self.regions]

    def yields(self, block: Block) -> list[SSAValue]:
        """What a body yields."""
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise self.fail("a body must end in ge.yield")
        return list(last.values)

    def require_arguments(self, block: Block, types: Sequence[Attribute]) -> None:
        """Raises unless the body takes values of these types."""
        found = [arg.type for arg in block.args]
        if len(found) != len(types):
            raise self.fail(f"the body takes {len(found)} values, {len(types)} are given")
        for i, (inner, outer) in enumerate(zip(found, types, strict=True)):
            if inner != outer and common_type(cast(Tensor, inner), cast(Tensor, outer)) != inner:
                raise self.fail(f"argument {i} of the body is {inner}, given is {outer}")

    def cost(self) -> Cost:
        """One run of the bodies; how often they run is not known."""
        inner = [op.cost() for block in self.blocks() for op in block.ops if isinstance(op, GeOp)]
        return Cost(
            sum(c.macs for c in inner),
            sum(c.vector_ops for c in inner),
            sum(map(bytes_of, self.operands)),
            sum(map(bytes_of, self.results)),
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("ins")
        parser.parse_punctuation("(")
        unresolved = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        position = parser.pos
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation(")")
        properties, attributes = parse_properties(cls, parser)
        regions: list[Region] = []
        for keyword in cls.BODIES:
            parser.parse_keyword(keyword)
            regions.append(parser.parse_region())
        parser.parse_punctuation("->")
        results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        return cls.create(
            operands=parser.resolve_operands(unresolved, types, position),
            result_types=results if results is not None else [parser.parse_type()],
            properties=properties,
            attributes=attributes,
            regions=regions,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ins(")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_string(" : ")
        printer.print_list(self.operands, lambda v: printer.print_attribute(v.type))
        printer.print_string(")")
        print_properties(self, printer)
        for keyword, region in zip(self.BODIES, self.regions, strict=True):
            printer.print_string(f" {keyword} ")
            printer.print_region(region)
        printer.print_string(" -> ")
        if len(self.results) == 1:
            printer.print_attribute(self.results[0].type)
        else:
            with printer.in_parens():
                printer.print_list(self.results, lambda v: printer.print_attribute(v.type))

    def program(self, block: Block, stacked: int | None = None) -> dict[str, Any]:
        """A body as plain data for the reference; yielded values from number `stacked` on are elements of stacks."""
        numbers: dict[SSAValue, int] = {arg: i for i, arg in enumerate(block.args)}
        steps: list[dict[str, Any]] = []
        for op in block.ops:
            if isinstance(op, YieldOp):
                break
            if not isinstance(op, GeOp) or not op.operands:
                raise self.fail(f"{op.name} cannot be part of a body")
            steps.append(
                {
                    "op": op.name,
                    "inputs": [numbers[v] for v in op.operands],
                    "attributes": op.attribute_values(),
                    "results": len(op.results),
                }
            )
            for result in op.results:
                numbers[result] = len(numbers)
        values = self.yields(block)
        found: dict[str, Any] = {"steps": steps, "yields": [numbers[v] for v in values]}
        if stacked is not None:
            found["stacks"] = [[list(shape_of(v)), element_name(element_of(v))] for v in values[stacked:]]
        return found


@irdl_op_definition
class IfOp(RegionOp):
    """One of two bodies, by the first operand; the others are the arguments of both."""

    name = "ge.if"
    BODIES: ClassVar[tuple[str, ...]] = ("then", "else")

    inputs = var_operand_def(TENSOR)
    result = result_def(TENSOR)
    others = var_result_def(TENSOR)
    then_body = region_def("single_block")
    else_body = region_def("single_block")

    def __init__(self, condition: SSAValue, captured: Sequence[SSAValue], then_body: Block, else_body: Block):
        self.build_with([condition, *captured], {}, [then_body, else_body])

    def infer(self) -> tuple[Tensor, ...]:
        then, otherwise = self.blocks()
        for block in (then, otherwise):
            self.require_arguments(block, [v.type for v in self.operands[1:]])
        if element_name(element_of(self.operands[0])) != "i1":
            raise self.fail(f"the condition must be i1, got {element_of(self.operands[0])}")
        left, right = self.yields(then), self.yields(otherwise)
        if len(left) != len(right):
            raise self.fail(f"the bodies yield {len(left)} and {len(right)} values")
        types: list[Tensor] = []
        for i, (a, b) in enumerate(zip(left, right, strict=True)):
            both = common_type(cast(Tensor, a.type), cast(Tensor, b.type))
            if both is None:
                raise self.fail(f"value {i} is {a.type} in one body and {b.type} in the other")
            types.append(both)
        return tuple(types)

    def attribute_values(self) -> dict[str, Any]:
        then, otherwise = self.blocks()
        return {"then": self.program(then), "otherwise": self.program(otherwise)}


@irdl_op_definition
class LoopOp(RegionOp):
    """At most so many iterations of the body, as long as it yields true.

    Operands: number of iterations, first condition, `carried` values, captured values. The body takes the number of the
    iteration (i64), the condition (i1), the carried and the captured values; it yields a condition, the carried values, and
    elements that are stacked along a new first axis. Results: the carried values, the stacks.
    """

    name = "ge.loop"

    inputs = var_operand_def(TENSOR)
    result = result_def(TENSOR)
    others = var_result_def(TENSOR)
    carried = int_prop()
    trips = int_prop(DYNAMIC)
    """The number of iterations where it is known, for the extent of the stacks."""
    body = region_def("single_block")

    def __init__(
        self,
        limit: SSAValue,
        condition: SSAValue,
        carried: Sequence[SSAValue],
        captured: Sequence[SSAValue],
        body: Block,
        *,
        trips: int = DYNAMIC,
    ):
        properties: dict[str, Attribute] = {"carried": int_attr(len(carried)), "trips": int_attr(trips)}
        self.build_with([limit, condition, *carried, *captured], properties, [body])

    def infer(self) -> tuple[Tensor, ...]:
        [block] = self.blocks()
        count = self.carried.value.data
        self.require_arguments(
            block, [tensor_type((), "i64"), tensor_type((), "i1"), *(v.type for v in self.operands[2:])]
        )
        _, *values = self.yields(block)
        types: list[Tensor] = []
        for i, value in enumerate(values):
            if i >= count:
                types.append(tensor_type((self.trips.value.data, *shape_of(value)), element_of(value)))
                continue
            kept = cast(Tensor, block.args[2 + i].type)
            if common_type(kept, cast(Tensor, value.type)) != kept:
                raise self.fail(f"carried value {i} is {kept} before and {value.type} after an iteration")
            types.append(kept)
        return tuple(types)

    def attribute_values(self) -> dict[str, Any]:
        [block] = self.blocks()
        count = self.carried.value.data
        return {"carried": count, "body": self.program(block, 1 + count)}


@irdl_op_definition
class ScanOp(RegionOp):
    """The body once for each slice of the scanned values.

    Operands: `states` values, `scanned` values, captured values. The body takes the states, a slice of each scanned value
    along its `input_axes` (from the end on where `input_reverse`), and the captured values; it yields the states and
    elements that are stacked along `output_axes`. Results: the states, the stacks.
    """

    name = "ge.scan"

    inputs = var_operand_def(TENSOR)
    result = result_def(TENSOR)
    others = var_result_def(TENSOR)
    states = int_prop()
    scanned = int_prop()
    input_axes = ints_prop()
    input_reverse = ints_prop()
    output_axes = ints_prop()
    output_reverse = ints_prop()
    body = region_def("single_block")

    def __init__(
        self,
        states: Sequence[SSAValue],
        scanned: Sequence[SSAValue],
        captured: Sequence[SSAValue],
        body: Block,
        *,
        input_axes: Sequence[int],
        input_reverse: Sequence[int],
        output_axes: Sequence[int],
        output_reverse: Sequence[int],
    ):
        properties: dict[str, Attribute] = {
            "states": int_attr(len(states)),
            "scanned": int_attr(len(scanned)),
            "input_axes": ints_attr(input_axes),
            "input_reverse": ints_attr(input_reverse),
            "output_axes": ints_attr(output_axes),
            "output_reverse": ints_attr(output_reverse),
        }
        self.build_with([*states, *scanned, *captured], properties, [body])

    def extent(self) -> int:
        """The number of iterations, -1 if unknown. Raises if the scanned values disagree."""
        count = self.states.value.data
        found = DYNAMIC
        for value, axis in zip(self.operands[count:], self.ints("input_axes"), strict=False):
            shape = shape_of(value)
            extent = shape[self.axis_in(axis, len(shape))]
            if DYNAMIC not in (extent, found) and extent != found:
                raise self.fail(f"scanned values of {shape_text((found,))} and {shape_text((extent,))} slices")
            found = max(found, extent)
        return found

    def infer(self) -> tuple[Tensor, ...]:
        [block] = self.blocks()
        count, scanned = self.states.value.data, self.scanned.value.data
        slices: list[Attribute] = []
        for value, axis in zip(self.operands[count : count + scanned], self.ints("input_axes"), strict=True):
            shape = list(shape_of(value))
            del shape[self.axis_in(axis, len(shape))]
            slices.append(tensor_type(shape, element_of(value)))
        outer = [v.type for v in self.operands]
        self.require_arguments(block, [*outer[:count], *slices, *outer[count + scanned :]])
        types: list[Tensor] = []
        extent = self.extent()
        values = self.yields(block)
        for i, value in enumerate(values[:count]):
            kept = cast(Tensor, block.args[i].type)
            if common_type(kept, cast(Tensor, value.type)) != kept:
                raise self.fail(f"state {i} is {kept} before and {value.type} after an iteration")
            types.append(kept)
        for value, axis in zip(values[count:], self.ints("output_axes"), strict=True):
            shape = list(shape_of(value))
            shape.insert(self.axis_in(axis, len(shape) + 1), extent)
            types.append(tensor_type(shape, element_of(value)))
        return tuple(types)

    def attribute_values(self) -> dict[str, Any]:
        [block] = self.blocks()
        return super().attribute_values() | {"body": self.program(block, self.states.value.data)}


CONTROL_FLOW = [IfOp, LoopOp, ScanOp]
