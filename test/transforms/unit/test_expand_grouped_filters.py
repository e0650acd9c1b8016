"""Convolutions of groups with filters that are inputs of the graph: on the checked chip what onnxruntime gives, without the AI CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs

RNG = np.random.default_rng(5)
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 8, 9, 7), (6, 4, 3, 2), {"group": 2, "pads": [1, 0, 0, 2]}),
    ((1, 40, 6, 6), (40, 1, 3, 3), {"group": 40, "strides": [2, 1]}),
    ((1, 12, 20), (24, 4, 3), {"group": 3, "dilations": [2]}),
    ((1, 6, 5, 6, 4), (4, 3, 2, 2, 3), {"group": 2, "pads": [1, 0, 1, 0, 1, 1]}),
    ((2, 300, 17), (300, 1, 4), {"group": 300, "pads": [3, 0]}),
    ((1, 300, 6, 7), (600, 1, 2, 3), {"group": 300, "strides": [2, 2], "dilations": [1, 2], "pads": [0, 1, 1, 0]}),
]


def numbers(shape: tuple[int, ...]) -> Any:
    """Eighths, so that products and sums are exact in fp32 and few results need rounding to fp16."""
    return (RNG.integers(-8, 9, shape) / 8).astype(np.float32)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize(("x", "w", "attributes"), CASES, ids=str)
def test_conv(x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any], soc: str) -> None:
    feeds = {"x": numbers(x), "w": numbers(w), "b": numbers(w[:1])}
    model = node_model("Conv", feeds, attributes)
    found, types = chip_outputs(model, feeds, soc)
    (right,) = onnxruntime_outputs(model, feeds)
    np.testing.assert_allclose(found[0], right, atol=np.abs(right).max() * 2**-10)
    products = [t for t in types if t in ("Conv2D", "Conv3D")]
    assert bool(products) == (x[1] < 300), types


def test_transposed() -> None:
    feeds = {"x": numbers((1, 6, 5, 4)), "w": numbers((6, 2, 3, 3))}
    model = node_model("ConvTranspose", feeds, {"group": 3, "strides": [2, 2]})
    found, _ = chip_outputs(model, feeds)
    (right,) = onnxruntime_outputs(model, feeds)
    np.testing.assert_allclose(found[0], right, atol=np.abs(right).max() * 2**-10)
