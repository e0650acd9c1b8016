"""Small hand-made ONNX graphs, each with one structure that a compiler meets, and odd sizes where they matter.

`SMALL` maps a name to a builder `(seed=0, batch=1) -> ModelProto`. All weights are seeded initialisers; the input is
called "x" and the output "y" (some graphs have more). Imports onnx and numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Dim = int | str
Builder = Callable[..., onnx.ModelProto]


class GraphBuilder:
    """Appends nodes and seeded weights to a graph; every method returns the name of the tensor that it made."""

    def __init__(self, seed: int = 0, opset: int = 17) -> None:
        self.opset = opset
        self._rng = np.random.default_rng([seed, 2])
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[Dim], dtype: int = TensorProto.FLOAT) -> str:
        """Declares a graph input."""
        self._inputs.append(helper.make_tensor_value_info(name, dtype, list(shape)))
        return name

    def constant(self, name: str, value: Any) -> str:
        """Adds an initialiser with the given value."""
        self._weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, shape: Sequence[int], low: float = -1.0, high: float = 1.0) -> str:
        """Adds a float32 initialiser, uniform in [low, high)."""
        name = f"w{len(self._weights)}"
        return self.constant(name, self._rng.uniform(low, high, tuple(shape)).astype(np.float32))

    def node(self, op_type: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """Adds a node named after its output (default: a fresh name)."""
        output = output or f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(op_type, list(inputs), [output], name=f"node_{output}", **attributes))
        return output

    def conv(
        self, x: str, c_in: int, c_out: int, kernel: int = 3, *, group: int = 1, bias: bool = True, **attributes: Any
    ) -> str:
        """Convolution with a square kernel, He-scaled; pads default to "same" for stride 1."""
        bound = (6.0 / (c_in // group * kernel * kernel)) ** 0.5
        inputs = [x, self.weight((c_out, c_in // group, kernel, kernel), -bound, bound)]
        if bias:
            inputs.append(self.weight((c_out,), -0.2, 0.2))
        attributes.setdefault("pads", [kernel // 2] * 4)
        return self.node("Conv", inputs, kernel_shape=[kernel, kernel], group=group, **attributes)

    def batch_norm(self, x: str, channels: int) -> str:
        """Inference BatchNormalization with statistics away from 0 and 1."""
        bounds = ((0.75, 1.25), (-0.3, 0.3), (-0.3, 0.3), (0.6, 1.6))
        return self.node("BatchNormalization", [x, *(self.weight((channels,), *b) for b in bounds)], epsilon=1e-3)

    def conv_bn_relu(self, x: str, c_in: int, c_out: int, kernel: int = 3, **attributes: Any) -> str:
        """Convolution without bias, BatchNormalization, ReLU."""
        y = self.conv(x, c_in, c_out, kernel, bias=False, **attributes)
        return self.node("Relu", [self.batch_norm(y, c_out)])

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The finished model; output types are left to the reader of the graph."""
        values = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self._nodes, "small", self._inputs, values, self._weights)
        opset = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8)


def single_node(
    op_type: str,
    inputs: Mapping[str, Sequence[Dim] | np.ndarray | None],
    *,
    opset: int = 17,
    outputs: Sequence[str] = ("y",),
    **attributes: Any,
) -> onnx.ModelProto:
    """A graph of one node: a shape makes a float32 graph input, an array an initialiser, None an omitted input."""
    builder = GraphBuilder(opset=opset)
    names: list[str] = []
    for name, value in inputs.items():
        if value is None:
            names.append("")
        elif isinstance(value, np.ndarray):
            names.append(builder.constant(name, value))
        else:
            names.append(builder.input(name, value))
    model = builder.model(*outputs)
    model.graph.node.append(helper.make_node(op_type, names, list(outputs), name="node", **attributes))
    return model


