"""The Vector engine: elementwise, conversion, transposition and row reductions on UB.

Cost: fixed + cycles per repeat of 256 bytes, per mnemonic (source: published A2/A3 cost model, assumed_from
dav-2201 on other families; target_ascend/chip/costs.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, FloatAttr, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.spaces import dtype_of, shape_of, space_of
from graph_engine.target_ascend.isa.model import PREDICATES, DType, Opcode, Pipe, Space


class VectorOp(InstructionOp):
    """Base: one shape, one element type, all in UB."""

    @property
    def pipe(self) -> Pipe:
        return Pipe.V

    def in_ub(self) -> None:
        """Raises unless every operand is in UB."""
        self.in_spaces([Space.UB] * len(self.sources), Space.UB)

    def verify_operands(self) -> None:
        self.in_ub()
        self.same_shapes()
        self.same_dtypes()


class ScalarVectorOp(VectorOp):
    """Base of the operators with an immediate."""

    immediate = prop_def(FloatAttr[Float32Type])


class ReduceVectorOp(VectorOp):
    """Base of the reductions of the innermost axis: dst (..., 1) from src (..., n)."""

    def verify_operands(self) -> None:
        self.in_ub()
        self.same_dtypes()
        src, dst = shape_of(self.sources[0]), shape_of(self.dst)
        if dst != (*src[:-1], 1):
            raise VerifyException(f"{self.name}: reduces (..., n) to (..., 1), got {src} to {dst}")


class ConversionOp(VectorOp):
    """Base of the conversions between element types."""

    def verify_operands(self) -> None:
        self.same_shapes()
        if space_of(self.sources[0]) not in (Space.UB, Space.L0C) or space_of(self.dst) is not Space.UB:
            raise VerifyException(f"{self.name}: moves from ub or l0c to ub")


@irdl_op_definition
class ConvOp(ConversionOp):
    """dst = src converted to the destination's element type, to nearest even; the source may be L0C."""

    name = "ascend.vec.conv"
    OPCODE: ClassVar[Opcode] = Opcode.VCONV


@irdl_op_definition
class ConvFOp(ConversionOp):
    """dst = integer, src rounded down."""

    name = "ascend.vec.convf"
    OPCODE: ClassVar[Opcode] = Opcode.VCONVF


@irdl_op_definition
class ConvCOp(ConversionOp):
    """dst = integer, src rounded up."""

    name = "ascend.vec.convc"
    OPCODE: ClassVar[Opcode] = Opcode.VCONVC


@irdl_op_definition
class ConvZOp(ConversionOp):
    """dst = integer, src rounded towards zero."""

    name = "ascend.vec.convz"
    OPCODE: ClassVar[Opcode] = Opcode.VCONVZ


@irdl_op_definition
class SelOp(VectorOp):
    """dst = a where the mask holds, else b: `ascend.vec.sel %mask, %a, %b to %c`; the bits are kept."""

    name = "ascend.vec.sel"
    OPCODE: ClassVar[Opcode] = Opcode.VSEL

    def verify_operands(self) -> None:
        self.in_ub()
        self.same_shapes()
        mask, *choices = (dtype_of(v.type) for v in self.sources)
        if mask is not DType.BOOL or set(choices) != {dtype_of(self.dst.type)}:
            raise VerifyException(f"{self.name}: takes an i1 mask and two sources of the destination's element type")


@irdl_op_definition
class GatherOp(VectorOp):
    """dst = the elements of src that the i32 indices name, in row-major order: `ascend.vec.gather %x, %i to %y`."""

    name = "ascend.vec.gather"
    OPCODE: ClassVar[Opcode] = Opcode.VGATHER

    def verify_operands(self) -> None:
        self.in_ub()
        table, indices = (dtype_of(v.type) for v in self.sources)
        if indices is not DType.I32 or table is not dtype_of(self.dst.type):
            raise VerifyException(f"{self.name}: takes a table of the destination's element type and i32 indices")
        if shape_of(self.sources[1]) != shape_of(self.dst):
            raise VerifyException(f"{self.name}: needs one index an element of the destination")


