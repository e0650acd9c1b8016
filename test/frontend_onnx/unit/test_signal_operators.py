"""Fourier transforms, windows and mel weights against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import agree


def floats(*shape: int) -> Any:
    return np.random.default_rng([2, *shape]).standard_normal(shape).astype(np.float32)


def whole(value: int) -> Any:
    return np.array(value, np.int64)


@pytest.mark.parametrize(
    "parts, attributes", [(1, {}), (2, {}), (1, {"inverse": 1}), (2, {"inverse": 1}), (1, {"onesided": 1})]
)
@pytest.mark.parametrize("length", [None, 8, 11, 16])
def test_dft(parts: int, attributes: dict[str, int], length: int | None) -> None:
    for axis, opset in ((1, 17), (2, 17), (1, 20), (-2, 20)):
        inputs = {"x": floats(2, 11, 8, parts), "length": None if length is None else whole(length)}
        known = ["length"] if length else []
        if opset == 20:
            inputs["axis"] = whole(axis)
            known.append("axis")
        place = attributes if opset == 20 else attributes | {"axis": axis}
        assert agree("DFT", inputs, place, opset=opset, constants=known) == ["dft"]


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("windowed", [False, True])
def test_stft(onesided: int, windowed: bool) -> None:
    inputs = {
        "x": floats(2, 40, 1),
        "step": whole(3),
        "window": np.hanning(8).astype(np.float32) if windowed else None,
        "length": whole(8),
    }
    agree("STFT", inputs, {"onesided": onesided}, constants=["step", "length"])


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(op: str, periodic: int) -> None:
    assert agree(op, {"size": whole(10)}, {"periodic": periodic}, constants=["size"]) == []


@pytest.mark.parametrize("bins, length, rate, low, high", [(8, 16, 8192, 0.0, 4096.0), (20, 400, 16000, 50.0, 7600.0)])
def test_mel_weights(bins: int, length: int, rate: int, low: float, high: float) -> None:
    inputs = {
        "bins": whole(bins),
        "length": whole(length),
        "rate": whole(rate),
        "low": np.array(low, np.float32),
        "high": np.array(high, np.float32),
    }
    assert agree("MelWeightMatrix", inputs, constants=list(inputs)) == []
