"""Quantised operators against onnxruntime: integers exactly, ties of rounding included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import agree

F32 = np.float32
BYTES = (np.int8, np.uint8)


def whole(dtype: Any, *shape: int, seed: int = 0) -> Any:
    info = np.iinfo(dtype)
    return np.random.default_rng([seed, *shape]).integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def halves() -> Any:
    """Every multiple of 1/4 that one byte of scale 1/2 reaches, and some beyond."""
    return (np.arange(-600, 600) / 4).astype(F32).reshape(4, 300)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_quantize_rounds_to_even_and_cuts(dtype: Any) -> None:
    for zero in (0, 3):
        inputs = {"x": halves(), "scale": np.array(0.5, F32), "zero_point": np.array(zero, dtype)}
        assert agree("QuantizeLinear", inputs, opset=21) == ["quantize"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32])
def test_dequantize(dtype: Any) -> None:
    zero = None if dtype is np.int32 else np.array(7, dtype)
    inputs = {"x": whole(dtype, 5, 6), "scale": np.array(0.37, F32), "zero_point": zero}
    assert agree("DequantizeLinear", inputs, opset=21) == ["dequantize"]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", BYTES)
def test_one_scale_an_index_of_an_axis(axis: int, dtype: Any) -> None:
    shape = (3, 4, 5)
    rng = np.random.default_rng(3)
    scale = rng.uniform(0.01, 0.1, shape[axis]).astype(F32)
    zero = whole(dtype, shape[axis])
    x = rng.standard_normal(shape).astype(F32)
    agree("QuantizeLinear", {"x": x, "scale": scale, "zero_point": zero}, {"axis": axis}, opset=13)
    agree("DequantizeLinear", {"x": whole(dtype, *shape), "scale": scale, "zero_point": zero}, {"axis": axis}, opset=13)


@pytest.mark.parametrize("axis, block", [(0, 2), (1, 3), (1, 4)])
def test_one_scale_a_block(axis: int, block: int) -> None:
    shape = [4, 8] if block == 4 else [4, 9]
    small = [-(-n // block) if i == axis else n for i, n in enumerate(shape)]
    rng = np.random.default_rng(4)
    inputs = {
        "x": (4 * rng.standard_normal(shape)).astype(F32),
        "scale": rng.uniform(0.01, 0.1, small).astype(F32),
        "zero_point": whole(np.uint8, *small),
    }
    agree("QuantizeLinear", inputs, {"axis": axis, "block_size": block}, opset=21)
    agree("DequantizeLinear", inputs | {"x": whole(np.uint8, *shape)}, {"axis": axis, "block_size": block}, opset=21)


@pytest.mark.parametrize("low, high", [(-1.0, 2.0), (1.0, 3.0), (-3.0, -1.0), (0.0, 0.0), (-1.5, 1.5)])
def test_dynamic_quantize(low: float, high: float) -> None:
    x = np.random.default_rng(5).uniform(low, high, (7, 9)).astype(F32)
    assert agree("DynamicQuantizeLinear", {"x": x}, outputs=3, opset=11) == ["dynamic_quantize"]


@pytest.mark.parametrize("a_type, b_type", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("vectors", [False, True])
def test_matmul_integer(a_type: Any, b_type: Any, vectors: bool) -> None:
    inputs = {
        "a": whole(a_type, 2, 5, 700),
        "b": whole(b_type, 700, 6),
        "a_zero": np.array(11, a_type),
        "b_zero": whole(b_type, 6) if vectors else np.array(-3 if b_type is np.int8 else 3, b_type),
    }
    assert agree("MatMulInteger", inputs, opset=10) == ["matmul_integer"]
    agree("MatMulInteger", inputs | {"a_zero": None, "b_zero": None}, opset=10)


@pytest.mark.parametrize("group, pads", [(1, [0, 0, 0, 0]), (2, [1, 1, 1, 1]), (4, [2, 0, 1, 1])])
@pytest.mark.parametrize("w_type", BYTES)
def test_conv_integer(group: int, pads: list[int], w_type: Any) -> None:
    inputs = {
        "x": whole(np.uint8, 2, 4, 8, 9),
        "w": whole(w_type, 8, 4 // group, 3, 3),
        "x_zero": np.array(128, np.uint8),
        "w_zero": np.array(0 if w_type is np.int8 else 120, w_type),
    }
    attributes = {"pads": pads, "group": group, "strides": [1, 2]}
    assert agree("ConvInteger", inputs, attributes, opset=10) == ["conv2d_integer"]


@pytest.mark.parametrize("x_type, w_type", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("rank, channelwise, bias", [(2, True, True), (2, False, False), (1, True, True)])
def test_qlinear_conv(x_type: Any, w_type: Any, rank: int, channelwise: bool, bias: bool) -> None:
    outputs = 6
    inputs = {
        "x": whole(x_type, 2, 4, *(9, 10)[:rank]),
        "x_scale": np.array(0.02, F32),
        "x_zero": np.array(5, x_type),
        "w": whole(w_type, outputs, 2, *(3, 3)[:rank]),
        "w_scale": np.linspace(0.001, 0.003, outputs, dtype=F32) if channelwise else np.array(0.002, F32),
        "w_zero": np.zeros(outputs, w_type) if channelwise else np.array(0, w_type),
        "y_scale": np.array(0.04, F32),
        "y_zero": np.array(3, x_type),
        "b": np.arange(-300, 300, 100, dtype=np.int32) if bias else None,
    }
    constants = ["w", "x_scale", "x_zero", "w_scale", "w_zero", "y_scale", "y_zero"]
    agree("QLinearConv", inputs, {"group": 2, "pads": [1] * (2 * rank)}, opset=10, constants=constants)


@pytest.mark.parametrize("a_type, b_type", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
def test_qlinear_matmul(a_type: Any, b_type: Any) -> None:
    inputs = {
        "a": whole(a_type, 2, 5, 40),
        "a_scale": np.array(0.01, F32),
        "a_zero": np.array(9, a_type),
        "b": whole(b_type, 40, 6),
        "b_scale": np.linspace(0.01, 0.03, 6, dtype=F32),
        "b_zero": np.full(6, 2, b_type),
        "y_scale": np.array(0.2, F32),
        "y_zero": np.array(1, a_type),
    }
    agree("QLinearMatMul", inputs, opset=10)
