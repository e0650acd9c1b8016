"""Kernels and their loops: what the instructions of a kernel stand in, in program order.

Sources of the names: HIVM of AscendNPU-IR (Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.affine import INDEX
from graph_engine.dialects.ascend.memory import AllocOp
from graph_engine.dialects.ascend.spaces import space_of
from graph_engine.dialects.operator_class import Operator
from graph_engine.target_ascend.isa.model import TEAM, CoreKind, Part, Space

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


KERNEL_OPS: list[type[Operation]] = [KernelOp, BlocksOp, LoopOp]
