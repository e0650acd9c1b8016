"""The scalar unit: registers that hold indices out of UB, for addresses that depend on data.

S issues all instructions in program order, so that what stands behind `load` may use its register in an address.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.affine import INDEX, i64_attr
from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.spaces import dtype_of, shape_of, space_of
from graph_engine.target_ascend.isa.model import DType, Opcode, Pipe, Space


@irdl_op_definition
class LoadOp(InstructionOp):
    """A register takes an index of an axis of `extent`: `%r = ascend.scalar.load %i extent(1000) : memref<1xi32, ..>`.

    A negative index counts from the end. The result may stand in the offset of a view like a loop counter.
    """

    name = "ascend.scalar.load"
    OPCODE: ClassVar[Opcode] = Opcode.LOAD_SCALAR

    sources = var_operand_def(MemRefType)
    dst = operand_def(MemRefType)
    extent = prop_def(IntegerAttr.constr(i64))
    register = result_def(INDEX)

    def __init__(self, src: SSAValue, extent: int):
        super(InstructionOp, self).__init__(
            operands=[[], src], properties={"extent": i64_attr(extent)}, result_types=[INDEX]
        )

    @property
    def pipe(self) -> Pipe:
        return Pipe.S

    def verify_operands(self) -> None:
        if (
            space_of(self.dst) is not Space.UB
            or dtype_of(self.dst.type) is not DType.I32
            or set(shape_of(self.dst)) - {1}
        ):
            raise VerifyException(f"{self.name}: loads one i32 of ub")
        if self.extent.value.data < 1:
            raise VerifyException(f"{self.name}: extent must be at least 1, got {self.extent.value.data}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.dst)
        printer.print_string(f" extent({self.extent.value.data}) : ")
        printer.print_attribute(self.dst.type)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("extent")
        with parser.in_parens():
            extent = parser.parse_integer()
        parser.parse_punctuation(":")
        return cls(parser.resolve_operand(source, parser.parse_type()), extent)


SCALAR_OPS: list[type[Operation]] = [LoadOp]
