"""Small graphs in the style of exporters, one an architecture: what detectors, decoders, vocoders and the like are made of.

`ARCHITECTURES` maps a name to a builder `() -> ModelProto`. Weights are seeded; `feeds_of` gives inputs. Imports onnx and
numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from models.small import GraphBuilder
from onnx import TensorProto, helper, parser

INT64 = TensorProto.INT64


class Exporter(GraphBuilder):
    """A builder with the idioms of exporters."""

    def __call__(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        return self.node(op_type, inputs, **attributes)

    def several(self, count: int, op_type: str, *inputs: str, **attributes: Any) -> list[str]:
        """A node of `count` outputs."""
        outputs = [f"m{len(self._nodes)}_{i}" for i in range(count)]
        self._nodes.append(helper.make_node(op_type, inputs, outputs, **attributes))
        return outputs

    def number(self, value: float | Sequence[float]) -> str:
        """A float constant."""
        return self.constant(f"c{len(self._weights)}", np.array(value, np.float32))

    def ints(self, value: int | Sequence[int]) -> str:
        """An integer constant."""
        return self.constant(f"c{len(self._weights)}", np.array(value, np.int64))

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        """MatMul and Add."""
        bound = inputs**-0.5
        return self("Add", self("MatMul", x, self.weight((inputs, outputs), -bound, bound)), self.weight((outputs,)))

    def silu(self, x: str) -> str:
        """x * sigmoid(x)."""
        return self("Mul", x, self("Sigmoid", x))

    def group_norm(self, x: str, groups: int, channels: int) -> str:
        """GroupNorm as torch's exporter takes it apart: the shape goes round by Shape."""
        flat = self("Reshape", x, self.ints([0, groups, -1]))
        ones, zeros = self.number([1.0] * groups), self.number([0.0] * groups)
        y = self("Reshape", self("InstanceNormalization", flat, ones, zeros), self("Shape", x))
        return self("Add", self("Mul", y, self.weight((channels, 1, 1), 0.5, 1.5)), self.weight((channels, 1, 1)))

    def rms_norm(self, x: str, features: int) -> str:
        """T5's normalisation in single operators."""
        mean = self("ReduceMean", self("Pow", x, self.number(2.0)), axes=[-1])
        root = self("Sqrt", self("Add", mean, self.number(1e-6)))
        return self("Mul", self.weight((features,), 0.5, 1.5), self("Mul", x, self("Div", self.number(1.0), root)))

    def heads(self, x: str, heads: int, width: int) -> str:
        """[batch, tokens, features] as [batch, heads, tokens, width]; batch and tokens come from Shape."""
        shape = self("Shape", x)
        extents = [self("Unsqueeze", self("Gather", shape, self.ints(i)), self.ints([0])) for i in (0, 1)]
        target = self("Concat", *extents, self.ints([heads]), self.ints([width]), axis=0)
        return self("Transpose", self("Reshape", x, target), perm=[0, 2, 1, 3])

    def attend(self, q: str, k: str, v: str, width: int, bias: str = "") -> str:
        """softmax(q kT / sqrt(width) + bias) v, heads joined."""
        scores = self("Div", self("MatMul", q, self("Transpose", k, perm=[0, 1, 3, 2])), self.number(width**0.5))
        weights = self("Softmax", self("Add", scores, bias) if bias else scores, axis=-1)
        y = self("Transpose", self("MatMul", weights, v), perm=[0, 2, 1, 3])
        return self("Reshape", y, self.ints([0, 0, -1]))


