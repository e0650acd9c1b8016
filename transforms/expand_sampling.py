"""Sampling at places that are known when the graph runs, as coordinates in fp32 and rows that indices name.

    %y = ge.grid_sample %x, %grid : (tensor<1x8x20x30xf32>, tensor<1x5x7x2xf32>) -> tensor<1x8x5x7xf32>
    // becomes, for each of the four neighbours of a place,
    %r = ge.gather %rows, %index {axis = 0} : (tensor<600x8xf32>, tensor<35xi32>) -> tensor<35x8xf32>
    %s = ge.mul %r, %weight : (tensor<35x8xf32>, tensor<35x1xf32>) -> tensor<35x8xf32>
    // and their sum; %rows is %x with the channels behind, %index and %weight come from %grid

Grids of any rank, regions with a fixed number of points a bin, deformed convolutions. Where the number of points depends on the regions
(`sampling_ratio = 0`), the operator stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.convolution import DeformConv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, CastOp, MaximumOp, MulOp, SubOp
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.reduction import ReduceMaxOp, ReduceMeanOp
from graph_engine.dialects.ge.sampling import GridSampleOp, RoiAlignOp
from graph_engine.dialects.ge.shape import TransposeOp
from graph_engine.dialects.ge.unary_math import RoundOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.expand_grouped_filters import filter_of_one_group
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.sampled_rows import MOST_ROWS, Sampler, Taps

FLOATS = ("f16", "f32")
MOST_TAPS = 64
"""Neighbours of a place at most: four an axis of a volume."""


def expandable(op: GeOp) -> bool:
    """Whether all sizes are known, x is of floats, and its positions can be counted."""
    shapes = [shape_of(value) for value in (*op.operands, *op.results)]
    if (
        any(DYNAMIC in shape or 0 in shape for shape in shapes)
        or element_name(element_of(op.operands[0])) not in FLOATS
    ):
        return False
    return shapes[0][0] * prod(shapes[0][2:]) < MOST_ROWS


class ExpandGridSample(Pattern):
    """grid_sample -> coordinates, gathers of rows, a weighted sum."""

    name = "expand-grid-sample"
    root: ClassVar[tuple[type[Operation], ...]] = (GridSampleOp,)

    def rewrite(self, op: GridSampleOp, rewriter: CountedRewriter) -> bool:
        if not expandable(op) or element_name(element_of(op.grid)) not in FLOATS:
            return False
        batch, channels, *extents = shape_of(op.x)
        rank, points = len(extents), prod(shape_of(op.grid)[1:-1])
        mode, padding, aligned = op.mode.data, op.padding.data, bool(op.align_corners.value.data)
        if (4 if mode == "cubic" else 2) ** rank > MOST_TAPS:
            return False
        s = Sampler()
        grid = s.as_fp32(s.exact.shaped(op.grid, (batch, points, rank)))
        taps = [
            _grid_taps(s, s.exact.part(grid, 2, rank - 1 - axis), extent, mode, padding, aligned)
            for axis, extent in enumerate(extents)
        ]
        first = (np.arange(batch, dtype=np.float32) * prod(extents)).reshape(batch, 1, 1)
        starts = s.made.numbers(first, "images") if batch > 1 else None
        parts = s.samples(s.rows_of(op.x), starts, extents, taps)
        result = parts[0]
        for part in parts[1:]:
            result = s.made.put(AddOp(result, part))
        result = s.made.shaped(result, (batch, points, channels))
        result = s.made.put(TransposeOp(result, perm=[0, 2, 1]))
        result = s.made.shaped(result, shape_of(op.result))
        rewriter.replace(op, s.made.needed([result]), [result])
        return True


def _grid_taps(s: Sampler, where: SSAValue, extent: int, mode: str, padding: str, aligned: bool) -> Taps:
    """The neighbours of a grid's coordinates, from -1 to 1, along an axis; outside have no weight, or lie inside."""
    if aligned:
        place = s.scaled(where, (extent - 1) / 2, (extent - 1) / 2)
    else:
        place = s.scaled(where, extent / 2, (extent - 1) / 2)
    if mode == "nearest":
        place = s.put(RoundOp(place))
    if mode != "cubic":
        place = s.inside(place, extent, padding, aligned)
    found: list[tuple[SSAValue, SSAValue]] = []
    for position, weight in s.taps(place, mode):
        if padding == "zeros":
            weight = s.put(MulOp(weight, s.where_inside(position, 0.0, extent - 1.0)))
        elif mode == "cubic":
            position = s.inside(position, extent, padding, aligned)
        found.append((s.clipped(position, 0.0, extent - 1.0), weight))
    return found