def conv_bn_relu(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """One 3x3 convolution with BatchNormalization and ReLU."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 16, 12, 12))
    y = b.batch_norm(b.conv(x, 16, 32, bias=False), 32)
    return _finish(b, "Relu", [y])


def stem(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """The head of a ResNet: 7x7 convolution of 3 channels, stride 2, then a padded 3x3 max pool, stride 2."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 3, 31, 33))
    y = b.conv_bn_relu(x, 3, 24, 7, strides=[2, 2])
    return _finish(b, "MaxPool", [y], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])


def residual(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """A bottleneck with a projection, then one with an identity shortcut (Sum of two, then ReLU)."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 32, 9, 9))
    main = b.conv_bn_relu(b.conv_bn_relu(x, 32, 16, 1), 16, 16, strides=[2, 2])
    main = b.batch_norm(b.conv(main, 16, 64, 1, bias=False), 64)
    short = b.batch_norm(b.conv(x, 32, 64, 1, bias=False, strides=[2, 2]), 64)
    first = b.node("Relu", [b.node("Sum", [main, short])])
    main = b.conv_bn_relu(b.conv_bn_relu(first, 64, 16, 1), 16, 16)
    main = b.batch_norm(b.conv(main, 16, 64, 1, bias=False), 64)
    return _finish(b, "Relu", [b.node("Sum", [main, first])])


def inception(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """Four branches of unequal, odd widths joined along the channels."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 17, 11, 11))
    one = b.node("Relu", [b.conv(x, 17, 16, 1)])
    three = b.node("Relu", [b.conv(b.node("Relu", [b.conv(x, 17, 12, 1)]), 12, 30, 3)])
    five = b.node("Relu", [b.conv(b.node("Relu", [b.conv(x, 17, 5, 1)]), 5, 8, 5)])
    pool = b.node("MaxPool", [x], kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    pool = b.node("Relu", [b.conv(pool, 17, 9, 1)])
    return _finish(b, "Concat", [one, three, five, pool], axis=1)


def gemm_head(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """A classifier: convolution, global average pool, Flatten, Gemm, Softmax."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 30, 7, 7))
    y = b.node("Flatten", [b.node("GlobalAveragePool", [b.node("Relu", [b.conv(x, 30, 48)])])], axis=1)
    logits = b.node("Gemm", [y, b.weight((100, 48), -0.3, 0.3), b.weight((100,), -0.2, 0.2)], "logits", transB=1)
    return _finish(b, "Softmax", [logits], axis=-1)


def mlp(seed: int = 0, batch: Dim = 5) -> onnx.ModelProto:
    """Two Gemm layers with ReLU between, plain (transB = 0) and scaled weights, odd widths."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 33))
    hidden = b.node("Relu", [b.node("Gemm", [x, b.weight((33, 70)), b.weight((70,))])])
    return _finish(b, "Gemm", [hidden, b.weight((70, 19)), b.weight((1, 19))], alpha=0.5, beta=2.0)


def depthwise(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """A depthwise separable block."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 24, 14, 14))
    y = b.conv_bn_relu(x, 24, 24, 3, group=24, strides=[2, 2])
    return _finish(
        b, "Clip", [b.conv(y, 24, 40, 1), b.constant("low", np.float32(0)), b.constant("high", np.float32(6))]
    )


def grouped(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """A group convolution of 4 groups and the channel shuffle after it."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 24, 8, 8))
    y = b.conv(x, 24, 40, 1, group=4)
    y = b.node("Reshape", [y, b.constant("split", np.array([0, 4, 10, 8, 8]))])
    y = b.node("Transpose", [y], perm=[0, 2, 1, 3, 4])
    return _finish(b, "Reshape", [y, b.constant("join", np.array([0, -1, 8, 8]))])


def odd_channels(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """Channels 3, 17 and 30: never a multiple of 16, so that padded lanes are in play at every step."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 3, 13, 15))
    y = b.conv_bn_relu(b.conv_bn_relu(x, 3, 17), 17, 30, 3, strides=[2, 2])
    y = b.node("Sigmoid", [b.conv(y, 30, 17, 1)])
    return _finish(b, "Conv", [y, b.weight((5, 17, 3, 3), -0.2, 0.2), b.weight((5,))], kernel_shape=[3, 3])


def pools(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """Average pools that count and do not count their padding, a ceil-mode max pool, and a global maximum."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 20, 15, 15))
    y = b.node("AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = b.node("AveragePool", [y], kernel_shape=[3, 3], pads=[0, 0, 2, 2], count_include_pad=1)
    y = b.node("MaxPool", [y], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    return _finish(b, "GlobalMaxPool", [y])


def two_outputs(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """A value that is both a graph output and used further, and a second input added to it."""
    b = GraphBuilder(seed)
    x, z = b.input("x", (batch, 16, 6, 6)), b.input("z", (batch, 16, 6, 6))
    inner = b.node("Relu", [b.batch_norm(b.conv(x, 16, 16, bias=False), 16)], "inner")
    b.node("Relu", [b.node("Add", [inner, z])], "y")
    return b.model("y", "inner")


def lrn(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """Convolution, ReLU and local response normalisation over 20 channels."""
    b = GraphBuilder(seed)
    x = b.input("x", (batch, 3, 10, 10))
    return _finish(b, "LRN", [b.node("Relu", [b.conv(x, 3, 20)])], size=5, alpha=0.05, beta=0.75, bias=2.0)


def written_out_activations(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """Exact GELU, SiLU, hard swish and mish, each in the operators that exporters write it with."""
    b = GraphBuilder(seed)
    x = b.conv(b.input("x", (batch, 3, 6, 6)), 3, 16)
    number = {n: b.constant(f"c{n}", np.float32(n)) for n in (0.5, 1.0, 2.0**0.5, 3.0, 6.0, 0.0)}
    erf = b.node("Erf", [b.node("Div", [x, number[2.0**0.5]])])
    x = b.node("Mul", [b.node("Mul", [x, b.node("Add", [erf, number[1.0]])]), number[0.5]])
    x = b.conv(x, 16, 16)
    x = b.conv(b.node("Mul", [x, b.node("Sigmoid", [x])]), 16, 16)
    gate = b.node("Clip", [b.node("Add", [x, number[3.0]]), number[0.0], number[6.0]])
    x = b.conv(b.node("Div", [b.node("Mul", [x, gate]), number[6.0]]), 16, 16)
    softplus = b.node("Log", [b.node("Add", [b.node("Exp", [x]), number[1.0]])])
    return _finish(b, "Mul", [x, b.node("Tanh", [softplus])])


def written_out_norms(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """Layer and RMS normalisation of rows and a group normalisation of pixels, written out."""
    b = GraphBuilder(seed)
    x = b.node("MatMul", [b.input("x", (batch, 5, 24)), b.weight((24, 32))])
    two, epsilon = b.constant("two", np.float32(2)), b.constant("epsilon", np.float32(1e-5))

    def root(y: str) -> str:
        mean = b.node("ReduceMean", [b.node("Pow", [y, two])], axes=[-1], keepdims=1)
        return b.node("Sqrt", [b.node("Add", [mean, epsilon])])

    centred = b.node("Sub", [x, b.node("ReduceMean", [x], axes=[-1], keepdims=1)])
    x = b.node("Mul", [b.node("Div", [centred, root(centred)]), b.weight((32,))])
    x = b.node("MatMul", [b.node("Add", [x, b.weight((32,))]), b.weight((32, 32))])
    x = b.node("Mul", [b.weight((32,)), b.node("Mul", [x, b.node("Reciprocal", [root(x)])])])
    x = b.node("Reshape", [x, b.constant("image", np.array([0, 8, 4, 5]))])
    flat = b.node("Reshape", [b.conv(x, 8, 8), b.constant("rows", np.array([0, 4, -1]))])
    ones, zeros = b.constant("ones", np.ones(4, np.float32)), b.constant("zeros", np.zeros(4, np.float32))
    flat = b.node("InstanceNormalization", [flat, ones, zeros])
    x = b.node("Mul", [b.node("Reshape", [flat, b.constant("back", np.array([0, 8, 4, 5]))]), b.weight((8, 1, 1))])
    return _finish(b, "Add", [x, b.weight((8, 1, 1))])


def channels_last(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """Two blocks of a ConvNeXt: between depthwise convolutions what mixes channels has them last, one norm written out."""
    b = GraphBuilder(seed)
    x = b.conv(b.input("x", (batch, 3, 7, 7)), 3, 32)
    two, epsilon = b.constant("two", np.float32(2)), b.constant("epsilon", np.float32(1e-6))
    for written_out in (False, True):
        y = b.node("Transpose", [b.conv(x, 32, 32, group=32)], perm=[0, 2, 3, 1])
        if written_out:
            centred = b.node("Sub", [y, b.node("ReduceMean", [y], axes=[-1], keepdims=1)])
            mean = b.node("ReduceMean", [b.node("Pow", [centred, two])], axes=[-1], keepdims=1)
            y = b.node("Div", [centred, b.node("Sqrt", [b.node("Add", [mean, epsilon])])])
            y = b.node("Add", [b.node("Mul", [y, b.weight((32,))]), b.weight((32,))])
        else:
            y = b.node("LayerNormalization", [y, b.weight((32,)), b.weight((32,))], axis=-1, epsilon=1e-6)
        y = b.node("Relu", [b.node("Add", [b.node("MatMul", [y, b.weight((32, 64))]), b.weight((64,))])])
        y = b.node("Add", [b.node("MatMul", [y, b.weight((64, 32), -0.3, 0.3)]), b.weight((32,))])
        y = b.node("Transpose", [b.node("Mul", [y, b.weight((32,))])], perm=[0, 3, 1, 2])
        x = b.node("Add", [y, x])
    return _finish(b, "GlobalAveragePool", [x])


def pixels_as_rows(seed: int = 0, batch: Dim = 1) -> onnx.ModelProto:
    """A block of a SegFormer: the pixels of 4 x 8 are rows of a matrix between convolutions, transposed there and back."""
    b = GraphBuilder(seed)
    x = b.conv(b.input("x", (batch, 3, 4, 8)), 3, 40)
    rows = b.node("Transpose", [b.node("Reshape", [x, b.constant("flat", np.array([0, 40, 32]))])], perm=[0, 2, 1])
    rows = b.node("Add", [b.node("MatMul", [rows, b.weight((40, 48), -0.3, 0.3)]), b.weight((48,))])
    rows = b.node("LayerNormalization", [rows, b.weight((48,)), b.weight((48,))], axis=-1)
    back = b.node("Reshape", [b.node("Transpose", [rows], perm=[0, 2, 1]), b.constant("map", np.array([0, 48, 4, 8]))])
    mixed = b.node("Reshape", [b.conv(back, 48, 48, group=48), b.constant("again", np.array([0, 48, -1]))])
    mixed = b.node("MatMul", [b.node("Transpose", [mixed], perm=[0, 2, 1]), b.weight((48, 48), -0.3, 0.3)])
    return _finish(b, "Add", [mixed, rows])


def _finish(builder: GraphBuilder, op_type: str, inputs: Sequence[str], **attributes: Any) -> onnx.ModelProto:
    builder.node(op_type, inputs, "y", **attributes)
    return builder.model("y")


SMALL: dict[str, Builder] = {
    builder.__name__: builder
    for builder in (
        conv_bn_relu,
        stem,
        residual,
        inception,
        gemm_head,
        mlp,
        depthwise,
        grouped,
        odd_channels,
        pools,
        two_outputs,
        lrn,
        written_out_activations,
        written_out_norms,
        channels_last,
        pixels_as_rows,
    )
}
