"""Columns added up into images on the checked chip, as products with matrices of ones, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs

RNG = np.random.default_rng(10)
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, list[int]]]] = [
    ((5, 6), (2, 3), {}),
    ((9, 8), (3, 3), {"strides": [2, 1], "pads": [1, 0, 1, 2]}),
    ((7, 7), (2, 2), {"dilations": [3, 2]}),
]


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize(("image", "block", "attributes"), CASES, ids=str)
def test_col2im(image: tuple[int, ...], block: tuple[int, ...], attributes: dict[str, Any], soc: str) -> None:
    strides, dilations = (attributes.get(name, [1, 1]) for name in ("strides", "dilations"))
    pads = attributes.get("pads", [0, 0, 0, 0])
    places = [
        (image[i] + pads[i] + pads[i + 2] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(2)
    ]
    # Eighths, of which sums of a few are exact in fp16.
    x = (RNG.integers(-8, 9, (2, 3 * block[0] * block[1], places[0] * places[1])) / 8).astype(np.float32)
    inputs = {"x": x, "image": np.array(image), "block": np.array(block)}
    model = node_model("Col2Im", inputs, attributes, constants=["image", "block"], opset=18)
    found, types = chip_outputs(model, {"x": x}, soc)
    assert any("MatMul" in name for name in types), types
    np.testing.assert_array_equal(found[0], onnxruntime_outputs(model, {"x": x})[0])
