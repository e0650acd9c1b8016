"""Pixels of a feature map are rows of a matrix, and lie in memory as such: NC1HWC0 becomes FRACTAL_NZ by a view.

    %1 = layout.transdata %0 : tensor<1x32x64x64xf16, #layout.nc1hwc0<...>> -> tensor<1x32x64x64xf16>
    %2 = ge.reshape %1 {shape = [32, 4096]} : ...
    %3 = ge.transpose %2 {perm = [1, 0]} : ...
    %4 = layout.transdata %3 : tensor<4096x32xf16> -> tensor<4096x32xf16, #layout.fractal_nz<...>>
    // becomes three views, which move nothing
    %2 = ge.reshape %0 {shape = [1, 32, 4096, 1]} : ...
    %3 = ge.transpose %2 {perm = [0, 3, 2, 1]} : ... -> tensor<1x1x4096x32xf16, #layout.fractal_nz<...>>
    %4 = ge.reshape %3 {shape = [4096, 32]} : ...

Where an image has a multiple of 16 pixels, n c1 (h w) c0 are the axes of both. A matrix product that would read the rows as
columns, because a transposition went into it, reads rows again.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar, cast

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, Tensor, shape_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import bool_attr, tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.dialects.layout import NC1HWC0, FractalNZ, TransDataOp, encoding_of, is_plain
from graph_engine.planning.strided_order import Axes, Run, order, order_of, reshaped, row_major_axes, transposed
from graph_engine.transforms.driver import CountedRewriter, Pattern
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.retyping import rebuilt
from graph_engine.transforms.stored_values import FRACTAL_ROWS, PIXELS_TO_ROWS, tensor

Roots = tuple[type[Operation], ...]


class PixelsToRows(Pattern):
    """transdata to FRACTAL_NZ of the flattened pixels of a map in NC1HWC0 -> views."""

    name = "pixels-to-rows"
    root: ClassVar[Roots] = (TransDataOp,)

    def rewrite(self, op: TransDataOp, rewriter: CountedRewriter) -> bool:
        stored = encoding_of(op.y.type)
        first = _conversion_before(op)
        if first is None or not isinstance(stored, FractalNZ) or not isinstance(encoding_of(first.x.type), NC1HWC0):
            return False
        n, c, *extents = shape_of(first.x)
        pixels, target, found = prod(extents), shape_of(op.y), _order_between(first.y, op.x)
        if len(extents) != 2 or pixels % FRACTAL_ROWS or not _alike(first.x, op.y):
            return False
        if target[-2:] == (pixels, c) and found == order([(n, c * pixels), (pixels, 1), (c, pixels)]):
            rewriter.replace(op, _rows_of(first.x, tensor(op.y)))
            return True
        reader = _transposing_product(op)
        if reader is None or target[-2:] != (c, pixels) or found != order([(n * c * pixels, 1)]):
            return False
        made = _rows_of(first.x, tensor_type((*target[:-2], pixels, c), tensor(op.y).element_type, stored))
        rewriter.replace(reader, [*made, _reading_rows(reader, op.y, made[-1].results[0])])
        return True


class RowsToPixels(Pattern):
    """transdata to NC1HWC0 of a map whose pixels are the rows of a matrix in FRACTAL_NZ -> views."""

    name = "rows-to-pixels"
    root: ClassVar[Roots] = (TransDataOp,)

    def rewrite(self, op: TransDataOp, rewriter: CountedRewriter) -> bool:
        stored = encoding_of(op.y.type)
        first = _conversion_before(op)
        if first is None or not isinstance(stored, NC1HWC0) or not isinstance(encoding_of(first.x.type), FractalNZ):
            return False
        n, c, *extents = shape_of(op.y)
        pixels, source = prod(extents), shape_of(first.x)
        if len(extents) != 2 or pixels % FRACTAL_ROWS or source[-2:] != (pixels, c) or not _alike(first.x, op.y):
            return False
        if _order_between(first.y, op.x) != order([(n, c * pixels), (c, 1), (pixels, c)]):
            return False
        element = tensor(op.y).element_type
        rows = ReshapeOp(first.x, shape=(n, 1, pixels, c), result_type=_typed(first.x, (n, 1, pixels, c)))
        turned = TransposeOp(rows, perm=PIXELS_TO_ROWS, result_type=tensor_type((n, c, pixels, 1), element, stored))
        rewriter.replace(op, [rows, turned, ReshapeOp(turned, shape=shape_of(op.y), result_type=tensor(op.y))])
        return True


def _conversion_before(op: TransDataOp) -> TransDataOp | None:
    """The conversion to ND that reshapes and transposes in front of `op` begin with."""
    value = op.x
    while isinstance(value.owner, ReshapeOp | TransposeOp) and is_plain(value.type):
        value = value.owner.x
    known = DYNAMIC not in shape_of(value) and is_plain(value.type)
    return value.owner if isinstance(value.owner, TransDataOp) and known else None


def _order_between(source: SSAValue, value: SSAValue) -> list[Run] | None:
    """The order of the elements of `value` in those of `source`, which reshapes and transposes make it of."""
    axes = _axes(source, value)
    return None if axes is None else order_of(axes)


def _axes(source: SSAValue, value: SSAValue) -> Axes | None:
    if value is source:
        return row_major_axes(shape_of(source))
    op = cast("ReshapeOp | TransposeOp", value.owner)
    axes = _axes(source, op.x)
    if axes is None:
        return None
    return reshaped(axes, shape_of(value)) if isinstance(op, ReshapeOp) else transposed(axes, op.ints("perm"))


def _alike(source: SSAValue, target: SSAValue) -> bool:
    """Whether elements, blocks and the padding lanes of channels are the same in both formats."""
    formats = [encoding_of(value.type) for value in (source, target)]
    assert all(isinstance(format, NC1HWC0 | FractalNZ) for format in formats)
    blocks = {cast("NC1HWC0 | FractalNZ", format).c0.data for format in formats}
    same = tensor(source).element_type == tensor(target).element_type
    return same and len(blocks) == 1 and formats[0].pad_lanes == formats[1].pad_lanes


def _typed(value: SSAValue, shape: tuple[int, ...]) -> Tensor:
    """The type of a value in another shape."""
    return tensor_type(shape, tensor(value).element_type, encoding_of(value.type))


def _rows_of(x: SSAValue, target: Tensor) -> list[Operation]:
    """Views that make the pixels of `x` the rows of `target`."""
    n, c, *extents = shape_of(x)
    pixels = prod(extents)
    flat = ReshapeOp(x, shape=(n, c, pixels, 1), result_type=_typed(x, (n, c, pixels, 1)))
    rows = tensor_type((n, 1, pixels, c), target.element_type, encoding_of(target))
    turned = TransposeOp(flat, perm=PIXELS_TO_ROWS, result_type=rows)
    return [flat, turned, ReshapeOp(turned, shape=target.get_shape(), result_type=target)]


def _transposing_product(op: TransDataOp) -> MatmulOp | FusedOp | None:
    """The one reader of a conversion, if it is a product that transposes it, with other operators behind it or none."""
    reader = single_user(op.y)
    if not isinstance(reader, MatmulOp | FusedOp) or list(reader.operands).count(op.y) != 1:
        return None
    product, value = (reader, op.y) if isinstance(reader, MatmulOp) else (reader.anchor_op, None)
    if value is None:
        value = cast(FusedOp, reader).block.args[list(reader.operands).index(op.y)]
        if single_user(value) is not product:
            return None
    if not isinstance(product, MatmulOp) or not product.transpose_a.value.data:
        return None
    return reader if product.a is value is not product.b else None


def _reading_rows(reader: MatmulOp | FusedOp, old: SSAValue, rows: SSAValue) -> Operation:
    """`reader` on `rows`, which its product no longer transposes."""
    operands = [rows if value is old else value for value in reader.operands]
    copy = rebuilt(reader, operands, lambda inner, _: inner.result_types)
    product = copy.anchor_op if isinstance(copy, FusedOp) else copy
    product.properties["transpose_a"] = bool_attr(False)
    return copy


PATTERNS = (PixelsToRows, RowsToPixels)
