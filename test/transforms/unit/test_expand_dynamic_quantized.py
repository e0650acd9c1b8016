"""What is quantised at run time, on the checked chip, beside onnxruntime: 8 bits alike, products within fp16."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs
from onnx import helper, numpy_helper

RNG = np.random.default_rng(8)


@pytest.mark.parametrize(
    "x",
    [
        RNG.standard_normal((4, 64)),
        RNG.uniform(1, 5, (2, 3, 5, 7)),
        RNG.uniform(-5, -1, (17,)),
        np.zeros((3, 4)),
        RNG.standard_normal((3, 700, 9)) * 1000,
    ],
    ids=["both signs", "above zero", "below zero", "zero", "large"],
)
def test_quantised_at_run_time(x: Any) -> None:
    feeds = {"x": x.astype(np.float16).astype(np.float32)}
    model = node_model("DynamicQuantizeLinear", feeds, outputs=3)
    for value, right in zip(chip_outputs(model, feeds)[0], onnxruntime_outputs(model, feeds), strict=True):
        np.testing.assert_array_equal(value, right)


def product(op: str, x: Any, w: Any, w_scale: Any, w_zero: Any, **attributes: Any) -> onnx.ModelProto:
    """x quantised at run time, its product with w in integers, scaled."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node(op, ["q", "w", "z", "wz"], ["i"], **attributes),
        helper.make_node("Cast", ["i"], ["f"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", ["s", "ws"], ["sw"]),
        helper.make_node("Mul", ["f", "sw"], ["y"]),
    ]
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", x.shape), ("y", None))
    ]
    weights = [numpy_helper.from_array(array, name) for name, array in (("w", w), ("ws", w_scale), ("wz", w_zero))]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def check(model: onnx.ModelProto, x: Any, task: str) -> None:
    feeds = {"x": x}
    (value,), types = chip_outputs(model, feeds)
    (right,) = onnxruntime_outputs(model, feeds)
    assert task in types
    assert np.abs(value - right).max() <= 2**-9 * np.abs(right).max()


@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_matmul(dtype: Any, by_column: bool) -> None:
    x = RNG.standard_normal((3, 5, 40)).astype(np.float16).astype(np.float32)
    limits = np.iinfo(dtype)
    w = RNG.integers(limits.min, limits.max + 1, (40, 24)).astype(dtype)
    scale = RNG.uniform(0.001, 0.01, (24,) if by_column else ()).astype(np.float32)
    zero = np.full((24,) if by_column else (), 3, dtype)
    check(product("MatMulInteger", x, w, scale, zero), x, "MatMulV2")


@pytest.mark.parametrize("by_channel", [False, True])
def test_convolution(by_channel: bool) -> None:
    x = RNG.standard_normal((1, 6, 9, 11)).astype(np.float16).astype(np.float32)
    w = RNG.integers(-128, 128, (20, 6, 3, 3)).astype(np.int8)
    scale = RNG.uniform(0.001, 0.01, (1, 20, 1, 1) if by_channel else ()).astype(np.float32)
    model = product("ConvInteger", x, w, scale, np.zeros((), np.int8), pads=[1, 1, 1, 1], strides=[2, 1])
    check(model, x, "Conv2D")
