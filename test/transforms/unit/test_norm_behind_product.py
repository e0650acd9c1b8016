"""A BatchNorm behind a product on the checked chip beside onnxruntime: no task of its own, in the forms of exporters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from harness.agreement import OF_RANGE, compile_program, relative_error
from models.architectures import Exporter
from models.light import reference_outputs

from graph_engine.target_ascend.runtime.device import run

ROWS, FEATURES, COLUMNS = 20, 24, 40


def normalised(b: Exporter, x: str) -> str:
    """Statistics far from 0 and 1, one channel of which hardly varies."""
    random = np.random.default_rng(3)
    scale, shift, mean, variance = random.uniform(0.5, 1.5, (4, COLUMNS)).astype(np.float32)
    variance[0] = 1e-4
    scale[0] *= 1e-2
    return b("BatchNormalization", x, *(b.number(list(v)) for v in (scale, shift, mean, variance)), epsilon=1e-5)


def flattened(gate: str) -> onnx.ModelProto:
    """LeViT: a product without bias of [1, rows, features], normalised as a matrix and an activation."""
    b = Exporter()
    x = b.input("x", (1, ROWS, FEATURES))
    y = b("MatMul", x, b.weight((FEATURES, COLUMNS)))
    y = normalised(b, b("Flatten", y, axis=2))
    return b.model(b(gate, b("Reshape", y, b.ints([1, ROWS, COLUMNS])), output="y"))


def layer(gate: str) -> onnx.ModelProto:
    """A plain layer of torch: Gemm with transposed weights and a bias."""
    b = Exporter()
    x = b.input("x", (ROWS, FEATURES))
    y = b("Gemm", x, b.weight((COLUMNS, FEATURES)), b.weight((COLUMNS,)), transB=1)
    return b.model(b(gate, normalised(b, y), output="y"))


@pytest.mark.parametrize("gate", ["Relu", "HardSwish", "Identity"])
@pytest.mark.parametrize("form", [flattened, layer])
def test_one_product(form: Callable[[str], onnx.ModelProto], gate: str) -> None:
    """One percent of the range at most, and one task beside those at the borders."""
    model = form(gate)
    (value,) = model.graph.input
    shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
    feeds = {"x": np.random.default_rng(1).standard_normal(shape, np.float32)}
    result = run(compile_program(model), [feeds["x"]], mode="both", check=True)
    assert not result.findings and result.profile is not None
    assert relative_error(result.outputs[0], reference_outputs(model, feeds)["y"]) <= OF_RANGE
    assert set(Counter(task.type for task in result.profile.tasks)) <= {"MatMulV2", "TransData"}
