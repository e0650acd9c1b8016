"""Operators that passes bring into forms with kernels, by kernels alone on the checked chip, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs

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