class ExpandRoiAlign(Pattern):
    """roi_align with a known number of points a bin -> coordinates, gathers of rows, means or maxima of bins."""

    name = "expand-roi-align"
    root: ClassVar[tuple[type[Operation], ...]] = (RoiAlignOp,)

    def rewrite(self, op: RoiAlignOp, rewriter: CountedRewriter) -> bool:
        count = op.sampling_ratio.value.data
        if not expandable(op) or count <= 0 or element_name(element_of(op.rois)) not in FLOATS:
            return False
        s = Sampler()
        regions, channels, *output = shape_of(op.result)
        extents = shape_of(op.x)[2:]
        corners = s.scaled(s.as_fp32(op.rois), op.spatial_scale.value.data, -0.5 if op.half_pixel.value.data else 0.0)
        taps: list[Taps] = []
        for axis, (bins, extent) in enumerate(zip(output, extents, strict=True)):
            ends = [s.exact.part(corners, 1, column) for column in (1 - axis, 3 - axis)]
            along = _region_taps(s, ends[0], ends[1], bins, count, extent, bool(op.half_pixel.value.data))
            form = (regions, bins * count, 1) if axis == 0 else (regions, 1, bins * count)
            taps.append([(s.exact.shaped(p, form), s.exact.shaped(w, form)) for p, w in along])
        image = s.put(CastOp(op.batch, result_type=tensor_type((regions,), f32)))
        starts = s.exact.shaped(s.scaled(image, float(prod(extents))), (regions, 1, 1))
        parts = s.samples(s.rows_of(op.x), starts, extents, taps)
        largest = op.mode.data == "max"
        result = parts[0]
        for part in parts[1:]:
            result = s.made.put((MaximumOp if largest else AddOp)(result, part))
        # Columns of a bin first, then rows: axes (regions, bins, rows, bins, columns, channels).
        rows = regions * output[0]
        for pixels, behind in ((rows * count * output[1], channels), (rows, output[1] * channels)):
            result = s.made.shaped(result, (pixels, count, behind))
            result = s.made.put((ReduceMaxOp if largest else ReduceMeanOp)(result, axes=[1], keepdims=False))
        result = s.made.shaped(result, (regions, output[0] * output[1], channels))
        result = s.made.put(TransposeOp(result, perm=[0, 2, 1]))
        result = s.made.shaped(result, shape_of(op.result))
        rewriter.replace(op, s.made.needed([result]), [result])
        return True


def _region_taps(
    s: Sampler, start: SSAValue, end: SSAValue, bins: int, count: int, extent: int, half_pixel: bool
) -> Taps:
    """The neighbours of the points of all bins along an axis, (regions, points); points far outside have no weight."""
    length = s.put(SubOp(end, start))
    if not half_pixel:
        length = s.put(MaximumOp(length, s.number(1.0, length)))
    steps = (np.arange(bins)[:, None] + (np.arange(count)[None, :] + 0.5) / count).reshape(1, -1) / bins
    place = s.put(AddOp(s.put(MulOp(length, s.made.numbers(steps.astype(np.float32), "points"))), start))
    counts = s.where_inside(place, -1.0, float(extent))
    place = s.clipped(place, 0.0, extent - 1.0)
    return [
        (s.clipped(position, 0.0, extent - 1.0), s.put(MulOp(weight, counts)))
        for position, weight in s.taps(place, "linear")
    ]


