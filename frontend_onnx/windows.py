"""The window arithmetic of convolutions and pools in any number of spatial axes, and the unit axis that makes 1-D 2-D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.extents import UnknownExtent
from graph_engine.frontend_onnx.node import Node, Unsupported, shape_of, static_dim
from graph_engine.frontend_onnx.runtime_shape import with_shape


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window, one number a spatial axis; `begins` and `ends` are the pads."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def pads(self) -> list[int]:
        """Pads in ONNX order: all begins, then all ends."""
        return [*self.begins, *self.ends]

    def axes(self, axes: slice) -> Window:
        """The window along some of the axes."""
        return Window(self.kernel[axes], self.strides[axes], self.dilations[axes], self.begins[axes], self.ends[axes])


def spatial_extents(node: Node, index: int = 0) -> tuple[int, ...]:
    """The extents of input `index` behind batch and channels."""
    shape = shape_of(node.operand(index))
    if len(shape) < 3:
        raise Unsupported(f"input has rank {len(shape)}; batch, channels and at least one spatial axis are needed")
    return shape[2:]


def window_ints(node: Node, name: str, rank: int, default: int) -> tuple[int, ...]:
    """A window attribute with one value a spatial axis."""
    values = node.ints(name, [default] * rank)
    if len(values) != rank:
        raise Unsupported(f"{name} {values} should have {rank} values")
    return tuple(values)


def window_of(node: Node, kernel: Sequence[int], extents: Sequence[int] | None = None) -> Window:
    """The window that a node states, with `auto_pad` worked out for `extents`, by default the first input's.

    SAME_UPPER and SAME_LOWER give ceil(extent / stride) windows; an odd pad goes to the end or to the beginning.
    """
    extents = spatial_extents(node) if extents is None else extents
    rank = len(extents)
    if len(kernel) != rank:
        raise Unsupported(f"a kernel of {len(kernel)} axes does not fit {rank} spatial axes")
    strides, dilations = window_ints(node, "strides", rank, 1), window_ints(node, "dilations", rank, 1)
    begins, ends = [0] * rank, [0] * rank
    mode = node.string("auto_pad", "NOTSET") or "NOTSET"
    if mode == "NOTSET":
        pads = node.ints("pads", [0] * (2 * rank))
        if len(pads) != 2 * rank:
            raise Unsupported(f"pads {pads} should have {2 * rank} values")
        begins, ends = pads[:rank], pads[rank:]
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        for axis, extent in enumerate(extents):
            stride, reach = strides[axis], dilations[axis] * (kernel[axis] - 1) + 1
            if stride == 1:
                total = reach - 1
            else:
                extent = static_dim(extent, "a spatial extent under auto_pad")
                total = max(0, (-(-extent // stride) - 1) * stride + reach - extent)
            begins[axis] = total // 2 if mode == "SAME_UPPER" else total - total // 2
            ends[axis] = total - begins[axis]
    elif mode != "VALID":
        raise Unsupported(f"auto_pad {mode} is not known")
    return Window(tuple(kernel), strides, dilations, tuple(begins), tuple(ends))


def reshape(node: Node, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """`value` in another shape; nothing if it has that shape already.

    Several unknown extents are those of `value`, in their order.
    """
    if tuple(shape) == shape_of(value):
        return value
    if list(shape).count(DYNAMIC) <= 1:
        return node.emit(ReshapeOp(value, shape=shape))
    unknown = [extent for extent in node.shape(value) if isinstance(extent, UnknownExtent)]
    if len(unknown) != list(shape).count(DYNAMIC):
        raise Unsupported("more than one unknown extent has to be reshaped; give input shapes")
    kept = iter(unknown)
    return with_shape(node, value, [next(kept) if extent == DYNAMIC else extent for extent in shape])


def with_unit_axis(node: Node, value: SSAValue) -> SSAValue:
    """x[N,C,L] as an image [N,C,1,L] of one row."""
    batch, channels, length = node.shape(value)
    return with_shape(node, value, (batch, channels, 1, length))


def without_unit_axis(node: Node, value: SSAValue) -> SSAValue:
    """An image of one row [N,C,1,L] as [N,C,L]."""
    batch, channels, _, length = node.shape(value)
    return with_shape(node, value, (batch, channels, length))
