"""Volumes convolved as images give what onnxruntime gives for the volume."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.context import make_context
from graph_engine.transforms.expand_conv3d import ExpandConv3dPass


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"pads": [1, 0, 1, 2, 1, 0]},
        {"strides": [2, 1, 3], "pads": [1, 1, 1, 1, 1, 1]},
        {"dilations": [2, 1, 2], "pads": [2, 0, 1, 0, 1, 1]},
        {"strides": [3, 2, 1], "dilations": [2, 2, 1]},
    ],
)
@pytest.mark.parametrize("constant", [False, True])
def test_values(attributes: dict[str, Any], constant: bool) -> None:
    rng = np.random.default_rng(0)
    inputs = {
        "x": rng.standard_normal((2, 3, 7, 6, 8)).astype(np.float32),
        "w": rng.standard_normal((5, 3, 3, 2, 3)).astype(np.float32),
        "b": rng.standard_normal(5).astype(np.float32),
    }
    model = node_model("Conv", inputs, attributes, constants=["w", "b"] if constant else [])
    feeds = {"x": inputs["x"]} if constant else inputs
    module = import_onnx(model)
    ExpandConv3dPass().apply(make_context(), module)
    module.verify()
    (function,) = module.body.block.ops
    block = function.regions[0].block
    assert "ge.conv3d" not in [op.name for op in block.ops]
    (found,) = evaluate_block(block, list(feeds.values()))
    (expected,) = onnxruntime_outputs(model, feeds)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
