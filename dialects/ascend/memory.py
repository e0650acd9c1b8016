"""Memory spaces, kernels and views: what the instructions of a kernel stand in.

A kernel is written in program order over logical buffers. `ascend.alloc` stands in the loop body in which one
content of the buffer lives; allocs that name the same `slot` share storage. Sources of the names: HIVM of
AscendNPU-IR (Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolNameConstraint,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.affine import INDEX, Expr, expr_of, i64_attr, parse_expr, print_expr, verify_expr
from graph_engine.dialects.ge.interning import ints_attr, string_attr
from graph_engine.dialects.operator_class import Operator, operands_of
from graph_engine.dialects.traits import VerifiedByForm
from graph_engine.target_ascend.isa.model import TEAM, CoreKind, DType, Part, Space


class SpaceAttr(ParametrizedAttribute):
    """Base of the memory-space attributes."""

    SPACE: ClassVar[Space]


@irdl_attr_definition
class GmAttr(SpaceAttr):
    """Global memory."""

    name = "ascend.gm"
    SPACE: ClassVar[Space] = Space.GM


@irdl_attr_definition
class L1Attr(SpaceAttr):
    """The L1 buffer, which feeds L0A and L0B."""

    name = "ascend.l1"
    SPACE: ClassVar[Space] = Space.L1


@irdl_attr_definition
class L0aAttr(SpaceAttr):
    """The Cube's left operand."""

    name = "ascend.l0a"
    SPACE: ClassVar[Space] = Space.L0A


@irdl_attr_definition
class L0bAttr(SpaceAttr):
    """The Cube's right operand."""

    name = "ascend.l0b"
    SPACE: ClassVar[Space] = Space.L0B


@irdl_attr_definition
class L0cAttr(SpaceAttr):
    """The Cube's accumulator."""

    name = "ascend.l0c"
    SPACE: ClassVar[Space] = Space.L0C


@irdl_attr_definition
class UbAttr(SpaceAttr):
    """The unified buffer of the Vector engine."""

    name = "ascend.ub"
    SPACE: ClassVar[Space] = Space.UB


@irdl_attr_definition
class BtAttr(SpaceAttr):
    """The bias table (families with FixPipe)."""

    name = "ascend.bt"
    SPACE: ClassVar[Space] = Space.BT


@irdl_attr_definition
class FbAttr(SpaceAttr):
    """The FixPipe buffer (families with FixPipe)."""

    name = "ascend.fb"
    SPACE: ClassVar[Space] = Space.FB


