"""Window and global pools.

A pool over three axes is one over the last two and one over the first: maxima of maxima are maxima, and the elements
that a mean counts are a product of one number an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.elementwise import AbsOp, MulOp, PowOp, SqrtOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.pooling import (
    AvgPoolOp,
    GlobalAvgPoolOp,
    GlobalMaxPoolOp,
    MaxPool3dOp,
    MaxPoolIndicesOp,
    MaxPoolOp,
    pool_extent,
)
from graph_engine.dialects.ge.reduction import ReduceSumOp
from graph_engine.frontend_onnx.convolve import depthwise_sum
from graph_engine.frontend_onnx.node import (
    Converter,
    Node,
    Results,
    Unsupported,
    dtype_of,
    joined,
    shape_of,
    static_dim,
)
from graph_engine.frontend_onnx.windows import (
    Window,
    reshape,
    spatial_extents,
    window_of,
    with_unit_axis,
    without_unit_axis,
)


def _in_planes(node: Node, x: SSAValue, window: Window, pool: Callable[[SSAValue, Window], SSAValue]) -> SSAValue:
    """Pools x over one to three axes by a `pool` over two."""
    match len(window.kernel):
        case 1:
            row = Window((1, *window.kernel), (1, *window.strides), (1, *window.dilations), (0, *window.begins), (0, *window.ends))  # fmt: skip
            return without_unit_axis(node, pool(with_unit_axis(node, x), row))
        case 2:
            return pool(x, window)
        case 3:
            batch, channels, depth, *plane = shape_of(x)
            images = reshape(node, x, (batch, joined((channels, depth)), *plane))
            images = pool(images, window.axes(slice(1, 3)))
            plane = shape_of(images)[2:]
            columns = reshape(node, images, (batch, channels, depth, joined(plane)))
            first = window.axes(slice(0, 1))
            across = Window((*first.kernel, 1), (*first.strides, 1), (*first.dilations, 1), (*first.begins, 0), (*first.ends, 0))  # fmt: skip
            y = pool(columns, across)
            return reshape(node, y, (batch, channels, shape_of(y)[2], *plane))
        case rank:
            raise Unsupported(f"{rank} spatial axes; one to three are supported")


def max_pool(node: Node) -> Results:
    """1-D to 3-D by planes; with Indices an operator of its own."""
    x, window = node.operand(0), window_of(node, node.ints("kernel_shape"))
    ceil_mode = bool(node.int("ceil_mode", 0))
    if node.result_used(1):
        if shape_of(x).count(-1):
            raise Unsupported("its output Indices is used with unknown extents; give input shapes")
        return node.emit_all(
            MaxPoolIndicesOp(
                x,
                kernel=window.kernel,
                strides=window.strides,
                pads=window.pads,
                dilations=window.dilations,
                ceil_mode=ceil_mode,
                column_major=bool(node.int("storage_order", 0)),
            )
        )

    def pool(image: SSAValue, plane: Window) -> SSAValue:
        return node.emit(
            MaxPoolOp(
                image,
                kernel=plane.kernel,
                strides=plane.strides,
                pads=plane.pads,
                dilations=plane.dilations,
                ceil_mode=ceil_mode,
            )
        )

    floats = numpy_dtype(dtype_of(x)).name in ("float16", "float32")
    if len(window.kernel) == 3 and floats and -1 not in shape_of(x):
        return _in_volumes(node, x, window, ceil_mode=ceil_mode)
    return _in_planes(node, x, window, pool)


def _in_volumes(node: Node, x: SSAValue, window: Window, *, ceil_mode: bool) -> SSAValue:
    """The largest of each slice's windows, then of neighbouring slices."""
    for own in ((1, 2), (0,)):

        def only(values: Sequence[int], other: int, own: tuple[int, ...] = own) -> list[int]:
            return [value if axis in own else other for axis, value in enumerate(values)]

        kernel, strides = only(window.kernel, 1), only(window.strides, 1)
        pads = [*only(window.begins, 0), *only(window.ends, 0)]
        if (set(kernel), set(strides), set(pads)) != ({1}, {1}, {0}):
            dilations = only(window.dilations, 1)
            x = node.emit(
                MaxPool3dOp(x, kernel=kernel, strides=strides, pads=pads, dilations=dilations, ceil_mode=ceil_mode)
            )
    return x


def average_pool(node: Node) -> SSAValue:
    """1-D to 3-D by planes; dilated as a depthwise sum and a product with 1 / count."""
    return average_pool_of(node, node.operand(0))


