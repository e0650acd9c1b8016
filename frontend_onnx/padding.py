"""Borders: Pad in all modes, CenterCropPad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.repetition import ExpandOp
from graph_engine.dialects.ge.runtime_shape import PadByOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, ReshapeOp, SliceOp
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, dtype_of, shape_of, static_dim
from graph_engine.frontend_onnx.runs import take
from graph_engine.frontend_onnx.runtime_shape import vector_operand

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def pad(node: Node) -> SSAValue:
    """Pad: constant as `ge.pad`, reflect, edge and wrap as slices side by side; negative pads as a slice in front."""
    x, mode = node.operand(0), node.string("mode", "constant")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise Unsupported(f"mode {mode}; constant, reflect, edge and wrap are supported")
    if _at_run_time(node, x, mode):
        return _padded_at_run_time(node, x, mode)
    begins, ends = _amounts(node, len(shape_of(x)))
    x = _cropped(node, x, [max(-n, 0) for n in begins], [max(-n, 0) for n in ends])
    begins, ends = [max(n, 0) for n in begins], [max(n, 0) for n in ends]
    if not any((*begins, *ends)):
        return x
    if mode == "constant":
        return _constant(node, x, begins, ends)
    import numpy as np

    for axis, (before, after) in enumerate(zip(begins, ends, strict=True)):
        if before or after:
            extent = static_dim(shape_of(x)[axis], f"the extent that mode {mode} repeats")
            places = np.pad(np.arange(extent), (before, after), mode=mode).tolist()  # pyright: ignore[reportArgumentType, reportCallIssue]
            x = take(node, x, axis, places, most=16)
    return x


def _at_run_time(node: Node, x: SSAValue, mode: str) -> bool:
    """Whether what is added, or what it repeats, is unknown before the run."""
    if node.opset >= 11 and not node.is_constant(1):
        return True
    begins, ends = _amounts(node, len(shape_of(x)))
    padded = [extent for i, extent in enumerate(shape_of(x)) if begins[i] or ends[i]]
    return DYNAMIC in padded and (mode != "constant" or min(*begins, *ends) < 0)


def _padded_at_run_time(node: Node, x: SSAValue, mode: str) -> SSAValue:
    import numpy as np

    rank = len(shape_of(x))
    if node.opset < 11:
        pads = node.keep_constant(np.array(node.ints("pads"), np.int64))
        value = node.keep_constant(np.array([node.float("value", 0.0)], np.float32))
    else:
        pads, value = vector_operand(node, 1), node.optional(2)
    if value is not None and dtype_of(value) != dtype_of(x):
        value = node.emit(CastOp(value, dtype_of(x)))
    axes = [axis_of(axis, rank) for axis in node.constant_ints(3, "axes")] if node.has(3) else range(rank)
    return node.emit(PadByOp(x, pads, value, axes=axes, mode=mode))


def _amounts(node: Node, rank: int) -> tuple[list[int], list[int]]:
    """What is added before and after every axis."""
    pads = node.ints("pads") if node.opset < 11 else node.constant_ints(1, "pads")
    axes = [axis_of(axis, rank) for axis in node.constant_ints(3, "axes")] if node.has(3) else list(range(rank))
    if len(pads) != 2 * len(axes):
        raise Unsupported(f"{len(pads)} pads for {len(axes)} axes")
    begins, ends = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        begins[axis], ends[axis] = pads[i], pads[i + len(axes)]
    return begins, ends


def _constant(node: Node, x: SSAValue, begins: list[int], ends: list[int]) -> SSAValue:
    import numpy as np

    value = node.known(2) if node.opset >= 11 else np.array(node.float("value", 0.0))
    if value is None and not node.has(2):
        value = np.array(0.0)
    if value is not None and (
        value.dtype.kind == "b" or float(np.float32(value.item())) == value.item() or value.item() != value.item()
    ):
        return node.emit(PadOp(x, pads=[*begins, *ends], value=float(value.item())))
    fill = node.operand(2)  # computed, or a number that fp32 does not hold
    if shape_of(fill) != ():
        fill = node.emit(ReshapeOp(fill, shape=[]))
    for axis, (before, after) in enumerate(zip(begins, ends, strict=True)):
        shape = [static_dim(n, "every extent under such a pad") for n in shape_of(x)]
        parts = [
            x if border is None else node.emit(ExpandOp(fill, shape=[*shape[:axis], border, *shape[axis + 1 :]]))
            for border in (before, None, after)
            if border != 0
        ]
        x = node.emit(ConcatOp(parts, axis=axis)) if len(parts) > 1 else x
    return x


def _cropped(node: Node, x: SSAValue, before: list[int], after: list[int]) -> SSAValue:
    axes = [axis for axis in range(len(before)) if before[axis] or after[axis]]
    if not axes:
        return x
    far = 2**63 - 1
    return node.emit(
        SliceOp(x, starts=[before[a] for a in axes], ends=[-after[a] if after[a] else far for a in axes], axes=axes)
    )


def center_crop_pad(node: Node) -> SSAValue:
    """CenterCropPad: a slice where the extent shrinks, zeros where it grows, both about the centre."""
    x = node.operand(0)
    shape = shape_of(x)
    axes = [axis_of(axis, len(shape)) for axis in node.ints("axes", range(len(shape)))]
    before, after, begins, ends = ([0] * len(shape) for _ in range(4))
    for axis, target in zip(axes, node.constant_ints(1, "the shape"), strict=True):
        extent = static_dim(shape[axis], "every extent of CenterCropPad")
        first = abs(target - extent) // 2
        less, more = (before, after) if target < extent else (begins, ends)
        less[axis], more[axis] = first, abs(target - extent) - first
    x = _cropped(node, x, before, after)
    return node.emit(PadOp(x, pads=[*begins, *ends])) if any((*begins, *ends)) else x


CONVERTERS: dict[str, Converter] = {
    "Pad": pad,
    "CenterCropPad": center_crop_pad,
}
