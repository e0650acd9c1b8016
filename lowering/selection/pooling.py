"""Selection of pooling kernels: windows, and the means of an average's windows; a reduction of all pixels is one."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32

from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.interning import shape_of_type, tensor_type
from graph_engine.dialects.ge.pooling import AvgPoolOp, GlobalAvgPoolOp, GlobalMaxPoolOp, MaxPool3dOp, MaxPoolOp
from graph_engine.dialects.ge.reduction import ReduceMaxOp, ReduceMeanOp
from graph_engine.dialects.ge.weights import constant_attr, fold_attr
from graph_engine.dialects.layout import NC1HWC0, NDC1HWC0
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.pool_shape import PoolShape
from graph_engine.lowering.kernels.pooling import build_pool
from graph_engine.lowering.kernels.reduction_tail import Tail, stem
from graph_engine.lowering.kernels.window_axis import WindowAxis
from graph_engine.lowering.selection.choice import (
    Choice,
    ConstantArgument,
    Region,
    require_encoding,
    stored_shape,
    tensor,
)

_TYPES = {
    "ge.max_pool": "MaxPoolV3",
    "ge.max_pool3d": "MaxPool3D",
    "ge.avg_pool": "AvgPoolV2",
    "ge.global_avg_pool": "GlobalAveragePool",
    "ge.global_max_pool": "GlobalMaxPool",
    "ge.reduce_mean": "ReduceMeanD",
    "ge.reduce_max": "ReduceMaxD",
}
POOLING_OPERATORS: tuple[str, ...] = tuple(_TYPES)


_MAXIMA = (MaxPoolOp, MaxPool3dOp, GlobalMaxPoolOp, ReduceMaxOp)
_MEANS = (AvgPoolOp, GlobalAvgPoolOp, ReduceMeanOp)


def select_pooling(region: Region, tail: Tail) -> Choice:
    """The kernel of a pooling operator. Raises NoKernel with the reason if there is none."""
    op = region.anchor
    if not isinstance(op, _MAXIMA + _MEANS):
        raise NoKernel(f"{op.name} is no pooling")
    volumes = isinstance(op, MaxPool3dOp)
    if len(shape_of_type(tensor(op.x))) != 4 and not volumes:
        raise NoKernel(f"{op.name} of a tensor that is no feature map")
    for value in (op.x, op.result, *region.yielded):
        require_encoding(tensor(value), NDC1HWC0 if volumes else NC1HWC0)
    source = region.outside(op.x)
    if source is None:
        raise NoKernel(f"the operand of {op.name} is computed inside the region")
    *images, h, w, lanes = stored_shape(op.x)
    *_, ho, wo, _ = stored_shape(op.result)
    planes = prod(images)
    if volumes:
        planes, rows, columns = _volume_axes(op)
    else:
        rows, columns = _axes(op, (h, w), (ho, wo))
    inputs: list[object] = [source]
    mean: float | None = None
    if isinstance(op, _MEANS):
        counts = _counts(op, rows, columns)
        flat = {r * c for r in counts[0] for c in counts[1]}
        mean = 1 / flat.pop() if len(flat) == 1 else 0.0
        if not mean:
            inputs.append(_table(counts))
    shape = PoolShape(planes, rows, columns, lanes, mean, tail)
    return Choice(
        ("pool", shape),
        stem(op.name.removeprefix("ge."), [step.op for step in tail.steps]),
        _TYPES[op.name],
        lambda name, soc: build_pool(name, shape, soc),
        inputs,  # pyright: ignore[reportArgumentType]
    )


def _axes(op: GeOp, inputs: tuple[int, int], outputs: tuple[int, int]) -> tuple[WindowAxis, WindowAxis]:
    """The window along rows and columns."""
    values = op.attribute_values()
    kernel = values.get("kernel", inputs)
    strides, dilations, pads = (
        values.get("strides", (1, 1)),
        values.get("dilations", (1, 1)),
        values.get("pads", (0, 0)),
    )
    rows, columns = (WindowAxis(inputs[i], outputs[i], kernel[i], strides[i], dilations[i], pads[i]) for i in range(2))
    return rows, columns


def _volume_axes(op: MaxPool3dOp) -> tuple[int, WindowAxis, WindowAxis]:
    """Planes and windows: of the slices, whose channels are planes; or across them, where a slice is a row."""
    (n, depth, c1, h, w, _), (_, outputs, _, ho, wo, _) = stored_shape(op.x), stored_shape(op.result)
    deep, *plane = zip(*(op.ints(key)[:3] for key in ("kernel", "strides", "dilations", "pads")), strict=True)
    if deep[:2] == (1, 1) and depth == outputs:
        rows, columns = (WindowAxis(i, o, *axis) for i, o, axis in zip((h, w), (ho, wo), plane, strict=True))
        return n * depth * c1, rows, columns
    if any(axis[:2] != (1, 1) for axis in plane) or (h, w) != (ho, wo):
        raise NoKernel("windows in depth and in the planes at once")
    return n, WindowAxis(depth, outputs, *deep), WindowAxis(c1 * h * w, c1 * h * w, 1)


def _counts(op: GeOp, rows: WindowAxis, columns: WindowAxis) -> tuple[list[int], list[int]]:
    """Elements that a window divides by are the product of these, one number an output row and column."""
    values = op.attribute_values()
    if not values.get("count_include_pad", False):
        return rows.counts(), columns.counts()
    top, left, bottom, right = values["pads"]
    return rows.counts(top, bottom), columns.counts(left, right)


def _table(counts: tuple[list[int], list[int]]) -> ConstantArgument:
    """1 / (row count * column count) of every output position, in fp32: a recipe over two short vectors."""
    import numpy as np

    rows, columns = (np.array(c, np.float32) for c in counts)
    ty = tensor_type((rows.size, columns.size), f32)
    factors = [constant_attr(rows[:, None], "row_counts"), constant_attr(columns[None], "column_counts")]
    return ConstantArgument(fold_attr("ge.reciprocal", [fold_attr("ge.mul", factors, {}, ty)], {}, ty), ty)