class ExpandDeformConv(Pattern):
    """deform_conv2d -> rows at moved places, weighted, and a product with the filter."""

    name = "expand-deform-conv"
    root: ClassVar[tuple[type[Operation], ...]] = (DeformConv2dOp,)

    def rewrite(self, op: DeformConv2dOp, rewriter: CountedRewriter) -> bool:
        batch, channels, *extents = shape_of(op.x)
        if not expandable(op) or element_name(element_of(op.offset)) not in FLOATS:
            return False
        _, outputs, *positions = shape_of(op.result)
        kernel, parts = shape_of(op.w)[2:], op.offset_group.value.data
        each, points, count = channels // parts, prod(positions), prod(kernel)
        s = Sampler()
        offset = s.as_fp32(s.exact.shaped(op.offset, (batch * parts, count, 2, points)))
        taps = [
            _moved_taps(s, s.exact.part(offset, 2, axis), _undeformed(op, axis, positions), extents[axis])
            for axis in range(2)
        ]
        first = (np.arange(batch * parts, dtype=np.float32) * prod(extents)).reshape(-1, 1, 1, 1)
        starts = s.made.numbers(first, "images") if batch * parts > 1 else None
        images = s.made.shaped(op.x, (batch * parts, each, *extents))
        found = s.samples(s.rows_of(images), starts, extents, taps)
        rows = found[0]
        for part in found[1:]:
            rows = s.made.put(AddOp(rows, part))
        if op.mask is not None:
            rows = s.made.put(MulOp(rows, s.made.shaped(op.mask, (batch * parts * count * points, 1))))
        rows = s.made.shaped(rows, (batch, parts * count, points, each))
        rows = s.made.shaped(s.made.put(TransposeOp(rows, perm=[0, 2, 1, 3])), (batch * points, parts * count * each))
        group = op.group.value.data
        w = op.w if group == 1 else filter_of_one_group(s.made, op.w, group)
        w = s.made.shaped(w, (outputs, parts, each, count))
        w = s.made.shaped(s.made.put(TransposeOp(w, perm=[1, 3, 2, 0])), (parts * count * each, outputs))
        result = s.made.shaped(s.made.put(MatmulOp(rows, w, op.b)), (batch, points, outputs))
        result = s.made.shaped(s.made.put(TransposeOp(result, perm=[0, 2, 1])), shape_of(op.result))
        rewriter.replace(op, s.made.needed([result]), [result])
        return True


def _undeformed(op: DeformConv2dOp, axis: int, positions: Sequence[int]) -> Any:
    """(1, kernel, 1, positions): where the taps of a convolution lie along an axis."""
    stride, dilation, pad = op.ints("strides")[axis], op.ints("dilations")[axis], op.ints("pads")[axis]
    across = [np.arange(n).reshape([-1 if i == axis else 1 for i in range(2)]) for n in shape_of(op.w)[2:]]
    along = [np.arange(n).reshape([-1 if i == axis else 1 for i in range(2)]) for n in positions]
    taps = np.broadcast_to(across[axis] * dilation, shape_of(op.w)[2:]).reshape(1, -1, 1, 1)
    places = np.broadcast_to(along[axis] * stride - pad, tuple(positions)).reshape(1, 1, 1, -1)
    return (taps + places).astype(np.float32)


def _moved_taps(s: Sampler, offset: SSAValue, places: Any, extent: int) -> Taps:
    """The neighbours of places that offsets move; outside have no weight."""
    place = s.put(AddOp(offset, s.made.numbers(places, "places")))
    return [
        (
            s.clipped(position, 0.0, extent - 1.0),
            s.put(MulOp(weight, s.where_inside(position, 0.0, extent - 1.0))),
        )
        for position, weight in s.taps(place, "linear")
    ]


@dataclass(frozen=True)
class ExpandSampling(GePass):
    """Applies the patterns above."""

    name = "expand-sampling"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandGridSample(), ExpandRoiAlign(), ExpandDeformConv()])
