"""Small graphs of situations that users of NPU compilers have reported in public, each a kind that went wrong somewhere.

`REPORTED` maps a name to a builder of (model, feeds). Imports onnx and numpy only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from models.small import GraphBuilder
from onnx import TensorProto

Case = tuple[onnx.ModelProto, dict[str, Any]]


def _normal(seed: int, *shape: int, mean: float = 0.0, deviation: float = 1.0) -> Any:
    return (mean + deviation * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def _number(b: GraphBuilder, name: str, value: Any) -> str:
    return b.constant(name, np.asarray(value, np.float32))


def _indices(b: GraphBuilder, name: str, value: Any) -> str:
    return b.constant(name, np.asarray(value, np.int64))


def negative_places() -> Case:
    """A Gather and a ScatterND that count from the end, a Slice that goes backwards."""
    b = GraphBuilder(12)
    x = b.input("x", (3, 5, 4))
    b.node("Gather", [x, _indices(b, "gi", [-1, 0])], "a", axis=1)
    b.node("Slice", [x, *(_indices(b, f"s{i}", [n]) for i, n in enumerate((-1, -6, 1, -2)))], "b")
    b.node("ScatterND", [x, _indices(b, "si", [[-1, 2], [0, -5]]), b.weight((2, 4))], "c")
    return b.model("a", "b", "c"), {"x": _normal(12, 3, 5, 4)}


def empty_part() -> Case:
    """A Slice without elements beside another one in a Concat."""
    b = GraphBuilder(13)
    x, axis = b.input("x", (2, 6)), _indices(b, "axis", [1])
    empty = b.node("Slice", [x, _indices(b, "s0", [3]), _indices(b, "e0", [3]), axis])
    body = b.node("Slice", [x, _indices(b, "s1", [1]), _indices(b, "e1", [5]), axis])
    b.node("Relu", [b.node("Concat", [empty, body], axis=1)], "y")
    return b.model("y"), {"x": _normal(13, 2, 6)}


def resize_between_convolutions() -> Case:
    """A bilinear Resize among feature maps in blocks of channels."""
    b = GraphBuilder(15)
    up = b.node(
        "Resize", [b.conv(b.input("x", (1, 3, 6, 6)), 3, 20), "", _number(b, "sc", [1, 1, 2, 2])], mode="linear"
    )
    b.node("Relu", [b.conv(up, 20, 5, 1, pads=[0] * 4)], "y")
    return b.model("y"), {"x": _normal(15, 1, 3, 6, 6)}


def casts() -> Case:
    """Floats to int32 twice, their sum through int64 back; a float through fp16, which rounds it."""
    b = GraphBuilder(20)
    x = b.input("x", (64,))
    total = b.node("Add", [b.node("Cast", [x], to=TensorProto.INT32), b.node("Cast", [x], to=TensorProto.INT32)])
    back = b.node("Cast", [b.node("Cast", [total], to=TensorProto.INT64)], to=TensorProto.FLOAT)
    half = b.node("Cast", [b.node("Cast", [x], to=TensorProto.FLOAT16)], to=TensorProto.FLOAT)
    b.node("Add", [back, half], "y")
    return b.model("y"), {"x": _normal(20, 64, deviation=300.0).astype(np.float16).astype(np.float32)}


def scaled_convolutions() -> Case:
    """Convolutions with BatchNormalization, Mul, Add and ReLU behind."""
    b = GraphBuilder(21)
    value, channels = b.input("x", (1, 3, 16, 16)), 3
    for _ in range(3):
        normed = b.batch_norm(b.conv(value, channels, 16, bias=False), 16)
        scaled = b.node("Mul", [normed, b.weight((1, 16, 1, 1), 0.8, 1.2)])
        value, channels = b.node("Relu", [b.node("Add", [scaled, b.weight((1, 16, 1, 1), -0.1, 0.1)])]), 16
    return b.model(value), {"x": _normal(21, 1, 3, 16, 16)}


def joined_channels(left: int, right: int) -> Case:
    """A Concat of channels that fill blocks of 16, or do not, between convolutions."""
    b = GraphBuilder(23)
    x = b.input("x", (1, 4, 8, 8))
    both = b.node("Concat", [b.conv(x, 4, left, 1, pads=[0] * 4), b.conv(x, 4, right)], axis=1)
    b.node("Relu", [b.conv(both, left + right, 6, 1, pads=[0] * 4)], "y")
    return b.model("y"), {"x": _normal(23, 1, 4, 8, 8)}


def reductions_over_padded_channels() -> Case:
    """Sum, maximum and mean of five channels that lie in a block of 16; exp(0) = 1 in a padding lane would count."""
    b = GraphBuilder(25, opset=13)
    c = b.conv(b.input("x", (1, 3, 4, 4)), 3, 5, 1, pads=[0] * 4)
    e = b.node("Exp", [c])
    b.node("Div", [e, b.node("ReduceSum", [e, _indices(b, "axis", [1])])], "y")
    b.node("ReduceMax", [b.node("Sub", [c, _number(b, "far", 40.0)])], "largest", axes=[1])
    b.node("ReduceMean", [c], "mean", axes=[1])
    return b.model("y", "largest", "mean"), {"x": _normal(25, 1, 3, 4, 4)}


def channels_last() -> Case:
    """Transpositions around convolutions, of which pairs cancel."""
    b = GraphBuilder(26)
    first = b.conv(b.node("Transpose", [b.input("x", (1, 9, 9, 3))], perm=[0, 3, 1, 2]), 3, 8)
    back = b.node("Transpose", [first], perm=[0, 2, 3, 1])
    active = b.node("Relu", [b.node("Add", [back, b.weight((8,))])])
    second = b.conv(b.node("Transpose", [active], perm=[0, 3, 1, 2]), 8, 8)
    b.node("Transpose", [second], "y", perm=[0, 2, 3, 1])
    return b.model("y"), {"x": _normal(26, 1, 9, 9, 3)}


def convolutions_of_sequences() -> Case:
    """1-D convolutions of ten channels with a residual."""
    b = GraphBuilder(28)
    value, first = b.input("x", (1, 10, 50)), ""
    for _ in range(4):
        value = b.node("Conv", [value, b.weight((10, 10, 3), -0.3, 0.3)], pads=[1, 1])
        value = b.node("LeakyRelu", [value], alpha=0.1)
        first = first or value
    b.node("Add", [value, first], "y")
    return b.model("y"), {"x": _normal(28, 1, 10, 50)}


def joint_projection() -> Case:
    """Queries, keys and values of one product, cut by Gather out of a transposition."""
    b = GraphBuilder(31)
    total = b.node(
        "Add", [b.node("MatMul", [b.input("x", (1, 10, 32)), b.weight((32, 96), -0.3, 0.3)]), b.weight((96,))]
    )
    parts = b.node("Reshape", [total, _indices(b, "cut", [1, 10, 3, 4, 8])])
    parts = b.node("Transpose", [parts], perm=[2, 0, 3, 1, 4])
    q, k, v = (b.node("Gather", [parts, _indices(b, f"i{i}", i)], axis=0) for i in range(3))
    scores = b.node("MatMul", [q, b.node("Transpose", [k], perm=[0, 1, 3, 2])])
    shares = b.node("Softmax", [b.node("Mul", [scores, _number(b, "scale", 8**-0.5)])], axis=-1)
    heads = b.node("Transpose", [b.node("MatMul", [shares, v])], perm=[0, 2, 1, 3])
    b.node("Reshape", [heads, _indices(b, "join", [1, 10, 32])], "y")
    return b.model("y"), {"x": _normal(31, 1, 10, 32)}


def masked_rows() -> Case:
    """A mask of integers as a large negative addend, again and again; one row is masked as a whole: all of it alike."""
    b = GraphBuilder(33)
    value, mask = b.input("x", (2, 8, 8)), b.input("mask", (2, 8, 8), TensorProto.INT64)
    one, far = _number(b, "one", 1.0), _number(b, "far", -1e9)
    for _ in range(2):
        shift = b.node("Mul", [b.node("Sub", [one, b.node("Cast", [mask], to=TensorProto.FLOAT)]), far])
        value = b.node("Softmax", [b.node("Add", [value, shift])], axis=-1)
    seen = np.ones((2, 8, 8), np.int64)
    seen[0, :, 5:] = 0
    seen[1, 3] = 0
    return b.model(value), {"x": _normal(33, 2, 8, 8), "mask": seen}


def masked_attention() -> Case:
    """Attention whose mask hides all keys of one query: its row is the mean of the values, and no NaN."""
    b = GraphBuilder(34)
    q, k, v = (b.input(name, (1, 2, 12, 16)) for name in "qkv")
    mask = np.zeros((1, 1, 12, 12), np.float32)
    mask[..., 6:] = -1e9
    mask[..., 4, :] = -1e9
    scores = b.node("MatMul", [q, b.node("Transpose", [k], perm=[0, 1, 3, 2])])
    scores = b.node("Add", [b.node("Mul", [scores, _number(b, "scale", 0.25)]), _number(b, "mask", mask)])
    b.node("MatMul", [b.node("Softmax", [scores], axis=-1), v], "y")
    return b.model("y"), {name: _normal(34 + i, 1, 2, 12, 16) for i, name in enumerate("qkv")}


def grouped_convolutions() -> Case:
    """Depthwise, grouped with stride, pointwise: few lanes of a block."""
    b = GraphBuilder(35)
    depth = b.conv(b.input("x", (1, 12, 9, 9)), 12, 12, group=12)
    held = b.node("Clip", [depth, _number(b, "low", 0.0), _number(b, "high", 6.0)])
    b.node("Relu", [b.conv(b.conv(held, 12, 6, 1, group=3, strides=[2, 2], pads=[0] * 4), 6, 7, 1, pads=[0] * 4)], "y")
    return b.model("y"), {"x": _normal(35, 1, 12, 9, 9)}


def unaligned_products() -> Case:
    """A perceptron with GELU no size of which is a multiple of 16: padding must be zero, not happen to be."""
    b = GraphBuilder(37)
    a = b.node("Add", [b.node("MatMul", [b.input("x", (17, 33)), b.weight((33, 45), -0.35, 0.35)]), b.weight((45,))])
    e = b.node("Erf", [b.node("Div", [a, _number(b, "root", 2**0.5)])])
    g = b.node("Mul", [b.node("Mul", [a, b.node("Add", [e, _number(b, "one", 1.0)])]), _number(b, "half", 0.5)])
    b.node("MatMul", [g, b.weight((45, 29), -0.35, 0.35)], "y")
    return b.model("y"), {"x": _normal(37, 17, 33)}


def huge_mask() -> Case:
    """A mask of 0 and 1e9, which fp16 does not hold: 0 times infinity would be no number."""
    b = GraphBuilder(40)
    x, hidden = b.input("x", (4, 16)), b.input("hidden", (4, 16))
    b.node("Softmax", [b.node("Sub", [x, b.node("Mul", [hidden, _number(b, "big", 1e9)])])], "y", axis=-1)
    mask = (np.random.default_rng(40).random((4, 16)) > 0.5).astype(np.float32)
    mask[0] = 0
    return b.model("y"), {"x": _normal(40, 4, 16), "hidden": mask}


def long_sums() -> Case:
    """4096 products each, with a mean away from zero: sums in fp16 would lose the small ones."""
    b = GraphBuilder(43)
    b.node("MatMul", [b.input("x", (3, 4096)), b.weight((4096, 20), -0.01, 0.03)], "y")
    return b.model("y"), {"x": _normal(43, 3, 4096, mean=0.5, deviation=0.2)}


def normalization_with_cancellation() -> Case:
    """A written out LayerNorm of numbers around 500 that differ by 0.5: their squares overflow fp16."""
    b = GraphBuilder(44, opset=13)
    x = b.input("x", (4, 64))
    d = b.node("Sub", [x, b.node("ReduceMean", [x], axes=[-1])])
    variance = b.node("ReduceMean", [b.node("Pow", [d, _number(b, "two", 2.0)])], axes=[-1])
    deviation = b.node("Sqrt", [b.node("Add", [variance, _number(b, "epsilon", 1e-5)])])
    normed = b.node("Div", [d, deviation])
    b.node("Add", [b.node("Mul", [normed, b.weight((64,), 0.5, 1.5)]), b.weight((64,))], "y")
    return b.model("y"), {"x": _normal(44, 4, 64, mean=500.0, deviation=0.5).astype(np.float16).astype(np.float32)}


def transpositions_and_views() -> Case:
    """A Reshape behind a Transpose is no Reshape of the source."""
    b = GraphBuilder(46)
    x = b.input("x", (2, 3, 4, 6))
    turned = b.node("Transpose", [x], perm=[0, 2, 3, 1])
    b.node("Relu", [b.node("Reshape", [turned, _indices(b, "s1", [2, 24, 3])])], "a")
    rows = b.node("Reshape", [x, _indices(b, "s2", [2, 4, 18])])
    b.node("Reshape", [b.node("Transpose", [rows], perm=[1, 0, 2]), _indices(b, "s3", [4, 2, 18])], "c")
    return b.model("a", "c"), {"x": _normal(46, 2, 3, 4, 6)}


def branches_of_one_input() -> Case:
    """Convolutions of one input that differ in dilation, stride and width."""
    b = GraphBuilder(47)
    x = b.input("x", (1, 8, 10, 10))
    b.node("Relu", [b.conv(x, 8, 5)], "a")
    b.node("Add", [b.conv(x, 8, 7), b.conv(x, 8, 7, dilations=[2, 2], pads=[2] * 4)], "c")
    b.node("Relu", [b.conv(x, 8, 3, strides=[2, 2])], "d")
    return b.model("a", "c", "d"), {"x": _normal(47, 1, 8, 10, 10)}


def results_with_several_readers() -> Case:
    """What others read too may not vanish into a fused operator; a transposed convolution with two readers."""
    b = GraphBuilder(49)
    c = b.conv(b.input("x", (1, 3, 6, 6)), 3, 4)
    y = b.node("Relu", [b.batch_norm(c, 4)], "y")
    b.node("Sigmoid", [c], "side")
    up = b.node("ConvTranspose", [y, b.weight((4, 2, 2, 2), -0.4, 0.4)], strides=[2, 2])
    b.node("Add", [up, b.weight((1, 2, 1, 1))], "biased")
    b.node("Neg", [up], "negative")
    return b.model("y", "side", "biased", "negative"), {"x": _normal(49, 1, 3, 6, 6)}


def skip_connections() -> Case:
    """A small U-Net: results live long, transposed convolutions meet them."""
    b = GraphBuilder(55)
    value, channels, skips = b.input("x", (1, 4, 16, 16)), 4, list[str]()
    for _ in range(2):
        skips.append(b.node("Relu", [b.conv(value, channels, channels * 2)]))
        value, channels = b.node("MaxPool", [skips[-1]], kernel_shape=[2, 2], strides=[2, 2]), channels * 2
    for skip, width in zip(reversed(skips), (16, 8), strict=True):
        up = b.node("ConvTranspose", [value, b.weight((channels, width, 2, 2), -0.25, 0.25)], strides=[2, 2])
        value, channels = (
            b.node("Relu", [b.conv(b.node("Concat", [up, skip], axis=1), 2 * width, width // 2)]),
            width // 2,
        )
    return b.model(value), {"x": _normal(55, 1, 4, 16, 16)}


def results_that_die_late() -> Case:
    """A value with four readers, one through a view: none may write over it before the last one."""
    b = GraphBuilder(56)
    a = b.node("Relu", [b.input("x", (4, 6))])
    c = b.node("Sub", [a, b.node("Mul", [a, _number(b, "half", 0.5)])])
    b.node("Add", [b.node("Exp", [c]), a], "y")
    b.node("Add", [b.node("Reshape", [a, _indices(b, "flat", [24])]), _number(b, "one", 1.0)], "w")
    return b.model("y", "w"), {"x": _normal(56, 4, 6)}


def long_rows() -> Case:
    """Rows of 96,000 elements, which the unified buffer does not hold."""
    b = GraphBuilder(58, opset=13)
    x = b.input("x", (2, 96000))
    b.node("Softmax", [x], "y", axis=-1)
    b.node("Sub", [x, b.node("ReduceMean", [x], axes=[-1])], "z")
    return b.model("y", "z"), {"x": _normal(58, 2, 96000)}


def big_windows() -> Case:
    """Pooling windows of more positions than an instruction counts, with stride and with padding."""
    b = GraphBuilder(59)
    x = b.input("x", (1, 5, 40, 40))
    b.node("MaxPool", [x], "largest", kernel_shape=[19, 17], strides=[3, 4], pads=[9, 8, 9, 8])
    b.node("AveragePool", [x], "mean", kernel_shape=[20, 20], strides=[20, 20])
    b.node("AveragePool", [x], "whole", kernel_shape=[40, 40])
    return b.model("largest", "mean", "whole"), {"x": _normal(59, 1, 5, 40, 40)}


def short_rows() -> Case:
    """Softmax over two, three and seven elements of many rows, and over an axis in front."""
    b = GraphBuilder(60)
    b.node("Softmax", [b.input("a", (300, 2))], "pairs", axis=-1)
    b.node("Softmax", [b.input("b", (5, 41, 3))], "threes", axis=-1)
    b.node("Softmax", [b.input("c", (2, 7, 6, 5))], "classes", axis=1)
    shapes = {"a": (300, 2), "b": (5, 41, 3), "c": (2, 7, 6, 5)}
    return b.model("pairs", "threes", "classes"), {name: _normal(60, *shape) for name, shape in shapes.items()}


def one_row() -> Case:
    """A product of a single row."""
    b = GraphBuilder(65)
    b.node("MatMul", [b.input("x", (1, 256)), b.weight((256, 128), -0.1, 0.1)], "y")
    return b.model("y"), {"x": _normal(65, 1, 256)}


def uneven_borders() -> Case:
    """A convolution with stride, padded on two sides alone, gated by itself; two images of five channels."""
    b = GraphBuilder(67)
    c = b.conv(b.input("x", (2, 5, 7, 9)), 5, 9, strides=[2, 2], pads=[0, 1, 1, 0])
    b.node("Mul", [c, b.node("HardSigmoid", [c])], "y")
    return b.model("y"), {"x": _normal(67, 2, 5, 7, 9)}


REPORTED: dict[str, Callable[[], Case]] = {
    make.__name__: make
    for make in (
        negative_places, empty_part, resize_between_convolutions, casts, scaled_convolutions, reductions_over_padded_channels,
        channels_last, convolutions_of_sequences, joint_projection, masked_rows, masked_attention, grouped_convolutions,
        unaligned_products, huge_mask, long_sums, normalization_with_cancellation, transpositions_and_views,
        branches_of_one_input, results_with_several_readers, skip_connections, results_that_die_late, long_rows, big_windows,
        short_rows, one_row, uneven_borders,
    )
}  # fmt: skip
REPORTED["joined_whole_blocks"] = lambda: joined_channels(16, 32)
REPORTED["joined_parts_of_blocks"] = lambda: joined_channels(3, 5)
