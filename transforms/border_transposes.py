"""Transposes beside a conversion of format become part of it: NHWC is a format like others.

    %1 = ge.transpose %x {perm = [0, 3, 1, 2]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
    %2 = layout.transdata %1 : tensor<1x3x8x8xf32> -> tensor<1x3x8x8xf16, #layout.nc1hwc0<...>>
    // becomes: the transpose is a view, TransData reads NHWC
    %1 = ge.transpose %x {perm = [0, 3, 1, 2]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32, #layout.nhwc>
    %2 = layout.transdata %1 : tensor<1x3x8x8xf32, #layout.nhwc> -> tensor<1x3x8x8xf16, #layout.nc1hwc0<...>>

A cast on the other side of the transpose is done by the conversion too.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import Tensor, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.ge.shape import TransposeOp
from graph_engine.dialects.layout import NC1HWC0, NHWC, TransDataOp, encoding_of, is_plain
from graph_engine.transforms.driver import CountedRewriter, Pattern
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.orientation import TO_NCHW, TO_NHWC
from graph_engine.transforms.stored_values import tensor


class TransposeIntoTransdata(Pattern):
    """transdata(transpose(x)) or transdata(transpose(cast(x))) from NHWC -> transdata of a view of x."""

    name = "transpose-into-transdata"
    root: ClassVar[tuple[type[Operation], ...]] = (TransDataOp,)

    def rewrite(self, op: TransDataOp, rewriter: CountedRewriter) -> bool:
        transpose = op.x.owner
        if not isinstance(transpose, TransposeOp) or transpose.ints("perm") != TO_NCHW or not is_plain(op.x.type):
            return False
        if single_user(op.x) is not op or not isinstance(encoding_of(op.y.type), NC1HWC0):
            return False
        x = transpose.x
        cast = x.owner
        if isinstance(cast, CastOp) and single_user(x) is transpose and _rounds(cast.operands[0], op.y):
            x = cast.operands[0]
        view = TransposeOp(x, perm=TO_NCHW, result_type=_nhwc(tensor(op.x), x))
        rewriter.replace(op, [view, TransDataOp(view.result, tensor(op.y))])
        return True


class TransdataIntoTranspose(Pattern):
    """transpose(transdata(x)) to NHWC -> a view of transdata(x)."""

    name = "transdata-into-transpose"
    root: ClassVar[tuple[type[Operation], ...]] = (TransposeOp,)

    def rewrite(self, op: TransposeOp, rewriter: CountedRewriter) -> bool:
        conversion = op.x.owner
        if not isinstance(conversion, TransDataOp) or op.ints("perm") != TO_NHWC or not is_plain(op.x.type):
            return False
        if single_user(op.x) is not op or not isinstance(encoding_of(conversion.x.type), NC1HWC0):
            return False
        stored = TransDataOp(conversion.x, _nhwc(tensor(op.x), op.x))
        rewriter.replace(op, [stored, TransposeOp(stored.y, perm=TO_NHWC, result_type=op.result.type)])
        return True


class CastIntoTransdata(Pattern):
    """cast(transpose(transdata(x))), where the transpose is a view -> a view of a transdata that casts."""

    name = "cast-into-transdata"
    root: ClassVar[tuple[type[Operation], ...]] = (CastOp,)

    def rewrite(self, op: CastOp, rewriter: CountedRewriter) -> bool:
        view = op.operands[0].owner
        if not isinstance(view, TransposeOp) or not isinstance(encoding_of(view.x.type), NHWC):
            return False
        conversion = view.x.owner
        if (
            not isinstance(conversion, TransDataOp)
            or single_user(view.result) is not op
            or single_user(view.x) is not view
        ):
            return False
        if not _rounds(conversion.x, op.results[0]):
            return False
        stored = TransDataOp(conversion.x, _nhwc(tensor(view.x), op.results[0]))
        rewriter.replace(op, [stored, TransposeOp(stored.y, perm=TO_NHWC, result_type=tensor(op.results[0]))])
        return True


PATTERNS = (TransposeIntoTransdata, TransdataIntoTranspose, CastIntoTransdata)


def _nhwc(shape: Tensor, element: SSAValue) -> Tensor:
    """The tensor stored as NHWC, in the element type of a value."""
    return tensor_type(shape.get_shape(), element_of(element), NHWC.of())


def _rounds(source: SSAValue, target: SSAValue) -> bool:
    """Whether one conversion can go between the element types of two values."""
    names = {element_name(element_of(value)) for value in (source, target)}
    return names <= {"f16", "f32"} and not isinstance(source.owner, ConstantOp)
