"""Operators that only name bytes that lie in memory already: a whole tensor in another shape or of another type of its width, or a
contiguous part of one.

The dual, a concat whose parts lie one behind the other, is a matter of where the parts are written: `lowering/joins.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation

from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.core import GeOp, Tensor, Trait, shape_of
from graph_engine.dialects.ge.interning import element_bits
from graph_engine.dialects.ge.shape import BitcastOp, SliceOp
from graph_engine.dialects.layout import NC1HWC0, NC1HWC0C04, FractalNZ, encoding_of, is_plain, physical_shape
from graph_engine.lowering.kernels.vector_tiling import BLOCK
from graph_engine.transforms.stored_values import is_transposed_view
from graph_engine.transforms.stored_values import is_view as stored_alike


def is_view(op: Operation) -> bool:
    """Whether `op` makes a view, of the whole operand or of a part."""
    return view_offset(op) is not None


def is_whole_view(op: Operation) -> bool:
    """Whether `op` is a view of its whole operand."""
    if is_transposed_view(op):
        return True
    if isinstance(op, BitcastOp):
        return is_plain(op.x.type) and is_plain(op.result.type)
    if not isinstance(op, GeOp) or not op.has(Trait.VIEW):
        return False
    return stored_alike(cast(Tensor, op.operands[0].type), op.result.type)


def view_offset(op: Operation) -> int | None:
    """Bytes from the start of the operand to the start of the result; None if `op` is no view."""
    if is_whole_view(op):
        return 0
    return _slice_offset(op) if isinstance(op, SliceOp) else None


def _slice_offset(op: SliceOp) -> int | None:
    """Where a slice begins whose elements lie one behind the other, padding included."""
    shape = shape_of(op.x)
    if -1 in shape or 0 in shape_of(op.result) or any(step != 1 for step in op.ints("steps")):
        return None
    cut = [(0, n) for n in shape]
    for axis, start, end in zip(*map(op.ints, ("axes", "starts", "ends")), strict=True):
        taken = range(*slice(start, end).indices(shape[axis % len(shape)]))
        cut[axis % len(shape)] = taken.start, len(taken)
    return part_offset(cast(Tensor, op.x.type), op.result.type, cut)


def part_offset(whole: Tensor, part: Tensor, cut: Sequence[tuple[int, int]]) -> int | None:
    """Bytes from the start of `whole` to a part, (first index, extent) by axis; None if it lies there in pieces.

    The part by itself has the type `part`; it begins at a whole data block, and no block of a format is torn.
    """
    boxes = _stored_box(whole, part, cut)
    if boxes is None:
        return None
    starts, sizes, stored = boxes
    split = next((axis for axis, size in enumerate(sizes) if size > 1), len(sizes))
    if list(sizes[split + 1 :]) != list(stored[split + 1 :]):
        return None
    elements = sum(start * stride for start, stride in zip(starts, row_major(stored), strict=True))
    bits = elements * element_bits(whole.element_type)
    return bits // 8 if bits % (8 * BLOCK) == 0 else None  # a part begins at a data block, as every tensor must


def _stored_box(
    source: Tensor, target: Tensor, cut: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int], tuple[int, ...]] | None:
    """First index and extent of the part along every stored axis, and the stored shape; None where it cuts a block."""
    stored = physical_shape(source)
    if is_plain(source) and is_plain(target):
        return [start for start, _ in cut], [size for _, size in cut], stored
    encoding = encoding_of(source)
    if encoding.map != encoding_of(target).map:
        return None
    shape = source.get_shape()
    if isinstance(encoding, FractalNZ):
        *batch, rows, columns = cut
        if rows != (0, shape[-2]):
            return None
        blocks = _blocks(columns, shape[-1], stored[-1])
        axes = None if blocks is None else [*batch, blocks, *((0, n) for n in stored[-3:])]
    elif isinstance(encoding, NC1HWC0) and len(shape) == 4:
        blocks = _blocks(cut[1], shape[1], stored[-1])
        axes = None if blocks is None else [cut[0], blocks, cut[2], cut[3], (0, stored[-1])]
    elif isinstance(encoding, NC1HWC0C04) and cut[1] == (0, shape[1]):
        axes = [cut[0], (0, stored[1]), cut[2], cut[3], (0, stored[-1])]
    else:
        return None
    if axes is None:
        return None
    return [start for start, _ in axes], [size for _, size in axes], stored


def _blocks(cut: tuple[int, int], extent: int, block: int) -> tuple[int, int] | None:
    """(first, count) of the blocks that a part of an axis fills; None if it leaves a part of one."""
    start, size = cut
    if start % block or (size % block and start + size != extent):
        return None
    return start // block, -(-size // block)
