"""Images sampled at other places: resizing, grids, regions of interest, columns put back into images.

Coordinates are computed in fp64 (those of a nearest resize in fp32, as elsewhere), samples combined in fp32 (fp64 for
f64), results rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    GeOp,
    Tensor,
    dims_agree,
    shape_of,
    shape_text,
    shapes_agree,
    typed,
)
from graph_engine.dialects.ge.interning import bool_attr, float_attr, int_attr, ints_attr, string_attr
from graph_engine.dialects.ge.properties import (
    bool_prop,
    float_prop,
    floats_attr,
    floats_prop,
    int_prop,
    ints_prop,
    string_prop,
)
from graph_engine.dialects.ge.reference.resize_geometry import POLICIES, resized

INTERPOLATIONS = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
)
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "ceil_if_shrunk")
"""The last: ceil on axes that shrink, floor on others, as onnxruntime takes Resize of opset 10."""
PADDINGS = ("zeros", "border", "reflection")


class SamplingOp(GeOp):
    """An operator with choices that go by name."""

    def require_one_of(self, name: str, choices: Sequence[str]) -> None:
        """Refuses a string property that is none of `choices`."""
        value = self.attribute_values()[name]
        if value not in choices:
            raise self.fail(f"{name} must be one of {', '.join(choices)}, got {value}")


@irdl_op_definition
class ResizeOp(SamplingOp):
    """x in other extents along `axes`, each axis by itself (ONNX Resize).

    Extents follow from `sizes`, or from `scales`, or at run time from `target` (sizes if integers, else scales); `policy` other than "stretch" keeps the aspect ratio within `sizes`.
    `coordinates` tells where a result element lies in x, `nearest` which neighbour a nearest one is. Linear and cubic
    (`cubic_a`) weigh neighbours, which repeat the border, or with `exclude_outside` are left out beyond it; `antialias`
    widens the filter when shrinking. `roi` (starts, then ends, as parts of the extents) and `extrapolation`, the value
    outside x, belong to "tf_crop_and_resize".
    """

    name = "ge.resize"
    VECTOR_OPS: ClassVar[int] = 8

    x = operand_def(TENSOR)
    target = opt_operand_def(TENSOR)
    axes = ints_prop()
    sizes = ints_prop([])
    scales = floats_prop([])
    roi = floats_prop([])
    mode = string_prop("nearest")
    coordinates = string_prop("half_pixel")
    nearest = string_prop("round_prefer_floor")
    policy = string_prop("stretch")
    cubic_a = float_prop(-0.75)
    extrapolation = float_prop(0.0)
    exclude_outside = bool_prop(False)
    antialias = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        target: SSAValue | Operation | None = None,
        *,
        axes: Sequence[int],
        sizes: Sequence[int] = (),
        scales: Sequence[float] = (),
        roi: Sequence[float] = (),
        mode: str = "nearest",
        coordinates: str = "half_pixel",
        nearest: str = "round_prefer_floor",
        policy: str = "stretch",
        cubic_a: float = -0.75,
        extrapolation: float = 0.0,
        exclude_outside: bool = False,
        antialias: bool = False,
        result_type: Tensor | None = None,
    ):
        properties = {
            "axes": ints_attr(axes),
            "sizes": ints_attr(sizes),
            "scales": floats_attr(scales),
            "roi": floats_attr(roi),
            "mode": string_attr(mode),
            "coordinates": string_attr(coordinates),
            "nearest": string_attr(nearest),
            "policy": string_attr(policy),
            "cubic_a": float_attr(cubic_a),
            "extrapolation": float_attr(extrapolation),
            "exclude_outside": bool_attr(exclude_outside),
            "antialias": bool_attr(antialias),
        }
        self.init((x, target), properties, result_type)

    def keeps_type(self, index: int) -> bool:
        return index == 1

    def infer(self) -> tuple[Tensor, ...]:
        for name, choices in (
            ("mode", INTERPOLATIONS),
            ("coordinates", COORDINATES),
            ("nearest", NEAREST),
            ("policy", POLICIES),
        ):
            self.require_one_of(name, choices)
        shape = list(shape_of(self.x))
        axes = [self.axis_in(axis, len(shape)) for axis in self.ints("axes")]
        sizes, scales = self.ints("sizes"), [scale.value.data for scale in self.scales]
        if self.target is not None:
            if sizes or scales or not shapes_agree(shape_of(self.target), (len(axes),)):
                raise self.fail(f"target must be one number an axis of {axes}, beside no sizes or scales")
            for axis in axes:
                shape[axis] = DYNAMIC
            return typed(shape, self.x)
        if len(sizes or scales) != len(axes):
            raise self.fail(f"sizes {list(sizes)} or scales {scales} must be one an axis of {axes}")
        if self.coordinates.data == "tf_crop_and_resize" and len(self.roi) != 2 * len(axes):
            raise self.fail(f"roi must hold {2 * len(axes)} numbers")
        if sizes and self.policy.data == "stretch":
            for axis, size in zip(axes, sizes, strict=True):
                shape[axis] = size
        else:
            known = [shape[axis] for axis in axes]
            extents, _ = resized([max(extent, 1) for extent in known], sizes, scales, self.policy.data)
            spoiled = bool(sizes) and DYNAMIC in known
            for axis, extent, old in zip(axes, extents, known, strict=True):
                shape[axis] = DYNAMIC if spoiled or old == DYNAMIC else extent
        return typed(shape, self.x)


@irdl_op_definition
class GridSampleOp(SamplingOp):
    """x (N, C, spatial axes) sampled where `grid` (N, result's spatial axes, d) says, in [-1, 1] from border to border.

    The last axis of `grid` names the spatial axes backwards (x, y or x, y, z). `align_corners`: -1 and 1 are the centres
    of the outermost elements, else their outer edges. Outside x lie zeros, the border, or its mirror image (`padding`).
    """

    name = "ge.grid_sample"
    VECTOR_OPS: ClassVar[int] = 16

    x = operand_def(TENSOR)
    grid = operand_def(TENSOR)
    mode = string_prop("linear")
    padding = string_prop("zeros")
    align_corners = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        grid: SSAValue | Operation,
        *,
        mode: str = "linear",
        padding: str = "zeros",
        align_corners: bool = False,
        result_type: Tensor | None = None,
    ):
        properties = {
            "mode": string_attr(mode),
            "padding": string_attr(padding),
            "align_corners": bool_attr(align_corners),
        }
        self.init((x, grid), properties, result_type)

    def keeps_type(self, index: int) -> bool:
        return index == 1

    def infer(self) -> tuple[Tensor, ...]:
        self.require_one_of("mode", INTERPOLATIONS)
        self.require_one_of("padding", PADDINGS)
        shape, grid = shape_of(self.x), shape_of(self.grid)
        if len(shape) < 3 or len(grid) != len(shape) or not dims_agree(grid[-1], len(shape) - 2):
            raise self.fail(f"a grid {shape_text(grid)} cannot sample {shape_text(shape)}")
        if not dims_agree(grid[0], shape[0]):
            raise self.fail(f"batches differ: {self.operand_shapes()}")
        return typed([max(shape[0], grid[0]), shape[1], *grid[1:-1]], self.x)


class RegionOp(SamplingOp):
    """Regions of x (N, C, H, W), each reduced to `output` = (height, width)."""

    output = ints_prop()
    spatial_scale = float_prop(1.0)

    def keeps_type(self, index: int) -> bool:
        return index == 1

    def infer_regions(self, columns: int) -> tuple[Tensor, ...]:
        """(regions, C, output) for regions, the second operand, of `columns` numbers each."""
        x, rois = self.operands[:2]
        shape, regions = self.require_rank(x, 4, "x"), self.require_rank(rois, 2, "rois")
        if not dims_agree(regions[1], columns):
            raise self.fail(f"rois must have {columns} columns, got {shape_text(regions)}")
        return typed([regions[0], shape[1], *self.require_length("output", 2)], x)


@irdl_op_definition
class RoiAlignOp(RegionOp):
    """Bins of regions (x1, y1, x2, y2 in units of 1/`spatial_scale`), averaged or maximised over sampled points.

    Each bin takes `sampling_ratio` points an axis (0: as many as it has elements, rounded up), bilinear between elements.
    `half_pixel` moves regions by half an element and lets them be smaller than one. `batch` (i64) names the image of
    each region. In mode "max" the products of weight and neighbour are maximised.
    """

    name = "ge.roi_align"
    VECTOR_OPS: ClassVar[int] = 32

    x = operand_def(TENSOR)
    rois = operand_def(TENSOR)
    batch = operand_def(TENSOR)
    mode = string_prop("avg")
    sampling_ratio = int_prop(0)
    half_pixel = bool_prop(True)

    def __init__(
        self,
        x: SSAValue | Operation,
        rois: SSAValue | Operation,
        batch: SSAValue | Operation,
        *,
        output: Sequence[int],
        spatial_scale: float = 1.0,
        mode: str = "avg",
        sampling_ratio: int = 0,
        half_pixel: bool = True,
        result_type: Tensor | None = None,
    ):
        properties = {
            "output": ints_attr(output),
            "spatial_scale": float_attr(spatial_scale),
            "mode": string_attr(mode),
            "sampling_ratio": int_attr(sampling_ratio),
            "half_pixel": bool_attr(half_pixel),
        }
        self.init((x, rois, batch), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_one_of("mode", ("avg", "max"))
        batch = self.require_rank(self.batch, 1, "batch")
        if not dims_agree(batch[0], shape_of(self.rois)[0]):
            raise self.fail(f"batch must name one image a region: {self.operand_shapes()}")
        return self.infer_regions(4)


@irdl_op_definition
class MaxRoiPoolOp(RegionOp):
    """The largest element of each bin of regions (batch, x1, y1, x2, y2), rounded to whole elements; 0 for an empty bin."""

    name = "ge.max_roi_pool"
    VECTOR_OPS: ClassVar[int] = 32

    x = operand_def(TENSOR)
    rois = operand_def(TENSOR)

    def __init__(
        self,
        x: SSAValue | Operation,
        rois: SSAValue | Operation,
        *,
        output: Sequence[int],
        spatial_scale: float = 1.0,
        result_type: Tensor | None = None,
    ):
        properties = {"output": ints_attr(output), "spatial_scale": float_attr(spatial_scale)}
        self.init((x, rois), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        return self.infer_regions(5)


@irdl_op_definition
class Col2ImOp(SamplingOp):
    """Columns x (N, C * block, positions) added up into images (N, C, `image`): the inverse of taking blocks out.

    `block`, `strides`, `dilations` have one number a spatial axis, `pads` the begins, then the ends.
    """

    name = "ge.col2im"

    x = operand_def(TENSOR)
    image = ints_prop()
    block = ints_prop()
    strides = ints_prop()
    dilations = ints_prop()
    pads = ints_prop()

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        image: Sequence[int],
        block: Sequence[int],
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        result_type: Tensor | None = None,
    ):
        ones = [1] * len(image)
        properties = {
            "image": ints_attr(image),
            "block": ints_attr(block),
            "strides": ints_attr(ones if strides is None else strides),
            "dilations": ints_attr(ones if dilations is None else dilations),
            "pads": ints_attr([0] * (2 * len(image)) if pads is None else pads),
        }
        self.init((x,), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape, image = self.require_rank(self.x, 3, "x"), self.ints("image")
        rank = len(image)
        block, strides, dilations = (self.require_length(name, rank) for name in ("block", "strides", "dilations"))
        pads = self.require_length("pads", 2 * rank)
        positions = prod(
            (image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
            for i in range(rank)
        )
        if not dims_agree(shape[2], positions) or (shape[1] != DYNAMIC and shape[1] % prod(block)):
            raise self.fail(f"columns {shape_text(shape)} do not fill {list(image)}, which has {positions} positions")
        channels = DYNAMIC if shape[1] == DYNAMIC else shape[1] // prod(block)
        return typed([shape[0], channels, *image], self.x)


SAMPLING = [ResizeOp, GridSampleOp, RoiAlignOp, MaxRoiPoolOp, Col2ImOp]
