"""Small networks whose feature maps must not leave NC1HWC0: right numbers on the checked chip, and no more TransData."""

from collections import Counter

import numpy as np
import onnx
from harness.agreement import compile_program, relative_error, tasks_of
from models.light import random_inputs, reference_outputs
from models.small import GraphBuilder

from graph_engine.target_ascend.om.program import Launch
from graph_engine.target_ascend.runtime.device import run


def tasks(model: onnx.ModelProto, seed: int = 1) -> Counter[str]:
    """Task types of a network (the AI CPU's as "AI CPU: ge.name"), after its outputs were found right."""
    program = compile_program(model)
    feeds = random_inputs(model, seed)
    inputs = [feeds[tensor.name] for tensor in program.entry_points[0].inputs]
    result = run(program, inputs, mode="functional", check=True)
    assert result.findings == []
    for value, right in zip(result.outputs, reference_outputs(model, feeds).values(), strict=True):
        assert relative_error(value, right.astype(np.float64)) <= 0.01
    return Counter(task.type if isinstance(task, Launch) else f"AI CPU: {task.op}" for task in tasks_of(program))


def test_gates_keep_the_padding_zero() -> None:
    """Squeeze and excitation over 24 channels, once with a sigmoid, once with SiLU inside: half a block of padding."""
    b = GraphBuilder(3)
    x = b.conv(b.input("x", (1, 3, 10, 9)), 3, 24)
    x = b.node("Mul", [x, b.node("Sigmoid", [x])])
    gate = b.conv(b.node("GlobalAveragePool", [x]), 24, 6, 1)
    gate = b.node("Mul", [gate, b.node("Sigmoid", [gate])])
    gate = b.node("HardSigmoid", [b.conv(gate, 6, 24, 1)])
    y = b.conv(b.node("Mul", [x, gate]), 24, 8)
    assert tasks(b.model(y))["TransData"] == 2


def cut(b: GraphBuilder, x: str, axis: int, start: int, end: int) -> str:
    """x[start:end] along an axis."""
    numbers = [b.constant(f"{x}_{axis}_{start}_{i}", np.array([n], np.int64)) for i, n in enumerate((start, end, axis))]
    return b.node("Slice", [x, *numbers])


def test_channels_at_any_offset() -> None:
    """Splits and concats of 10 and 14 channels, as in Res2Net and GhostNet: parts, sums and the whole."""
    b = GraphBuilder(4)
    x = b.conv(b.input("x", (2, 3, 9, 8)), 3, 24)
    left = b.node("Relu", [b.conv(cut(b, x, 1, 0, 10), 10, 10)])
    right = b.node("Sigmoid", [cut(b, x, 1, 10, 24)])
    joined = b.node("Concat", [left, right, left], axis=1)
    counts = tasks(b.model(b.conv(joined, 34, 16)))
    assert counts["TransData"] == 2
    assert not any(kind.startswith("AI CPU") for kind in counts)


def test_borders_of_pixels() -> None:
    """A border of ones, a crop and a concat of rows stay where the feature map is; the ones spoil the padding."""
    b = GraphBuilder(5)
    x = b.conv(b.input("x", (1, 3, 9, 8)), 3, 20)
    pads = b.constant("pads", np.array([0, 0, 1, 0, 0, 0, 0, 2], np.int64))
    padded = b.node("Pad", [x, pads, b.constant("one", np.float32(1.0))])
    part = cut(b, cut(b, padded, 2, 1, 9), 3, 2, 10)
    counts = tasks(b.model(b.conv(b.node("Concat", [part, b.node("Relu", [part])], axis=2), 20, 8)))
    assert counts["TransData"] == 3
    assert not any(kind.startswith("AI CPU") for kind in counts)


def test_means_of_all_pixels() -> None:
    """Exporters write a global pool as a reduction, with and without the two axes."""
    b = GraphBuilder(6)
    x = b.conv(b.input("x", (2, 3, 9, 8)), 3, 20)
    mean = b.node("ReduceMean", [x], axes=[2, 3])
    most = b.node("ReduceMax", [x], axes=[-1, -2], keepdims=0)
    gated = b.node("Mul", [x, b.node("Sigmoid", [b.conv(mean, 20, 20, 1)])])
    counts = tasks(b.model(b.conv(gated, 20, 8), most))
    assert counts["TransData"] == 3
    assert counts["ReduceMeanD"] == counts["ReduceMaxD"] == 1


