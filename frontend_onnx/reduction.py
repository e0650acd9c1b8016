"""Reductions along given axes, places of extreme elements, running sums."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from graph_engine.dialects.ge import reduction as ge
from graph_engine.dialects.ge.elementwise import AbsOp, CastOp, LogOp
from graph_engine.dialects.ge.logic import CompareOp
from graph_engine.frontend_onnx.node import Converter, Node, axis_of, dtype_of, shape_of, static_dim


def reduce(
    op: Callable[..., ge.ReduceOp],
    axes_input_since: int = 18,
    before: Callable[[SSAValue], AbsOp] | None = None,
    after: Callable[[SSAValue], LogOp] | None = None,
) -> Converter:
    """The converter of a reduction whose axes are an attribute at first and an input since the given opset.

    A unary operator may come before or after it; it stays where there is nothing to reduce.
    """

    def convert(node: Node) -> SSAValue:
        x = node.operand(0)
        rank = len(shape_of(x))
        if node.opset >= axes_input_since:
            axes = node.constant_ints(1, "axes") if node.has(1) else []
        else:
            axes = node.ints("axes", [])
        x = x if before is None else node.emit(before(x))
        nothing = not axes and bool(node.int("noop_with_empty_axes", 0))
        if not (nothing and op in _IDENTITIES):
            axes = sorted({axis_of(axis, rank) for axis in (axes if axes or nothing else range(rank))})
            x = node.emit(op(x, axes=axes, keepdims=bool(node.int("keepdims", 1))))
        return x if after is None else node.emit(after(x))

    names = [f"`{o.name}`" for o in (before, op, after) if o is not None]  # pyright: ignore[reportFunctionMemberAccess]
    convert.__doc__ = f"{', '.join(names)}."
    return convert


_IDENTITIES = (ge.ReduceMeanOp, ge.ReduceSumOp, ge.ReduceMaxOp, ge.ReduceMinOp, ge.ReduceProdOp)
"""What one element alone leaves as it is."""


def arg_reduce(op: Callable[..., ge.ArgReduceOp]) -> Converter:
    """The converter of ArgMax or ArgMin."""

    def convert(node: Node) -> SSAValue:
        x = node.operand(0)
        axis = axis_of(node.int("axis", 0), len(shape_of(x)))
        last = bool(node.int("select_last_index", 0))
        return node.emit(op(x, axis=axis, keepdims=bool(node.int("keepdims", 1)), select_last=last))

    convert.__doc__ = f"`{op.name}`."  # pyright: ignore[reportFunctionMemberAccess]
    return convert


def cumulative(op: Callable[..., ge.CumulativeOp]) -> Converter:
    """The converter of CumSum or CumProd along a constant axis."""

    def convert(node: Node) -> SSAValue:
        x = node.operand(0)
        axis = axis_of(node.constant_ints(1, "axis")[0], len(shape_of(x)))
        exclusive, reverse = bool(node.int("exclusive", 0)), bool(node.int("reverse", 0))
        return node.emit(op(x, axis=axis, exclusive=exclusive, reverse=reverse))

    convert.__doc__ = f"`{op.name}`."  # pyright: ignore[reportFunctionMemberAccess]
    return convert


def class_numbers(node: Node, count: int, axis: int, rank: int, dtype: str) -> SSAValue:
    """0, 1, ... along `axis` of a tensor of `rank` axes, the others of extent 1."""
    import numpy as np

    from graph_engine.dialects.ge.interning import numpy_dtype

    numbers = np.arange(count, dtype=numpy_dtype(dtype))
    return node.keep_constant(numbers.reshape([count if i == axis else 1 for i in range(rank)]))


def one_hot_at_maximum(node: Node, x: SSAValue, axis: int) -> SSAValue:
    """1 at the first largest element along `axis`, else 0."""
    shape = shape_of(x)
    place = node.emit(ge.ArgMaxOp(x, axis=axis))
    numbers = class_numbers(node, static_dim(shape[axis], "the extent of the axis"), axis, len(shape), "i64")
    return node.emit(CastOp(node.emit(CompareOp(numbers, place, predicate="eq")), dtype_of(x)))


CONVERTERS: dict[str, Converter] = {
    "ReduceMean": reduce(ge.ReduceMeanOp),
    "ReduceSum": reduce(ge.ReduceSumOp, 13),
    "ReduceMax": reduce(ge.ReduceMaxOp),
    "ReduceMin": reduce(ge.ReduceMinOp),
    "ReduceProd": reduce(ge.ReduceProdOp),
    "ReduceL1": reduce(ge.ReduceSumOp, before=AbsOp),
    "ReduceL2": reduce(ge.ReduceL2Op),
    "ReduceLogSum": reduce(ge.ReduceSumOp, after=LogOp),
    "ReduceLogSumExp": reduce(ge.ReduceLogSumExpOp),
    "ReduceSumSquare": reduce(ge.ReduceSumSquareOp),
    "ArgMax": arg_reduce(ge.ArgMaxOp),
    "ArgMin": arg_reduce(ge.ArgMinOp),
    "CumSum": cumulative(ge.CumSumOp),
    "CumProd": cumulative(ge.CumProdOp),
}
