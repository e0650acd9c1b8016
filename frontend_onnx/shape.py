"""Shapes and places: Reshape and its kin, Transpose, Concat, Split, Slice, BitCast."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, element_of
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.ge.runtime_shape import SliceAtOp
from graph_engine.dialects.ge.shape import BitcastOp, ConcatOp, ReshapeOp, SliceOp, TransposeOp
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.extents import Extent, UnknownExtent, combined, elements, static
from graph_engine.frontend_onnx.node import (
    Converter,
    Node,
    Unsupported,
    axis_of,
    dtype_of,
    shape_of,
    static_dim,
)
from graph_engine.frontend_onnx.runtime_shape import reshaped_at_run_time, vector_operand, with_shape

FAR = 2**31 - 1
"""An end from here on means the end of the axis, whatever its extent: exporters write the largest integer they have."""


def resolve_reshape(source: Sequence[Extent], target: Sequence[Extent], *, allow_zero: bool = False) -> list[Extent]:
    """ONNX's target shape with copied extents written out and -1 worked out where it can be; -1 is left where not.

    Zeros copy (unless `allow_zero`). Unknown extents cancel: [0, -1] of Nx64x7x7 becomes [N, 3136].
    """
    result: list[Extent] = []
    for i, extent in enumerate(target):
        if extent == 0 and not allow_zero:
            if i >= len(source):
                shown = [extent if isinstance(extent, int) else "?" for extent in target]
                raise Unsupported(f"shape {shown} copies axis {i} of an input of rank {len(source)}")
            extent = source[i]
        result.append(extent)
    if result.count(DYNAMIC) == 1:
        rest = combined(_quotient, elements(source), elements([e for e in result if e != DYNAMIC]))
        if not isinstance(rest, UnknownExtent) or DYNAMIC not in rest.at:
            result[result.index(DYNAMIC)] = rest
    return result


def _quotient(whole: int, part: int) -> int:
    return whole // part if part and whole % part == 0 else DYNAMIC


def reshape(node: Node) -> SSAValue:
    """Reshape to a constant (or folded) shape: `ge.reshape`; to one that is computed at run time, `ge.reshape_to`."""
    x = node.operand(0)
    if node.known(1) is None:
        return reshaped_at_run_time(node)
    target = node.extents(1, "the shape")
    extents = resolve_reshape(node.shape(x), target, allow_zero=bool(node.int("allowzero", 0)))
    if tuple(extents) == node.shape(x):
        return x
    shape = static(extents)
    return reshaped_at_run_time(node, extents) if shape.count(DYNAMIC) > 1 else node.emit(ReshapeOp(x, shape=shape))


def flatten(node: Node) -> SSAValue:
    """Flatten to a matrix: the axes before `axis` and those from it on."""
    x = node.operand(0)
    shape = node.shape(x)
    axis = node.int("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    if not 0 <= axis <= len(shape):
        raise Unsupported(f"axis {axis} is outside rank {len(shape)}")
    return with_shape(node, x, [elements(shape[:axis]), elements(shape[axis:])])


def squeeze(node: Node) -> SSAValue:
    """Squeeze the given axes (attribute before opset 13, input since), or all of extent 1."""
    x = node.operand(0)
    shape = node.shape(x)
    axes = _axes(node, 13)
    if axes is None:
        dropped = {i for i, extent in enumerate(shape_of(x)) if static_dim(extent, "every extent under Squeeze") == 1}
    else:
        dropped = {axis_of(axis, len(shape)) for axis in axes}
    if any(shape_of(x)[axis] not in (1, DYNAMIC) for axis in dropped):
        raise Unsupported(f"axes {sorted(dropped)} of shape {list(shape_of(x))} are not all 1")
    return with_shape(node, x, [extent for i, extent in enumerate(shape) if i not in dropped])


def unsqueeze(node: Node) -> SSAValue:
    """Unsqueeze: new axes of extent 1 at the given places of the result."""
    x = node.operand(0)
    source = node.shape(x)
    axes = _axes(node, 13)
    if axes is None:
        raise Unsupported("axes are missing")
    rank = len(source) + len(axes)
    places = {axis_of(axis, rank) for axis in axes}
    if len(places) != len(axes):
        raise Unsupported(f"axes {list(axes)} name an axis twice")
    remaining = iter(source)
    return with_shape(node, x, [1 if i in places else next(remaining) for i in range(rank)])


def _axes(node: Node, input_since: int) -> list[int] | None:
    if node.opset >= input_since:
        return node.constant_ints(1, "axes") if node.has(1) else None
    return node.ints("axes") if node.has_attribute("axes") else None


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
    elif any(node.known(index) is None for index in (1, 2)) or not (node.is_constant(3) and node.is_constant(4)):
        return _sliced_at_run_time(node, None)
    else:
        starts, ends = node.extents(1, "starts"), node.extents(2, "ends")
        axes = node.constant_ints(3, "axes") if node.has(3) else list(range(len(starts)))
        steps = node.constant_ints(4, "steps") if node.has(4) else [1] * len(starts)
    extents = list(node.shape(x))
    boxes: list[tuple[int, int, int, int]] = []
    at_run_time = False
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        axis = axis_of(axis, len(extents))
        if not step:
            raise Unsupported("a step of 0")
        if (start, step) == (0, 1) and (extents[axis] == end or (isinstance(end, int) and end >= FAR)):
            continue
        bounds = extents[axis], start, end
        if all(isinstance(bound, int) for bound in bounds):
            taken = range(*slice(start, end, step).indices(shape[axis]))
            if taken == range(shape[axis]):
                continue
            start, end = taken.start, taken.stop if taken.stop >= 0 else -shape[axis] - 1
        extents[axis] = _taken(*bounds, step)
        if isinstance(start, UnknownExtent) or isinstance(end, UnknownExtent):
            at_run_time = True
        else:
            boxes.append((axis, start, end, step))
    if at_run_time:
        return _sliced_at_run_time(node, extents)
    if not boxes:
        return x
    axes, starts, ends, steps = (list(column) for column in zip(*boxes, strict=True))
    return node.emit(SliceOp(x, starts=starts, ends=ends, axes=axes, steps=steps))


def _taken(extent: Extent, start: Extent, end: Extent, step: int) -> Extent:
    """How many elements a slice takes, -1 if that depends on which of two extents is larger."""
    count = combined(lambda n, a, b: len(range(*slice(a, b, step).indices(n))), extent, start, end)
    unknown = [bound for bound in (start, end) if isinstance(bound, UnknownExtent)]
    known = all(isinstance(bound, int) for bound in (extent, start, end))
    if not known and isinstance(count, int):
        return DYNAMIC  # cut at a number that a small extent does not reach
    within = all(isinstance(combined(lambda n, bound: n - bound, extent, bound), int) for bound in unknown)
    return count if within else DYNAMIC


def _sliced_at_run_time(node: Node, extents: Sequence[Extent] | None) -> SSAValue:
    """`ge.slice_at`; `extents` of the result, where something is known of them."""
    x, starts, ends = node.operand(0), vector_operand(node, 1), vector_operand(node, 2)
    rank = len(shape_of(x))
    axes = node.constant_ints(3, "axes") if node.has(3) else list(range(shape_of(starts)[0]))
    axes = [axis_of(axis, rank) for axis in axes]
    steps = vector_operand(node, 4) if node.has(4) else None
    known = [DYNAMIC if i in axes else n for i, n in enumerate(node.shape(x))] if extents is None else extents
    op = SliceAtOp(x, starts, ends, steps, axes=axes, result_type=tensor_type(static(known), element_of(x)))
    return node.emit_shaped(op, known)


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
