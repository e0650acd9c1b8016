"""The small network of the documentation: convolution, BatchNorm, ReLU, global average pool, classifier.

    python docs/example.py tiny.onnx

writes it with seeded weights. Every page on a level of IR shows this network at that level.
"""

from __future__ import annotations

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def tiny() -> onnx.ModelProto:
    """data[1, 3, 64, 64] -> conv1 (16 filters of 3 x 3), bn1, relu1, pool1, fc1 -> scores[1, 10]."""
    rng = np.random.default_rng(0)

    def weight(name: str, shape: tuple[int, ...], low: float, high: float) -> onnx.TensorProto:
        return numpy_helper.from_array(rng.uniform(low, high, shape).astype(np.float32), name)

    weights = [
        weight("conv1.weight", (16, 3, 3, 3), -0.5, 0.5),
        weight("bn1.scale", (16,), 0.75, 1.25),
        weight("bn1.bias", (16,), -0.3, 0.3),
        weight("bn1.mean", (16,), -0.3, 0.3),
        weight("bn1.var", (16,), 0.6, 1.6),
        weight("fc1.weight", (10, 16), -1.0, 1.0),
        weight("fc1.bias", (10,), -0.2, 0.2),
    ]
    nodes = [
        helper.make_node("Conv", ["data", "conv1.weight"], ["c"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node(
            "BatchNormalization", ["c", "bn1.scale", "bn1.bias", "bn1.mean", "bn1.var"], ["n"], name="bn1"
        ),
        helper.make_node("Relu", ["n"], ["r"], name="relu1"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"], name="pool1"),
        helper.make_node("Flatten", ["p"], ["f"], name="flatten1"),
        helper.make_node("Gemm", ["f", "fc1.weight", "fc1.bias"], ["scores"], name="fc1", transB=1),
    ]
    inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, 64, 64])]
    outputs = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain(layers: int = 12, channels: int = 8) -> onnx.ModelProto:
    """Convolutions, each with BatchNormalization and ReLU: `conv1`, `bn1`, `relu1`, `conv2`, ..."""
    rng = np.random.default_rng(1)
    nodes, weights, value = [], [], "data"

    def weight(name: str, shape: tuple[int, ...], low: float, high: float) -> str:
        weights.append(numpy_helper.from_array(rng.uniform(low, high, shape).astype(np.float32), name))
        return name

    bounds = {"scale": (0.8, 1.2), "bias": (-0.3, 0.3), "mean": (-0.3, 0.3), "var": (0.8, 1.3)}
    for n in range(1, layers + 1):
        conv = [value, weight(f"conv{n}.weight", (channels, channels, 3, 3), -0.28, 0.28)]
        nodes.append(helper.make_node("Conv", conv, [f"c{n}"], name=f"conv{n}", pads=[1, 1, 1, 1]))
        norm = [f"c{n}", *(weight(f"bn{n}.{part}", (channels,), *bound) for part, bound in bounds.items())]
        nodes.append(helper.make_node("BatchNormalization", norm, [f"n{n}"], name=f"bn{n}"))
        nodes.append(helper.make_node("Relu", [f"n{n}"], [f"r{n}"], name=f"relu{n}"))
        value = f"r{n}"
    shape = [1, channels, 16, 16]
    inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "chain", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    onnx.save(tiny(), sys.argv[1] if len(sys.argv) > 1 else "tiny.onnx")
