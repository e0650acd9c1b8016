"""Builds an ONNX graph layer by layer, as torch exports a network in inference: convolutions hold their BatchNorm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

WEIGHT_STEP = 4096
"""Bytes between the beginnings of two weights in the file of weights, so that no two weights are equal."""


@dataclass(frozen=True)
class Value:
    """A tensor of the graph: its name and shape."""

    name: str
    shape: tuple[int, ...]


class Net:
    """One network at one batch size. Layers take and return `Value`s; `macs` counts the multiply-accumulates.

    `dtype`: the ONNX type of inputs, weights and outputs that say nothing else.
    """

    def __init__(self, batch: int, dtype: int = onnx.TensorProto.FLOAT) -> None:
        self.batch = batch
        self.dtype = dtype
        self.macs = 0
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._constants: dict[tuple[str, bytes, tuple[int, ...]], str] = {}
        self._largest = 0
        self._again: list[Value] = []

    def input(self, *shape: int, dtype: int | None = None) -> Value:
        """An input of the graph; the batch is put in front of `shape`."""
        value = Value(f"input{len(self._inputs)}", (self.batch, *shape))
        self._inputs.append(onnx.helper.make_tensor_value_info(value.name, dtype or self.dtype, value.shape))
        return value

    def weight(self, *shape: int) -> Value:
        """A weight of numbers from the shared file, or the next of those that are used again."""
        if self._again:
            return self._again.pop(0)
        tensor = onnx.TensorProto(name=f"w{len(self._weights)}", data_type=self.dtype, dims=shape, data_location=1)
        length = onnx.helper.tensor_dtype_to_np_dtype(self.dtype).itemsize * math.prod(shape)
        entries = {"location": "weights.bin", "offset": WEIGHT_STEP * len(self._weights), "length": length}
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
        self._weights.append(tensor)
        self._largest = max(self._largest, length)
        return Value(tensor.name, shape)

    def repeat(self, layer: Callable[[Value], Value], x: Value, times: int) -> Value:
        """`layer` applied `times` times, always with the weights of the first time."""
        first = len(self._weights)
        x = layer(x)
        own = [Value(tensor.name, tuple(tensor.dims)) for tensor in self._weights[first:] if tensor.data_location]
        for _ in range(times - 1):
            self._again = list(own)
            x = layer(x)
        return x

    def constant(self, value: float | Sequence[int] | np.ndarray) -> Value:
        """A small constant, a number as the net's type; equal ones are one initialiser."""
        number = onnx.helper.tensor_dtype_to_np_dtype(self.dtype)
        array = np.asarray(value, number if isinstance(value, float) else None)
        key = (str(array.dtype), array.tobytes(), array.shape)
        if key not in self._constants:
            name = self._constants[key] = f"c{len(self._constants)}"
            self._weights.append(onnx.numpy_helper.from_array(array, name))
        return Value(self._constants[key], tuple(array.shape))

    def node(self, op_type: str, inputs: Sequence[Value], shape: Sequence[int], **attributes: Any) -> Value:
        """Adds a node of one output of `shape`."""
        return self.nodes(op_type, inputs, [shape], **attributes)[0]

    def nodes(
        self, op_type: str, inputs: Sequence[Value], shapes: Sequence[Sequence[int]], **attributes: Any
    ) -> list[Value]:
        """Adds a node of an output for each of `shapes`."""
        outputs = [Value(f"n{len(self._nodes)}_{i}", tuple(shape)) for i, shape in enumerate(shapes)]
        name = f"{op_type}_{len(self._nodes)}"
        names = [value.name for value in inputs]
        self._nodes.append(onnx.helper.make_node(op_type, names, [o.name for o in outputs], name=name, **attributes))
        return outputs

    # -- windows ------------------------------------------------------------------------------------------------------

    def conv(
        self,
        x: Value,
        channels: int,
        kernel: int | Sequence[int],
        stride: int = 1,
        *,
        groups: int = 1,
        pad: int | Sequence[int] | None = None,
        dilation: int = 1,
        act: str | None = "relu",
    ) -> Value:
        """A convolution of any rank with bias, of kept extent unless `pad` is given, and its activation."""
        rank = len(x.shape) - 2
        window = [kernel] * rank if isinstance(kernel, int) else list(kernel)
        pads = [pad] * rank if isinstance(pad, int) else list(pad or (dilation * (k - 1) // 2 for k in window))
        extents = [
            (n + 2 * p - dilation * (k - 1) - 1) // stride + 1
            for n, p, k in zip(x.shape[2:], pads, window, strict=True)
        ]
        weights = self.weight(channels, x.shape[1] // groups, *window)
        shape = (x.shape[0], channels, *extents)
        self.macs += math.prod(shape) * math.prod(weights.shape[1:])
        y = self.node(
            "Conv",
            [x, weights, self.weight(channels)],
            shape,
            kernel_shape=window,
            strides=[stride] * rank,
            pads=pads * 2,
            dilations=[dilation] * rank,
            group=groups,
        )
        return self.act(y, act)

    def depthwise(
        self, x: Value, kernel: int, stride: int = 1, *, act: str | None = "relu", dilation: int = 1
    ) -> Value:
        """A convolution of each channel by itself."""
        return self.conv(x, x.shape[1], kernel, stride, groups=x.shape[1], act=act, dilation=dilation)

    def up_conv(self, x: Value, channels: int) -> Value:
        """A transposed convolution, window 2 and stride 2."""
        n, c, h, w = x.shape
        self.macs += n * c * h * w * channels * 4
        inputs = [x, self.weight(c, channels, 2, 2), self.weight(channels)]
        return self.node("ConvTranspose", inputs, (n, channels, 2 * h, 2 * w), kernel_shape=[2, 2], strides=[2, 2])

    def pool(
        self, x: Value, kind: str, kernel: int, stride: int, pad: int | None = None, *, ceil: bool = False
    ) -> Value:
        """`MaxPool` or `AveragePool`."""
        pad = (kernel - 1) // 2 if pad is None else pad
        rounded = math.ceil if ceil else math.floor
        extents = [rounded((n + 2 * pad - kernel) / stride) + 1 for n in x.shape[2:]]
        rank = len(extents)
        attributes: dict[str, Any] = {"kernel_shape": [kernel] * rank, "strides": [stride] * rank}
        attributes |= {"pads": [pad] * (2 * rank), "ceil_mode": int(ceil)}
        return self.node(kind, [x], (*x.shape[:2], *extents), **attributes)

    def global_pool(self, x: Value) -> Value:
        """The mean of each channel, [n, c, 1, 1]."""
        return self.node("GlobalAveragePool", [x], (*x.shape[:2], *(1 for _ in x.shape[2:])))

    def resize(self, x: Value, factor: int) -> Value:
        """Nearest-neighbour enlargement."""
        n, c, h, w = x.shape
        scales = self.constant(np.array([1, 1, factor, factor], np.float32))
        attributes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return self.node("Resize", [x, Value("", ()), scales], (n, c, h * factor, w * factor), **attributes)

    # -- pointwise ----------------------------------------------------------------------------------------------------

    def act(self, x: Value, kind: str | None) -> Value:
        """The activation `kind`, spelt out as torch exports it."""
        simple = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "hard_sigmoid": "HardSigmoid"}
        match kind:
            case None:
                return x
            case "leaky":
                return self.node("LeakyRelu", [x], x.shape, alpha=0.1)
            case "relu6":
                return self.node("Clip", [x, self.constant(0.0), self.constant(6.0)], x.shape)
            case "silu":
                return self.mul(x, self.act(x, "sigmoid"))
            case "hard_swish":
                return self.mul(x, self.node("HardSigmoid", [x], x.shape, alpha=1 / 6, beta=0.5))
            case "mish":
                return self.mul(x, self.act(self.node("Softplus", [x], x.shape), "tanh"))
            case "gelu":
                erf = self.node("Erf", [self.scale(x, 2**-0.5)], x.shape)
                return self.scale(self.mul(x, self.add(erf, self.constant(1.0))), 0.5)
            case _:
                return self.node(simple[kind], [x], x.shape)

    def add(self, a: Value, b: Value, act: str | None = None) -> Value:
        """The sum with broadcasting."""
        return self.act(self.node("Add", [a, b], np.broadcast_shapes(a.shape, b.shape)), act)

    def mul(self, a: Value, b: Value) -> Value:
        """The product of elements with broadcasting."""
        return self.node("Mul", [a, b], np.broadcast_shapes(a.shape, b.shape))

    def scale(self, x: Value, factor: float) -> Value:
        """The product with a number."""
        return self.mul(x, self.constant(float(factor)))

    def softmax(self, x: Value, axis: int = -1) -> Value:
        """Over one axis."""
        return self.node("Softmax", [x], x.shape, axis=axis)

    def squeeze_excite(self, x: Value, channels: int, *, act: str = "relu", gate: str = "sigmoid") -> Value:
        """`x` with each channel weighed by what two 1 x 1 convolutions make of the channels' means."""
        squeezed = self.conv(self.global_pool(x), channels, 1, act=act)
        return self.mul(x, self.conv(squeezed, x.shape[1], 1, act=gate))

    # -- shapes -------------------------------------------------------------------------------------------------------

    def concat(self, xs: Sequence[Value], axis: int = 1) -> Value:
        """The parts along `axis`."""
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        return self.node("Concat", xs, shape, axis=axis)

    def split(self, x: Value, sizes: Sequence[int], axis: int = 1) -> list[Value]:
        """Parts of `sizes` along `axis`."""
        shapes = [[size if i == axis % len(x.shape) else n for i, n in enumerate(x.shape)] for size in sizes]
        return self.nodes("Split", [x, self.constant(list(sizes))], shapes, axis=axis)

    def reshape(self, x: Value, *shape: int) -> Value:
        """The same numbers under `shape`."""
        return self.node("Reshape", [x, self.constant(list(shape))], shape)

    def transpose(self, x: Value, *order: int) -> Value:
        """The axes in another order."""
        return self.node("Transpose", [x], [x.shape[i] for i in order], perm=list(order))

    def slice(self, x: Value, axis: int, start: int, end: int, step: int = 1) -> Value:
        """Elements `start` to `end` of an axis."""
        shape = list(x.shape)
        shape[axis] = len(range(start, end, step))
        bounds = [self.constant([v]) for v in (start, end, axis, step)]
        return self.node("Slice", [x, *bounds], shape)

    def flatten(self, x: Value) -> Value:
        """[n, everything else]."""
        return self.node("Flatten", [x], (x.shape[0], math.prod(x.shape[1:])), axis=1)

    def pad(self, x: Value, *pads: int) -> Value:
        """Zeros around height and width: top, left, bottom, right."""
        n, c, h, w = x.shape
        top, left, bottom, right = pads
        whole = self.constant([0, 0, top, left, 0, 0, bottom, right])
        return self.node("Pad", [x, whole], (n, c, h + top + bottom, w + left + right))

    # -- products and rows --------------------------------------------------------------------------------------------

    def classifier(self, x: Value, classes: int, act: str | None = None) -> Value:
        """A fully connected layer on [n, features]."""
        self.macs += x.shape[0] * x.shape[1] * classes
        inputs = [x, self.weight(classes, x.shape[1]), self.weight(classes)]
        return self.act(self.node("Gemm", inputs, (x.shape[0], classes), transB=1), act)

    def linear(self, x: Value, features: int, act: str | None = None, *, bias: bool = True) -> Value:
        """A product of the last axis with a weight, and a bias."""
        y = self.matmul(x, self.weight(x.shape[-1], features))
        return self.act(self.add(y, self.weight(features)) if bias else y, act)

    def matmul(self, a: Value, b: Value) -> Value:
        """Products of the last two axes."""
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
        self.macs += math.prod(shape) * a.shape[-1]
        return self.node("MatMul", [a, b], shape)

    def layer_norm(self, x: Value) -> Value:
        """Of the last axis, in the nine nodes of an exporter before opset 17."""
        row = (*x.shape[:-1], 1)
        centred = self.node("Sub", [x, self.node("ReduceMean", [x], row, axes=[-1])], x.shape)
        squares = self.node("Pow", [centred, self.constant(2.0)], x.shape)
        variance = self.add(self.node("ReduceMean", [squares], row, axes=[-1]), self.constant(1e-5))
        scaled = self.node("Div", [centred, self.node("Sqrt", [variance], row)], x.shape)
        return self.add(self.mul(scaled, self.weight(x.shape[-1])), self.weight(x.shape[-1]))

    def heads(self, x: Value, heads: int) -> Value:
        """[n, tokens, heads * width] as [n, heads, tokens, width]."""
        n, tokens, width = x.shape
        return self.transpose(self.reshape(x, n, tokens, heads, width // heads), 0, 2, 1, 3)

    def attention(self, q: Value, k: Value, v: Value, heads: int, mask: Value | None = None) -> Value:
        """Attention of [n, tokens, features] with an additive mask."""
        n, tokens, width = q.shape
        keys = self.transpose(self.heads(k, heads), 0, 1, 3, 2)
        scores = self.scale(self.matmul(self.heads(q, heads), keys), (width // heads) ** -0.5)
        if mask is not None:
            scores = self.add(scores, mask)
        context = self.matmul(self.softmax(scores), self.heads(v, heads))
        return self.reshape(self.transpose(context, 0, 2, 1, 3), n, tokens, width)

    def tokens(self, x: Value) -> Value:
        """[n, c, h, w] as [n, h * w, c]."""
        n, c, h, w = x.shape
        return self.transpose(self.reshape(x, n, c, h * w), 0, 2, 1)

    def image(self, x: Value, height: int, width: int) -> Value:
        """[n, height * width, c] as [n, c, height, width]."""
        return self.reshape(self.transpose(x, 0, 2, 1), x.shape[0], x.shape[-1], height, width)

    # -- the end ------------------------------------------------------------------------------------------------------

    def save(self, outputs: Sequence[Value], folder: Path) -> Path:
        """Writes `model.onnx` and its weights, numbers of a spread of 0.02 repeated from one block, into `folder`."""
        results = [onnx.helper.make_tensor_value_info(o.name, self.dtype, o.shape) for o in outputs]
        graph = onnx.helper.make_graph(self._nodes, "published", self._inputs, results, self._weights)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
        block = (np.random.default_rng(0).standard_normal(1 << 20) * 0.02).astype(np.float32).tobytes()
        size = WEIGHT_STEP * len(self._weights) + self._largest
        with (folder / "weights.bin").open("wb") as file:
            for _ in range(0, size, len(block)):
                file.write(block)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        return folder / "model.onnx"
