"""Data movement: MTE2 (GM -> L1, UB), MTE1 (L1 -> L0A, L0B, UB), MTE3 (UB -> GM, L1).

Cost of a move: latency + bytes / bandwidth of the path (target_ascend/chip/costs.py names the sources).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, Float32Type, FloatAttr, IntegerAttr, MemRefType, UnitAttr, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.affine import INDEX, Expr, expr_of, parse_expr, print_expr, verify_expr
from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.spaces import shape_of, space_of
from graph_engine.dialects.float_text import parse_float
from graph_engine.dialects.ge.interning import ints_attr
from graph_engine.target_ascend.isa.model import MOVE_PIPES, Opcode, Pipe, Space
from graph_engine.target_ascend.isa.specs import SPECS


@irdl_op_definition
class CopyOp(InstructionOp):
    """dst[i...] = src[i...] between two spaces; the innermost contiguous run is one burst."""

    name = "ascend.mte.copy"
    OPCODE: ClassVar[Opcode] = Opcode.COPY

    @property
    def pipe(self) -> Pipe:
        return MOVE_PIPES[space_of(self.sources[0]), space_of(self.dst)]

    def verify_operands(self) -> None:
        self.same_shapes()
        self.same_dtypes()
        path = space_of(self.sources[0]), space_of(self.dst)
        if path not in MOVE_PIPES or path[1] in (Space.L0A, Space.L0B) or path[0] is Space.L0C:
            raise VerifyException(f"{self.name}: no copy path from {path[0].name} to {path[1].name}")


@irdl_op_definition
class Load2dOp(InstructionOp):
    """Whole fractals from L1 to L0A or L0B; `transpose` swaps rows and columns of each square of c0 x c0."""

    name = "ascend.mte.load2d"
    OPCODE: ClassVar[Opcode] = Opcode.LOAD2D
    transpose = opt_prop_def(UnitAttr)

    @property
    def pipe(self) -> Pipe:
        return Pipe.MTE1

    def verify_operands(self) -> None:
        self.same_shapes()
        self.same_dtypes()
        if space_of(self.sources[0]) is not Space.L1 or space_of(self.dst) not in (Space.L0A, Space.L0B):
            raise VerifyException(f"{self.name}: moves from l1 to l0a or l0b")

    def print(self, printer: Printer) -> None:
        self.print_head(printer)
        if self.transpose is not None:
            printer.print_string(" transpose")
        self.print_types(printer)

    @classmethod
    def parse(cls, parser: Parser) -> Load2dOp:
        head = cls.parse_head(parser)
        transpose = parser.parse_optional_keyword("transpose")
        op = cls(*cls.parse_types(parser, head))
        if transpose:
            op.transpose = UnitAttr()
        return op


LOAD3D_STATIC = tuple(p for p in SPECS[Opcode.LOAD3D].params if p not in ("m_start", "k_start"))
"""The parameters of img2col that do not depend on loop counters."""


def takes_channels(src: tuple[int, ...], dst: tuple[int, ...]) -> bool:
    """Whether img2col takes pixels of src (c1, h, w, c) to blocks of dst: whole blocks, or few channels that divide one."""
    return src[3] == dst[3] or (src[0] == 1 and dst[3] % src[3] == 0)


@irdl_op_definition
class Load3dOp(InstructionOp):
    """Img2col from L1 (c1, in_h, in_w, c0), or (1, in_h, in_w, c) of fewer channels, to L0A (m1, k1, 16, c0); see
    `SPECS[LOAD3D]` for the index map.

    Padding holds `immediate` (written `pad`), by default 0.
    """

    name = "ascend.mte.load3d"
    OPCODE: ClassVar[Opcode] = Opcode.LOAD3D

    sources = var_operand_def(MemRefType)
    dst = operand_def(MemRefType)
    m_counters = var_operand_def(INDEX)
    k_counters = var_operand_def(INDEX)
    geometry = prop_def(DenseArrayBase.constr(i64))
    m_coefs = prop_def(DenseArrayBase.constr(i64))
    m_start = prop_def(IntegerAttr.constr(i64))
    k_coefs = prop_def(DenseArrayBase.constr(i64))
    k_start = prop_def(IntegerAttr.constr(i64))
    immediate = opt_prop_def(FloatAttr[Float32Type])
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self, src: SSAValue, dst: SSAValue, geometry: Sequence[int], m_start: Expr, k_start: Expr, padding: float = 0.0
    ):
        super(InstructionOp, self).__init__(
            operands=[[src], dst, m_start.counters, k_start.counters],
            properties={
                "geometry": ints_attr(geometry),
                "m_coefs": m_start.coefs,
                "m_start": m_start.const_attr,
                "k_coefs": k_start.coefs,
                "k_start": k_start.const_attr,
            }
            | ({"immediate": FloatAttr(padding, f32)} if padding else {}),
        )

    @property
    def pipe(self) -> Pipe:
        return Pipe.MTE1

    @property
    def m_expr(self) -> Expr:
        """First output position."""
        return expr_of(self.m_counters, self.m_coefs, self.m_start)

    @property
    def k_expr(self) -> Expr:
        """First column block."""
        return expr_of(self.k_counters, self.k_coefs, self.k_start)

    def verify_operands(self) -> None:
        self.same_dtypes()
        self.in_spaces([Space.L1], Space.L0A)
        if len(self.geometry) != len(LOAD3D_STATIC):
            raise VerifyException(f"{self.name}: needs the {len(LOAD3D_STATIC)} values {', '.join(LOAD3D_STATIC)}")
        src, dst = shape_of(self.sources[0]), shape_of(self.dst)
        if len(src) != 4 or len(dst) != 4 or dst[2] != 16 or not takes_channels(src, dst):
            raise VerifyException(f"{self.name}: moves (c1, h, w, c0) to (m1, k1, 16, c0)")
        values = dict(zip(LOAD3D_STATIC, (int(v) for v in self.geometry.get_values()), strict=True))
        if (values["in_h"], values["in_w"]) != src[1:3]:
            raise VerifyException(f"{self.name}: in_h {values['in_h']}, in_w {values['in_w']} differ from the source")
        for key, value in values.items():
            if value < 1 and not key.startswith("pad"):
                raise VerifyException(f"{self.name}: {key} must be at least 1, got {value}")
        verify_expr(self.name, self.m_counters, self.m_coefs)
        verify_expr(self.name, self.k_counters, self.k_coefs)

    def print(self, printer: Printer) -> None:
        self.print_head(printer)
        printer.print_string(" {")
        values = (int(v) for v in self.geometry.get_values())
        printer.print_string(", ".join(f"{k} = {v}" for k, v in zip(LOAD3D_STATIC, values, strict=True)))
        printer.print_string("} m_start(")
        print_expr(printer, self.m_expr)
        printer.print_string(") k_start(")
        print_expr(printer, self.k_expr)
        printer.print_string(")")
        if self.immediate is not None:
            printer.print_string(" pad ")
            printer.print_float(self.immediate.value.data, f32)
        self.print_types(printer)

    @classmethod
    def parse(cls, parser: Parser) -> Load3dOp:
        head = cls.parse_head(parser)
        geometry: list[int] = []

        def entry() -> None:
            parser.parse_keyword(LOAD3D_STATIC[len(geometry) % len(LOAD3D_STATIC)])
            parser.parse_punctuation("=")
            geometry.append(parser.parse_integer())

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry)
        exprs: list[Expr] = []
        for key in ("m_start", "k_start"):
            parser.parse_keyword(key)
            with parser.in_parens():
                exprs.append(parse_expr(parser))
        padding = parse_float(parser) if parser.parse_optional_keyword("pad") else 0.0
        (src,), dst = cls.parse_types(parser, head)
        return cls(src, dst, geometry, exprs[0], exprs[1], padding)


MTE_OPS: list[type[Operation]] = [CopyOp, Load2dOp, Load3dOp]
