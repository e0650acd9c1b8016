"""Resize by matrices: what a resize does to an axis is linear, so each axis is a product with a constant.

    %y = ge.resize %x {axes = [2, 3], sizes = [56, 56], mode = "linear"} : (tensor<1x21x28x28xf32>) -> tensor<1x21x56x56xf32>
    // becomes, between reshapes,
    %1 = ge.matmul %h, %x : (tensor<56x28xf32>, tensor<21x28x28xf32>) -> tensor<21x56x28xf32>
    %2 = ge.matmul %1, %w : (tensor<1176x28xf32>, tensor<28x56xf32>) -> tensor<1176x56xf32>

The matrix of an axis is the resize itself, of the identity: nearest, linear and cubic neighbours of any coordinates come
out of one rule. What lies outside a crop is filled in behind. A resize that only repeats elements stays: it is a movement.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.logic import SelectOp
from graph_engine.dialects.ge.reference.resize_geometry import resized
from graph_engine.dialects.ge.reference.sampling import Rules, resized_axis
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.upsampling import MOST_COPIES, repeats_pixels, repetitions
from graph_engine.transforms.axis_product import LARGEST_MATRIX, multiplied
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made
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
        if op.target is not None or (times is not None and (prod(times) <= MOST_COPIES or repeats_pixels(op))):
            return False
        changed = axis_matrices(op)
        if not changed or any(matrix.size > LARGEST_MATRIX for matrix, _ in changed.values()):
            return False
        made, extents = Made(), list(shape)
        x: SSAValue = op.x
        outside = np.zeros((1,) * len(shape), np.bool_)
        for axis, (matrix, beyond) in changed.items():
            x = multiplied(made.made, x, extents, axis, matrix, "resize")
            extents[axis] = result[axis]
            outside = outside | beyond.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        x = made.shaped(x, result)
        if outside.any():
            fill = made.number(float(op.extrapolation.value.data), x)
            x = made.put(SelectOp(made.numbers(np.broadcast_to(outside, result).copy(), "outside"), fill, x))
        rewriter.replace(op, made.made, [x])
        return True


def axis_matrices(op: ResizeOp) -> dict[int, tuple[Any, Any]]:
    """For each axis that is touched, in order, (size, extent): the resize of the identity, and what lies outside a crop."""
    values = op.attribute_values()
    shape, axes = shape_of(op.x), op.ints("axes")
    extents = [shape[axis] for axis in axes]
    rules = Rules(**{name: values[name] for name in Rules._fields})
    found: dict[int, tuple[Any, Any]] = {}
    for i, (size, scale) in enumerate(
        zip(*resized(extents, values["sizes"], values["scales"], values["policy"]), strict=True)
    ):
        part = (values["roi"][i], values["roi"][i + len(axes)]) if values["roi"] else (0.0, 1.0)
        if rules.coordinates == "tf_crop_and_resize" or size != extents[i] or scale != 1:
            found[axes[i] % len(shape)] = resized_axis(np.eye(extents[i]), 0, size, scale, part, rules)
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class ExpandResizePass(GePass):
    """Applies the pattern above."""

    name = "expand-resize"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandResize()])
