"""Weights that a device keeps in the form that its engine computes with, from its second run on."""

from __future__ import annotations

import numpy as np
import pytest
from models.small import GraphBuilder

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import Program
from graph_engine.target_ascend.runtime.device import Device, run


@pytest.fixture(scope="module")
def program() -> Program:
    """A convolution, and a product of weights of which one ends at the largest fp16."""
    b = GraphBuilder()
    x = b.node("Conv", [b.input("x", (1, 16, 8, 8)), b.weight((32, 16, 3, 3)), b.weight((32,))], pads=[1, 1, 1, 1])
    x = b.node("Reshape", [x, b.constant("shape", np.array([8, 256], np.int64))])
    weight = np.random.default_rng(1).standard_normal((256, 48)).astype(np.float32)
    weight[5, 7] = 1e6
    module = import_onnx(b.model(b.node("MatMul", [x, b.constant("weight", weight)])))
    compile_module(module, "Ascend310P3")
    return emit_program(module)


@pytest.mark.parametrize("check", [False, True])
def test_every_run_gives_the_bits_of_the_first(program: Program, check: bool) -> None:
    device = Device(program, check=check)
    rng = np.random.default_rng(2)
    for _ in range(3):
        x = rng.standard_normal((1, 16, 8, 8)).astype(np.float32)
        (got,), (plain,) = device.run([x]).outputs, run(program, [x], real_bytes=True).outputs
        assert got.tobytes() == plain.tobytes()