def yolo() -> onnx.ModelProto:
    """YOLOv8: SiLU, pooling pyramid, nearest upsampling, boxes as expected values of distributions, NMS."""
    b = Exporter()
    stem = b.silu(b.batch_norm(b.conv(b.input("x", (1, 3, 32, 32)), 3, 8, bias=False, strides=[4, 4]), 8))
    deep = b.silu(b.conv(stem, 8, 8, strides=[2, 2]))
    pools = [deep]
    for _ in range(2):
        pools.append(b("MaxPool", pools[-1], kernel_shape=[5, 5], pads=[2] * 4))
    deep = b.silu(b.conv(b("Concat", *pools, axis=1), 24, 8, 1))
    up = b(
        "Resize",
        deep,
        "",
        b.number([1.0, 1.0, 2.0, 2.0]),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )
    maps = [b.conv(b("Concat", up, stem, axis=1), 16, 4 * 8 + 3, 1), b.conv(deep, 8, 4 * 8 + 3, 1)]
    flat = b("Concat", *(b("Reshape", m, b.ints([1, 35, -1])) for m in maps), axis=2)
    boxes, classes = b.several(2, "Split", flat, b.ints([32, 3]), axis=1)
    spread = b("Softmax", b("Transpose", b("Reshape", boxes, b.ints([1, 4, 8, 80])), perm=[0, 2, 1, 3]), axis=1)
    bins = b.constant("bins", np.arange(8, dtype=np.float32).reshape(1, 8, 1, 1))
    sides = b("Reshape", b("Conv", spread, bins), b.ints([1, 4, 80]))
    low, high = (
        b.several(2, "Split", sides, axis=1, num_outputs=2) if b.opset >= 18 else b.several(2, "Split", sides, axis=1)
    )
    anchors = b.weight((1, 2, 80), 0.0, 8.0)
    corners = b("Concat", b("Sub", anchors, low), b("Add", anchors, high), axis=1)
    scores = b("Sigmoid", classes)
    kept = b(
        "NonMaxSuppression",
        b("Transpose", corners, perm=[0, 2, 1]),
        scores,
        b.ints([5]),
        b.number([0.5]),
        b.number([0.1]),
    )
    return b.model(corners, scores, kept)


def detector() -> onnx.ModelProto:
    """Two stages: the best proposals by TopK, clipped, RoiAlign on a feature map, a head on each region."""
    b = Exporter()
    features = b("Relu", b.conv(b.input("x", (1, 3, 16, 16)), 3, 8))
    logits = b("Reshape", b.conv(features, 8, 1, 1), b.ints([-1]))
    deltas = b("Reshape", b("Transpose", b.conv(features, 8, 4, 1), perm=[0, 2, 3, 1]), b.ints([-1, 4]))
    count = b("Min", b("Gather", b("Shape", logits), b.ints([0])), b.ints([6]))
    scores, best = b.several(2, "TopK", logits, count, axis=0)
    boxes = b("Gather", b("Add", deltas, b.weight((256, 4), 0.0, 12.0)), best)
    first = b("Slice", boxes, b.ints([0]), b.ints([2]), b.ints([1]))
    size = b("Exp", b("Clip", b("Slice", boxes, b.ints([2]), b.ints([4]), b.ints([1])), b.number(-4.0), b.number(1.5)))
    boxes = b("Concat", first, b("Add", first, size), axis=1)
    batch = b("Mul", b("Cast", best, to=INT64), b.ints(0))
    regions = b(
        "RoiAlign", features, boxes, batch, output_height=3, output_width=3, sampling_ratio=2, spatial_scale=0.5
    )
    return b.model(b.linear(b("Flatten", regions), 72, 5), scores)