@irdl_op_definition
class CmpOp(VectorOp):
    """dst (i1) = a predicate b: `ascend.vec.cmp lt %a, %b to %m`. In hardware a mask has a bit an element, here a byte."""

    name = "ascend.vec.cmp"
    OPCODE: ClassVar[Opcode] = Opcode.VCMP

    predicate = prop_def(StringAttr)

    def __init__(self, sources: Sequence[SSAValue], dst: SSAValue, predicate: str):
        super(InstructionOp, self).__init__(
            operands=[list(sources), dst], properties={"predicate": StringAttr(predicate)}
        )

    def verify_operands(self) -> None:
        self.in_ub()
        self.same_shapes()
        a, b = (dtype_of(v.type) for v in self.sources)
        if a is not b or dtype_of(self.dst.type) is not DType.BOOL:
            raise VerifyException(f"{self.name}: compares two operands of one element type to i1")
        if self.predicate.data not in PREDICATES:
            raise VerifyException(f"{self.name}: predicate must be one of {', '.join(PREDICATES)}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.predicate.data}")
        self.print_head(printer)
        self.print_types(printer)

    @classmethod
    def parse(cls, parser: Parser) -> CmpOp:
        predicate = parser.parse_identifier()
        return cls(*cls.parse_types(parser, cls.parse_head(parser)), predicate)


@irdl_op_definition
class DupOp(ScalarVectorOp):
    """dst = immediate."""

    name = "ascend.vec.dup"
    OPCODE: ClassVar[Opcode] = Opcode.VDUP


@irdl_op_definition
class TransposeOp(VectorOp):
    """dst (..., b, a) = src (..., a, b) in blocks of 16 x 16 (vnchwconv)."""

    name = "ascend.vec.transpose"
    OPCODE: ClassVar[Opcode] = Opcode.VTRANS

    def verify_operands(self) -> None:
        self.in_ub()
        self.same_dtypes()
        src, dst = shape_of(self.sources[0]), shape_of(self.dst)
        if len(src) < 2 or dst != (*src[:-2], src[-1], src[-2]) or src[-1] % 16 or src[-2] % 16:
            raise VerifyException(
                f"{self.name}: needs (..., a, b) to (..., b, a) with multiples of 16, got {src} to {dst}"
            )


@irdl_op_definition
class AddOp(VectorOp):
    """dst = a + b."""

    name = "ascend.vec.add"
    OPCODE: ClassVar[Opcode] = Opcode.VADD


@irdl_op_definition
class SubOp(VectorOp):
    """dst = a - b."""

    name = "ascend.vec.sub"
    OPCODE: ClassVar[Opcode] = Opcode.VSUB


@irdl_op_definition
class MulOp(VectorOp):
    """dst = a * b."""

    name = "ascend.vec.mul"
    OPCODE: ClassVar[Opcode] = Opcode.VMUL


@irdl_op_definition
class DivOp(VectorOp):
    """dst = a / b."""

    name = "ascend.vec.div"
    OPCODE: ClassVar[Opcode] = Opcode.VDIV


@irdl_op_definition
class MaxOp(VectorOp):
    """dst = maximum of a and b."""

    name = "ascend.vec.max"
    OPCODE: ClassVar[Opcode] = Opcode.VMAX


@irdl_op_definition
class MinOp(VectorOp):
    """dst = minimum of a and b."""

    name = "ascend.vec.min"
    OPCODE: ClassVar[Opcode] = Opcode.VMIN


@irdl_op_definition
class AndOp(VectorOp):
    """dst = the bits that a and b share."""

    name = "ascend.vec.and"
    OPCODE: ClassVar[Opcode] = Opcode.VAND


@irdl_op_definition
class OrOp(VectorOp):
    """dst = the bits that a or b has."""

    name = "ascend.vec.or"
    OPCODE: ClassVar[Opcode] = Opcode.VOR


