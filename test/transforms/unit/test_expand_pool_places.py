"""Maxima of windows and their places on the checked chip, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs

RNG = np.random.default_rng(13)
CASES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 6, 8), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ((1, 5, 7, 6), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "storage_order": 1}),
    ((2, 4, 11), {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}),
    ((1, 2, 9, 9), {"kernel_shape": [2, 3], "dilations": [3, 2], "pads": [0, 1, 0, 1]}),
]


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize(("shape", "attributes"), CASES, ids=str)
def test_max_pool_with_places(shape: tuple[int, ...], attributes: dict[str, Any], soc: str) -> None:
    """Few different numbers, so that the first of equals matters."""
    x = RNG.integers(-4, 4, shape).astype(np.float32)
    model = node_model("MaxPool", {"x": x}, attributes, outputs=2)
    found, _ = chip_outputs(model, {"x": x}, soc)
    for value, right in zip(found, onnxruntime_outputs(model, {"x": x}), strict=True):
        np.testing.assert_array_equal(value, right)
