"""How values are stored, and which operators leave every byte where it is."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import prod
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, elements_of, shape_of
from graph_engine.dialects.ge.heads import MergeHeadsOp, SplitHeadsOp
from graph_engine.dialects.ge.interning import shape_of_type
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp, TransposeOp
from graph_engine.dialects.layout import (
    NC1HWC0,
    NC1HWC0C04,
    NDC1HWC0,
    NHWC,
    Encoding,
    FractalNZ,
    FractalZ,
    FractalZ3D,
    FractalZC04,
    FractalZKN,
    encoding_of,
    is_plain,
)

Format: TypeAlias = Encoding | None
"""A storage format; None is ND."""

FRACTAL_ROWS = 16
"""N0, and the rows of a fractal: 16 on every chip."""
FRACTAL_COLUMNS = 16
"""Columns that FRACTAL_NZ keeps together in 16-bit types: whole blocks of them are cut without moving anything."""


class Family(Enum):
    """The formats that operators agree on among each other."""

    NC1HWC0 = "NC1HWC0"
    FRACTAL_NZ = "FRACTAL_NZ"


def format_of(value: SSAValue) -> Format:
    """How a value is stored; None for ND."""
    return None if is_plain(value.type) else encoding_of(value.type)


def tensor(value: SSAValue) -> TensorType[Any]:
    """The type of a value, which in `ge` is always a tensor."""
    return cast("TensorType[Any]", value.type)


def is_scalar(value: SSAValue) -> bool:
    """Whether the value holds one element, which is read as a scalar whatever the format of the others."""
    return elements_of(value) == 1 and DYNAMIC not in shape_of(value)


def is_row(value: SSAValue, like: tuple[int, ...], c0: int) -> bool:
    """Whether a value has one element a column of a matrix, in whole blocks: it is read where it lies."""
    shape = shape_of(value)
    return (
        bool(shape) and shape[-1] == like[-1] == elements_of(value) and len(shape) <= len(like) and like[-1] % c0 == 0
    )


def family_of(formats: Sequence[Format]) -> Family | None:
    """The family that the first encoded operand or result belongs to."""
    for format in formats:
        if isinstance(format, NC1HWC0 | NC1HWC0C04 | NDC1HWC0 | FractalZ3D | FractalZC04):
            return Family.NC1HWC0
        if isinstance(format, FractalNZ | FractalZ | FractalZKN):
            return Family.FRACTAL_NZ
    return None


def is_row_major(stored: TensorType[Any]) -> bool:
    """Whether the stored bytes are those of the plain tensor: ND, or NC1HWC0 of one pixel without padded channels."""
    encoding = encoding_of(stored)
    if is_plain(stored):
        return True
    shape = shape_of_type(stored)
    pixel = len(shape) == 4 and shape[2:] == (1, 1) and shape[1] != DYNAMIC
    return isinstance(encoding, NC1HWC0) and pixel and shape[1] % encoding.c0.data == 0


def is_view(source: TensorType[Any], target: TensorType[Any]) -> bool:
    """Whether a tensor stored as `source` can be read as `target` (same number of elements) as it lies in memory."""
    if source.element_type != target.element_type:
        return False
    if is_row_major(source) and is_row_major(target):
        return True
    if encoding_of(source) != encoding_of(target):
        return False
    if isinstance(encoding_of(source), FractalNZ):
        return shape_of_type(source)[-2:] == shape_of_type(target)[-2:]
    same = isinstance(encoding_of(source), NC1HWC0)
    return same and _pixels(source) is not None and _pixels(source) == _pixels(target)


def _pixels(stored: TensorType[Any]) -> tuple[int, ...] | None:
    """N, C and the number of pixels of a matrix, one, or of a feature map: what else there is NC1HWC0 stores alike."""
    shape = shape_of_type(stored)
    return (*shape[:2], prod(shape[2:])) if len(shape) in (2, 4) and DYNAMIC not in shape[2:] else None


def keeps_matrices(op: object) -> bool:
    """Whether a reshape groups the batch axes of plain matrices otherwise and leaves the matrices as they are."""
    if not isinstance(op, ReshapeOp) or not is_plain(op.x.type) or not is_plain(op.result.type):
        return False
    before, after = shape_of(op.x), shape_of(op.result)
    return DYNAMIC not in (*before, *after) and min(len(before), len(after)) >= 2 and before[-2:] == after[-2:]


def keeps_fractals(op: SplitHeadsOp | MergeHeadsOp | ReshapeOp | SliceOp, c0: int) -> bool:
    """Whether the result is made of the operand's fractals: heads of whole blocks, other batches, a part of the columns."""
    source, target = shape_of(op.x), shape_of(op.result)
    if DYNAMIC in source or DYNAMIC in target:
        return False
    match op:
        case SplitHeadsOp():
            return target[-1] % c0 == 0
        case MergeHeadsOp():
            return source[-1] % c0 == 0
        case ReshapeOp():
            return len(source) > 1 and source[-2:] == target[-2:]
        case SliceOp():
            return _takes_whole_fractals(op, c0)


