"""Convolutions, plain and deformable."""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.convolution import DeformConv2dOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.frontend_onnx.convolve import convolve, kernel_of
from graph_engine.frontend_onnx.node import Converter, Node, dtype_of, shape_of, spatial
from graph_engine.frontend_onnx.transposed_convolution import conv_transpose
from graph_engine.frontend_onnx.windows import spatial_extents, window_of


def conv(node: Node) -> SSAValue:
    """1-D as images of one row, 2-D, 3-D."""
    w = node.operand(1)
    window = window_of(node, kernel_of(node, shape_of(w), len(spatial_extents(node))))
    return convolve(
        node,
        node.operand(0),
        w,
        node.optional(2),
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        group=node.int("group", 1),
    )


def deform_conv(node: Node) -> SSAValue:
    """2-D; an absent bias is zeros."""
    import numpy as np

    spatial(node)
    w = node.operand(1)
    window = window_of(node, kernel_of(node, shape_of(w), 2))
    b = node.optional(3)
    if b is None:
        b = node.keep_constant(np.zeros(shape_of(w)[0], numpy_dtype(dtype_of(w))), f"{node.name}.bias")
    return node.emit(
        DeformConv2dOp(
            node.operand(0),
            w,
            node.operand(2),
            b,
            node.optional(4),
            strides=window.strides,
            pads=window.pads,
            dilations=window.dilations,
            group=node.int("group", 1),
            offset_group=node.int("offset_group", 1),
        )
    )


CONVERTERS: dict[str, Converter] = {"Conv": conv, "ConvTranspose": conv_transpose, "DeformConv": deform_conv}
