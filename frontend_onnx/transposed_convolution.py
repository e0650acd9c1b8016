"""ConvTranspose as a convolution whose channels are the elements of one stride, spread out afterwards.

With stride s, y[s*q + r] = sum over t of x[q - t] * w[s*t + r]: output r of every stride is a convolution of x with
every s-th element of w, reversed. All s of them are one convolution with s times as many channels (no zeros are put
between the elements of x, so nothing is multiplied in vain), and a transposition brings them side by side. Dilation
puts zeros into w. The bias and the zeros of `output_padding` come out of the same convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.repetition import ExpandOp
from graph_engine.dialects.ge.shape import PadOp, SliceOp, TransposeOp
from graph_engine.frontend_onnx.convolve import convolve, kernel_of
from graph_engine.frontend_onnx.node import Node, Unsupported, shape_of, static_dim
from graph_engine.frontend_onnx.windows import reshape, spatial_extents, window_ints

_BEFORE_FIRST = -(2**62)
"""End of a slice that runs backwards through element 0."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """One spatial axis: y is `size` elements of the full sum of shifted kernels, from element `begin` on."""

    extent: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    size: int

    @property
    def taps(self) -> int:
        """Elements of the kernel for one output of a stride; the last may be zeros."""
        return -(-(self.dilation * (self.kernel - 1) + 1) // self.stride)

    @property
    def first(self) -> int:
        """The first stride that the convolution computes."""
        return min(self.begin // self.stride, self.taps - 1)

    @property
    def pads(self) -> tuple[int, int]:
        """Pads of the convolution, so that it gives at least the strides of y."""
        before = self.taps - 1 - self.first
        strides = -(-(self.begin + self.size) // self.stride) - self.first
        return before, max(0, strides - self.extent - before + self.taps - 1)


def conv_transpose(node: Node) -> SSAValue:
    """A convolution that computes the elements of one stride as channels, which are then spread out."""
    x, w, group = node.operand(0), node.operand(1), node.int("group", 1)
    extents = spatial_extents(node)
    kernel = kernel_of(node, shape_of(w), len(extents))
    axes = _axes(node, [static_dim(e, "spatial extents of a transposed convolution") for e in extents], kernel)
    inputs, outputs = shape_of(w)[:2]
    if inputs % group:
        raise Unsupported(f"{inputs} channels are no multiple of group {group}")

    strides = [axis.stride for axis in axes]
    b = node.optional(2)
    if b is not None and prod(strides) > 1:
        count = prod(shape_of(b))
        b = node.emit(ExpandOp(reshape(node, b, (count, 1)), shape=(count, prod(strides))))
        b = reshape(node, b, (count * prod(strides),))
    y = convolve(
        node,
        x,
        _weight(node, w, axes, group),
        b,
        strides=[1] * len(axes),
        pads=[axis.pads[0] for axis in axes] + [axis.pads[1] for axis in axes],
        dilations=[1] * len(axes),
        group=group,
    )
    y = _spread(node, y, outputs * group, strides)
    return _cut(node, y, axes)


def _axes(node: Node, extents: Sequence[int], kernel: Sequence[int]) -> list[_Axis]:
    """Where y lies in the full sum, from pads, auto_pad, output_shape and output_padding."""
    rank = len(extents)
    strides, dilations = window_ints(node, "strides", rank, 1), window_ints(node, "dilations", rank, 1)
    extra = window_ints(node, "output_padding", rank, 0)
    pads = node.ints("pads", [0] * (2 * rank))
    mode = node.string("auto_pad", "NOTSET") or "NOTSET"
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"auto_pad {mode} is not known")
    sizes: Sequence[int] | None = None
    if node.has_attribute("output_shape"):
        sizes = node.ints("output_shape")[-rank:]
    elif mode.startswith("SAME"):
        sizes = [extent * stride for extent, stride in zip(extents, strides, strict=True)]
    axes: list[_Axis] = []
    for i in range(rank):
        full = (extents[i] - 1) * strides[i] + extra[i] + dilations[i] * (kernel[i] - 1) + 1
        if sizes is None:
            begin, end = (0, 0) if mode == "VALID" else (pads[i], pads[i + rank])
            size = full - begin - end
        else:
            size = sizes[i]
            total = max(0, full - size)
            begin = total // 2 if mode == "SAME_UPPER" else total - total // 2
        if size < 1:
            raise Unsupported(f"the pads leave nothing of axis {i + 2}")
        axes.append(_Axis(extents[i], kernel[i], strides[i], dilations[i], begin, size))
    return axes


def _weight(node: Node, w: SSAValue, axes: Sequence[_Axis], group: int) -> SSAValue:
    """w[C, M/group, ...] as the filter [M * strides, C/group, taps...] of the convolution."""
    rank = len(axes)
    inputs, outputs, *kernel = shape_of(w)
    if any(axis.dilation > 1 for axis in axes):
        apart = [e for k in kernel for e in (k, 1)]
        w = reshape(node, w, (inputs, outputs, *apart))
        gaps = [e for axis in axes for e in (0, axis.dilation - 1)]
        w = node.emit(PadOp(w, pads=[0] * (len(gaps) + 2) + [0, 0, *gaps]))
        kernel = [k * axis.dilation for k, axis in zip(kernel, axes, strict=True)]
        w = reshape(node, w, (inputs, outputs, *kernel))
    wanted = [axis.taps * axis.stride for axis in axes]
    if any(k > want for k, want in zip(kernel, wanted, strict=True)):
        w = node.emit(SliceOp(w, starts=[0] * rank, ends=wanted, axes=range(2, rank + 2)))
        kernel = [min(k, want) for k, want in zip(kernel, wanted, strict=True)]
    if kernel != wanted:
        behind = [want - k for k, want in zip(kernel, wanted, strict=True)]
        w = node.emit(PadOp(w, pads=[0] * (rank + 4) + behind))
    if any(axis.stride > 1 for axis in axes) or group > 1:
        split = [e for axis in axes for e in (axis.taps, axis.stride)]
        w = reshape(node, w, (group, inputs // group, outputs, *split))
        taps, places = [3 + 2 * i for i in range(rank)], [4 + 2 * i for i in range(rank)]
        w = node.emit(TransposeOp(w, perm=(0, 2, *places, 1, *taps)))
        rows = group * outputs * prod(axis.stride for axis in axes)
        w = reshape(node, w, (rows, inputs // group, *(axis.taps for axis in axes)))
    else:
        w = node.emit(TransposeOp(w, perm=(1, 0, *range(2, rank + 2))))
    back = [i + 2 for i, axis in enumerate(axes) if axis.taps > 1]
    if not back:
        return w
    n = len(back)
    return node.emit(SliceOp(w, starts=[-1] * n, ends=[_BEFORE_FIRST] * n, axes=back, steps=[-1] * n))


def _spread(node: Node, y: SSAValue, channels: int, strides: Sequence[int]) -> SSAValue:
    """[N, M * strides, Q...] as [N, M, Q * stride, ...]."""
    if prod(strides) == 1:
        return y
    batch, _, *counts = shape_of(y)
    rank = len(strides)
    y = reshape(node, y, (batch, channels, *strides, *counts))
    order = [axis for i in range(rank) for axis in (2 + rank + i, 2 + i)]
    y = node.emit(TransposeOp(y, perm=(0, 1, *order)))
    return reshape(node, y, (batch, channels, *(c * s for c, s in zip(counts, strides, strict=True))))


def _cut(node: Node, y: SSAValue, axes: Sequence[_Axis]) -> SSAValue:
    """The elements of y out of those of all strides that were computed."""
    starts = [axis.begin - axis.first * axis.stride for axis in axes]
    ends = [start + axis.size for start, axis in zip(starts, axes, strict=True)]
    cut = [i for i, extent in enumerate(shape_of(y)[2:]) if starts[i] or ends[i] != extent]
    if not cut:
        return y
    places = [i + 2 for i in cut]
    return node.emit(SliceOp(y, starts=[starts[i] for i in cut], ends=[ends[i] for i in cut], axes=places))
