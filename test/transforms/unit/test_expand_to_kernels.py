"""Operators that passes bring into forms with kernels, by kernels alone on the checked chip, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs

from graph_engine.target_ascend.isa.model import DType

RNG = np.random.default_rng(21)


def check(
    op_type: str, inputs: dict[str, Any], attributes: dict[str, Any] | None = None, *, share: float = 0.0, **form: Any
) -> None:
    """Equal, or within a share of the largest number of the result."""
    model = node_model(op_type, inputs, attributes, **form)
    feeds = {name: x for name, x in inputs.items() if name not in form.get("constants", ())}
    outputs, _ = chip_outputs(model, feeds)
    for got, want in zip(outputs, onnxruntime_outputs(model, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=share * max(1.0, float(np.abs(want.astype(float)).max())))


@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize(("axis", "parts"), [(1, 2), (2, 2), (2, 1)])
def test_fourier_transform(axis: int, parts: int, inverse: int) -> None:
    x = RNG.normal(size=(2, 10, 12, parts)).astype(np.float32)
    check("DFT", {"x": x}, {"axis": axis, "inverse": inverse}, share=2**-9, opset=17)


def test_onesided_fourier_transform() -> None:
    x = RNG.normal(size=(3, 64, 1)).astype(np.float32)
    check("DFT", {"x": x}, {"axis": 1, "onesided": 1}, share=2**-9, opset=17)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint16])
def test_a_scale_each(dtype: Any, axis: int) -> None:
    """There and back; a scale and a zero point that differ along an axis."""
    shape = (5, 3, 37)
    info = np.iinfo(dtype)
    q = RNG.integers(info.min, info.max + 1, shape).astype(dtype)
    scale = RNG.uniform(0.01, 0.1, shape[axis]).astype(np.float32)
    zero = RNG.integers(info.min, info.max + 1, shape[axis]).astype(dtype)
    inputs = {"x": q, "s": scale, "z": zero}
    check("DequantizeLinear", inputs, {"axis": axis}, share=2**-10, constants=("s", "z"), opset=21)
    x = RNG.normal(size=shape).astype(np.float32)
    check("QuantizeLinear", {**inputs, "x": x}, {"axis": axis}, constants=("s", "z"), opset=21)


@pytest.mark.parametrize("count", [1, 5])
def test_quantised_integers(count: int) -> None:
    """onnxruntime has none of these: numpy."""
    x = RNG.integers(-3000, 3000, (4, 5)).astype(np.int32)
    scale, zero = RNG.uniform(5, 20, count).astype(np.float32), np.full(count, 7, np.int8)
    inputs = {"x": x, "s": scale if count > 1 else scale[0], "z": zero if count > 1 else zero[0]}
    model = node_model("QuantizeLinear", inputs, {"axis": 1}, constants=["s", "z"], opset=13)
    found, _ = chip_outputs(model, {"x": x})
    np.testing.assert_array_equal(found[0], np.clip(np.rint(x / scale) + 7, -128, 127))


def test_a_scale_a_block() -> None:
    q = RNG.integers(-128, 128, (3, 10)).astype(np.int8)
    inputs = {
        "x": q,
        "s": RNG.uniform(0.01, 0.1, (3, 3)).astype(np.float32),
        "z": RNG.integers(-9, 9, (3, 3)).astype(np.int8),
    }
    check("DequantizeLinear", inputs, {"axis": 1, "block_size": 4}, share=2**-10, opset=21)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_triangle_of_a_diagonal_that_is_known_late(dtype: Any, upper: int) -> None:
    x = RNG.integers(1, 99, (2, 5, 7)).astype(dtype)
    for k in (-2, 0, 3):
        check("Trilu", {"x": x, "k": np.array(k)}, {"upper": upper})


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("last", [0, 1])
def test_places_of_integers(dtype: Any, last: int) -> None:
    """Beyond what fp32 tells apart, with equals."""
    x = RNG.integers(-3, 3, (3, 7, 5)).astype(dtype) + np.iinfo(dtype).max // 2
    for op_type, axis in (("ArgMax", 1), ("ArgMin", -1)):
        check(op_type, {"x": x}, {"axis": axis, "select_last_index": last})


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("op_type", ["ReduceProd", "ReduceSumSquare"])
def test_reductions_of_integers(op_type: str, dtype: Any) -> None:
    x = RNG.integers(-6, 7, (3, 5, 4)).astype(dtype)
    check(op_type, {"x": x, "axes": np.array([0, 2])}, constants=("axes",), opset=18)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_powers_of_integers(dtype: Any) -> None:
    x = RNG.integers(-6, 7, (3, 5)).astype(dtype)
    for exponent in (1, 2, 5):
        check("Pow", {"x": x, "e": np.array(exponent, dtype)}, constants=("e",))


def test_pads_of_long_integers() -> None:
    x = RNG.integers(-(2**62), 2**62, (2, 3, 4))
    check("Pad", {"x": x, "p": np.array([1, 0, 2, 0, 1, 3]), "v": np.array(-7)}, constants=("p", "v"))


@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceSum", "ReduceL2", "ReduceLogSumExp"])
def test_scattered_axes(op_type: str) -> None:
    x = RNG.normal(size=(3, 4, 5, 6)).astype(np.float32)
    for keepdims in (0, 1):
        inputs = {"x": x, "axes": np.array([0, 2])}
        check(op_type, inputs, {"keepdims": keepdims}, share=2**-9, constants=("axes",), opset=18)


def test_maxima_of_large_windows() -> None:
    x = RNG.integers(-999, 999, (1, 2, 90, 80)).astype(np.float32)
    check("MaxPool", {"x": x}, {"kernel_shape": [60, 50], "strides": [7, 3], "pads": [20, 9, 5, 0], "ceil_mode": 1})


def test_biases_that_come_late() -> None:
    x, b = RNG.normal(size=(2, 6, 9, 8)).astype(np.float32), RNG.normal(size=8).astype(np.float32)
    w = RNG.normal(size=(8, 6, 3, 3)).astype(np.float32)
    check("Conv", {"x": x, "w": w, "b": b}, share=2**-9, constants=("w",))
    check("ConvTranspose", {"x": x, "w": w.transpose(1, 0, 2, 3).copy(), "b": b}, share=2**-9, constants=("w",))
    a, m = RNG.normal(size=(5, 7)).astype(np.float32), RNG.normal(size=(7, 8)).astype(np.float32)
    check("Gemm", {"x": a, "w": m, "b": b}, share=2**-9, constants=("w",))


@pytest.mark.parametrize("options", [{}, {"exclusive": 1}, {"reverse": 1}])
@pytest.mark.parametrize("dtype", ["f32", "i64"])
def test_running_products(dtype: str, options: dict[str, int]) -> None:
    """Beside numpy: onnxruntime has no such operator."""
    x = RNG.integers(1, 3, (3, 7)).astype(DType.from_mlir(dtype).numpy)
    wide = x[:, ::-1] if "reverse" in options else x
    want = np.cumprod(wide, axis=1)
    want = np.concatenate([np.ones_like(want[:, :1]), want[:, :-1]], 1) if "exclusive" in options else want
    want = want[:, ::-1] if "reverse" in options else want
    outputs, _ = chip_outputs(
        node_model("CumProd", {"x": x, "a": np.array(1)}, options, constants=("a",), opset=26), {"x": x}
    )
    np.testing.assert_array_equal(outputs[0], want)