def average_pool_of(node: Node, x: SSAValue) -> SSAValue:
    """The average pool that a node states, of x."""
    window = window_of(node, node.ints("kernel_shape"), shape_of(x)[2:])
    ceil_mode, include_pad = bool(node.int("ceil_mode", 0)), bool(node.int("count_include_pad", 0))
    if any(d != 1 for d in window.dilations):
        return _dilated_average(node, x, window, ceil_mode, include_pad)

    def pool(image: SSAValue, plane: Window) -> SSAValue:
        return node.emit(
            AvgPoolOp(
                image,
                kernel=plane.kernel,
                strides=plane.strides,
                pads=plane.pads,
                ceil_mode=ceil_mode,
                count_include_pad=include_pad,
            )
        )

    return _in_planes(node, x, window, pool)


def _counts(window: Window, extents: Sequence[int], ceil_mode: bool) -> list[int]:
    """How many windows there are along every axis."""
    return [
        pool_extent(extents[i], k, window.strides[i], window.begins[i], window.ends[i], window.dilations[i], ceil_mode)
        for i, k in enumerate(window.kernel)
    ]


def _window_sum(node: Node, x: SSAValue, window: Window, ceil_mode: bool) -> SSAValue:
    """The sum of every window; zeros stand outside x."""
    ends = list(window.ends)
    if ceil_mode:
        extents = [static_dim(e, "a spatial extent under ceil_mode") for e in shape_of(x)[2:]]
        for i, count in enumerate(_counts(window, extents, ceil_mode)):
            reach = (count - 1) * window.strides[i] + window.dilations[i] * (window.kernel[i] - 1) + 1
            ends[i] = max(0, reach - extents[i] - window.begins[i])
    return depthwise_sum(node, x, window.kernel, window.strides, [*window.begins, *ends], window.dilations)


def _dilated_average(node: Node, x: SSAValue, window: Window, ceil_mode: bool, include_pad: bool) -> SSAValue:
    import numpy as np

    extents = [static_dim(e, "a spatial extent of a dilated average") for e in shape_of(x)[2:]]
    total = _window_sum(node, x, window, ceil_mode)
    counted = np.ones(())
    for i, count in enumerate(_counts(window, extents, ceil_mode)):
        low, high = (-window.begins[i], extents[i] + window.ends[i]) if include_pad else (0, extents[i])
        first = np.arange(count) * window.strides[i] - window.begins[i]
        places = first[:, None] + np.arange(window.kernel[i]) * window.dilations[i]
        counted = counted[..., None] * ((places >= low) & (places < high)).sum(1)
    share = (1 / counted).astype(numpy_dtype(dtype_of(x)))
    return node.emit(MulOp(total, node.keep_constant(share[None, None], f"{node.name}.shares")))


def lp_pool(node: Node) -> SSAValue:
    """The p-th root of the depthwise sum of |x|^p."""
    window = window_of(node, node.ints("kernel_shape"))
    return _p_norm(node, lambda powers: _window_sum(node, powers, window, bool(node.int("ceil_mode", 0))))


def global_lp_pool(node: Node) -> SSAValue:
    """The p-th root of the sum of |x|^p over all positions."""
    rank = len(spatial_extents(node)) + 2
    return _p_norm(node, lambda powers: node.emit(ReduceSumOp(powers, axes=range(2, rank))))


def _p_norm(node: Node, total: Callable[[SSAValue], SSAValue]) -> SSAValue:
    import numpy as np

    x, p = node.operand(0), node.int("p", 2)
    if p == 2:
        return node.emit(SqrtOp(total(node.emit(MulOp(x, x)))))
    size = node.emit(AbsOp(x))
    if p == 1:
        return total(size)
    dtype = numpy_dtype(dtype_of(x))
    powers = node.emit(PowOp(size, node.keep_constant(np.array(p, dtype), f"{node.name}.p")))
    return node.emit(PowOp(total(powers), node.keep_constant(np.array(1 / p, dtype), f"{node.name}.root")))


def global_average_pool(node: Node) -> SSAValue:
    """The mean over all positions."""
    return node.emit(GlobalAvgPoolOp(node.operand(0)))


def global_max_pool(node: Node) -> SSAValue:
    """The maximum over all positions."""
    return node.emit(GlobalMaxPoolOp(node.operand(0)))


CONVERTERS: dict[str, Converter] = {
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "LpPool": lp_pool,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": global_max_pool,
    "GlobalLpPool": global_lp_pool,
}
