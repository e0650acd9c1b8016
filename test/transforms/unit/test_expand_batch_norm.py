"""A BatchNorm whose parameters are inputs of the graph, on the checked chip, beside onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs

RNG = np.random.default_rng(12)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("shape", [(2, 20, 5, 6), (3, 7), (2, 5, 9)], ids=str)
def test_late_parameters(shape: tuple[int, ...], soc: str) -> None:
    feeds = {"x": RNG.standard_normal(shape), **{name: RNG.uniform(0.5, 2, shape[1:2]) for name in "sbmv"}}
    feeds = {name: value.astype(np.float32) for name, value in feeds.items()}
    model = node_model("BatchNormalization", feeds, {"epsilon": 1e-3})
    found, _ = chip_outputs(model, feeds, soc)
    (right,) = onnxruntime_outputs(model, feeds)
    np.testing.assert_allclose(found[0], right, atol=2**-9 * np.abs(right).max())
