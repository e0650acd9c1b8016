"""Group convolutions of every kind: on the Cube where blocks of groups fit the 16 channels, else on the AI CPU."""

import pytest
from harness.agreement import Network, misses, tasks_of
from models.light import random_inputs
from models.small import GraphBuilder

from graph_engine.target_ascend.om.program import AicpuCall

# (input channels, output channels, groups, whether the Cube has a kernel)
CASES = [
    (24, 24, 24, True),  # depthwise; the second block of 16 groups is half filled
    (40, 40, 40, True),
    (48, 96, 3, True),
    (60, 30, 3, True),  # all groups in one block
    (
        72,
        72,
        3,
        False,
    ),  # blocks of two groups, 48 channels; the last of one group would write past the last channel block
    (17, 34, 17, False),
    (40, 80, 40, False),
]


@pytest.mark.parametrize(("c_in", "c_out", "groups", "on_cube"), CASES)
def test_group_convolution(c_in: int, c_out: int, groups: int, on_cube: bool) -> None:
    """Numbers agree and checking mode is silent; where the chip has no kernel, the filter is packed for none."""
    b = GraphBuilder(2)
    b.node("Relu", [b.conv(b.input("x", (1, c_in, 9, 9)), c_in, c_out, 3, group=groups)], "y")
    network = Network.of(b.model("y"), [])
    found, result = network.compare(random_inputs(network.model, 4), mode="functional", check=True)
    assert misses(found) == []
    assert result.findings == []
    tasks = tasks_of(network.program)
    assert [task.op for task in tasks if isinstance(task, AicpuCall)] == ([] if on_cube else ["ge.conv2d"])
    assert sum(task.type == "TransData" for task in tasks) <= 4
