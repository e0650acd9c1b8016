"""Caches written on from a place of each entry's own, sequences turned round: on the checked chip what numpy and onnxruntime give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize(("shape", "time"), [((7, 3, 20), 0), ((4, 9), 1), ((3, 6, 2, 5), 1)], ids=str)
def test_reverse_sequence(shape: tuple[int, ...], time: int, soc: str) -> None:
    lengths = RNG.integers(1, shape[time] + 1, shape[1 - time])
    feeds = {"x": RNG.integers(-99, 99, shape).astype(np.float32), "l": lengths}
    model = node_model("ReverseSequence", feeds, {"time_axis": time, "batch_axis": 1 - time})
    found, types = chip_outputs(model, feeds, soc)
    assert "GatherNd" in types
    np.testing.assert_array_equal(found[0], onnxruntime_outputs(model, feeds)[0])


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize(("mode", "starts"), [("linear", [0, 3]), ("circular", [4, 6]), ("linear", None)])
@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 7, 16), -2), ((2, 7, 3, 4), 1)], ids=str)
def test_tensor_scatter(shape: tuple[int, ...], axis: int, mode: str, starts: list[int] | None, soc: str) -> None:
    axis %= len(shape)
    updates = tuple(2 if i == axis else n for i, n in enumerate(shape))
    feeds: dict[str, Any] = {"past": RNG.integers(-99, 99, shape).astype(np.float32)}
    feeds["update"] = RNG.integers(-99, 99, updates).astype(np.float32)
    if starts is not None:
        feeds["starts"] = np.array(starts)
    model = node_model("TensorScatter", feeds, {"axis": axis, "mode": mode}, opset=24)
    found, _ = chip_outputs(model, feeds, soc)
    right = feeds["past"].copy()
    for entry, first in enumerate(starts or [0, 0]):
        for step in range(2):
            place = (first + step) % shape[axis]
            np.moveaxis(right[entry], axis - 1, 0)[place] = np.moveaxis(feeds["update"][entry], axis - 1, 0)[step]
    np.testing.assert_array_equal(found[0], right)
