"""Convolutions, and the window arithmetic (pads, auto_pad) that pooling shares."""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, shape_of, spatial, static_dim


def window_pads(node: Node, kernel: list[int], strides: list[int], dilations: list[int]) -> list[int]:
    """The pads [h_begin, w_begin, h_end, w_end] of a window operator, with `auto_pad` worked out.

    SAME_UPPER and SAME_LOWER give ceil(extent / stride) windows; an odd pad goes to the end or to the beginning.
    """
    mode = node.string("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        return node.ints("pads", [0, 0, 0, 0])
    if mode == "VALID":
        return [0, 0, 0, 0]
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"auto_pad {mode} is not known")
    begins: list[int] = []
    ends: list[int] = []
    for extent, k, stride, dilation in zip(spatial(node), kernel, strides, dilations, strict=True):
        extent = static_dim(extent, "height and width under auto_pad")
        windows = -(-extent // stride)
        total = max(0, (windows - 1) * stride + dilation * (k - 1) + 1 - extent)
        small, large = total // 2, total - total // 2
        begins.append(small if mode == "SAME_UPPER" else large)
        ends.append(large if mode == "SAME_UPPER" else small)
    return begins + ends


def conv(node: Node) -> SSAValue:
    """Conv: 2-D only; the kernel's shape is the weight's."""
    spatial(node)
    weight = shape_of(node.operand(1))
    if len(weight) != 4:
        raise Unsupported(f"the weight has rank {len(weight)}; rank 4 is needed")
    kernel = node.ints("kernel_shape", weight[2:])
    if kernel != list(weight[2:]):
        raise Unsupported(f"kernel_shape {kernel} differs from the weight's {list(weight[2:])}")
    strides, dilations = node.ints("strides", [1, 1]), node.ints("dilations", [1, 1])
    return node.emit(
        Conv2dOp(
            node.operand(0),
            node.operand(1),
            node.optional(2),
            strides=strides,
            pads=window_pads(node, kernel, strides, dilations),
            dilations=dilations,
            group=node.int("group", 1),
        )
    )


CONVERTERS: dict[str, Converter] = {"Conv": conv}
