"""A large batch in parts on the checked chip: nothing is copied, the numbers are those of onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
from harness.judge import onnxruntime_outputs
from harness.on_the_chip import chip_outputs
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(3)


def network(batch: int) -> onnx.ModelProto:
    """A residual block with a depthwise convolution, a pooling, and a channel's scale, on maps of 16 x 256 x 256."""
    shapes = {"w0": (16, 16, 1, 1), "w1": (16, 1, 3, 3), "w2": (16, 16, 1, 1), "s": (1, 16, 1, 1)}
    weights = [numpy_helper.from_array(RNG.normal(size=s).astype(np.float32) / 4, name) for name, s in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], name="a"),
        helper.make_node("Relu", ["a"], ["b"], name="b"),
        helper.make_node("Conv", ["b", "w1"], ["c"], name="c", group=16, pads=[1, 1, 1, 1]),
        helper.make_node("Mul", ["c", "s"], ["d"], name="d"),
        helper.make_node("Add", ["d", "b"], ["e"], name="e"),
        helper.make_node("MaxPool", ["e"], ["f"], name="f", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["f", "w2"], ["y"], name="y"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 16, 256, 256])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 16, 128, 128])
    graph = helper.make_graph(nodes, "block", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_beside_onnxruntime() -> None:
    model = network(4)
    feeds = {"x": RNG.normal(size=(4, 16, 256, 256)).astype(np.float32)}
    (value,), types = chip_outputs(model, feeds)
    _, whole = chip_outputs(network(1), {"x": feeds["x"][:1]})
    assert len(types) > len(whole)
    assert set(types) == set(whole)  # no copies
    (right,) = onnxruntime_outputs(model, feeds)
    assert np.abs(value - right).max() < 0.01 * np.ptp(right)
