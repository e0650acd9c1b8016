"""Chips whose unified buffer holds next to nothing: what has no tile there runs on the AI CPU, and the numbers stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from harness.judge import onnxruntime_outputs
from models.small import GraphBuilder

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.runtime.device import run
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.target_ascend.soc.what_if import parse_changes, write_chip


@pytest.mark.parametrize("size", ["512", "2K", "8K", "16K", "32K"])
def test_a_network_on_a_chip_with_a_unified_buffer_of(size: str, tmp_path: Path) -> None:
    """Pixels of three channels, a window, axes that turn around, and a sum of exponentials."""
    b = GraphBuilder()
    y = b.conv_bn_relu(b.input("x", (1, 3, 21, 37)), 3, 40)
    y = b.node("MaxPool", [y], kernel_shape=[3, 3], strides=[2, 2])
    y = b.node("Softmax", [b.node("Transpose", [y], perm=[0, 3, 2, 1])], axis=1)
    model = b.model(y)
    x = np.random.default_rng(0).standard_normal((1, 3, 21, 37)).astype(np.float32)
    (right,) = onnxruntime_outputs(model, {"x": x})
    soc = write_chip("Ascend310P3", parse_changes(load_soc("Ascend310P3"), f"ub_size={size}"), tmp_path)
    module = import_onnx(model)
    compile_module(module, soc)
    done = run(emit_program(module), [x], mode="functional", check=True)
    assert not done.findings, done.findings[:3]
    assert np.abs(done.outputs[0] - right).max() <= 0.01 * np.ptp(right)