def _takes_whole_fractals(op: SliceOp, c0: int) -> bool:
    """Whether a slice leaves the rows whole and takes columns in whole blocks."""
    rank = len(shape_of(op.x))
    for axis, start, end, step in zip(*map(op.ints, ("axes", "starts", "ends", "steps")), strict=True):
        extent = shape_of(op.x)[axis % rank]
        taken = range(*slice(start, end, step).indices(extent))
        if step < 1 or not taken:
            return False
        if axis % rank == rank - 1 and (step != 1 or taken.start % c0 or len(taken) % c0):
            return False
        if axis % rank == rank - 2 and len(taken) != extent:
            return False
    return rank > 1


PIXELS_TO_ROWS = (0, 3, 2, 1)
"""From [N, C, pixels, 1] to [N, 1, pixels, C] and back: NC1HWC0 and FRACTAL_NZ of the same bytes for whole fractals."""


def is_transposed_view(op: Operation) -> bool:
    """Whether a transposition leaves every byte in its place: NHWC as a shape and as a format, heads of fractals, pixels
    as rows."""
    if isinstance(op, SplitHeadsOp | MergeHeadsOp):
        encoding = encoding_of(op.x.type)
        same = encoding == encoding_of(op.result.type)
        return isinstance(encoding, FractalNZ) and same and keeps_fractals(op, encoding.c0.data)
    if not isinstance(op, TransposeOp):
        return False
    if op.ints("perm") == PIXELS_TO_ROWS:
        return _turns_pixels(op)
    ends = (op.x.type, op.result.type)
    if op.ints("perm") == (0, 3, 1, 2):
        return is_plain(ends[0]) and isinstance(encoding_of(ends[1]), NHWC)
    return op.ints("perm") == (0, 2, 3, 1) and isinstance(encoding_of(ends[0]), NHWC) and is_plain(ends[1])


def _turns_pixels(op: TransposeOp) -> bool:
    """Whether a transposition of [N, C, pixels, 1] in NC1HWC0 to [N, 1, pixels, C] in FRACTAL_NZ, or back, moves nothing."""
    source, target = encoding_of(op.x.type), encoding_of(op.result.type)
    if not isinstance(source, NC1HWC0 | FractalNZ) or not isinstance(target, NC1HWC0 | FractalNZ):
        return False
    if type(source) is type(target) or source.c0 != target.c0 or source.pad_lanes != target.pad_lanes:
        return False
    _, _, pixels, one = shape_of(op.x if isinstance(source, NC1HWC0) else op.result)
    same = tensor(op.x).element_type == tensor(op.result).element_type
    return one == 1 and pixels % FRACTAL_ROWS == 0 and same
