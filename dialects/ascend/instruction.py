"""What all instruction operators share: sources, one destination, an opcode, a pipe, one assembly form.

`ascend.vec.add %a, %b to %c : memref<..>, memref<..> to memref<..>`; scalar operators add `imm 2.5`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, MemRefType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.spaces import dtype_of, shape_of, space_of
from graph_engine.dialects.float_text import parse_float
from graph_engine.dialects.operator_class import Operator
from graph_engine.dialects.traits import VerifiedByForm
from graph_engine.target_ascend.isa.model import Opcode, Pipe
from graph_engine.target_ascend.isa.specs import SPECS

_SEGMENTS: dict[Attribute, Attribute] = {}
"""One attribute for all equal ones, where xDSL makes a new one an operator."""


class InstructionOp(Operator):
    """An operator that becomes one instruction of opcode `OPCODE`.

    `dst` is its first operand: the destination, unless its `SPECS` row says that it writes nothing.
    """

    OPCODE: ClassVar[Opcode]

    sources = var_operand_def(MemRefType)
    dst = operand_def(MemRefType)

    traits = traits_def(VerifiedByForm())

    def __init__(self, sources: Sequence[SSAValue], dst: SSAValue, *, immediate: float | None = None):
        self.fill(
            [*sources, dst],
            properties={} if immediate is None else {"immediate": FloatAttr(immediate, f32)},
        )

    @property
    def pipe(self) -> Pipe:
        """The queue that the instruction runs in."""
        raise NotImplementedError

    @property
    def writes_only(self) -> bool:
        """Whether `dst` is overwritten without being read."""
        return self.writes

    @property
    def writes(self) -> bool:
        """Whether `dst` is a destination."""
        return SPECS[self.OPCODE].writes

    def verify_(self) -> None:
        spec = SPECS[self.OPCODE]
        if len(self.sources) != spec.operands - 1:
            raise VerifyException(f"{self.name}: takes {spec.operands - 1} sources, got {len(self.sources)}")
        self.verify_operands()

    def form(self) -> Iterable[object]:
        return [_SEGMENTS.setdefault(v, v) if k == "operandSegmentSizes" else v for k, v in self.properties.items()]

    def verify_operands(self) -> None:
        """Shape, dtype and space rules of the opcode."""

    def same_shapes(self) -> None:
        """Raises unless all operands have one shape."""
        for source in self.sources:
            if shape_of(source) != shape_of(self.dst):
                raise VerifyException(
                    f"{self.name}: source {list(shape_of(source))} and destination {list(shape_of(self.dst))} differ"
                )

    def same_dtypes(self) -> None:
        """Raises unless all operands have one element type."""
        for source in self.sources:
            if dtype_of(source.type) is not dtype_of(self.dst.type):
                raise VerifyException(f"{self.name}: operands of different element types")

    def in_spaces(self, sources: Sequence[object], dst: object) -> None:
        """Raises unless sources and destination are in the named spaces."""
        found = [space_of(s) for s in self.sources]
        if found != list(sources) or space_of(self.dst) is not dst:
            raise VerifyException(f"{self.name}: operands in the wrong memory space")

    def print_head(self, printer: Printer) -> None:
        """Prints sources, `to`, destination."""
        if self.sources:
            printer.print_string(" ")
            printer.print_list(self.sources, printer.print_ssa_value)
        printer.print_string(" to ")
        printer.print_ssa_value(self.dst)

    def print_types(self, printer: Printer) -> None:
        """Prints the types in the same form."""
        printer.print_string(" :")
        if self.sources:
            printer.print_string(" ")
            printer.print_list(self.sources, lambda v: printer.print_attribute(v.type))
        printer.print_string(" to ")
        printer.print_attribute(self.dst.type)

    def print(self, printer: Printer) -> None:
        self.print_head(printer)
        immediate = self.properties.get("immediate")
        if isinstance(immediate, FloatAttr):
            printer.print_string(" imm ")
            printer.print_float(immediate.value.data, f32)
        self.print_types(printer)

    @staticmethod
    def parse_head(parser: Parser) -> tuple[list[object], object]:
        """Parses what `print_head` prints, unresolved."""
        sources: list[object] = []
        while (value := parser.parse_optional_unresolved_operand()) is not None:
            sources.append(value)
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_keyword("to")
        return sources, parser.parse_unresolved_operand()

    @staticmethod
    def parse_types(parser: Parser, head: tuple[list[object], object]) -> tuple[list[SSAValue], SSAValue]:
        """Parses the types and resolves the operands of `head`."""
        sources, dst = head
        parser.parse_punctuation(":")
        types: list[Attribute] = []
        while (ty := parser.parse_optional_type()) is not None:
            types.append(ty)
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_keyword("to")
        dst_type = parser.parse_type()
        resolved = parser.resolve_operands(sources, types, parser.pos)  # pyright: ignore[reportArgumentType]
        return list(resolved), parser.resolve_operand(dst, dst_type)  # pyright: ignore[reportArgumentType]

    @classmethod
    def parse(cls, parser: Parser) -> InstructionOp:
        head = cls.parse_head(parser)
        immediate = parse_float(parser) if parser.parse_optional_keyword("imm") else None
        sources, dst = cls.parse_types(parser, head)
        return cls(sources, dst, immediate=immediate)
