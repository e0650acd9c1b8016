"""Columns added up into images, as a product with a constant an axis.

    %y = ge.col2im %x {image = [5, 5], block = [2, 2]} : (tensor<1x8x16xf32>) -> tensor<1x2x5x5xf32>
    // becomes, of x in the order block and place of each axis,
    %1 = ge.matmul %x, %w : (tensor<16x8xf32>, tensor<8x5xf32>) -> tensor<16x5xf32>
    %2 = ge.matmul %h, %1 : (tensor<5x8xf32>, tensor<2x8x5xf32>) -> tensor<2x5x5xf32>

The matrix of an axis is 1 where an element of a block at a place falls on an element of the image.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.sampling import Col2ImOp
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.transforms.axis_product import LARGEST_MATRIX, multiplied
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made
from graph_engine.transforms.pass_base import ROUNDING, GePass


class ExpandColumns(Pattern):
    """col2im -> a transposition, and a product an axis."""

    name = "expand-columns"
    root: ClassVar[tuple[type[Operation], ...]] = (Col2ImOp,)

    def rewrite(self, op: Col2ImOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        if DYNAMIC in shape or 0 in shape or element_name(element_of(op.x)) not in ("f16", "f32"):
            return False
        matrices = [axis_matrix(op, axis) for axis in range(len(op.ints("image")))]
        if any(matrix.size > LARGEST_MATRIX for matrix in matrices):
            return False
        block, rank, made = op.ints("block"), len(matrices), Made()
        counts = [matrix.shape[1] // size for matrix, size in zip(matrices, block, strict=True)]
        images = shape[0] * shape[1] // prod(block)
        apart = made.shaped(op.x, (images, *block, *counts))
        order = [0, *(1 + axis + part * rank for axis in range(rank) for part in range(2))]
        x = made.put(TransposeOp(apart, perm=order))
        extents = [images, *(matrix.shape[1] for matrix in matrices)]
        for axis in range(rank, 0, -1):
            x = multiplied(made.made, x, extents, axis, matrices[axis - 1], "columns")
            extents[axis] = len(matrices[axis - 1])
        made.made.append(ReshapeOp(x, shape=shape_of(op.result), result_type=op.result.type))
        rewriter.replace(op, made.made)
        return True


def axis_matrix(op: Col2ImOp, axis: int) -> Any:
    """(extent, block * places): where the elements of blocks fall along an axis; those in the border nowhere."""
    rank = len(op.ints("image"))
    extent, block, stride, dilation = (op.ints(name)[axis] for name in ("image", "block", "strides", "dilations"))
    before, behind = op.ints("pads")[axis], op.ints("pads")[rank + axis]
    count = (extent + before + behind - dilation * (block - 1) - 1) // stride + 1
    places = np.arange(count)[None, :] * stride + np.arange(block)[:, None] * dilation - before
    return (np.arange(extent)[:, None] == places.reshape(-1)).astype(np.float32)


@dataclass(frozen=True)
class ExpandColumnsPass(GePass):
    """Applies the pattern above."""

    name = "expand-columns"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandColumns()])
