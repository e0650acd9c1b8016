"""The transformer has the size asked for, agrees with onnxruntime, and loses its shape arithmetic while it is imported."""

import numpy as np
import pytest
from harness.judge import imported_outputs, onnxruntime_outputs
from models.transformer import NODES_PER_LAYER, transformer


@pytest.mark.parametrize("nodes", [1000, 4000])
def test_size(nodes: int) -> None:
    assert abs(len(transformer(nodes).graph.node) - nodes) <= NODES_PER_LAYER


def test_outputs_and_operators() -> None:
    model = transformer(2 * NODES_PER_LAYER, seed=3)
    rng = np.random.default_rng(0)
    feeds = {"x": rng.integers(0, 50, (1, 16)), "mask": np.where(rng.random((1, 1, 1, 16)) < 0.2, -1e4, 0)}
    feeds["mask"] = feeds["mask"].astype(np.float32)
    ours, operators = imported_outputs(model, feeds)
    np.testing.assert_allclose(ours[0], onnxruntime_outputs(model, feeds)[0], atol=1e-4)
    assert operators.count("reshape") == 2 * 4
    shape_arithmetic = 2 * 4 * 6
    assert len(operators) <= len(model.graph.node) - shape_arithmetic
