"""Fourier transforms as products with a constant: real and imaginary parts in, real and imaginary parts out.

    %y = ge.dft %x {axis = 1, length = 400, onesided = true} : (tensor<98x400x1xf32>) -> tensor<98x201x2xf32>
    // becomes, between reshapes,
    %y = ge.matmul %x, %waves : (tensor<98x400xf32>, tensor<400x402xf32>) -> tensor<98x402xf32>

The matrix is the transform itself, of the identity: inverse, onesided, cut and filled ones come out of one rule. Another
axis than the one in front of the parts is brought there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.reference import evaluate
from graph_engine.dialects.ge.shape import TransposeOp
from graph_engine.dialects.ge.signal import DftOp
from graph_engine.transforms.axis_product import LARGEST_MATRIX
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made
from graph_engine.transforms.pass_base import ROUNDING, GePass


class ExpandDft(Pattern):
    """dft of floats -> a product, of known extents."""

    name = "expand-dft"
    root: ClassVar[tuple[type[Operation], ...]] = (DftOp,)

    def rewrite(self, op: DftOp, rewriter: CountedRewriter) -> bool:
        shape, result = shape_of(op.x), shape_of(op.result)
        dtype = element_name(element_of(op.x))
        if DYNAMIC in (*shape, *result) or 0 in (*shape, *result) or dtype not in ("f16", "f32"):
            return False
        rank, axis = len(shape), op.axis.value.data % len(shape)
        read, written = (ends[axis] * ends[-1] for ends in (shape, result))
        if read * written > LARGEST_MATRIX or axis == rank - 1:
            return False
        unit = np.eye(read).reshape(read, shape[axis], shape[-1])
        (waves,) = evaluate("ge.dft", [unit], {**op.attribute_values(), "axis": 1})
        made = Made()
        order = [*(a for a in range(rank - 1) if a != axis), axis, rank - 1]
        rows = prod(n for a, n in enumerate(shape[:-1]) if a != axis)
        turned = made.put(TransposeOp(op.x, perm=order)) if axis != rank - 2 else op.x
        matrix = made.numbers(
            waves.reshape(read, written).astype(np.float16 if dtype == "f16" else np.float32), "waves"
        )
        product = made.put(MatmulOp(made.shaped(turned, (rows, read)), matrix))
        y = made.shaped(product, [result[a] for a in order])
        if axis != rank - 2:
            y = made.put(TransposeOp(y, perm=[order.index(a) for a in range(rank)]))
        rewriter.replace(op, made.needed([y]), [y])
        return True


@dataclass(frozen=True)
class ExpandDftPass(GePass):
    """Applies the pattern above."""

    name = "expand-dft"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandDft()])
