"""Small networks whose feature maps must not leave NC1HWC0: right numbers on the checked chip, and no more TransData."""

from collections import Counter

import numpy as np
import onnx
from harness.agreement import compile_program, relative_error, tasks_of
from models.light import random_inputs, reference_outputs
from models.small import GraphBuilder

from graph_engine.target_ascend.om.program import Launch
from graph_engine.target_ascend.runtime.device import run


def tasks(model: onnx.ModelProto, seed: int = 1) -> Counter[str]:
    """Task types of a network (the AI CPU's as "AI CPU: ge.name"), after its outputs were found right."""
    program = compile_program(model)
    feeds = random_inputs(model, seed)
    inputs = [feeds[tensor.name] for tensor in program.entry_points[0].inputs]
    result = run(program, inputs, mode="functional", check=True)
    assert result.findings == []
    for value, right in zip(result.outputs, reference_outputs(model, feeds).values(), strict=True):
        assert relative_error(value, right.astype(np.float64)) <= 0.01
    return Counter(task.type if isinstance(task, Launch) else f"AI CPU: {task.op}" for task in tasks_of(program))


def test_gates_keep_the_padding_zero() -> None:
    """Squeeze and excitation over 24 channels, once with a sigmoid, once with SiLU inside: half a block of padding."""
    b = GraphBuilder(3)
    x = b.conv(b.input("x", (1, 3, 10, 9)), 3, 24)
    x = b.node("Mul", [x, b.node("Sigmoid", [x])])
    gate = b.conv(b.node("GlobalAveragePool", [x]), 24, 6, 1)
    gate = b.node("Mul", [gate, b.node("Sigmoid", [gate])])
    gate = b.node("HardSigmoid", [b.conv(gate, 6, 24, 1)])
    y = b.conv(b.node("Mul", [x, gate]), 24, 8)
    assert tasks(b.model(y))["TransData"] == 2