SPACE_ATTRS: dict[Space, SpaceAttr] = {
    cls.SPACE: cls() for cls in (GmAttr, L1Attr, L0aAttr, L0bAttr, L0cAttr, UbAttr, BtAttr, FbAttr)
}


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous array, in elements."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def space_of(value: SSAValue | Attribute) -> Space:
    """Memory space of a memref value or type. Raises VerifyException where it is not one of ours."""
    ty = value.type if isinstance(value, SSAValue) else value
    if not isinstance(ty, MemRefType) or not isinstance(ty.memory_space, SpaceAttr):
        raise VerifyException(f"expected a memref in an ascend memory space, got {ty}")
    return ty.memory_space.SPACE


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Shape of a memref value."""
    assert isinstance(value.type, MemRefType)
    return value.type.get_shape()


def strides_of(ty: Attribute) -> tuple[int, ...]:
    """Strides of a memref type in elements (row-major where the type names none)."""
    assert isinstance(ty, MemRefType)
    if isinstance(ty.layout, StridedLayoutAttr):
        return tuple(s.data for s in ty.layout.strides if not isinstance(s, NoneAttr))
    return row_major(ty.get_shape())


def dtype_of(ty: Attribute) -> DType:
    """Element type of a memref type. Raises VerifyException for one that no instruction takes."""
    assert isinstance(ty, MemRefType)
    try:
        return DType.from_mlir(str(ty.element_type))
    except KeyError:
        raise VerifyException(f"element type {ty.element_type} is unknown to the instruction set") from None


CORE = "core"
"""Attribute of a kernel for a chip whose Cube and Vector have cores of their own."""
_CORES = {CoreKind.CUBE_CORE: "cube", CoreKind.VECTOR_CORE: "vector", CoreKind.MIXED: "mixed"}
PART_NAMES = {part: part.name.lower() for part in TEAM}
"""Of the cores of a team."""


@irdl_op_definition
class KernelOp(Operator):
    """A kernel: global-memory arguments, `block_dim` blocks, a body of `ascend.blocks`.

    `arg_access[i]` says whether argument i is read ("r"), written ("w") or both ("rw"). In a mixed kernel each core of a
    team has `ascend.blocks` of its own, and what they exchange lies in the last arguments, which are both.
    """

    name = "ascend.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    block_dim = prop_def(IntegerAttr.constr(i32))
    arg_access = prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(self, name: str, args: Sequence[Attribute], access: Sequence[str], block_dim: int):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": FunctionType.from_lists(args, []),
                "block_dim": IntegerAttr(block_dim, 32),
                "arg_access": ArrayAttr([StringAttr(a) for a in access]),
            },
            regions=[Region(Block(arg_types=args))],
        )

    def verify_(self) -> None:
        block = self.body.block
        if tuple(block.arg_types) != tuple(self.function_type.inputs):
            raise VerifyException("ascend.kernel: argument types differ from the function type")
        if len(self.arg_access) != len(block.args):
            raise VerifyException("ascend.kernel: needs one access per argument")
        for access in self.arg_access:
            if access.data not in ("r", "w", "rw"):
                raise VerifyException(f"ascend.kernel: access must be r, w or rw, got {access.data}")
        for arg in block.args:
            if space_of(arg) is not Space.GM:
                raise VerifyException("ascend.kernel: arguments live in gm")
        self._verify_slots()
        if CORE in self.attributes and self.core is CoreKind.AI_CORE:
            raise VerifyException(f"ascend.kernel: {CORE} must be {' or '.join(_CORES.values())}")
        parts = TEAM if self.core is CoreKind.MIXED else (Part.WHOLE,)
        covered = dict.fromkeys(parts, 0)
        for op in block.ops:
            if not isinstance(op, BlocksOp):
                raise VerifyException(f"ascend.kernel: only ascend.blocks may stand at the top, got {op.name}")
            if op.part not in covered:
                raise VerifyException(
                    f"ascend.kernel: blocks of a mixed kernel name a part, others none, got {op.part.name}"
                )
            if op.lo.value.data != covered[op.part]:
                raise VerifyException("ascend.kernel: ascend.blocks must cover the blocks in order without a gap")
            covered[op.part] = op.hi.value.data
        for end in covered.values():
            if end != self.block_dim.value.data:
                raise VerifyException(
                    f"ascend.kernel: blocks 0..{end} covered, block_dim is {self.block_dim.value.data}"
                )

    def add_argument(self, name: str, ty: MemRefType, access: str) -> int:
        """One more argument, behind the others; gives its number."""
        block = self.body.block
        argument = block.insert_arg(ty, len(block.args))
        argument.name_hint = name
        self.function_type = FunctionType.from_lists(block.arg_types, [])
        self.arg_access = ArrayAttr([*self.arg_access, StringAttr(access)])
        return argument.index

    @property
    def exchanged(self) -> tuple[MemRefType, ...]:
        """The last arguments: what the cores of a team exchange."""
        count = sum(access.data == "rw" for access in self.arg_access) if self.core is CoreKind.MIXED else 0
        types = list(self.function_type.inputs)[len(self.arg_access) - count :]
        return tuple(ty for ty in types if isinstance(ty, MemRefType))

    @property
    def core(self) -> CoreKind:
        """The kind of core that the kernel is for."""
        name = self.attributes.get(CORE)
        return next((kind for kind, text in _CORES.items() if name == StringAttr(text)), CoreKind.AI_CORE)

    def set_core(self, kind: CoreKind) -> None:
        """Says what core the kernel is for; nothing where one core has everything."""
        if kind in _CORES:
            self.attributes[CORE] = StringAttr(_CORES[kind])

    def _verify_slots(self) -> None:
        slots: dict[str, AllocOp] = {}
        for op in self.walk():
            if not isinstance(op, AllocOp):
                continue
            other = slots.setdefault(op.slot.data, op)
            if other.memory.type.memory_space != op.memory.type.memory_space:
                raise VerifyException(f"ascend.kernel: the allocs of slot {op.slot.data} are in different spaces")
            if op.turns is not None and len(op.turns) != (loops := _loops_around(op)):
                raise VerifyException(f"ascend.alloc: {len(op.turns)} turns in {loops} loops")
            if other.version_count != op.version_count:
                counts = f"{other.version_count} and {op.version_count}"
                raise VerifyException(f"ascend.kernel: the allocs of slot {op.slot.data} have {counts} versions")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            for i, (arg, access) in enumerate(zip(self.body.block.args, self.arg_access, strict=True)):
                if i:
                    printer.print_string(", ")
                printer.print_block_argument(arg)
                printer.print_string(f" {access.data}")
        printer.print_string(f" blocks({self.block_dim.value.data})")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        access: list[str] = []

        def argument() -> Parser.Argument:
            arg = parser.parse_argument()
            access.append(parser.parse_identifier())
            return arg

        args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        parser.parse_keyword("blocks")
        with parser.in_parens():
            block_dim = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(name.data, [a.type for a in args], access, block_dim)
        op.regions[0].detach_block(0)
        region = parser.parse_region(args)
        region.move_blocks(op.body)
        if attributes:
            op.attributes = dict(attributes.data)
        return op


@irdl_op_definition
class BlocksOp(Operator):
    """The body of the launch's blocks lo <= %blk < hi: `ascend.blocks %blk = 0 to 7 { ... }`.

    In a mixed kernel that of one core of their teams: `ascend.blocks cube %blk = 0 to 7 { ... }`.
    """

    name = "ascend.blocks"

    lo = prop_def(IntegerAttr.constr(i32))
    hi = prop_def(IntegerAttr.constr(i32))
    part_name = opt_prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, lo: int, hi: int, part: Part = Part.WHOLE):
        super().__init__(
            properties={"lo": IntegerAttr(lo, 32), "hi": IntegerAttr(hi, 32)}
            | ({"part_name": StringAttr(PART_NAMES[part])} if part in PART_NAMES else {}),
            regions=[Region(Block(arg_types=[INDEX]))],
        )

    @property
    def part(self) -> Part:
        """Who of a team runs it."""
        return Part[self.part_name.data.upper()] if self.part_name is not None else Part.WHOLE

    def verify_(self) -> None:
        if self.part_name is not None and self.part_name.data not in PART_NAMES.values():
            raise VerifyException(
                f"ascend.blocks: a part is {', '.join(PART_NAMES.values())}, not {self.part_name.data}"
            )
        if not 0 <= self.lo.value.data < self.hi.value.data:
            raise VerifyException("ascend.blocks: needs 0 <= lo < hi")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.part_name.data} " if self.part_name is not None else " ")
        printer.print_ssa_value(self.body.block.args[0])
        printer.print_string(f" = {self.lo.value.data} to {self.hi.value.data} ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> BlocksOp:
        part = next((part for part, name in PART_NAMES.items() if parser.parse_optional_keyword(name)), Part.WHOLE)
        counter = parser.parse_argument(expect_type=False).resolve(INDEX)
        parser.parse_punctuation("=")
        lo = parser.parse_integer()
        parser.parse_keyword("to")
        hi = parser.parse_integer()
        op = cls(lo, hi, part)
        op.regions[0].detach_block(0)
        parser.parse_region([counter]).move_blocks(op.body)
        return op


@irdl_op_definition
class LoopOp(Operator):
    """A counted loop: `ascend.loop %i = 0 to 12 { ... }`, counter from 0 in steps of 1, static trip count."""

    name = "ascend.loop"

    trip = prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, trip: int):
        super().__init__(
            properties={"trip": IntegerAttr(trip, 64)},
            regions=[Region(Block(arg_types=[INDEX]))],
        )

    def verify_(self) -> None:
        if self.trip.value.data < 1:
            raise VerifyException("ascend.loop: the trip count must be at least 1")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.body.block.args[0])
        printer.print_string(f" = 0 to {self.trip.value.data} ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> LoopOp:
        counter = parser.parse_argument(expect_type=False).resolve(INDEX)
        parser.parse_punctuation("=")
        if parser.parse_integer() != 0:
            parser.raise_error("a loop counts from 0")
        parser.parse_keyword("to")
        op = cls(parser.parse_integer())
        op.regions[0].detach_block(0)
        parser.parse_region([counter]).move_blocks(op.body)
        return op


def _loops_around(op: Operation) -> int:
    parent, count = op.parent_op(), 0
    while isinstance(parent, LoopOp):
        parent, count = parent.parent_op(), count + 1
    return count


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
        super().__init__(properties={"slot": string_attr(slot)}, result_types=[ty])
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
        super().__init__(
            operands=[source, expr.counters],
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


MEMORY_OPS: list[type[Operation]] = [KernelOp, BlocksOp, LoopOp, AllocOp, ViewOp]
MEMORY_ATTRS: list[type[Attribute]] = [GmAttr, L1Attr, L0aAttr, L0bAttr, L0cAttr, UbAttr, BtAttr, FbAttr]
