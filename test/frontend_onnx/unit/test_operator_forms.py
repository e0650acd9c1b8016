"""Forms of operators that few models use, found by bench/operator_sweep.py, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import Array, agree

from graph_engine.dialects.ge.reference import evaluate

RNG = np.random.default_rng(5)
F32 = np.float32


def floats(*shape: int, dtype: str = "float32") -> Array:
    return RNG.uniform(-3, 3, shape).astype(dtype)


def bytes_(dtype: str, *shape: int) -> Array:
    return RNG.integers(0 if dtype == "uint8" else -9, 10, shape).astype(dtype)


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
@pytest.mark.parametrize("cap", [0.0, 2.0])
def test_attention_shows_each_stage_of_its_scores(stage: int, cap: float) -> None:
    """0 before the soft cap, 1 behind it, 2 with the mask, 3 as probabilities."""
    inputs = {name: floats(2, 4, 3, 4) for name in "qkv"} | {"mask": floats(2, 1, 3, 3)}
    attributes = {"softcap": cap, "qk_matmul_output_mode": stage}
    model: dict[str, Any] = {"outputs": 4, "opset": 23}
    agree("Attention", inputs | {"pk": None, "pv": None}, attributes, **model)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [[1, 2, 7, 3], [1, 2, 2, 9]])
def test_resize_as_tensorflow_did_nearest_neighbours(mode: str, sizes: list[int]) -> None:
    inputs = {"x": floats(1, 2, 4, 5), "roi": floats(0), "scales": floats(0), "sizes": np.array(sizes)}
    how = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "mode": mode}
    agree("Resize", inputs, how, constants=("roi", "scales", "sizes"), opset=11)


@pytest.mark.parametrize("constants", [("scales",), ()])
@pytest.mark.parametrize("scales", [[1, 1, 0.6, 1.7], [1, 1, 0.5, 0.5], [1, 1, 2, 2]])
def test_resize_of_opset_10_takes_the_neighbour_behind_where_it_shrinks(
    scales: list[float], constants: tuple[str, ...]
) -> None:
    inputs = {"x": floats(1, 2, 4, 5), "scales": np.array(scales, F32)}
    agree("Resize", inputs, {"mode": "nearest"}, constants=constants, opset=10)


@pytest.mark.parametrize(("x", "w"), [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
@pytest.mark.parametrize("group", [1, 2])
def test_integer_convolution_over_three_axes(x: str, w: str, group: int) -> None:
    geometry = {"strides": [2, 1, 1], "pads": [1, 0, 1, 1, 0, 1], "group": group}
    image, kernel = bytes_(x, 1, 4, 6, 5, 4), bytes_(w, 4, 4 // group, 3, 2, 1)
    scale, zero = np.array(0.1, F32), bytes_(x)
    parameters = {
        "ws": RNG.uniform(0.01, 0.1, 4).astype(F32),
        "wz": np.zeros(4, w),
        "ys": np.array(0.4, F32),
        "yz": zero,
    }
    inputs = {"x": image, "xs": scale, "xz": zero, "w": kernel, **parameters}
    agree("QLinearConv", inputs | {"b": np.arange(4, dtype=np.int32)}, geometry, opset=10)
    if (x, w) == ("uint8", "uint8"):
        agree("ConvInteger", {"x": image, "w": kernel, "xz": zero, "wz": np.array(3, w)}, geometry, opset=10)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("shape", [(2, 0), (0, 3)])
def test_softmax_of_no_elements(op_type: str, shape: tuple[int, ...]) -> None:
    agree(op_type, {"x": floats(*shape)}, {"axis": 1})


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_statistics_of_a_layer_are_fp32(dtype: str) -> None:
    inputs = {"x": floats(3, 4, dtype=dtype), "s": floats(4, dtype=dtype), "b": floats(4, dtype=dtype)}
    agree("LayerNormalization", inputs, outputs=3, tolerance=2e-3 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("mask", ["bool", "float"])
@pytest.mark.parametrize("causal", [0, 1])
def test_a_query_that_attends_nothing_gives_zeros(mask: str, causal: int) -> None:
    allowed = RNG.integers(0, 2, (2, 1, 5, 5)).astype(bool)
    allowed[0, 0, 1] = allowed[1, 0, 4] = False
    bias = allowed if mask == "bool" else np.where(allowed, 0, -np.inf).astype(F32)
    inputs = {name: floats(2, 4, 5, 4) for name in "qkv"} | {"mask": bias}
    used = agree("Attention", inputs, {"is_causal": causal}, opset=23)
    assert ("compare" in used) == (mask == "float")  # conditions need no infinities, which saturate in fp16


@pytest.mark.parametrize("constants", [(), ("scale", "bias", "mean", "variance")])
def test_batch_normalization_of_every_element_by_itself(constants: tuple[str, ...]) -> None:
    inputs = {"x": floats(2, 3, 4, 5), "scale": floats(3, 4, 5), "bias": floats(3, 4, 5), "mean": floats(3, 4, 5)}
    inputs["variance"] = np.abs(floats(3, 4, 5)) + F32(0.1)
    agree("BatchNormalization", inputs, {"spatial": 0, "epsilon": 1e-3}, constants=constants, opset=7)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [("transpose", {"perm": []}), ("slice", {"starts": [], "ends": [], "axes": [], "steps": []})],
)
def test_moving_a_scalar_leaves_a_scalar(name: str, attributes: dict[str, Any]) -> None:
    (y,) = evaluate(f"ge.{name}", [np.array(3, F32)], attributes)
    assert y.shape == ()
