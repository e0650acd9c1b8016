"""Operators of bf16 on Ascend910B3, in checking mode and without the AI CPU, beside onnxruntime in fp32 on the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from harness.bf16_models import BF16, in_bf16, rounded
from harness.judge import onnxruntime_outputs
from harness.on_the_chip import chip_outputs
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(4)
STEP = 2.0**-8


def floats(*shape: int, low: float = -3.0, high: float = 3.0) -> Array:
    return rounded(RNG.uniform(low, high, shape).astype(np.float32))


def places(high: int, *shape: int) -> Array:
    return RNG.integers(0, high, shape)


X = floats(2, 20, 9, 11)
Case = tuple[str, dict[str, Array], dict[str, Array], dict[str, Any]]
CASES: dict[str, Case] = {
    "places of the largest": ("ArgMax", {"x": floats(5, 300)}, {}, {"axis": 1}),
    "the largest": ("TopK", {"x": floats(5, 200)}, {"k": np.array([7])}, {}),
    "rows by index": ("Gather", {"x": floats(50, 33), "i": places(50, 7)}, {}, {}),
    "elements by index": ("Gather", {"x": floats(50), "i": places(50, 70)}, {}, {}),
    "rows put": ("ScatterND", {"x": floats(50, 33), "i": RNG.permutation(50)[:7].reshape(7, 1), "u": floats(7, 33)}, {}, {}),
    "rows added": ("ScatterND", {"x": floats(50, 32), "i": places(50, 7, 1), "u": floats(7, 32)}, {}, {"reduction": "add"}),
    "pad": ("Pad", {"x": floats(3, 7, 11)}, {"p": np.array([0, 1, 2, 0, 3, 1]), "v": np.array(1.5, np.float32)}, {}),
    "where": ("Where", {"c": places(2, 3, 5) > 0, "a": floats(3, 5), "b": floats(3, 5)}, {}, {}),
    "prelu": ("PRelu", {"x": X}, {"s": floats(20, 1, 1)}, {}),
    "instance norm": ("InstanceNormalization", {"x": X}, {"s": floats(20), "b": floats(20)}, {}),
    "sum over two axes": ("ReduceSum", {"x": X}, {"a": np.array([0, 2])}, {}),
    "power": ("Pow", {"x": floats(3, 9, low=0.5), "e": floats(3, 9)}, {}, {}),
    "comparison": ("Greater", {"a": floats(3, 9), "b": floats(3, 9)}, {}, {}),
    "sine": ("Sin", {"x": floats(3, 9)}, {}, {}),
    "gelu": ("Gelu", {"x": floats(3, 9)}, {}, {}),
    "rest": ("Mod", {"a": floats(3, 9), "b": floats(3, 9, low=1)}, {}, {"fmod": 1}),
    "round": ("Round", {"x": floats(3, 9)}, {}, {}),
    "many copies": ("Expand", {"x": floats(3, 1)}, {"r": np.array([3, 300])}, {}),
    "pixels of depth": ("DepthToSpace", {"x": floats(1, 8, 5, 6)}, {}, {"blocksize": 2}),
    "quantise": ("QuantizeLinear", {"x": floats(3, 9)}, {"s": np.array(0.125, np.float32), "z": np.array(3, np.uint8)}, {}),
    "transposed convolution": ("ConvTranspose", {"x": floats(1, 6, 5, 5)}, {"w": floats(6, 4, 3, 3)}, {"strides": [2, 2]}),
    "volumes": ("Conv", {"x": floats(1, 6, 5, 7, 8)}, {"w": floats(4, 6, 3, 3, 3)}, {}),
    "mean of pixels": ("GlobalAveragePool", {"x": X}, {}, {}),
    "local response": ("LRN", {"x": X}, {}, {"size": 5, "alpha": 0.1}),
}  # fmt: skip


def model_of(case: Case) -> onnx.ModelProto:
    op, inputs, constants, attributes = case
    names, outputs = [*inputs, *constants], [f"y{number}" for number in range(1 + (op == "TopK"))]
    infos = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in inputs.items()
    ]
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph([helper.make_node(op, names, outputs, **attributes)], "g", infos, [], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    return onnx.shape_inference.infer_shapes(model)


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    model, (_, inputs, _, _) = model_of(CASES[name]), CASES[name]
    narrow = {k: v.astype(BF16) if v.dtype == np.float32 else v for k, v in inputs.items()}
    found, _ = chip_outputs(in_bf16(model), narrow, "Ascend910B3", precision_mode="must_keep_origin_dtype")
    for got, want in zip(found, onnxruntime_outputs(model, inputs), strict=True):
        if want.dtype != np.float32:
            np.testing.assert_array_equal(got, want)
            continue
        assert got.dtype == BF16
        wide = want.astype(np.float64)
        assert (np.abs(got.astype(np.float64) - wide) <= (STEP + 1e-5) * np.abs(wide) + 1e-4).all()
