"""Take apart operators of which a kernel does one half.

    %y = ge.conv2d %x, %w, %b : ...        // %b is known when the graph runs
    // becomes
    %0 = ge.conv2d %x, %w : ...
    %y = ge.add %0, %b1 : ...              // %b1 is %b in a shape that broadcasts

    %y = ge.reduce_max %x {axes = [0, 2]} : (tensor<2x3x4x5xf32>) -> tensor<1x3x1x5xf32>
    // becomes, in front of a reshape,
    %0 = ge.transpose %x {perm = [1, 3, 0, 2]}
    %1 = ge.reduce_max %0 {axes = [2, 3], keepdims = false}

Pads of 64-bit integers, which no instruction fills in, are parts of a concat. Integers to a small whole power are products.
Maxima of large windows are those of their rows' maxima.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp, ConvOp
from graph_engine.dialects.ge.core import DYNAMIC, element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MulOp, PowOp
from graph_engine.dialects.ge.interning import element_name, numpy_dtype
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.pooling import MaxPoolOp
from graph_engine.dialects.ge.reduction import ReduceOp
from graph_engine.dialects.ge.shape import PadOp, TransposeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import known

Roots = tuple[type[Operation], ...]
LARGEST_WINDOW = 2048
"""Elements of a window that is pooled at once."""
LARGEST_EXPONENT = 16
"""Whole powers up to this one are products."""


class AddLateBias(Pattern):
    """A convolution or product with a bias that is no constant -> one without, and a sum."""

    name = "add-late-bias"
    root: ClassVar[Roots] = (Conv2dOp, Conv3dOp, MatmulOp)

    def rewrite(self, op: ConvOp | MatmulOp, rewriter: CountedRewriter) -> bool:
        bias = op.b if isinstance(op, ConvOp) else op.bias
        if bias is None or known(bias) is not None or element_of(bias) != element_of(op.result):
            return False
        made = Made()
        operands = [value for value in op.operands if value is not bias]
        if isinstance(op, ConvOp):
            bias = made.shaped(bias, (elements_of(bias), *(1 for _ in shape_of(op.result)[2:])))
        plain = type(op)(*operands, **op.attribute_values(), result_type=op.result.type)
        result = made.put(AddOp(made.put(plain), bias, result_type=op.result.type))
        rewriter.replace(op, made.made, [result])
        return True


class ReduceBehind(Pattern):
    """A reduction of axes between kept ones, more than once -> of the last ones, behind a transposition."""

    name = "reduce-behind"
    root: ClassVar[Roots] = (ReduceOp,)

    def rewrite(self, op: ReduceOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        if DYNAMIC in shape or 0 in shape:
            return False
        reduced = {axis % len(shape) for axis in op.ints("axes")}
        runs = [role for role, _ in groupby(axis in reduced for axis, n in enumerate(shape) if n > 1)]
        if not runs or len(runs) <= 4 - runs[0]:
            return False
        made, kept = Made(), [axis for axis in range(len(shape)) if axis not in reduced]
        turned = made.put(TransposeOp(op.x, perm=[*kept, *sorted(reduced)]))
        last = list(range(len(kept), len(shape)))
        result = made.shaped(made.put(type(op)(turned, axes=last, keepdims=False)), shape_of(op.result))
        rewriter.replace(op, made.made, [result])
        return True


class PadByParts(Pattern):
    """A pad of 64-bit integers -> concats with constants, axis by axis."""

    name = "pad-by-parts"
    root: ClassVar[Roots] = (PadOp,)

    def rewrite(self, op: PadOp, rewriter: CountedRewriter) -> bool:
        shape, pads = shape_of(op.x), op.ints("pads")
        dtype = element_name(element_of(op.x))
        if dtype not in ("i64", "ui64") or DYNAMIC in shape or 0 in shape or min(pads, default=0) < 0:
            return False
        made, extents, value = Made(), list(shape), int(op.value.value.data)
        x: SSAValue = op.x
        for axis in range(len(shape)):
            parts = [x]
            for at, count in ((0, pads[axis]), (2, pads[axis + len(shape)])):
                if count:
                    around = [count if a == axis else n for a, n in enumerate(extents)]
                    parts.insert(at, made.numbers(np.full(around, value, numpy_dtype(dtype)), "pad"))
            x = made.joined(parts, axis)
            extents = list(shape_of(x))
        rewriter.replace(op, made.needed([x]), [x])
        return True


class PowerByProducts(Pattern):
    """pow of integers by one small whole number -> products, by squaring."""

    name = "power-by-products"
    root: ClassVar[Roots] = (PowOp,)

    def rewrite(self, op: PowOp, rewriter: CountedRewriter) -> bool:
        exponent = known(op.rhs)
        if element_name(element_of(op.lhs)) not in ("i32", "i64") or exponent is None or exponent.elements != 1:
            return False
        left = int(exponent.numbers().reshape(()))
        if not 1 <= left <= LARGEST_EXPONENT or shape_of(op.lhs) != shape_of(op.result):
            return False
        made, base, result = Made(), op.lhs, None
        while True:
            if left % 2:
                result = base if result is None else made.put(MulOp(result, base))
            left //= 2
            if not left:
                break
            base = made.put(MulOp(base, base))
        rewriter.replace(op, made.made, [result])
        return True


class PoolByAxes(Pattern):
    """max_pool of a window too large for a core's memory -> along the rows, then along the columns."""

    name = "pool-by-axes"
    root: ClassVar[Roots] = (MaxPoolOp,)

    def rewrite(self, op: MaxPoolOp, rewriter: CountedRewriter) -> bool:
        kernel = op.ints("kernel")
        if len(kernel) != 2 or min(kernel) == 1 or prod(kernel) <= LARGEST_WINDOW:
            return False
        made, x = Made(), op.x
        for axis in range(2):

            def along(name: str, other: int, axis: int = axis) -> list[int]:
                """What the window has of a property along one axis."""
                return [n if i % 2 == axis else other for i, n in enumerate(op.ints(name))]

            window, steps, apart = (along(name, 1) for name in ("kernel", "strides", "dilations"))
            ceil = bool(op.ceil_mode.value.data)
            pool = MaxPoolOp(x, kernel=window, strides=steps, pads=along("pads", 0), dilations=apart, ceil_mode=ceil)
            x = made.put(pool)
        rewriter.replace(op, made.made, [x])
        return True


@dataclass(frozen=True)
class SplitOperators(GePass):
    """Applies the patterns above."""

    name = "split-operators"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [AddLateBias(), ReduceBehind(), PadByParts(), PowerByProducts(), PoolByAxes()])
