"""Kernels of ge.arg_max and ge.arg_min: a reduction beside which a counter runs along the reduced axis."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.reduction import ArgMaxOp, ArgReduceOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.dialects.layout import is_plain
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.reduction import ReductionGroup
from graph_engine.lowering.kernels.reduction_passes import build_any_reduction
from graph_engine.lowering.kernels.reduction_steps import StepList, place
from graph_engine.lowering.kernels.streams import Stream
from graph_engine.lowering.kernels.top_k import require_places
from graph_engine.lowering.selection.choice import Choice, ConstantArgument, require_float, require_static, tensor
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.soc.soc import Soc

TYPES = {"ge.arg_max": "ArgMaxV2", "ge.arg_min": "ArgMinD"}
"""Operators that `select_place` serves, and the profile's names of them."""
PLACE_OPERATORS = tuple(TYPES)
MOST_PLACES = 1 << 24
"""Numbers that fp32 counts exactly."""


def select_place(op: Operation) -> Choice:
    """The kernel of an operator that gives the place of an extreme. Raises NoKernel with the reason if there is none."""
    assert isinstance(op, ArgReduceOp)
    ends = tensor(op.x), tensor(op.result)
    require_static(*ends)
    dtype, shape = require_float(op.x), shape_of(op.x)
    axis = op.axis.value.data % max(1, len(shape))
    if not all(map(is_plain, ends)) or not shape or shape[axis] >= MOST_PLACES:
        raise NoKernel(f"{op.name} takes a plain tensor with less than {MOST_PLACES} elements along the axis")
    reduced = tuple(a == axis for a in range(len(shape)))
    kept = tuple(1 if role else n for n, role in zip(shape, reduced, strict=True))
    streams = [
        Stream(shape, dtype, row_major(shape)),
        Stream((shape[axis],), DType.F32, tuple(map(int, reduced))),
    ]
    result_strides = tuple(0 if role else s for s, role in zip(row_major(kept), reduced, strict=True))
    steps = StepList(2, shape[axis], [dtype, DType.F32])
    place(steps, 0, 1, largest=isinstance(op, ArgMaxOp), last=bool(op.select_last.value.data))
    result = Stream(shape_of(op.result) or (1,), DType.I64, result_strides)
    group = ReductionGroup.of(shape, reduced, streams, result, steps.steps)
    counter = constant_attr(np.arange(shape[axis], dtype=np.float32), "counter")
    return Choice(
        ("reduction", group),
        op.name.removeprefix("ge."),
        TYPES[op.name],
        lambda name, soc: _build(name, group, shape[axis], dtype, soc),
        [op.x, ConstantArgument(counter, tensor_type((shape[axis],), "f32"))],
    )


def _build(name: str, group: ReductionGroup, extent: int, dtype: DType, soc: Soc) -> KernelOp:
    require_places(extent, dtype, soc)
    return build_any_reduction(name, group, soc)
