"""Group convolutions of every kind on the Cube, whether blocks of groups fill blocks of 16 channels or not."""

import pytest
from harness.agreement import Network, misses, tasks_of
from models.light import random_inputs
from models.small import GraphBuilder

from graph_engine.target_ascend.om.program import AicpuCall

# (input channels, output channels, groups)
CASES = [
    (24, 24, 24),  # depthwise; the second block of 16 groups is half filled
    (40, 40, 40),
    (48, 96, 3),
    (60, 30, 3),  # all groups in one block
    (72, 72, 3),  # blocks of two groups, 48 channels; the last one has one group and half a block of channels
    (17, 34, 17),
    (40, 80, 40),
]


@pytest.mark.parametrize(("c_in", "c_out", "groups"), CASES)
def test_group_convolution(c_in: int, c_out: int, groups: int) -> None:
    """Numbers agree, checking mode is silent, nothing runs on the AI CPU."""
    b = GraphBuilder(2)
    b.node("Relu", [b.conv(b.input("x", (1, c_in, 9, 9)), c_in, c_out, 3, group=groups)], "y")
    network = Network.of(b.model("y"), [])
    found, result = network.compare(random_inputs(network.model, 4), mode="functional", check=True)
    assert misses(found) == []
    assert result.findings == []
    tasks = tasks_of(network.program)
    assert not any(isinstance(task, AicpuCall) for task in tasks)
    assert sum(task.type == "TransData" for task in tasks) == 2
