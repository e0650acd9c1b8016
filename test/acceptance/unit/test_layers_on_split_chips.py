"""A layer of each transformer family on a chip whose products take plain matrices, checked, beside onnxruntime in fp32.

Attention is two products and a softmax there. Heads are read and written where they lie, so nothing is converted; only the
rotation of queries and keys stands between a cut and its product.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from harness.agreement import OF_RANGE, relative_error
from models.encoder_layers import LAYERS
from models.light import reference_outputs

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.runtime.device import run

ROTATED = ("llama", "qwen3")


@pytest.mark.parametrize("name", LAYERS)
def test_nothing_is_converted(name: str) -> None:
    model = LAYERS[name]()
    random = np.random.default_rng(1)
    feeds: dict[str, np.ndarray[Any, Any]] = {}
    for value in model.graph.input:
        shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        there = np.broadcast_to(np.arange(shape[-1]), shape) < shape[-1] * 3 // 4
        numbers = random.standard_normal(shape, np.float32)
        feeds[value.name] = there.astype(np.int64) if value.name == "mask" else numbers
    module = import_onnx(model)
    compile_module(module, "Ascend910B3")
    program = emit_program(module)
    inputs = [feeds[tensor.name] for tensor in program.entry_points[0].inputs]
    result = run(program, inputs, mode="both", check=True)
    assert not result.findings
    assert relative_error(result.outputs[0], reference_outputs(model, feeds)["y"]) <= OF_RANGE
    assert result.profile is not None
    found = Counter(task.type for task in result.profile.tasks)
    assert found["TransData"] == 0
    assert found["ConfusionTransposeD"] <= (name in ROTATED)
    assert found["MatMulV2"] <= (9 if name in ROTATED else 6)
