"""Activations leave with the Cube's result: one task with the convolution or product, right on the checked chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.agreement import compile_program, relative_error, tasks_of
from harness.judge import onnxruntime_outputs
from models.small import GraphBuilder

from graph_engine.target_ascend.runtime.device import run

ACTIVATIONS: dict[str, dict[str, Any]] = {
    "Elu": {"alpha": 0.75},
    "Selu": {},
    "Swish": {"alpha": 1.25},
    "HardSigmoid": {"alpha": 0.3},
    "HardSwish": {},
    "Mish": {},
    "Softplus": {},
    "Sigmoid": {},
    "Tanh": {},
    "Gelu": {"approximate": "tanh"},
}


def checked(builder: GraphBuilder, output: str, shape: tuple[int, ...]) -> list[str]:
    """Compiles and runs in checking mode; gives the types of the tasks that convert no layout."""
    model = builder.model(output)
    program = compile_program(model)
    x = np.random.default_rng(5).uniform(-2, 2, shape).astype(np.float32)
    result = run(program, [x], check=True)
    assert not result.findings
    (expected,) = onnxruntime_outputs(model, {"x": x})
    assert relative_error(result.outputs[0], expected) < 2e-3
    return [task.type for task in tasks_of(program) if task.type != "TransData"]


@pytest.mark.parametrize("op_type", ACTIVATIONS)
def test_behind_a_convolution(op_type: str) -> None:
    b = GraphBuilder(opset=24)
    x = b.input("x", (1, 12, 13, 11))
    y = b.node("Conv", [x, b.weight((20, 12, 3, 3), -0.2, 0.2), b.weight((20,))], pads=[1, 1, 1, 1])
    assert checked(b, b.node(op_type, [y], "y", **ACTIVATIONS[op_type]), (1, 12, 13, 11)) == ["Conv2D"]


@pytest.mark.parametrize("op_type", ["Swish", "Mish", "Gelu"])
def test_behind_a_matrix_product(op_type: str) -> None:
    b = GraphBuilder(opset=24)
    x = b.input("x", (37, 50))
    y = b.node("MatMul", [x, b.weight((50, 70), -0.2, 0.2)])
    assert checked(b, b.node(op_type, [y], "y", **ACTIVATIONS[op_type]), (37, 50)) == ["MatMulV2"]


@pytest.mark.parametrize("slope", [(20, 1, 1), (1,)])
def test_prelu_behind_a_convolution(slope: tuple[int, ...]) -> None:
    b = GraphBuilder(opset=24)
    x = b.input("x", (1, 12, 13, 11))
    y = b.node("Conv", [x, b.weight((20, 12, 3, 3), -0.2, 0.2)])
    assert checked(b, b.node("PRelu", [y, b.weight(slope)], "y"), (1, 12, 13, 11)) == ["Conv2D"]


@pytest.mark.parametrize(("rows", "columns", "tasks"), [(37, 70, ["MatMulV2"]), (197, 3072, ["MatMulV2", "Gelu"])])
def test_an_exact_gelu_leaves_with_a_small_product(rows: int, columns: int, tasks: list[str]) -> None:
    """Of a large one it is a vector kernel of its own: the chip's times decide."""
    b = GraphBuilder(opset=24)
    x = b.input("x", (rows, 50))
    y = b.node("MatMul", [x, b.weight((50, columns), -0.2, 0.2)])
    assert checked(b, b.node("Gelu", [y], "y"), (rows, 50)) == tasks