def pyramid() -> onnx.ModelProto:
    """BiFPN: maps of two sizes joined by normalised weights, depthwise and pointwise convolutions."""
    b = Exporter()
    fine = b("Relu", b.conv(b.input("x", (2, 3, 16, 16)), 3, 8))
    coarse = b("MaxPool", fine, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    weights = b("Relu", b.weight((2,), 0.1, 1.0))
    weights = b("Div", weights, b("Add", b("ReduceSum", weights, b.ints([0]), keepdims=0), b.number(1e-4)))
    size = b("Slice", b("Shape", fine), b.ints([2]), b.ints([4]), b.ints([0]))
    size = b("Concat", b("Slice", b("Shape", coarse), b.ints([0]), b.ints([2]), b.ints([0])), size, axis=0)
    up = b("Resize", coarse, "", "", size, mode="nearest")
    parts = [b("Mul", m, b("Gather", weights, b.ints(i))) for i, m in enumerate((fine, up))]
    y = b.conv(b.silu(b("Add", *parts)), 8, 8, group=8)
    return b.model(b.batch_norm(b.conv(y, 8, 8, 1), 8))


def diffusion() -> onnx.ModelProto:
    """A block of a diffusion UNet: GroupNorm, SiLU, a time embedding, cross attention, a skip, upsampling."""
    b = Exporter()
    x, time, text = b.input("x", (2, 8, 8, 8)), b.input("time", (2, 4)), b.input("text", (2, 5, 12))
    y = b.conv(b.silu(b.group_norm(x, 4, 8)), 8, 16)
    shift = b("Unsqueeze", b.linear(b.silu(time), 4, 16), b.ints([2, 3]))
    y = b.conv(b.silu(b.group_norm(b("Add", y, shift), 4, 16)), 16, 16, strides=[2, 2])
    tokens = b("Transpose", b("Reshape", y, b.ints([0, 16, -1])), perm=[0, 2, 1])
    q, k, v = b.linear(tokens, 16, 16), b.linear(text, 12, 16), b.linear(text, 12, 16)
    mixed = b.attend(*(b.heads(t, 2, 8) for t in (q, k, v)), 8)
    y = b("Add", y, b("Reshape", b("Transpose", mixed, perm=[0, 2, 1]), b("Shape", y)))
    up = b(
        "Resize",
        y,
        "",
        b.number([1.0, 1.0, 2.0, 2.0]),
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    return b.model(b.conv(b("Concat", up, x, axis=1), 24, 4))


def text_recogniser() -> onnx.ModelProto:
    """CRNN: columns of a feature map through a bidirectional LSTM, classes a step."""
    b = Exporter()
    y = b.conv_bn_relu(b.input("x", (2, 1, 8, 20)), 1, 6)
    y = b("Squeeze", b("MaxPool", y, kernel_shape=[8, 2], strides=[8, 2]), b.ints([2]))
    y = b("Transpose", y, perm=[2, 0, 1])
    state = b(
        "Expand",
        b.number([[[0.0]]]),
        b("Concat", b.ints([2]), b("Slice", b("Shape", y), b.ints([1]), b.ints([2])), b.ints([5]), axis=0),
    )
    weights = [b.weight(shape, -0.4, 0.4) for shape in ((2, 20, 6), (2, 20, 5), (2, 40))]
    y = b.several(3, "LSTM", y, *weights, "", state, state, direction="bidirectional", hidden_size=5)[0]
    y = b("Reshape", b("Transpose", y, perm=[0, 2, 1, 3]), b.ints([0, 0, -1]))
    return b.model(b("LogSoftmax", b.linear(y, 10, 7), axis=2))


def relative_attention() -> onnx.ModelProto:
    """T5: relative positions in logarithmic buckets, a bias a head; RMS normalisation, gated GELU."""
    b = Exporter()
    x = b.input("x", (2, 6, 16))
    y = b.rms_norm(x, 16)
    length = b("Gather", b("Shape", y), b.ints(1))
    places = b("Range", b.ints(0), length, b.ints(1))
    apart = b("Sub", b("Unsqueeze", places, b.ints([0])), b("Unsqueeze", places, b.ints([1])))
    side = b("Mul", b("Cast", b("Greater", apart, b.ints(0)), to=INT64), b.ints(8))
    far = b("Abs", apart)
    log = b("Log", b("Div", b("Cast", far, to=1), b.number(4.0)))
    wide = b("Add", b("Cast", b("Mul", b("Div", log, b.number(np.log(32.0))), b.number(4.0)), to=INT64), b.ints(4))
    wide = b("Min", wide, b("Expand", b.ints(7), b("Shape", wide)))
    bucket = b("Add", side, b("Where", b("Less", far, b.ints(4)), far, wide))
    bias = b("Unsqueeze", b("Transpose", b("Gather", b.weight((16, 2)), bucket), perm=[2, 0, 1]), b.ints([0]))
    y = b.attend(*(b.heads(b.linear(y, 16, 16), 2, 8) for _ in range(3)), 8, bias)
    y = b("Add", x, y)
    gate = b.linear(y, 16, 24)
    gate = b("Mul", b("Mul", gate, b("Add", b("Erf", b("Div", gate, b.number(2**0.5))), b.number(1.0))), b.number(0.5))
    return b.model(b("Add", y, b.linear(b("Mul", gate, b.linear(y, 16, 24)), 24, 16)))


def decoder() -> onnx.ModelProto:
    """Whisper's decoder: keys and values of the past grow by this step; a causal mask of the current tokens."""
    b = Exporter()
    ids = b.input("ids", (1, 3), INT64)
    past = [b.input(name, (1, 2, 4, 8)) for name in ("past_key", "past_value")]
    y = b("Gather", b.weight((8, 16)), ids)
    q, *new = (b.heads(b.linear(y, 16, 16), 2, 8) for _ in range(3))
    keys, values = (b("Concat", old, now, axis=2) for old, now in zip(past, new, strict=True))
    total, steps = (b("Slice", b("Shape", t), b.ints([2]), b.ints([3])) for t in (keys, q))
    low = b.constant("low", np.array([-65504.0], np.float32))
    mask = b("Trilu", b("Expand", low, b("Concat", steps, steps, axis=0)), b.ints(1), upper=1)
    before = b("Expand", b.number([0.0]), b("Concat", steps, b("Sub", total, steps), axis=0))
    y = b.attend(q, keys, values, 8, b("Concat", before, mask, axis=1))
    return b.model(b("MatMul", y, b.weight((16, 8))), keys, values)


def speech_encoder() -> onnx.ModelProto:
    """Conformer and wav2vec: grouped positional convolution over time, GLU, depthwise convolution, lengths as a mask."""
    b = Exporter()
    x, lengths = b.input("x", (2, 10, 16)), b.input("lengths", (2,), INT64)
    y = b("Transpose", x, perm=[0, 2, 1])
    place = b("Conv", y, b.weight((16, 4, 8), -0.2, 0.2), b.weight((16,)), group=4, pads=[4, 4], kernel_shape=[8])
    place = b("Slice", place, b.ints([0]), b.ints([-1]), b.ints([2]))
    y = b("Add", y, b("Mul", place, b("Sigmoid", place)))
    half, gate = b.several(2, "Split", b("Conv", y, b.weight((32, 16, 1), -0.3, 0.3)), axis=1)
    y = b("Mul", half, b("Sigmoid", gate))
    y = b.batch_norm(b("Conv", y, b.weight((16, 1, 5), -0.5, 0.5), group=16, pads=[2, 2]), 16)
    steps = b("Range", b.ints(0), b("Gather", b("Shape", x), b.ints(1)), b.ints(1))
    late = b("GreaterOrEqual", b("Unsqueeze", steps, b.ints([0])), b("Unsqueeze", lengths, b.ints([1])))
    return b.model(
        b("Where", b("Unsqueeze", late, b.ints([2])), b.number(0.0), b("Transpose", b.silu(y), perm=[0, 2, 1]))
    )


def state_space() -> onnx.ModelProto:
    """Mamba: a selective scan as cumulative sums of logarithms, Einsum, Softplus, a causal depthwise convolution."""
    b = Exporter()
    u, z = b.several(2, "Split", b.linear(b.input("x", (2, 6, 8)), 8, 16), axis=2)
    u = b("Conv", b("Transpose", u, perm=[0, 2, 1]), b.weight((8, 1, 4)), group=8, pads=[3, 3])
    u = b.silu(b("Transpose", b("Slice", u, b.ints([0]), b.ints([6]), b.ints([2])), perm=[0, 2, 1]))
    step = b("Softplus", b.linear(u, 8, 8))
    into, out = b.linear(u, 8, 4), b.linear(u, 8, 4)
    decay = b("Einsum", step, b("Neg", b("Exp", b.weight((8, 4)))), equation="bld,dn->bldn")
    total = b("CumSum", decay, b.ints(1))
    given = b("Einsum", b("Mul", step, u), into, equation="bld,bln->bldn")
    state = b("Mul", b("CumSum", b("Mul", given, b("Exp", b("Neg", total))), b.ints(1)), b("Exp", total))
    return b.model(b("Mul", b("Einsum", state, out, equation="bldn,bln->bld"), b.silu(z)))


def mixture_of_experts() -> onnx.ModelProto:
    """Two experts of four a token: TopK, weights scattered back, all experts by Einsum, the chosen ones by Gather."""
    b = Exporter()
    x = b.input("x", (2, 5, 8))
    scores = b("Softmax", b.linear(x, 8, 4), axis=-1)
    best, chosen = b.several(2, "TopK", scores, b.ints([2]), axis=-1)
    best = b("Div", best, b("ReduceSum", best, b.ints([-1])))
    gates = b("ScatterElements", b("ConstantOfShape", b("Shape", scores)), chosen, best, axis=-1)
    experts = b.weight((4, 8, 6))
    dense = b("Einsum", b("Einsum", x, experts, equation="bsd,edf->bsef"), gates, equation="bsef,bse->bsf")
    sparse = b("Einsum", x, b("Gather", experts, chosen), best, equation="bsd,bskdf,bsk->bsf")
    return b.model(dense, sparse)


def vocoder() -> onnx.ModelProto:
    """HiFi-GAN: transposed convolutions over time, residual blocks of dilated ones averaged, tanh."""
    b = Exporter()
    y = b("Conv", b.input("x", (1, 10, 6)), b.weight((8, 10, 7), -0.3, 0.3), pads=[3, 3])
    y = b("ConvTranspose", b("LeakyRelu", y, alpha=0.1), b.weight((8, 4, 8), -0.3, 0.3), strides=[4], pads=[2, 2])
    blocks = []
    for kernel, dilation in ((3, 1), (3, 3), (7, 1)):
        pad = dilation * (kernel - 1) // 2
        weights = b.weight((4, 4, kernel), -0.4, 0.4)
        blocks.append(
            b("Add", y, b("Conv", b("LeakyRelu", y, alpha=0.1), weights, pads=[pad, pad], dilations=[dilation]))
        )
    y = b("Div", b("Sum", *blocks), b.number(3.0))
    return b.model(b("Tanh", b("Conv", y, b.weight((1, 4, 7), -0.3, 0.3), pads=[3, 3])))


def video() -> onnx.ModelProto:
    """I3D: convolutions and pooling in three dimensions."""
    b = Exporter()
    y = b("Conv", b.input("x", (1, 3, 4, 8, 8)), b.weight((8, 3, 3, 3, 3), -0.2, 0.2), b.weight((8,)), pads=[1] * 6)
    y = b("MaxPool", b("Relu", b.batch_norm(y, 8)), kernel_shape=[1, 3, 3], strides=[1, 2, 2], pads=[0, 0, 0, 0, 1, 1])
    y = b("AveragePool", y, kernel_shape=[2, 4, 4])
    return b.model(
        b("ReduceMean", b("Squeeze", b("Conv", y, b.weight((5, 8, 1, 1, 1))), b.ints([3, 4])), axes=[2], keepdims=0)
    )


def point_cloud() -> onnx.ModelProto:
    """DGCNN: the nearest neighbours by TopK of distances, their features gathered, the largest taken."""
    b = Exporter()
    x = b.input("x", (2, 12, 3))
    square = b("ReduceSum", b("Mul", x, x), b.ints([2]))
    apart = b(
        "Sub",
        b("Add", square, b("Transpose", square, perm=[0, 2, 1])),
        b("Mul", b.number(2.0), b("MatMul", x, b("Transpose", x, perm=[0, 2, 1]))),
    )
    near = b.several(2, "TopK", apart, b.ints([4]), axis=-1, largest=0)[1]
    near = b("Expand", b("Unsqueeze", near, b.ints([3])), b.ints([2, 12, 4, 3]))
    spread = b("Expand", b("Unsqueeze", x, b.ints([1])), b.ints([2, 12, 12, 3]))
    centre = b("Expand", b("Unsqueeze", x, b.ints([2])), b.ints([2, 12, 4, 3]))
    edges = b("Concat", b("Sub", b("GatherElements", spread, near, axis=2), centre), centre, axis=3)
    y = b("Relu", b.conv(b("Transpose", edges, perm=[0, 3, 1, 2]), 6, 8, 1))
    return b.model(b("ReduceMax", y, axes=[2, 3], keepdims=0))


def flow() -> onnx.ModelProto:
    """Optical flow and super-resolution: a map moved by GridSample, cubic resizing, DepthToSpace."""
    b = Exporter()
    x = b.input("x", (1, 3, 8, 8))
    grid = b("Tanh", b("Transpose", b.conv(x, 3, 2), perm=[0, 2, 3, 1]))
    moved = b("GridSample", x, grid, padding_mode="border", align_corners=1)
    large = b("Resize", x, "", b.number([1.0, 1.0, 2.0, 2.0]), mode="cubic", cubic_coeff_a=-0.75)
    return b.model(b("Add", large, b("DepthToSpace", b.conv(moved, 3, 12), blocksize=2, mode="CRD")))


def channels_last() -> onnx.ModelProto:
    """tf2onnx: a transpose before and after each convolution, biases added channels last, ReLU6, Keras' Dense."""
    b = Exporter()
    y = b.input("x", (2, 9, 9, 3))
    for c_in, c_out in ((3, 8), (8, 8)):
        y = b.conv(b("Transpose", y, perm=[0, 3, 1, 2]), c_in, c_out, bias=False, strides=[2, 2], pads=[0, 0, 1, 1])
        y = b("Add", b("Transpose", y, perm=[0, 2, 3, 1]), b.weight((8,)))
        y = b("Clip", y, b.number(0.0), b.number(6.0))
    y = b("Squeeze", b("GlobalAveragePool", b("Transpose", y, perm=[0, 3, 1, 2])), b.ints([2, 3]))
    return b.model(b("Softmax", b.linear(y, 8, 5), axis=1))


def segmenter() -> onnx.ModelProto:
    """paddle2onnx: sizes by Shape, Slice, Cast and Concat, bilinear resizing to the input's, squeeze and excitation."""
    b = Exporter(opset=11)
    x = b.input("x", (1, 3, "H", "W"))
    y = b.conv_bn_relu(x, 3, 8, strides=[2, 2])
    gate = b("HardSigmoid", b.conv(b("Relu", b.conv(b("GlobalAveragePool", y), 8, 4, 1)), 4, 8, 1), alpha=0.2, beta=0.5)
    y = b.conv(b("Mul", y, gate), 8, 2, 1)
    size = b("Cast", b("Slice", b("Cast", b("Shape", x), to=6), b.ints([2]), b.ints([4]), b.ints([0])), to=INT64)
    size = b("Concat", b("Slice", b("Shape", y), b.ints([0]), b.ints([2]), b.ints([0])), size, axis=0)
    y = b("Resize", y, b.number([]), b.number([]), size, mode="linear", coordinate_transformation_mode="half_pixel")
    return b.model(y, b("ArgMax", y, axis=1, keepdims=0))


def recommender() -> onnx.ModelProto:
    """DLRM: bags of embeddings summed by a Loop over their bounds, pairs of features multiplied."""
    return _parsed(
        """
        g (float[3,4] x, int64[9] ids) => (float[3,1] y)
        <int64 bags = {3}, bool yes = {1}, int64[4] bounds = {0, 2, 5, 9}, int64 one = {1}, int64[1] first = {0}> {
          bag = Loop(bags, yes) <
            body = b (int64 i, bool go) => (bool more, float[4] total) {
              more = Identity(go)
              begin0 = Gather(bounds, i)
              begin = Unsqueeze(begin0, first)
              next = Add(i, one)
              end0 = Gather(bounds, next)
              end = Unsqueeze(end0, first)
              part = Slice(ids, begin, end)
              rows = Gather(table, part)
              total = ReduceSum<keepdims = 0>(rows, first)
            }
          >
          product = Mul(bag, x)
          both = Concat<axis = 1>(product, x)
          y = Gemm(both, w, b)
        }
        """,
        table=(8, 4),
        w=(8, 1),
        b=(1,),
    )


def greedy_search() -> onnx.ModelProto:
    """A loop that feeds the best token back until it meets the end, with an If on what came out."""
    return _parsed(
        """
        g (float[1,6] x) => (float[1,6] last, int64[n,1] tokens) <int64 most = {7}, bool yes = {1}, int64 stop = {2}, int64[1] start = {0}, int64[1] zero = {0}> {
          token, last, tokens = Loop(most, yes, start, x) <
            body = b (int64 i, bool go, int64[1] old, float[1,6] h) => (bool more, int64[1] best, float[1,6] state, int64[1] seen) {
              e = Gather(table, old)
              p = MatMul(h, r)
              s = Add(e, p)
              state = Tanh(s)
              logits = MatMul(state, o)
              best = ArgMax<axis = 1, keepdims = 0>(logits)
              one = Squeeze(best, zero)
              ended = Equal(one, stop)
              more = Not(ended)
              seen = If(ended) <
                then_branch = t () => (int64[1] a) { a = Neg(best) },
                else_branch = f () => (int64[1] c) { c = Identity(best) }
              >
            }
          >
        }
        """,
        table=(5, 6),
        r=(6, 6),
        o=(6, 5),
    )


def _parsed(text: str, **weights: tuple[int, ...]) -> onnx.ModelProto:
    model = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>' + text)
    random = np.random.default_rng(3)
    for name, shape in weights.items():
        value = random.uniform(-1, 1, shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    return model


ARCHITECTURES: dict[str, Callable[[], onnx.ModelProto]] = {
    build.__name__: build
    for build in (
        *(yolo, detector, pyramid, diffusion, text_recogniser, relative_attention, decoder, speech_encoder),
        *(state_space, mixture_of_experts, vocoder, video, point_cloud, flow, channels_last, segmenter),
        *(recommender, greedy_search),
    )
}


def feeds_of(model: onnx.ModelProto, unknown: int = 12) -> dict[str, np.ndarray]:
    """Seeded inputs: floats around 0, integers below 8; unknown extents are `unknown`."""
    random = np.random.default_rng(5)
    weights = {tensor.name for tensor in model.graph.initializer}
    feeds: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        if value.name not in weights:
            shape = [dim.dim_value or unknown for dim in value.type.tensor_type.shape.dim]
            integers = value.type.tensor_type.elem_type == INT64
            feeds[value.name] = random.integers(0, 8, shape) if integers else random.standard_normal(shape, np.float32)
    return feeds
