"""Tasks: what the device is told to run, one after another in a stream.

In the phases `kernels` and `grouped` a graph still stands in `func.func` and calls kernels with
`ascend.task.call`. From `scheduled` on the tasks stand in the streams of a program (`program.py`).
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
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.interning import int_attr, ints_attr, string_attr
from graph_engine.dialects.operator_class import Operator
from graph_engine.dialects.traits import VerifiedByForm


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
        self.fill(inputs, result_types=outputs, properties=properties)


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
        self.fill([*inputs, *outputs], properties={**properties, **sizes})

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
    LaunchOp,
    AicpuOp,
    RecordOp,
    WaitOp,
    CopyTaskOp,
]
