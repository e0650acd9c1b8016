"""Images at other places: Resize, Upsample, GridSample, AffineGrid, regions of interest, MaxUnpool, Col2Im, blocks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import floordiv, mul
from typing import Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge import sampling as ge
from graph_engine.dialects.ge.core import DYNAMIC, elements_of
from graph_engine.dialects.ge.indexing import ScatterElementsOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.repetition import TileOp
from graph_engine.dialects.ge.shape import PadOp, ReshapeOp, SliceOp, TransposeOp
from graph_engine.frontend_onnx.extents import Extent, combined
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, dtype_of, shape_of, static_dim
from graph_engine.frontend_onnx.runtime_shape import with_shape


def resize(node: Node) -> SSAValue:
    """`ge.resize` by constant scales or sizes; repeating each element a whole number of times is reshape and `ge.tile`."""
    x = node.operand(0)
    rank = len(shape_of(x))
    axes = [axis_of(axis, rank) for axis in node.ints("axes", range(rank))]
    places = (1,) if node.opset < 11 else (2, 3)  # of scales and, since opset 11, sizes
    target = next((i for i in places if node.has(i) and not _is_empty(node, i)), None)
    if target is None:
        raise Unsupported("neither scales nor sizes")
    at_run_time = not node.is_constant(target)
    sizes = node.constant_ints(3, "sizes") if target == 3 and not at_run_time else []
    scales = node.constant(target, "scales").reshape(-1).tolist() if target < 3 and not at_run_time else []
    if node.opset < 11:
        simple: dict[str, Any] = {"coordinates": "asymmetric", "policy": "stretch"}
        simple["nearest"] = "ceil_if_shrunk" if at_run_time or min(scales) < 1 else "floor"
        if at_run_time:
            return _resized_at_run_time(node, x, axes, target, simple)
        return _resized(node, x, axes, sizes, scales, **simple)
    coordinates = node.string("coordinate_transformation_mode", "half_pixel")
    roi: list[float] = []
    if coordinates == "tf_crop_and_resize":
        roi = [float(v) for v in node.constant(1, "roi").reshape(-1).tolist()]
    properties: dict[str, Any] = {
        "roi": roi,
        "coordinates": coordinates,
        "nearest": node.string("nearest_mode", "round_prefer_floor"),
        "policy": node.string("keep_aspect_ratio_policy", "stretch"),
        "cubic_a": node.float("cubic_coeff_a", -0.75),
        "extrapolation": node.float("extrapolation_value", 0.0),
        "exclude_outside": bool(node.int("exclude_outside", 0)),
        "antialias": bool(node.int("antialias", 0)),
    }
    if at_run_time or (sizes and any(shape_of(x)[axis] == DYNAMIC for axis in axes)):
        return _resized_at_run_time(node, x, axes, target, properties)
    return _resized(node, x, axes, sizes, scales, **properties)


def _is_empty(node: Node, index: int) -> bool:
    """Whether an input is there for form's sake: an empty vector."""
    known = node.known(index)
    return known.size == 0 if known is not None else elements_of(node.operand(index)) == 0


def _resized_at_run_time(node: Node, x: SSAValue, axes: list[int], target: int, properties: dict[str, Any]) -> SSAValue:
    """`ge.resize` to sizes or by scales that are computed, or to sizes of which some axis of x is unknown."""
    op = ge.ResizeOp(x, node.operand(target), axes=axes, mode=_mode(node), **properties)
    extents: list[Extent] = list(node.shape(x))
    given = node.extents(target, "sizes") if target == 3 and node.known(target) is not None else [DYNAMIC] * len(axes)
    stretched = properties["policy"] == "stretch"
    for axis, extent in zip(axes, given, strict=True):
        extents[axis] = extent if stretched else DYNAMIC
    return node.emit_shaped(op, extents)


def _mode(node: Node) -> str:
    name = node.string("mode", "nearest")
    return {"bilinear": "linear", "trilinear": "linear"}.get(name, name)


def upsample(node: Node) -> SSAValue:
    """Upsample: a resize that begins at the first element; scales are an attribute before opset 9."""
    x = node.operand(0)
    scales = node.floats("scales") if node.opset < 9 else node.constant(1, "scales").tolist()
    axes = list(range(len(shape_of(x))))
    return _resized(node, x, axes, [], scales, coordinates="asymmetric", nearest="floor")