@irdl_op_definition
class AddsOp(ScalarVectorOp):
    """dst = src + immediate."""

    name = "ascend.vec.adds"
    OPCODE: ClassVar[Opcode] = Opcode.VADDS


@irdl_op_definition
class MulsOp(ScalarVectorOp):
    """dst = src * immediate."""

    name = "ascend.vec.muls"
    OPCODE: ClassVar[Opcode] = Opcode.VMULS


@irdl_op_definition
class MaxsOp(ScalarVectorOp):
    """dst = maximum of src and immediate."""

    name = "ascend.vec.maxs"
    OPCODE: ClassVar[Opcode] = Opcode.VMAXS


@irdl_op_definition
class MinsOp(ScalarVectorOp):
    """dst = minimum of src and immediate."""

    name = "ascend.vec.mins"
    OPCODE: ClassVar[Opcode] = Opcode.VMINS


@irdl_op_definition
class LreluOp(ScalarVectorOp):
    """dst = src where src >= 0, else immediate * src."""

    name = "ascend.vec.lrelu"
    OPCODE: ClassVar[Opcode] = Opcode.VLRELU


@irdl_op_definition
class ReluOp(VectorOp):
    """dst = maximum of src and 0."""

    name = "ascend.vec.relu"
    OPCODE: ClassVar[Opcode] = Opcode.VRELU


@irdl_op_definition
class ExpOp(VectorOp):
    """dst = e to the src."""

    name = "ascend.vec.exp"
    OPCODE: ClassVar[Opcode] = Opcode.VEXP


@irdl_op_definition
class LnOp(VectorOp):
    """dst = natural logarithm of src."""

    name = "ascend.vec.ln"
    OPCODE: ClassVar[Opcode] = Opcode.VLN


@irdl_op_definition
class SqrtOp(VectorOp):
    """dst = square root of src."""

    name = "ascend.vec.sqrt"
    OPCODE: ClassVar[Opcode] = Opcode.VSQRT


@irdl_op_definition
class RsqrtOp(VectorOp):
    """dst = 1 / square root of src."""

    name = "ascend.vec.rsqrt"
    OPCODE: ClassVar[Opcode] = Opcode.VRSQRT


@irdl_op_definition
class RecOp(VectorOp):
    """dst = 1 / src."""

    name = "ascend.vec.rec"
    OPCODE: ClassVar[Opcode] = Opcode.VREC


@irdl_op_definition
class AbsOp(VectorOp):
    """dst = magnitude of src."""

    name = "ascend.vec.abs"
    OPCODE: ClassVar[Opcode] = Opcode.VABS


@irdl_op_definition
class CaddOp(ReduceVectorOp):
    """dst (..., 1) = sum of the innermost axis, accumulated in fp32."""

    name = "ascend.vec.cadd"
    OPCODE: ClassVar[Opcode] = Opcode.VCADD


@irdl_op_definition
class CmaxOp(ReduceVectorOp):
    """dst (..., 1) = maximum of the innermost axis."""

    name = "ascend.vec.cmax"
    OPCODE: ClassVar[Opcode] = Opcode.VCMAX


@irdl_op_definition
class CminOp(ReduceVectorOp):
    """dst (..., 1) = minimum of the innermost axis."""

    name = "ascend.vec.cmin"
    OPCODE: ClassVar[Opcode] = Opcode.VCMIN


VECTOR_OPS: list[type[Operation]] = [
    ConvOp,
    ConvFOp,
    ConvCOp,
    ConvZOp,
    SelOp,
    GatherOp,
    CmpOp,
    DupOp,
    TransposeOp,
    AddOp,
    SubOp,
    MulOp,
    DivOp,
    MaxOp,
    MinOp,
    AndOp,
    OrOp,
    AddsOp,
    MulsOp,
    MaxsOp,
    MinsOp,
    LreluOp,
    ReluOp,
    ExpOp,
    LnOp,
    SqrtOp,
    RsqrtOp,
    RecOp,
    AbsOp,
    CaddOp,
    CmaxOp,
    CminOp,
]