def test_shuffled_channels() -> None:
    """A ShuffleNet V2 unit: one half passes, the other is convolved, both are shuffled and cut again."""
    b = GraphBuilder(7)
    x = b.conv(b.input("x", (1, 3, 9, 8)), 3, 40)
    for _ in range(2):
        left, right = cut(b, x, 1, 0, 20), cut(b, x, 1, 20, 40)
        joined = b.node("Concat", [left, b.node("Relu", [b.conv(right, 20, 20)])], axis=1)
        split = b.node("Reshape", [joined, b.constant(f"split_{joined}", np.array([1, 2, 20, 9, 8], np.int64))])
        turned = b.node("Transpose", [split], perm=[0, 2, 1, 3, 4])
        x = b.node("Reshape", [turned, b.constant(f"join_{joined}", np.array([1, 40, 9, 8], np.int64))])
    counts = tasks(b.model(b.conv(x, 40, 16)))
    assert counts["TransData"] == 2
    assert counts["ShuffleChannel"] == 2


def test_rows_that_fill_no_block() -> None:
    """Attention over 10 tokens: six rows of padding hold the bias, and meet zeros in the sum over tokens."""
    b = GraphBuilder(8)
    x = b.input("x", (10, 32))
    q, k, v = (b.node("Add", [b.node("MatMul", [x, b.weight((32, 32), -0.3, 0.3)]), b.weight((32,))]) for _ in range(3))
    scores = b.node("Softmax", [b.node("MatMul", [q, b.node("Transpose", [k], perm=[1, 0])])], axis=-1)
    tasks(b.model(b.node("MatMul", [scores, v])))


def test_hard_swish_of_single_operators() -> None:
    """x * clip(x + 3, 0, 6) / 6 over 24 channels: the numbers are finite, so zeros stay zeros."""
    b = GraphBuilder(9)
    x = b.conv(b.input("x", (1, 3, 10, 9)), 3, 24)
    three, zero, six = (b.constant(name, np.float32(n)) for name, n in (("three", 3), ("zero", 0), ("six", 6)))
    y = b.node("Div", [b.node("Mul", [x, b.node("Clip", [b.node("Add", [x, three]), zero, six])]), six])
    assert tasks(b.model(b.conv(y, 24, 8)))["TransData"] == 2


def test_sums_over_rows_of_padding() -> None:
    """Products of products over 10 rows and 20 columns: padding on every side of every operand, none of it restored."""
    b = GraphBuilder(10)
    x = b.input("x", (10, 20))
    left, right = (
        b.node("Add", [b.node("MatMul", [x, b.weight((20, 20), -0.3, 0.3)]), b.weight((20,))]) for _ in range(2)
    )
    scores = b.node("MatMul", [left, b.node("Transpose", [b.node("Sigmoid", [right])], perm=[1, 0])])
    tasks(b.model(b.node("MatMul", [b.node("Softmax", [scores], axis=-1), right]), scores))


def test_what_follows_a_transposed_convolution_leaves_with_it() -> None:
    """BatchNorm, bias and SiLU a channel: a convolution, the spreading of its pixels, and a convolution."""
    b = GraphBuilder(4)
    x = b.conv(b.input("x", (2, 3, 6, 5)), 3, 16)
    x = b.node("ConvTranspose", [x, b.weight((16, 8, 2, 2))], strides=[2, 2])
    x = b.node("Add", [b.batch_norm(x, 8), b.weight((1, 8, 1, 1))])
    x = b.node("Mul", [x, b.node("Sigmoid", [x])])
    found = tasks(b.model(b.conv(x, 8, 8)))
    assert found == {"Conv2D": 3, "TransData": 2, "DepthToSpace": 1}


def test_branches_of_one_input() -> None:
    """Inception's block: three convolutions of 1 x 1 are one, and all branches are written into the block's result."""
    b = GraphBuilder(6)
    x = b.conv_bn_relu(b.input("x", (1, 3, 9, 9)), 3, 32)
    small, middle, large = (b.conv_bn_relu(x, 32, channels, 1) for channels in (16, 32, 48))
    middle, large = b.conv_bn_relu(middle, 32, 32), b.conv_bn_relu(large, 48, 16)
    pooled = b.node("MaxPool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
    pooled = b.conv_bn_relu(pooled, 32, 24, 1)
    block = b.node("Concat", [small, middle, large, pooled], axis=1)
    found = tasks(b.model(b.conv(block, 88, 8)))
    assert found == {"Conv2D": 6, "MaxPoolV3": 1, "TransData": 2}
