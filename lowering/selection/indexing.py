"""Kernels of operators that take or put elements by index: gathers and scatters, single elements along the last axis."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.indexing import (
    GatherElementsOp,
    GatherNdOp,
    GatherOp,
    ScatterElementsOp,
    ScatterNdOp,
    ScatterOp,
)
from graph_engine.dialects.layout import is_plain
from graph_engine.lowering.kernels.gather import GatherShape, build_gather
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.scatter import build_scatter, build_scatter_combined
from graph_engine.lowering.selection.choice import Choice, dtype_of_tensor, require_static, tensor
from graph_engine.target_ascend.isa.model import DType

TYPES = {
    "ge.gather": "GatherV2",
    "ge.gather_nd": "GatherNd",
    "ge.gather_elements": "GatherElements",
    "ge.scatter_nd": "ScatterNdUpdate",
    "ge.scatter_elements": "ScatterElements",
}
"""Operators that `select_indexing` serves, and the profile's names of them."""
INDEXING_OPERATORS = tuple(TYPES)


def select_indexing(op: Operation) -> Choice:
    """The kernel of a gather or scatter. Raises NoKernel with the reason if there is none."""
    ends = [tensor(v) for v in (*op.operands, *op.results)]
    require_static(*ends)
    if not all(map(is_plain, ends)):
        raise NoKernel(f"{op.name} takes plain tensors")
    x, places = shape_of(op.operands[0]), shape_of(op.operands[1])
    dtype, index_dtype = (dtype_of_tensor(tensor(v)) for v in op.operands[:2])
    combined = isinstance(op, ScatterOp) and op.reduction.data != "none"
    dtype = DType.U16 if dtype is DType.BF16 and not combined else dtype  # their bits
    if index_dtype not in (DType.I32, DType.I64):
        raise NoKernel(f"indices of type {index_dtype.mlir}; the scalar unit reads int32 and int64")
    match op:
        case GatherOp():
            axis = op.axis.value.data % len(x)
            row = prod(x[axis + 1 :])
            shape = GatherShape(
                prod(x[:axis]), prod(places), row, x[axis] * row, (x[axis],), (row,), dtype, index_dtype
            )
        case GatherNdOp():
            batch, named = op.batch_dims.value.data, places[-1]
            inner, row = x[batch : batch + named], prod(x[batch + named :])
            strides = tuple(step * row for step in row_major(inner))
            rows = prod(places[batch:-1])
            shape = GatherShape(
                prod(x[:batch]), rows, row, prod(x[batch:]), inner, strides, dtype, index_dtype, batched=True
            )
        case GatherElementsOp():
            if op.axis.value.data % len(x) != len(x) - 1 or x[:-1] != places[:-1]:
                raise NoKernel("elements are gathered along the last axis, from all of the others")
            shape = GatherShape(prod(x[:-1]), places[-1], 1, x[-1], (x[-1],), (1,), dtype, index_dtype, batched=True)
        case ScatterNdOp() | ScatterElementsOp():
            return _scatter(op, dtype, index_dtype)
        case _:
            raise NoKernel(f"{op.name} gathers nothing")
    return Choice(
        ("gather", shape),
        op.name.removeprefix("ge."),
        TYPES[op.name],
        lambda name, soc: build_gather(name, shape, soc),
        list(op.operands),
    )


def _scatter(op: ScatterOp, dtype: DType, index_dtype: DType) -> Choice:
    """The kernel of a scatter."""
    x, places = shape_of(op.x), shape_of(op.indices)
    if isinstance(op, ScatterElementsOp):
        if op.axis.value.data % len(x) != len(x) - 1 or x[:-1] != places[:-1]:
            raise NoKernel("elements are scattered along the last axis, to all of the others")
        shape = GatherShape(prod(x[:-1]), places[-1], 1, x[-1], (x[-1],), (1,), dtype, index_dtype, batched=True)
    else:
        named, row = x[: places[-1]], prod(x[places[-1] :])
        strides = tuple(step * row for step in row_major(named))
        shape = GatherShape(1, prod(places[:-1]), row, prod(x), named, strides, dtype, index_dtype, batched=True)
    reduction = op.reduction.data
    if reduction != "none" and (shape.batch > 1 or dtype not in (DType.F16, DType.BF16, DType.F32, DType.I32)):
        raise NoKernel(f"updates are combined with what is there by {reduction}: rows of floats and int32 are")
    return Choice(
        ("scatter", shape, reduction),
        op.name.removeprefix("ge."),
        TYPES[op.name],
        lambda name, soc: (
            build_scatter(name, shape, soc)
            if reduction == "none"
            else build_scatter_combined(name, shape, reduction, soc)
        ),
        list(op.operands),
        in_place=(0,),
    )
