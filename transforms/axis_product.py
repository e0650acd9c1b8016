"""A constant matrix on one axis of a tensor, as a product of the Cube: what resizes and running sums are."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.dialects.ge.weights import constant_attr

LARGEST_MATRIX = 1 << 22
"""Elements of the matrix of an axis; beyond, its zeros cost more than what it does."""


def multiplied(made: list[GeOp], x: SSAValue, extents: Sequence[int], axis: int, matrix: Any, name: str) -> SSAValue:
    """The product of `matrix` (new extent, extent) with an axis of x, whose shape is `extents`; its operators go to `made`.

    From the right on the last axis, from the left on any other, behind a batch of what is in front: the result has
    2 or 3 axes.
    """

    def put(new: GeOp) -> SSAValue:
        made.append(new)
        return new.result

    lead, rest = prod(extents[:axis]), prod(extents[axis + 1 :])
    last = rest == 1
    numbers = np.ascontiguousarray(matrix.T if last else matrix)
    numbers = numbers.astype(np.float16 if element_name(element_of(x)) == "f16" else np.float32)
    constant = put(ConstantOp(constant_attr(numbers, name), result_type=None))
    if last:
        return put(MatmulOp(put(ReshapeOp(x, shape=(lead, extents[axis]))), constant))
    form = (extents[axis], rest) if lead == 1 else (lead, extents[axis], rest)
    return put(MatmulOp(constant, put(ReshapeOp(x, shape=form))))
