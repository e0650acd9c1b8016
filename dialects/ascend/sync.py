"""Flags and barriers between the pipes of a core.

`set_flag [MTE2 -> MTE1] 0` is queued in MTE2 and signals when everything before it there is done; the matching
`wait_flag` holds MTE1. Event numbers belong to a pair of pipes. Cost: 1 cycle (published cost model, dav-2201).

Between the cores of a team `block_set [FIX] 0` is queued in FIX and raises flag 0 for the others; `block_wait 0` holds the
scalar unit until it is up.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.affine import INDEX, Expr, expr_of, i64_attr, parse_expr, print_expr, verify_expr
from graph_engine.dialects.operator_class import Operator
from graph_engine.dialects.traits import VerifiedByForm
from graph_engine.target_ascend.isa.model import Opcode, Pipe

PIPE_NAMES = {pipe: StringAttr(pipe.name) for pipe in Pipe}


class FlagOp(Operator):
    """Base of set_flag and wait_flag: event = base + (index mod rotate)."""

    OPCODE: ClassVar[Opcode]

    counters = var_operand_def(INDEX)
    src_pipe = prop_def(StringAttr)
    dst_pipe = prop_def(StringAttr)
    event = prop_def(IntegerAttr.constr(i64))
    rotate = opt_prop_def(IntegerAttr.constr(i64))
    coefs = prop_def(DenseArrayBase.constr(i64))
    offset = prop_def(IntegerAttr.constr(i64))

    traits = traits_def(VerifiedByForm())

    def __init__(self, src: Pipe, dst: Pipe, event: int, rotate: int = 1, index: Expr | None = None):
        index = index if index is not None and rotate > 1 else Expr()
        self.fill(
            index.counters,
            properties={
                "src_pipe": PIPE_NAMES[src],
                "dst_pipe": PIPE_NAMES[dst],
                "event": i64_attr(event),
                "coefs": index.coefs,
                "offset": index.const_attr,
            }
            | ({"rotate": i64_attr(rotate)} if rotate > 1 else {}),
        )

    @property
    def index(self) -> Expr:
        """The expression whose value modulo `rotate` is added to the event number."""
        return expr_of(self.counters, self.coefs, self.offset)

    def verify_(self) -> None:
        for pipe in (self.src_pipe.data, self.dst_pipe.data):
            if pipe not in Pipe.__members__ or pipe == "ALL":
                raise VerifyException(f"{self.name}: {pipe} is not a pipe; there are S, V, M, MTE1, MTE2, MTE3, FIX")
        if self.src_pipe == self.dst_pipe:
            raise VerifyException(f"{self.name}: a pipe is in order with itself; use a barrier")
        if self.event.value.data < 0:
            raise VerifyException(f"{self.name}: the event number must be at least 0, got {self.event.value.data}")
        if self.rotate is not None and self.rotate.value.data < 1:
            raise VerifyException(f"{self.name}: rotates through {self.rotate.value.data} events")
        verify_expr(self.name, self.counters, self.coefs)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" [{self.src_pipe.data} -> {self.dst_pipe.data}] {self.event.value.data}")
        if self.rotate is not None:
            printer.print_string(" + (")
            print_expr(printer, self.index)
            printer.print_string(f") mod {self.rotate.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> FlagOp:
        with parser.in_square_brackets():
            src = parser.parse_identifier()
            parser.parse_punctuation("->")
            dst = parser.parse_identifier()
        for pipe in (src, dst):
            if pipe not in Pipe.__members__:
                parser.raise_error(f"{pipe} is not a pipe")
        event, rotate, index = parser.parse_integer(), 1, Expr()
        if parser.parse_optional_punctuation("+"):
            with parser.in_parens():
                index = parse_expr(parser)
            parser.parse_keyword("mod")
            rotate = parser.parse_integer()
        return cls(Pipe[src], Pipe[dst], event, rotate, index)


@irdl_op_definition
class SetFlagOp(FlagOp):
    """Signals when everything before it in the source pipe is done."""

    name = "ascend.sync.set_flag"
    OPCODE: ClassVar[Opcode] = Opcode.SET_FLAG


@irdl_op_definition
class WaitFlagOp(FlagOp):
    """Holds the destination pipe until the flag was set, and clears it."""

    name = "ascend.sync.wait_flag"
    OPCODE: ClassVar[Opcode] = Opcode.WAIT_FLAG


@irdl_op_definition
class BarrierOp(Operator):
    """Holds `pipe` (or all of them) until everything before it there is done."""

    name = "ascend.sync.barrier"

    pipe = prop_def(StringAttr)

    def __init__(self, pipe: Pipe):
        self.fill((), properties={"pipe": PIPE_NAMES[pipe]})

    def verify_(self) -> None:
        if self.pipe.data not in Pipe.__members__:
            raise VerifyException(f"{self.name}: {self.pipe.data} is not a pipe")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.pipe.data}")

    @classmethod
    def parse(cls, parser: Parser) -> BarrierOp:
        name = parser.parse_identifier()
        if name not in Pipe.__members__:
            parser.raise_error(f"{name} is not a pipe")
        return cls(Pipe[name])


@irdl_op_definition
class BlockSetOp(Operator):
    """Raises a cross-core flag when everything before it in the pipe is done."""

    name = "ascend.sync.block_set"

    pipe = prop_def(StringAttr)
    flag = prop_def(IntegerAttr.constr(i64))

    def __init__(self, pipe: Pipe, flag: int):
        self.fill((), properties={"pipe": PIPE_NAMES[pipe], "flag": i64_attr(flag)})

    def verify_(self) -> None:
        if self.pipe.data not in Pipe.__members__ or self.pipe.data == "ALL":
            raise VerifyException(f"{self.name}: {self.pipe.data} is not a pipe")
        if self.flag.value.data < 0:
            raise VerifyException(f"{self.name}: the flag must be at least 0, got {self.flag.value.data}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" [{self.pipe.data}] {self.flag.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> BlockSetOp:
        with parser.in_square_brackets():
            name = parser.parse_identifier()
        if name not in Pipe.__members__:
            parser.raise_error(f"{name} is not a pipe")
        return cls(Pipe[name], parser.parse_integer())


@irdl_op_definition
class BlockWaitOp(Operator):
    """Holds the core until a cross-core flag is up, and takes it down once."""

    name = "ascend.sync.block_wait"

    flag = prop_def(IntegerAttr.constr(i64))

    def __init__(self, flag: int):
        self.fill((), properties={"flag": i64_attr(flag)})

    def verify_(self) -> None:
        if self.flag.value.data < 0:
            raise VerifyException(f"{self.name}: the flag must be at least 0, got {self.flag.value.data}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.flag.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> BlockWaitOp:
        return cls(parser.parse_integer())


SYNC_OPS: list[type[Operation]] = [SetFlagOp, WaitFlagOp, BarrierOp, BlockSetOp, BlockWaitOp]