def _resized(
    node: Node, x: SSAValue, axes: list[int], sizes: list[int], scales: list[float], **properties: Any
) -> SSAValue:
    """A resize of the axes that change; the others are left out where that changes nothing."""
    shape = shape_of(x)
    mode = _mode(node)
    if len(sizes or scales) != len(axes):
        raise Unsupported(f"{len(sizes)} sizes or {len(scales)} scales for {len(axes)} axes")
    if not properties.get("roi") and properties.get("policy", "stretch") == "stretch":
        kept = [i for i, axis in enumerate(axes) if (sizes[i] != shape[axis] if sizes else scales[i] != 1)]
        axes = [axes[i] for i in kept]
        sizes = [sizes[i] for i in kept] if sizes else []
        scales = [scales[i] for i in kept] if scales else []
        if not axes:
            return x
    op = ge.ResizeOp(x, axes=axes, sizes=sizes, scales=scales, mode=mode, **properties)
    if mode == "nearest" and (factors := _repeats(op)) is not None:
        op.erase()
        return _repeated(node, x, axes, factors)
    return node.emit(op)


def _repeats(op: ge.ResizeOp) -> list[int] | None:
    """How often a nearest resize repeats the elements of each axis, if it does just that."""
    import numpy as np

    from graph_engine.dialects.ge.reference import evaluate

    shape, result, axes = shape_of(op.x), shape_of(op.result), op.ints("axes")
    factors: list[int] = []
    for i, axis in enumerate(axes):
        extent, size = shape[axis], result[axis]
        if DYNAMIC in (extent, size) or extent == 0 or size % extent:
            return None
        attributes = op.attribute_values() | {"axes": [0]}
        for name in ("sizes", "scales"):
            attributes[name] = attributes[name][i : i + 1]
        if attributes["roi"] or attributes["policy"] != "stretch":
            return None
        places = evaluate("ge.resize", [np.arange(extent)], attributes)[0]
        if places.tolist() != np.repeat(np.arange(extent), size // extent).tolist():
            return None
        factors.append(size // extent)
    return factors


def _repeated(node: Node, x: SSAValue, axes: Sequence[int], factors: Sequence[int]) -> SSAValue:
    """Every element of `axes` several times in a row: a new axis behind each, repeated, and joined with it."""
    shape = node.shape(x)
    times = dict(zip(axes, factors, strict=True))
    split: list[Extent] = []
    repeats: list[int] = []
    for axis, extent in enumerate(shape):
        split += [extent, 1] if axis in times else [extent]
        repeats += [1, times[axis]] if axis in times else [1]
    tiled = node.emit(TileOp(with_shape(node, x, split), repeats=repeats))
    return with_shape(node, tiled, [combined(mul, extent, times.get(i, 1)) for i, extent in enumerate(shape)])


def grid_sample(node: Node) -> SSAValue:
    """`ge.grid_sample`; before opset 20 modes were called bilinear and bicubic."""
    modes = {"bilinear": "linear", "bicubic": "cubic"}
    mode = node.string("mode", "linear")
    return node.emit(
        ge.GridSampleOp(
            node.operand(0),
            node.operand(1),
            mode=modes.get(mode, mode),
            padding=node.string("padding_mode", "zeros"),
            align_corners=bool(node.int("align_corners", 0)),
        )
    )


def affine_grid(node: Node) -> SSAValue:
    """AffineGrid: the constant grid of the given size times theta transposed."""
    import numpy as np

    theta = node.operand(0)
    size = node.constant_ints(1, "the size")
    extents = size[2:]
    dtype = numpy_dtype(dtype_of(theta))
    axes: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []
    for extent in extents:
        if node.int("align_corners", 0):
            axes.append(np.linspace(-1, 1, extent) if extent > 1 else np.full(1, -1.0))
        else:
            axes.append((np.arange(extent) * 2 + 1) / extent - 1)
    grid = np.meshgrid(*axes, indexing="ij")[::-1]  # x, y(, z): the last axis first
    points = np.stack([*(g.reshape(-1) for g in grid), np.ones(prod(extents))], axis=-1).astype(dtype)
    product = node.emit(MatmulOp(node.keep_constant(points), theta, transpose_b=True))
    return node.emit(ReshapeOp(product, shape=[size[0], *extents, len(extents)]))


def roi_align(node: Node) -> SSAValue:
    """`ge.roi_align`; before opset 16 regions were not moved by half an element."""
    half_pixel = node.opset >= 16 and node.string("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    return node.emit(
        ge.RoiAlignOp(
            node.operand(0),
            node.operand(1),
            node.operand(2),
            output=[node.int("output_height", 1), node.int("output_width", 1)],
            spatial_scale=node.float("spatial_scale", 1.0),
            mode=node.string("mode", "avg"),
            sampling_ratio=node.int("sampling_ratio", 0),
            half_pixel=half_pixel,
        )
    )


def max_roi_pool(node: Node) -> SSAValue:
    """`ge.max_roi_pool`."""
    output, scale = node.ints("pooled_shape"), node.float("spatial_scale", 1.0)
    return node.emit(ge.MaxRoiPoolOp(node.operand(0), node.operand(1), output=output, spatial_scale=scale))


def max_unpool(node: Node) -> SSAValue:
    """MaxUnpool: a scatter into zeros; a larger output shape pads behind.

    Indices count in the shape before that, as in ONNX's own suite; onnxruntime counts them in the output shape.
    """
    import numpy as np

    x, indices = node.operand(0), node.operand(1)
    shape = [static_dim(n, "every extent of MaxUnpool") for n in shape_of(x)]
    kernel = node.ints("kernel_shape")
    rank = len(kernel)
    strides, pads = node.ints("strides", [1] * rank), node.ints("pads", [0] * (2 * rank))
    own = shape[:2] + [(n - 1) * strides[i] - pads[i] - pads[rank + i] + kernel[i] for i, n in enumerate(shape[2:])]
    zeros = node.keep_constant(np.zeros(prod(own), numpy_dtype(dtype_of(x))))
    flat = [node.emit(ReshapeOp(value, shape=[prod(shape)])) for value in (indices, x)]
    y = node.emit(ReshapeOp(node.emit(ScatterElementsOp(zeros, *flat)), shape=own))
    target = node.constant_ints(2, "the output shape") if node.has(2) else own
    if any(wanted < n for wanted, n in zip(target, own, strict=True)):
        y = node.emit(SliceOp(y, starts=[0] * len(own), ends=target, axes=range(len(own))))
    if any(wanted > n for wanted, n in zip(target, own, strict=True)):
        y = node.emit(PadOp(y, pads=[0] * len(own) + [max(w - n, 0) for w, n in zip(target, own, strict=True)]))
    return y


def col2im(node: Node) -> SSAValue:
    """`ge.col2im` of constant image and block shapes."""
    image, block = node.constant_ints(1, "the image shape"), node.constant_ints(2, "the block shape")
    ones = [1] * len(image)
    return node.emit(
        ge.Col2ImOp(
            node.operand(0),
            image=image,
            block=block,
            strides=node.ints("strides", ones),
            dilations=node.ints("dilations", ones),
            pads=node.ints("pads", [0] * (2 * len(image))),
        )
    )


def depth_to_space(node: Node) -> SSAValue:
    """DepthToSpace: reshape, transpose, reshape; CRD keeps the channel in front of the block, DCR behind."""
    x, block = node.operand(0), node.int("blocksize")
    n, c, h, w = _image(node, x)
    depth = c // block**2
    crd = node.string("mode", "DCR") == "CRD"
    wide, perm = ([depth, block, block], [0, 1, 4, 2, 5, 3]) if crd else ([block, block, depth], [0, 3, 4, 1, 5, 2])
    moved = node.emit(TransposeOp(with_shape(node, x, [n, *wide, h, w]), perm=perm))
    height, width = (combined(mul, extent, block) for extent in (h, w))
    if not isinstance(height, int) and not isinstance(width, int):  # one new extent at a time
        moved = with_shape(node, moved, [n, depth, height, w, block])
    return with_shape(node, moved, [n, depth, height, width])


def space_to_depth(node: Node) -> SSAValue:
    """SpaceToDepth: reshape, transpose, reshape; CRD keeps the channel in front of the block, DCR behind."""
    x, block = node.operand(0), node.int("blocksize")
    n, c, h, w = _image(node, x)
    height, width = (combined(floordiv, extent, block) for extent in (h, w))
    perm = [0, 1, 3, 5, 2, 4] if node.string("mode", "DCR") == "CRD" else [0, 3, 5, 1, 2, 4]
    if not isinstance(height, int) and not isinstance(width, int):  # one new extent at a time
        x = with_shape(node, x, [n, c, height, block, w])
    moved = node.emit(TransposeOp(with_shape(node, x, [n, c, height, block, width, block]), perm=perm))
    return with_shape(node, moved, [n, c * block**2, height, width])


def _image(node: Node, x: SSAValue) -> tuple[Extent, int, Extent, Extent]:
    shape = shape_of(x)
    if len(shape) != 4:
        raise Unsupported(f"input has rank {len(shape)}; 2-D images (rank 4) are supported")
    batch, _, height, width = node.shape(x)
    return batch, static_dim(shape[1], "the channels"), height, width


CONVERTERS: dict[str, Converter] = {
    "Resize": resize,
    "Upsample": upsample,
    "GridSample": grid_sample,
    "AffineGrid": affine_grid,
    "RoiAlign": roi_align,
    "MaxRoiPool": max_roi_pool,
    "MaxUnpool": max_unpool,
    "Col2Im": col2im,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
}
