"""The Cube engine: matrix multiply-accumulate on fractals, and FixPipe, by which results leave where a chip has it.

Cost: fixed cycles + ceil(m/16) * ceil(n/16) * ceil(k/k0) tile cycles (source: vendor API appendix for dav-2201;
assumed_from dav-2201 on other families).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, FloatAttr, IntegerAttr, MemRefType, StringAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_prop_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.affine import INDEX, i64_attr
from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.spaces import dtype_of, shape_of, space_of
from graph_engine.target_ascend.isa.model import ACTIVATIONS, DType, Opcode, Pipe, Space


class Multiplication(InstructionOp):
    """Base: L0C (n1, m1, 16, 16) = or += L0A (m1, k1, 16, k0) x L0B (k1, n1, 16, k0), fp32 accumulation, K ascending.

    Overwrites the accumulator where all counters of `first_of` are 0 (always, if there are none) and adds to it
    elsewhere; with `accumulate` it always adds. `m`, `k`, `n` are the elements that matter.
    """

    sources = var_operand_def(MemRefType)
    dst = operand_def(MemRefType)
    first_of = var_operand_def(INDEX)
    accumulate = opt_prop_def(UnitAttr)
    m = prop_def(IntegerAttr.constr(i64))
    k = prop_def(IntegerAttr.constr(i64))
    n = prop_def(IntegerAttr.constr(i64))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        sources: Sequence[SSAValue],
        c: SSAValue,
        mkn: Sequence[int],
        *,
        first_of: Sequence[SSAValue] = (),
        accumulate: bool = False,
    ):
        super(InstructionOp, self).__init__(
            operands=[list(sources), c, list(first_of)],
            properties={key: i64_attr(v) for key, v in zip("mkn", mkn, strict=True)}
            | ({"accumulate": UnitAttr()} if accumulate else {}),
        )

    @property
    def pipe(self) -> Pipe:
        return Pipe.M

    @property
    def writes_only(self) -> bool:
        return not self.first_of and self.accumulate is None

    def verify_operands(self) -> None:
        self.in_spaces([Space.L0A, Space.L0B, Space.BT][: len(self.sources)], Space.L0C)
        if self.accumulate is not None and self.first_of:
            raise VerifyException(f"{self.name}: accumulate and first_of exclude each other")
        a, b, c = shape_of(self.sources[0]), shape_of(self.sources[1]), shape_of(self.dst)
        fractals = (a[2:], b[2:], c[2:]) == ((16, a[-1]), (16, a[-1]), (16, 16))
        if len(a) != 4 or len(b) != 4 or len(c) != 4 or (a[0], a[1], b[1]) != (c[1], b[0], c[0]) or not fractals:
            raise VerifyException(
                f"{self.name}: needs (m1,k1,16,k0) x (k1,n1,16,k0) into (n1,m1,16,16), got {a} {b} {c}"
            )
        m, k, n = (int(v.value.data) for v in (self.m, self.k, self.n))
        if not (0 < m <= a[0] * 16 and 0 < n <= b[1] * 16 and 0 < k <= a[1] * a[3]):
            raise VerifyException(f"{self.name}: m {m}, k {k}, n {n} do not fit the operands")

    def print(self, printer: Printer) -> None:
        self.print_head(printer)
        if self.accumulate is not None:
            printer.print_string(" accumulate")
        if self.first_of:
            printer.print_string(" first_of(")
            printer.print_list(self.first_of, printer.print_ssa_value)
            printer.print_string(")")
        printer.print_string(f" {{m = {self.m.value.data}, k = {self.k.value.data}, n = {self.n.value.data}}}")
        self.print_types(printer)

    @classmethod
    def parse(cls, parser: Parser) -> Multiplication:
        head = cls.parse_head(parser)
        accumulate = parser.parse_optional_keyword("accumulate") is not None
        first_of: list[SSAValue] = []
        if parser.parse_optional_keyword("first_of"):
            first_of = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN,
                lambda: parser.resolve_operand(parser.parse_unresolved_operand(), INDEX),
            )
        mkn: list[int] = []

        def entry() -> None:
            parser.parse_keyword("mkn"[len(mkn) % 3])
            parser.parse_punctuation("=")
            mkn.append(parser.parse_integer())

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry)
        if len(mkn) != 3:
            parser.raise_error("expected m, k, n")
        sources, c = cls.parse_types(parser, head)
        return cls(sources, c, mkn, first_of=first_of, accumulate=accumulate)


@irdl_op_definition
class MmadOp(Multiplication):
    """Matrix multiply-accumulate: `ascend.cube.mmad %a, %b to %c {m = .., k = .., n = ..}`."""

    name = "ascend.cube.mmad"
    OPCODE: ClassVar[Opcode] = Opcode.MMAD


@irdl_op_definition
class MmadBiasOp(Multiplication):
    """The same with a bias: an accumulator that is overwritten starts with the rows (n1, 16) of BT."""

    name = "ascend.cube.mmad_bias"
    OPCODE: ClassVar[Opcode] = Opcode.MMAD_BIAS

    def verify_operands(self) -> None:
        super().verify_operands()
        bias = self.sources[2]
        if shape_of(bias) != (shape_of(self.dst)[0], 16) or dtype_of(bias.type) is not dtype_of(self.dst.type):
            raise VerifyException(f"{self.name}: needs a bias (n1, 16) of the accumulator's element type")


class WayOut(InstructionOp):
    """Base: what leaves L0C on FIX, with or without an activation in front of its operands."""

    activation = opt_prop_def(StringAttr)
    ACTIVATIONS: ClassVar[tuple[str, ...]]

    @property
    def pipe(self) -> Pipe:
        return Pipe.FIX

    def verify_operands(self) -> None:
        self.same_shapes()
        if space_of(self.sources[0]) is not Space.L0C or space_of(self.dst) not in (Space.GM, Space.L1, Space.UB):
            raise VerifyException(f"{self.name}: moves from l0c to gm, l1 or ub")
        if self.activation is not None and self.activation.data not in self.ACTIVATIONS:
            known = ", ".join(self.ACTIVATIONS)
            raise VerifyException(f"{self.name}: activation '{self.activation.data}' is none of {known}")

    def print(self, printer: Printer) -> None:
        if self.activation is not None:
            printer.print_string(f" {self.activation.data}")
        super().print(printer)

    @classmethod
    def parse(cls, parser: Parser) -> InstructionOp:
        activation = next((name for name in ACTIVATIONS[1:] if parser.parse_optional_keyword(name)), None)
        op = super().parse(parser)
        if activation is not None and isinstance(op, WayOut):
            op.activation = StringAttr(activation)
        return op


@irdl_op_definition
class FixpipeOp(WayOut):
    """dst = L0C src through an activation, converted: `ascend.cube.fixpipe relu %a to %b imm 1.0`.

    Without one, and behind `relu`, the result is multiplied by the immediate; `leaky_relu` multiplies negative numbers by it,
    `clip` limits to 0 .. immediate.
    """

    name = "ascend.cube.fixpipe"
    OPCODE: ClassVar[Opcode] = Opcode.FIXPIPE
    ACTIVATIONS: ClassVar[tuple[str, ...]] = ACTIVATIONS[1:]
    immediate = prop_def(FloatAttr[Float32Type])


@irdl_op_definition
class RequantiseOp(WayOut):
    """dst (8 bits) = L0C src (i32) scaled by words of FB, one a channel: `ascend.cube.requantise relu %a, %words to %b`.

    A word holds a factor of 19 bits, an offset and the result's sign. The product is rounded to the nearest even integer.
    """

    name = "ascend.cube.requantise"
    OPCODE: ClassVar[Opcode] = Opcode.REQUANTISE
    ACTIVATIONS: ClassVar[tuple[str, ...]] = ("relu",)

    def verify_operands(self) -> None:
        super().verify_operands()
        if space_of(self.sources[1]) is not Space.FB:
            raise VerifyException(f"{self.name}: takes its words from fb")
        types = [dtype_of(value.type) for value in (*self.sources, self.dst)]
        if types[:2] != [DType.I32, DType.U64] or types[2] not in (DType.I8, DType.U8):
            raise VerifyException(f"{self.name}: takes i32 by ui64 to i8 or ui8")


CUBE_OPS: list[type[Operation]] = [MmadOp, MmadBiasOp, FixpipeOp, RequantiseOp]
