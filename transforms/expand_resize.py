"""Resize by matrices: what a resize does to an axis is linear, so each axis is a product with a constant.

    %y = ge.resize %x {axes = [2, 3], sizes = [56, 56], mode = "linear"} : (tensor<1x21x28x28xf32>) -> tensor<1x21x56x56xf32>
    // becomes, between reshapes,
    %1 = ge.matmul %h, %x : (tensor<56x28xf32>, tensor<21x28x28xf32>) -> tensor<21x56x28xf32>
    %2 = ge.matmul %1, %w : (tensor<1176x28xf32>, tensor<28x56xf32>) -> tensor<1176x56xf32>

The matrix of an axis is the resize itself, of the identity: nearest, linear and cubic neighbours of any coordinates come
out of one rule. A resize that only repeats elements stays: it is a movement.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.reference import evaluate
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.dialects.ge.upsampling import MOST_COPIES, repeats_pixels, repetitions
from graph_engine.transforms.axis_product import LARGEST_MATRIX, multiplied
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass


class ExpandResize(Pattern):
    """resize -> a product an axis, of floats and known extents."""

    name = "expand-resize"
    root: ClassVar[tuple[type[Operation], ...]] = (ResizeOp,)

    def rewrite(self, op: ResizeOp, rewriter: CountedRewriter) -> bool:
        shape, result = shape_of(op.x), shape_of(op.result)
        times = repetitions(op)
        if DYNAMIC in (*shape, *result) or 0 in shape or element_name(element_of(op.x)) not in ("f16", "f32"):
            return False
        if op.target is not None or op.coordinates.data == "tf_crop_and_resize" or op.policy.data != "stretch":
            return False
        if times is not None and (prod(times) <= MOST_COPIES or repeats_pixels(op)):
            return False
        places = {axis % len(shape): place for place, axis in enumerate(op.ints("axes"))}
        changed = [axis for axis in sorted(places) if changes(op, places[axis], shape[axis], result[axis])]
        if not changed or any(shape[axis] * result[axis] > LARGEST_MATRIX for axis in changed):
            return False
        made: list[GeOp] = []
        extents = list(shape)
        x: SSAValue = op.x
        for axis in changed:
            matrix = axis_matrix(op, places[axis], shape[axis], result[axis])
            x = multiplied(made, x, extents, axis, matrix, "resize")
            extents[axis] = result[axis]
        made.append(ReshapeOp(x, shape=result, result_type=op.result.type))
        rewriter.replace(op, made)
        return True


def changes(op: ResizeOp, place: int, extent: int, size: int) -> bool:
    """Whether an axis is touched at all."""
    scale = op.scales.data[place].value.data if op.scales.data else size / extent
    return size != extent or scale != 1.0


def axis_matrix(op: ResizeOp, place: int, extent: int, size: int) -> Any:
    """(size, extent): the resize of the identity along one axis, in fp64."""
    attributes = {**op.attribute_values(), "axes": [0], "roi": []}
    attributes["sizes"] = [size] if attributes["sizes"] else []
    attributes["scales"] = [attributes["scales"][place]] if attributes["scales"] else []
    (matrix,) = evaluate("ge.resize", [np.eye(extent)], attributes)
    return matrix


@dataclass(frozen=True)
class ExpandResizePass(GePass):
    """Applies the pattern above."""

    name = "expand-resize"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandResize()])
