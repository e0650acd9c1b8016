"""Buffers and views of them.

A kernel is written over logical buffers. `ascend.alloc` stands in the loop body in which one content of the buffer lives;
allocs that name the same `slot` share storage.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.affine import INDEX, Expr, expr_of, i64_attr, parse_expr, print_expr, verify_expr
from graph_engine.dialects.ascend.spaces import space_of
from graph_engine.dialects.ge.interning import ints_attr, string_attr
from graph_engine.dialects.operator_class import Operator, operands_of
from graph_engine.dialects.traits import VerifiedByForm
from graph_engine.target_ascend.isa.model import Space


@irdl_op_definition
class AllocOp(Operator):
    """On-chip storage for one run of the enclosing body, or, in global memory, what cores of a team exchange in it.

    Allocs of one `slot` share storage, and their contents never live at the same time. `double-buffer` sets
    `versions` and `phase` (added to the running number of the content that picks the version), `plan-onchip-buffers` sets `address` (bytes in the space) and `bytes` (of one version).
    In global memory `address` is the number of the kernel's argument from the start. `turns`, of each loop around, outermost
    first, says by how many versions a run of it moves on, where that is not what runs of this body alone would give.
    """

    name = "ascend.alloc"

    slot = prop_def(StringAttr)
    versions = opt_prop_def(IntegerAttr.constr(i64))
    phase = opt_prop_def(IntegerAttr.constr(i64))
    turns = opt_prop_def(DenseArrayBase.constr(i64))
    address = opt_prop_def(IntegerAttr.constr(i64))
    bytes = opt_prop_def(IntegerAttr.constr(i64))
    memory = result_def(MemRefType)

    traits = traits_def(VerifiedByForm())

    def __init__(self, slot: str, ty: MemRefType):
        self.fill((), properties={"slot": string_attr(slot)}, result_types=[ty])
        if SSAValue.is_valid_name(slot):
            self.memory.name_hint = slot

    @property
    def version_count(self) -> int:
        """How many versions the slot rotates through."""
        return self.versions.value.data if self.versions is not None else 1

    def verify_(self) -> None:
        if space_of(self.memory) is Space.GM and self.address is None:
            raise VerifyException("ascend.alloc: in global memory it is an argument, whose number is the address")
        if self.version_count < 1:
            raise VerifyException(f"ascend.alloc: versions must be at least 1, got {self.version_count}")
        turns = self.turns.get_values() if self.turns is not None else ()
        if not all(0 <= int(turn) < self.version_count for turn in turns):
            raise VerifyException(f"ascend.alloc: turns must be less than {self.version_count} versions, got {turns}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.slot.data)
        for key in ("versions", "phase", "address", "bytes"):
            value = self.properties.get(key)
            if isinstance(value, IntegerAttr):
                printer.print_string(f" {key}({value.value.data})")
        if self.turns is not None:
            printer.print_string(f" turns({', '.join(map(str, self.turns.get_values()))})")
        printer.print_string(" : ")
        printer.print_attribute(self.memory.type)

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        slot = parser.parse_str_literal()
        values: dict[str, Attribute] = {}
        for key in ("versions", "phase", "address", "bytes"):
            if parser.parse_optional_keyword(key):
                with parser.in_parens():
                    values[key] = i64_attr(parser.parse_integer())
        if parser.parse_optional_keyword("turns"):
            turns = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)
            values["turns"] = ints_attr(tuple(turns))
        parser.parse_punctuation(":")
        ty = parser.parse_type()
        if not isinstance(ty, MemRefType):
            parser.raise_error("expected a memref type")
        op = cls(slot, ty)
        op.properties.update(values)
        return op


@irdl_op_definition
class ViewOp(Operator):
    """A strided window of a buffer: `ascend.view %b[%i * 128 + 4] : memref<..> to memref<8x16xf16, strided<..>, ..>`.

    The offset is in elements of the result's element type; sizes and strides are the result type's (stride 0
    repeats an element). The source may have another element type.
    """

    name = "ascend.view"

    source = operand_def(MemRefType)
    counters = var_operand_def(INDEX)
    coefs = prop_def(DenseArrayBase.constr(i64))
    offset = prop_def(IntegerAttr.constr(i64))
    result = result_def(MemRefType)

    traits = traits_def(VerifiedByForm())

    def __init__(self, source: SSAValue, offset: Expr | SSAValue | int, ty: MemRefType):
        expr = Expr.of(offset)
        self.fill(
            [source, *expr.counters],
            properties={"coefs": expr.coefs, "offset": expr.const_attr},
            result_types=[ty],
        )
        self.result.name_hint = source.name_hint

    @property
    def expr(self) -> Expr:
        """The offset in elements."""
        return expr_of(self.counters, self.coefs, self.offset)

    def form(self) -> Iterable[object]:
        of_view = any(isinstance(value.owner, ViewOp) for value in operands_of(self)[:1])
        return *self.properties.values(), of_view

    def verify_(self) -> None:
        if space_of(self.source) is not space_of(self.result):
            raise VerifyException("ascend.view: source and result must be in the same memory space")
        if isinstance(self.source.owner, ViewOp):
            raise VerifyException("ascend.view: a view is taken of a buffer, not of another view")
        verify_expr(self.name, self.counters, self.coefs)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        with printer.in_square_brackets():
            print_expr(printer, self.expr)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> ViewOp:
        source = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            expr = parse_expr(parser)
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        parser.parse_keyword("to")
        ty = parser.parse_type()
        if not isinstance(ty, MemRefType):
            parser.raise_error("expected a memref type")
        return cls(parser.resolve_operand(source, source_type), expr, ty)


def base_of(value: SSAValue) -> SSAValue:
    """The alloc or kernel argument that a view is taken of."""
    owner = value.owner
    return owner.source if isinstance(owner, ViewOp) else value


MEMORY_OPS: list[type[Operation]] = [AllocOp, ViewOp]
