"""Kernels of operators that order elements: ge.top_k along the last axis."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.selection import TopKOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.dialects.layout import is_plain
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.sort import build_sort, is_sorted_faster, sort_numbers
from graph_engine.lowering.kernels.top_k import build_top_k
from graph_engine.lowering.kernels.top_k_shape import TopKShape
from graph_engine.lowering.selection.choice import Choice, ConstantArgument, require_float, require_static, tensor

TYPES = {"ge.top_k": "TopKD"}
"""Operators that `select_ordering` serves, and the profile's names of them."""
ORDERING_OPERATORS = tuple(TYPES)


def select_ordering(op: Operation) -> Choice:
    """The kernel of a selection of the largest. Raises NoKernel with the reason if there is none."""
    assert isinstance(op, TopKOp)
    if op.count is not None:
        raise NoKernel("how many elements are taken is not known before run time")
    ends = [tensor(v) for v in (op.x, *op.results)]
    require_static(*ends)
    shape = shape_of(op.x)
    if not all(map(is_plain, ends)) or op.axis.value.data % len(shape) != len(shape) - 1:
        raise NoKernel("elements are taken along the last axis of a plain tensor")
    top = TopKShape(prod(shape[:-1]), shape[-1], op.k.value.data, bool(op.largest.value.data), require_float(op.x))
    if is_sorted_faster(top):
        numbers = sort_numbers(top.row)
        table = ConstantArgument(constant_attr(numbers, "sort_numbers"), tensor_type(numbers.shape, "f16"))
        return Choice(
            ("sort", top), "sort", TYPES[op.name], lambda name, soc: build_sort(name, top, soc), [op.x, table]
        )
    counter = constant_attr(np.arange(top.row, dtype=np.float32), "counter")
    return Choice(
        ("top_k", top),
        "top_k",
        TYPES[op.name],
        lambda name, soc: build_top_k(name, top, soc),
        [op.x, ConstantArgument(counter, tensor_type((top.row,), "f32"))],
    )
