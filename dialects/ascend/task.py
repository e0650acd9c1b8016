"""Task streams: what the device is told to run, with which buffers.

In the phases `kernels` and `grouped` a graph still stands in `func.func` and calls kernels with
`ascend.task.call`. From `scheduled` on there is one `ascend.task.program` an entry point: its buffers
(`ascend.task.buffer`, first without, later with an offset in their segment), then its streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.interning import int_attr, ints_attr, string_attr
from graph_engine.dialects.operator_class import Operator
from graph_engine.dialects.traits import VerifiedByForm

SEGMENTS = ("input", "output", "weight", "workspace")
"""Segment names, in the order of `Segment` in target_ascend.om.program."""


@cache
def task_info(
    type: str, macs: int, layout_bytes: int, *, in_place: tuple[int, ...] = (), no_kernel: str = "", exchanged: int = 0
) -> DictionaryAttr:
    """What a call or task says about itself: its operator type in profiles, multiply-accumulates, bytes moved only to
    change a layout; which operands its result may overwrite; why it has no kernel; how many of its results, the last ones,
    are but memory in which cores of a team exchange something."""
    info: dict[str, Attribute] = {
        "type": string_attr(type),
        "macs": int_attr(macs),
        "layout_bytes": int_attr(layout_bytes),
    }
    if in_place:
        info["in_place"] = ints_attr(in_place)
    if no_kernel:
        info["no_kernel"] = string_attr(no_kernel)
    if exchanged:
        info["exchanged"] = int_attr(exchanged)
    return DictionaryAttr(info)


@cache
def _segment_sizes(*sizes: int) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


@cache
def _blocks(count: int) -> IntegerAttr[IntegerType]:
    return IntegerAttr(count, 32)


@irdl_op_definition
class CallOp(Operator):
    """Calls a kernel on tensors: `%y = ascend.task.call @k(%x, %w) {type = "Conv2D"} : (..) -> ..`.

    The kernel's arguments are the operands, then the results. `info` holds what a profile shows: `type`, `macs`,
    `layout_bytes` (bytes moved only to change a layout).
    """

    name = "ascend.task.call"

    kernel = prop_def(SymbolNameConstraint())
    info = prop_def(DictionaryAttr)
    inputs = var_operand_def()
    outputs = var_result_def()

    traits = traits_def(VerifiedByForm())

    assembly_format = "$kernel `(` $inputs `)` $info attr-dict `:` functional-type($inputs, $outputs)"

    def __init__(self, kernel: str, inputs: Sequence[SSAValue], outputs: Sequence[Attribute], info: DictionaryAttr):
        properties = {"kernel": string_attr(kernel), "info": info}
        Operation.__init__(self, operands=inputs, result_types=outputs, properties=properties)


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
        Operation.__init__(self, operands=operands, properties=properties, result_types=[ty])

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


class DeviceTaskOp(Operator):
    """Base of the tasks that read and write buffers; `info` holds `type`, `macs`, `layout_bytes`."""

    label = prop_def(StringAttr)
    info = prop_def(DictionaryAttr)
    inputs = var_operand_def(TensorType)
    outputs = var_operand_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(VerifiedByForm())

    def form(self) -> tuple[object, ...]:
        """Any label is valid."""
        return tuple(value for name, value in self.properties.items() if name != "label")

    def init(
        self, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], properties: Mapping[str, Attribute]
    ) -> None:
        """Builds the operator in one go, cheaper than the general builder."""
        sizes = {"operandSegmentSizes": _segment_sizes(len(inputs), len(outputs))}
        Operation.__init__(self, operands=[*inputs, *outputs], properties={**properties, **sizes})

    def print_buffers(self, printer: Printer) -> None:
        """Prints `(%x, %w) -> (%y)`."""
        with printer.in_parens():
            printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.outputs, printer.print_ssa_value)

    def print_types(self, printer: Printer) -> None:
        """Prints ` {info} : (..) -> (..)`."""
        printer.print_string(" ")
        printer.print_attribute(self.info)
        printer.print_string(" : ")
        with printer.in_parens():
            printer.print_list(self.inputs, lambda v: printer.print_attribute(v.type))
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.outputs, lambda v: printer.print_attribute(v.type))

    @staticmethod
    def parse_buffers(parser: Parser) -> tuple[list[object], list[object]]:
        """Parses what `print_buffers` prints, unresolved."""
        ins = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_punctuation("->")
        outs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        return list(ins), list(outs)

    @staticmethod
    def parse_types(
        parser: Parser, buffers: tuple[list[object], list[object]]
    ) -> tuple[DictionaryAttr, list[SSAValue], list[SSAValue]]:
        """Parses what `print_types` prints and resolves the buffers."""
        info = parser.parse_attribute()
        if not isinstance(info, DictionaryAttr):
            parser.raise_error("expected a dictionary")
        parser.parse_punctuation(":")
        resolved: list[list[SSAValue]] = []
        for i, values in enumerate(buffers):
            if i:
                parser.parse_punctuation("->")
            types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            resolved.append(list(parser.resolve_operands(values, types, parser.pos)))  # pyright: ignore[reportArgumentType]
        return info, resolved[0], resolved[1]


@irdl_op_definition
class LaunchOp(DeviceTaskOp):
    """Runs a kernel on `block_dim` cores: `ascend.task.launch "conv1" @k(%x, %w) -> (%y) blocks(8) {..} : ..`."""

    name = "ascend.task.launch"

    kernel = prop_def(SymbolNameConstraint())
    block_dim = prop_def(IntegerAttr.constr(i32))

    def __init__(
        self,
        label: str,
        kernel: str,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        block_dim: int,
        info: DictionaryAttr,
    ):
        blocks = _blocks(block_dim)
        named = {"label": StringAttr(label), "kernel": string_attr(kernel), "block_dim": blocks, "info": info}
        self.init(inputs, outputs, named)

    def verify_(self) -> None:
        if self.block_dim.value.data < 1:
            raise VerifyException(f"{self.name}: needs at least one block")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.label.data)
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel.data)
        self.print_buffers(printer)
        printer.print_string(f" blocks({self.block_dim.value.data})")
        self.print_types(printer)

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        label = parser.parse_str_literal()
        kernel = parser.parse_symbol_name()
        buffers = cls.parse_buffers(parser)
        parser.parse_keyword("blocks")
        with parser.in_parens():
            block_dim = parser.parse_integer()
        info, ins, outs = cls.parse_types(parser, buffers)
        return cls(label, kernel.data, ins, outs, block_dim, info)


@irdl_op_definition
class AicpuOp(DeviceTaskOp):
    """Runs the reference of a `ge` operator on the device's host cores: `ascend.task.aicpu "n" "ge.lrn"(..) -> (..)`.

    `attributes_of` holds the operator's attributes as a JSON text.
    """

    name = "ascend.task.aicpu"

    operator = prop_def(StringAttr)
    attributes_of = prop_def(StringAttr)

    def __init__(
        self,
        label: str,
        operator: str,
        attributes: str,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        info: DictionaryAttr,
    ):
        self.init(
            inputs,
            outputs,
            {
                "label": StringAttr(label),
                "operator": string_attr(operator),
                "attributes_of": string_attr(attributes),
                "info": info,
            },
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.label.data)
        printer.print_string(" ")
        printer.print_string_literal(self.operator.data)
        self.print_buffers(printer)
        printer.print_string(" ")
        printer.print_string_literal(self.attributes_of.data)
        self.print_types(printer)

    @classmethod
    def parse(cls, parser: Parser) -> AicpuOp:
        label = parser.parse_str_literal()
        operator = parser.parse_str_literal()
        buffers = cls.parse_buffers(parser)
        attributes = parser.parse_str_literal()
        info, ins, outs = cls.parse_types(parser, buffers)
        return cls(label, operator, attributes, ins, outs, info)


@irdl_op_definition
class RecordOp(Operator):
    """Signals an event when everything before it in its stream is done."""

    name = "ascend.task.record"
    event = prop_def(IntegerAttr.constr(i32))
    assembly_format = "$event attr-dict"


@irdl_op_definition
class WaitOp(Operator):
    """Holds its stream until the event was recorded."""

    name = "ascend.task.wait"
    event = prop_def(IntegerAttr.constr(i32))
    assembly_format = "$event attr-dict"


@irdl_op_definition
class CopyTaskOp(Operator):
    """Device copy of a whole buffer, bytes as they are."""

    name = "ascend.task.copy"
    source = operand_def(TensorType)
    target = operand_def(TensorType)
    assembly_format = "$source `to` $target attr-dict `:` type($source) `to` type($target)"

    def __init__(self, source: SSAValue, target: SSAValue):
        super().__init__(operands=[source, target])


TASK_OPS: list[type[Operation]] = [
    CallOp,
    ProgramOp,
    BufferOp,
    StreamOp,
    LaunchOp,
    AicpuOp,
    RecordOp,
    WaitOp,
    CopyTaskOp,
]
