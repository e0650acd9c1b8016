"""Shapes and places: Reshape and its kin, Transpose, Concat, Split, Slice, BitCast."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.shape import BitcastOp, ConcatOp, ReshapeOp, SliceOp, TransposeOp
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.node import (
    Converter,
    Node,
    UnknownExtent,
    Unsupported,
    axis_of,
    dtype_of,
    shape_of,
    static_dim,
)

FAR = 2**31 - 1
"""An end from here on means the end of the axis, whatever its extent: exporters write the largest integer they have."""


def resolve_reshape(
    source: Sequence[int], target: Sequence[int | UnknownExtent], *, allow_zero: bool = False
) -> list[int]:
    """ONNX's target shape as `ge.reshape` wants it: copied extents written out, -1 worked out where it can be.

    Copied are zeros (unless `allow_zero`) and the extent of the input's one unknown axis put back in its place. Both
    cancel on both sides, so that [0, -1] of ?x64x7x7 becomes [-1, 3136].
    """
    shown = [extent if isinstance(extent, int) else "?" for extent in target]
    result: list[int] = []
    copied: set[int] = set()
    for i, extent in enumerate(target):
        same = source.count(DYNAMIC) == 1 and extent == UnknownExtent(i) and source[i : i + 1] == (DYNAMIC,)
        if (extent == 0 and not allow_zero) or same:
            if i >= len(source):
                raise Unsupported(f"shape {shown} copies axis {i} of an input of rank {len(source)}")
            copied.add(i)
            result.append(source[i])
        else:
            result.append(extent if isinstance(extent, int) else DYNAMIC)
    free = [i for i, extent in enumerate(result) if extent == DYNAMIC and i not in copied]
    if len(free) == 1:
        rest = [extent for i, extent in enumerate(source) if i not in copied]
        known = prod(extent for i, extent in enumerate(result) if i not in copied and i != free[0])
        if DYNAMIC not in rest and known and prod(rest) % known == 0:
            result[free[0]] = prod(rest) // known
    if result.count(DYNAMIC) > 1:
        raise Unsupported(f"shape {shown} leaves more than one extent unknown; give input shapes")
    return result


def reshape(node: Node) -> SSAValue:
    """Reshape to a constant (or folded) shape."""
    target = node.extents(1, "the shape")
    allow_zero = bool(node.int("allowzero", 0))
    return _reshaped(node, resolve_reshape(shape_of(node.operand(0)), target, allow_zero=allow_zero))


def flatten(node: Node) -> SSAValue:
    """Flatten to a matrix: the axes before `axis` and those from it on."""
    shape = shape_of(node.operand(0))
    axis = node.int("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    if not 0 <= axis <= len(shape):
        raise Unsupported(f"axis {axis} is outside rank {len(shape)}")
    parts = [DYNAMIC if DYNAMIC in part else prod(part) for part in (shape[:axis], shape[axis:])]
    if parts.count(DYNAMIC) > 1:
        raise Unsupported("unknown extents on both sides of the axis; give input shapes")
    return _reshaped(node, parts)


def squeeze(node: Node) -> SSAValue:
    """Squeeze the given axes (attribute before opset 13, input since), or all of extent 1."""
    shape = shape_of(node.operand(0))
    axes = _axes(node, 13)
    if axes is None:
        dropped = {i for i, extent in enumerate(shape) if static_dim(extent, "every extent under Squeeze") == 1}
    else:
        dropped = {axis_of(axis, len(shape)) for axis in axes}
    if any(shape[axis] not in (1, DYNAMIC) for axis in dropped):
        raise Unsupported(f"axes {sorted(dropped)} of shape {list(shape)} are not all 1")
    return _reshaped(node, [extent for i, extent in enumerate(shape) if i not in dropped])


def unsqueeze(node: Node) -> SSAValue:
    """Unsqueeze: new axes of extent 1 at the given places of the result."""
    source = list(shape_of(node.operand(0)))
    axes = _axes(node, 13)
    if axes is None:
        raise Unsupported("axes are missing")
    rank = len(source) + len(axes)
    places = {axis_of(axis, rank) for axis in axes}
    remaining = iter(source)
    return _reshaped(node, [1 if i in places else next(remaining) for i in range(rank)])


def _axes(node: Node, input_since: int) -> list[int] | None:
    if node.opset >= input_since:
        return node.constant_ints(1, "axes") if node.has(1) else None
    return node.ints("axes") if node.has_attribute("axes") else None


def _reshaped(node: Node, shape: Sequence[int]) -> SSAValue:
    """A `ge.reshape` unless the shape stays as it is."""
    x = node.operand(0)
    if tuple(shape) == shape_of(x):
        return x
    if tuple(shape).count(DYNAMIC) > 1:
        raise Unsupported("more than one unknown extent; give input shapes")
    return node.emit(ReshapeOp(x, shape=shape))


def transpose(node: Node) -> SSAValue:
    """Transpose; without `perm` the axes are reversed."""
    x = node.operand(0)
    return node.emit(TransposeOp(x, perm=node.ints("perm", range(len(shape_of(x)))[::-1])))


def concat(node: Node) -> SSAValue:
    """Concat; before opset 4 the axis was 1 by default."""
    values = node.operands()
    axis = node.int("axis", 1 if node.opset < 4 else None)
    return values[0] if len(values) == 1 else node.emit(ConcatOp(values, axis=axis_of(axis, len(shape_of(values[0])))))


def split(node: Node) -> list[SSAValue | None]:
    """Split: one slice per output; the parts are given, or equal with a smaller last one."""
    x = node.operand(0)
    shape = shape_of(x)
    axis = axis_of(node.int("axis", 0), len(shape))
    extent = static_dim(shape[axis], "the extent that is split")
    count = len(node.outputs)
    if node.opset >= 13 and node.has(1):
        parts = node.constant_ints(1, "split")
    elif node.opset < 13 and node.has_attribute("split"):
        parts = node.ints("split")
    else:
        part = -(-extent // count)
        parts = [min(part, extent - part * i) for i in range(count)]
    if sum(parts) != extent or len(parts) != count:
        raise Unsupported(f"parts {parts} for {count} outputs do not add up to extent {extent}")
    ends = [sum(parts[: i + 1]) for i in range(count)]
    return [
        node.emit(SliceOp(x, starts=[end - part], ends=[end], axes=[axis])) if used else None
        for i, (part, end) in enumerate(zip(parts, ends, strict=True))
        for used in [node.result_used(i)]
    ]


def slice_(node: Node) -> SSAValue:
    """Slice; bounds are attributes before opset 10, constant inputs since. Axes that stay whole are left out."""
    x = node.operand(0)
    shape = shape_of(x)
    if node.opset < 10:
        starts, ends = node.ints("starts"), node.ints("ends")
        axes, steps = node.ints("axes", range(len(starts))), [1] * len(starts)
    else:
        starts, ends = node.constant_ints(1, "starts"), node.constant_ints(2, "ends")
        axes = node.constant_ints(3, "axes") if node.has(3) else list(range(len(starts)))
        steps = node.constant_ints(4, "steps") if node.has(4) else [1] * len(starts)
    boxes: list[tuple[int, int, int, int]] = []
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        axis = axis_of(axis, len(shape))
        if not step:
            raise Unsupported("a step of 0")
        if shape[axis] != DYNAMIC:
            taken = range(*slice(start, end, step).indices(shape[axis]))
            if taken == range(shape[axis]):
                continue
            start, end = taken.start, taken.stop if taken.stop >= 0 else -shape[axis] - 1
        elif (start, step) == (0, 1) and end >= FAR:
            continue
        boxes.append((axis, start, end, step))
    if not boxes:
        return x
    axes, starts, ends, steps = (list(column) for column in zip(*boxes, strict=True))
    return node.emit(SliceOp(x, starts=starts, ends=ends, axes=axes, steps=steps))


def bitcast(node: Node) -> SSAValue:
    """BitCast: `ge.bitcast`."""
    target = element_of_onnx(node.int("to"))
    if target is None:
        raise Unsupported(f"target type {node.int('to')} of ONNX's TensorProto")
    x = node.operand(0)
    return x if dtype_of(x) == element_name(target) else node.emit(BitcastOp(x, element_name(target)))


CONVERTERS: dict[str, Converter] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "BitCast": bitcast,
    "Slice": slice_,
}
