"""Programs: the buffers of an entry point and the streams whose tasks use them.

From the phase `scheduled` on there is one `ascend.task.program` an entry point: its buffers
(`ascend.task.buffer`, first without, later with an offset in their segment), then its streams.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.task import CopyTaskOp, DeviceTaskOp, RecordOp, WaitOp
from graph_engine.dialects.ge.interning import int_attr, string_attr
from graph_engine.dialects.operator_class import Operator
from graph_engine.dialects.traits import VerifiedByForm

SEGMENTS = ("input", "output", "weight", "workspace")
"""Segment names, in the order of `Segment` in target_ascend.om.program."""


@irdl_op_definition
class ProgramOp(Operator):
    """An entry point: buffers, then streams. Sizes in bytes."""

    name = "ascend.task.program"

    sym_name = prop_def(SymbolNameConstraint())
    soc = prop_def(StringAttr)
    workspace_bytes = opt_prop_def(IntegerAttr.constr(i64))
    lower_bound_bytes = opt_prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), NoTerminator())

    def __init__(self, name: str, soc: str):
        super().__init__(
            properties={"sym_name": StringAttr(name), "soc": StringAttr(soc)},
            regions=[Region(Block())],
        )

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, BufferOp | StreamOp):
                raise VerifyException(f"{self.name}: only buffers and streams may stand in a program, got {op.name}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" soc(")
        printer.print_string_literal(self.soc.data)
        printer.print_string(")")
        for key in ("workspace_bytes", "lower_bound_bytes"):
            value = self.properties.get(key)
            if isinstance(value, IntegerAttr):
                printer.print_string(f" {key}({value.value.data})")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        name = parser.parse_symbol_name()
        parser.parse_keyword("soc")
        with parser.in_parens():
            soc = parser.parse_str_literal()
        op = cls(name.data, soc)
        for key in ("workspace_bytes", "lower_bound_bytes"):
            if parser.parse_optional_keyword(key):
                with parser.in_parens():
                    op.properties[key] = IntegerAttr(parser.parse_integer(), 64)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        if attributes:
            op.attributes = dict(attributes.data)
        op.regions[0].detach_block(0)
        parser.parse_region().move_blocks(op.body)
        return op


@irdl_op_definition
class BufferOp(Operator):
    """A tensor in device memory: `ascend.task.buffer workspace + 4096 : tensor<..>`.

    `index` numbers inputs and outputs, `label` is their name. A weight carries its `value`. `alias` names the
    buffer whose storage this one shares (a view, or an in-place result), from byte `inside` on.
    """

    name = "ascend.task.buffer"

    segment = prop_def(StringAttr)
    index = prop_def(IntegerAttr.constr(i64))
    offset = opt_prop_def(IntegerAttr.constr(i64))
    inside = opt_prop_def(IntegerAttr.constr(i64))
    label = opt_prop_def(StringAttr)
    value = opt_prop_def(Attribute)
    alias = opt_operand_def(TensorType)
    tensor = result_def(TensorType)

    traits = traits_def(VerifiedByForm())

    def __init__(
        self,
        segment: str,
        ty: Attribute,
        *,
        index: int = 0,
        label: str | None = None,
        value: Attribute | None = None,
        alias: SSAValue | None = None,
        inside: int = 0,
        offset: int | None = None,
    ):
        properties: dict[str, Attribute] = {"segment": string_attr(segment), "index": int_attr(index)}
        if label is not None:
            properties["label"] = StringAttr(label)
        if value is not None:
            properties["value"] = value
        if offset is not None:
            properties["offset"] = int_attr(offset)
        if inside:
            properties["inside"] = int_attr(inside)
        operands = [] if alias is None else [alias]
        self.fill(operands, properties=properties, result_types=[ty])

    def form(self) -> tuple[object, ...]:
        """Values and labels of any kind are valid, and any offset of the right type."""
        owner = self.alias.owner if self.alias is not None else None
        place = (owner.segment, owner.index) if isinstance(owner, BufferOp) else ()
        others = [self.properties.get(name) for name in ("offset", "label", "value")]
        types = [value.type if isinstance(value, IntegerAttr) else type(value) for value in others]
        return (*self.properties, self.segment, self.index, self.inside, *place, *types)

    def verify_(self) -> None:
        if self.segment.data not in SEGMENTS:
            raise VerifyException(f"{self.name}: segment must be one of {', '.join(SEGMENTS)}")
        if (self.value is not None) != (self.segment.data == "weight"):
            raise VerifyException(f"{self.name}: weights, and only they, carry a value")
        if self.inside is not None and (self.alias is None or self.inside.value.data < 0):
            raise VerifyException(f"{self.name}: only a view begins inside a buffer, at byte 0 or behind it")
        owner = self.alias.owner if self.alias is not None else None
        if isinstance(owner, BufferOp) and (owner.segment, owner.index) != (self.segment, self.index):
            place = f"{owner.segment.data} {owner.index.value.data}"
            raise VerifyException(f"{self.name}: shares the storage of {place}, is declared as {self.segment.data}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.segment.data}")
        if self.segment.data in ("input", "output"):
            printer.print_string(f" {self.index.value.data}")
        if self.offset is not None:
            printer.print_string(f" + {self.offset.value.data}")
        if self.label is not None:
            printer.print_string(" ")
            printer.print_string_literal(self.label.data)
        if self.value is not None:
            printer.print_string(" ")
            printer.print_attribute(self.value)
        if self.alias is not None:
            printer.print_string(" alias(")
            printer.print_ssa_value(self.alias)
            if self.inside is not None:
                printer.print_string(f" + {self.inside.value.data}")
            printer.print_string(" : ")
            printer.print_attribute(self.alias.type)
            printer.print_string(")")
        printer.print_string(" : ")
        printer.print_attribute(self.tensor.type)

    @classmethod
    def parse(cls, parser: Parser) -> BufferOp:
        segment = parser.parse_identifier()
        index = parser.parse_integer() if segment in ("input", "output") else 0
        offset = parser.parse_integer() if parser.parse_optional_punctuation("+") else None
        label = parser.parse_optional_str_literal()
        value = parser.parse_attribute() if segment == "weight" else None
        alias, inside = None, 0
        if parser.parse_optional_keyword("alias"):
            with parser.in_parens():
                unresolved = parser.parse_unresolved_operand()
                inside = parser.parse_integer() if parser.parse_optional_punctuation("+") else 0
                parser.parse_punctuation(":")
                alias = parser.resolve_operand(unresolved, parser.parse_type())
        parser.parse_punctuation(":")
        ty = parser.parse_type()
        return cls(segment, ty, index=index, label=label, value=value, alias=alias, inside=inside, offset=offset)


@irdl_op_definition
class StreamOp(Operator):
    """Tasks that run in order on a device."""

    name = "ascend.task.stream"

    sym_name = prop_def(SymbolNameConstraint())
    device = prop_def(IntegerAttr.constr(i32))
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, name: str, device: int = 0):
        super().__init__(
            properties={"sym_name": StringAttr(name), "device": IntegerAttr(device, 32)}, regions=[Region(Block())]
        )

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, DeviceTaskOp | RecordOp | WaitOp | CopyTaskOp):
                raise VerifyException(f"{self.name}: only tasks may stand in a stream, got {op.name}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(f" device {self.device.value.data} ")
        printer.print_region(self.body, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> StreamOp:
        name = parser.parse_symbol_name()
        parser.parse_keyword("device")
        op = cls(name.data, parser.parse_integer())
        op.regions[0].detach_block(0)
        parser.parse_region().move_blocks(op.body)
        return op


PROGRAM_OPS: list[type[Operation]] = [ProgramOp, BufferOp, StreamOp]
