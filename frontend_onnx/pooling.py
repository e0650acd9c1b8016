"""Window and global pools."""

from __future__ import annotations

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.pooling import AvgPoolOp, GlobalAvgPoolOp, GlobalMaxPoolOp, MaxPoolOp
from graph_engine.frontend_onnx.convolution import window_pads
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, spatial


def max_pool(node: Node) -> SSAValue:
    """MaxPool: 2-D, without the indices of the maxima."""
    spatial(node)
    if node.result_used(1):
        raise Unsupported("its output Indices is used")
    kernel, strides, dilations = node.ints("kernel_shape"), node.ints("strides", [1, 1]), node.ints("dilations", [1, 1])
    pads = window_pads(node, kernel, strides, dilations)
    ceil_mode = bool(node.int("ceil_mode", 0))
    x = node.operand(0)
    return node.emit(MaxPoolOp(x, kernel=kernel, strides=strides, pads=pads, dilations=dilations, ceil_mode=ceil_mode))


def average_pool(node: Node) -> SSAValue:
    """AveragePool: 2-D, undilated."""
    spatial(node)
    if any(d != 1 for d in node.ints("dilations", [1, 1])):
        raise Unsupported("dilations other than 1")
    kernel, strides = node.ints("kernel_shape"), node.ints("strides", [1, 1])
    return node.emit(
        AvgPoolOp(
            node.operand(0),
            kernel=kernel,
            strides=strides,
            pads=window_pads(node, kernel, strides, [1, 1]),
            ceil_mode=bool(node.int("ceil_mode", 0)),
            count_include_pad=bool(node.int("count_include_pad", 0)),
        )
    )


def global_average_pool(node: Node) -> SSAValue:
    """GlobalAveragePool."""
    return node.emit(GlobalAvgPoolOp(node.operand(0)))


def global_max_pool(node: Node) -> SSAValue:
    """GlobalMaxPool."""
    return node.emit(GlobalMaxPoolOp(node.operand(0)))


CONVERTERS: dict[str, Converter] = {
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": global_max_pool,
}
