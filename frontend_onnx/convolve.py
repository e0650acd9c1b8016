"""Convolutions as `ge` operators for any converter: one to three spatial axes, and sums of windows."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.frontend_onnx.node import Node, Unsupported, dtype_of, shape_of
from graph_engine.frontend_onnx.windows import with_unit_axis, without_unit_axis


def kernel_of(node: Node, weight: Sequence[int], rank: int) -> list[int]:
    """The kernel's extents, which are the weight's."""
    if len(weight) != rank + 2:
        raise Unsupported(f"the weight has rank {len(weight)}; rank {rank + 2} is needed")
    kernel = node.ints("kernel_shape", weight[2:])
    if kernel != list(weight[2:]):
        raise Unsupported(f"kernel_shape {kernel} differs from the weight's {list(weight[2:])}")
    return kernel


def convolve(
    node: Node,
    x: SSAValue,
    w: SSAValue,
    b: SSAValue | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int = 1,
) -> SSAValue:
    """A convolution over one (as images of one row), two or three axes."""
    match len(strides):
        case 1:
            image = Conv2dOp(
                with_unit_axis(node, x),
                with_unit_axis(node, w),
                b,
                strides=(1, *strides),
                pads=(0, pads[0], 0, pads[1]),
                dilations=(1, *dilations),
                group=group,
            )
            return without_unit_axis(node, node.emit(image))
        case 2:
            return node.emit(Conv2dOp(x, w, b, strides=strides, pads=pads, dilations=dilations, group=group))
        case 3:
            return node.emit(Conv3dOp(x, w, b, strides=strides, pads=pads, dilations=dilations, group=group))
        case rank:
            raise Unsupported(f"{rank} spatial axes; one to three are supported")


def depthwise_sum(
    node: Node,
    x: SSAValue,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> SSAValue:
    """The sum of every window, channel by channel: a depthwise convolution with ones."""
    import numpy as np

    channels = shape_of(x)[1]
    if channels < 1:
        raise Unsupported("the number of channels must be known; give it with an input shape")
    ones = np.ones((channels, 1, *kernel), numpy_dtype(dtype_of(x)))
    w = node.keep_constant(ones, f"{node.name}.ones")
    return convolve(node, x, w, strides=strides, pads=pads, dilations=dilations, group=channels)
