"""A detector exported with its channels last becomes what its twin with the channels first becomes."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from harness.agreement import compile_program, main_block, relative_error, tasks_of
from models.detector import detector, yolo
from models.light import random_inputs, reference_outputs

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.target_ascend.om.program import Program
from graph_engine.target_ascend.runtime.device import run


def kinds(program: Program) -> Counter[str]:
    return Counter(task.type for task in tasks_of(program))


def test_the_twins_are_twins() -> None:
    """onnxruntime gives both the same numbers."""
    x = random_inputs(detector())["x"]
    first = reference_outputs(detector(), {"x": x}).values()
    last = reference_outputs(detector(last=True), {"x": x.transpose(0, 2, 3, 1)}).values()
    for a, b in zip(first, last, strict=True):
        np.testing.assert_allclose(a, b.transpose(0, 3, 1, 2), atol=1e-6)


def test_only_the_borders_are_transposed() -> None:
    """42 transposes are around convolutions and their kind: three are left, at the input and the outputs."""
    module = import_onnx(detector(last=True))
    compile_module(module, until=Phase.SIMPLIFIED)
    assert sum(op.name == "ge.transpose" for op in main_block(module).ops) == 3


def test_the_larger_twins_are_twins() -> None:
    x = random_inputs(yolo())["x"]
    (first,) = reference_outputs(yolo(), {"x": x}).values()
    (last,) = reference_outputs(yolo(last=True), {"x": x.transpose(0, 2, 3, 1)}).values()
    np.testing.assert_allclose(first, last, atol=1e-5)


@pytest.mark.parametrize("last", [False, True], ids=["nchw", "nhwc"])
@pytest.mark.parametrize("make", [detector, yolo])
def test_numbers(make: Any, last: bool) -> None:
    model = make(last=last)
    feeds = random_inputs(model, 2)
    result = run(compile_program(model), list(feeds.values()), mode="functional", check=True)
    assert result.findings == []
    for value, right in zip(result.outputs, reference_outputs(model, feeds).values(), strict=True):
        assert relative_error(value, right.astype(np.float64)) <= 0.01


def test_as_many_tasks_of_a_larger_one() -> None:
    """Channels cut and joined at every stage, three scales up and down, boxes as rows: of 206 transposes none is a task, and
    but for the input and the three heads no TransData is left."""
    model = yolo(last=True)
    assert sum(node.op_type == "Transpose" for node in model.graph.node) == 206
    first, last = kinds(compile_program(yolo())), kinds(compile_program(model))
    assert last == first
    assert first["TransData"] == 4
    assert not any("Transpose" in kind for kind in first)


def test_as_many_tasks() -> None:
    first, last = kinds(compile_program(detector())), kinds(compile_program(detector(last=True)))
    assert last == first
    assert first["TransData"] == 3
