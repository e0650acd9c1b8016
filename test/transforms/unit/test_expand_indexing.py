"""one_hot, gather_elements and top_k along any axis: on the checked chip what onnxruntime gives, without the AI CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.pipelines.compile import DEFAULT_SOC

RNG = np.random.default_rng(3)


def check(
    op: str,
    inputs: dict[str, Any],
    constants: list[str],
    outputs: int = 1,
    soc: str = DEFAULT_SOC,
    opset: int = 17,
    **attributes: Any,
) -> list[str]:
    """All numbers are exact in fp16. Returns the types of the tasks."""
    model = node_model(op, inputs, attributes, constants=constants, outputs=outputs, opset=opset)
    feeds = {name: array for name, array in inputs.items() if name not in constants}
    found, types = chip_outputs(model, feeds, soc)
    for value, right in zip(found, onnxruntime_outputs(model, feeds), strict=True):
        np.testing.assert_array_equal(value, right)
    return types


@pytest.mark.parametrize("constants", [["d"], ["d", "v"]], ids=str)
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_one_hot(dtype: Any, axis: int, constants: list[str]) -> None:
    indices = np.array([[1, 3, -2], [0, 4, 9]], dtype)
    values = np.array([0.5, 2], np.float32)
    check("OneHot", {"i": indices, "d": np.array(5, dtype), "v": values}, constants, axis=axis)


@pytest.mark.parametrize(
    ("x", "indices", "axis"),
    [((4, 6, 5), (4, 3, 5), 1), ((4, 6, 5), (2, 3, 7), 2), ((7, 3), (9, 2), 0), ((2, 3, 4, 5), (2, 1, 4, 5), 1)],
)
def test_gather_elements(x: tuple[int, ...], indices: tuple[int, ...], axis: int) -> None:
    places = RNG.integers(-x[axis], x[axis], indices)
    check("GatherElements", {"x": RNG.integers(-99, 99, x).astype(np.float32), "i": places}, [], axis=axis)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max"])
@pytest.mark.parametrize(
    ("x", "indices", "axis"), [((4, 9), (4, 5), 1), ((5, 7), (3, 6), 0), ((2, 3, 8), (1, 3, 4), 2)]
)
def test_scatter_elements(x: tuple[int, ...], indices: tuple[int, ...], axis: int, reduction: str) -> None:
    """Into all rows or some of them; indices from both ends, each once where order would matter."""
    order = np.argsort(RNG.random((*indices, x[axis])), axis=-1)
    places = np.take_along_axis(order, np.zeros((*indices, 1), int), -1)[..., 0]
    if reduction == "none":
        shuffled = np.argsort(RNG.random([x[axis] if a == axis else n for a, n in enumerate(indices)]), axis=axis)
        places = np.take(shuffled, range(indices[axis]), axis)
    places = np.where(places % 2, places - x[axis], places)
    numbers = {"x": RNG.integers(-3, 4, x), "i": places, "u": RNG.integers(-3, 4, indices)}
    inputs = {name: value if name == "i" else value.astype(np.float32) for name, value in numbers.items()}
    check("ScatterElements", inputs, [], axis=axis, reduction=reduction, opset=18)


def top_k(x: Any, k: int, **attributes: Any) -> list[str]:
    return check("TopK", {"x": x, "k": np.array([k], np.int64)}, ["k"], 2, **attributes)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(
    ("shape", "k", "axis"), [((3, 50), 5, 1), ((2, 40), 40, -1), ((9, 4, 3), 2, 0), ((1, 600), 300, 1)]
)
def test_top_k(shape: tuple[int, ...], k: int, axis: int, largest: int, dtype: Any) -> None:
    x = RNG.permutation(int(np.prod(shape))).reshape(shape).astype(dtype)
    assert "TopKD" in top_k(x, k, axis=axis, largest=largest)


def test_top_k_of_equal_and_largest_elements() -> None:
    most = 65504.0
    x = np.array([[1, 1, -most, 1, -most, -most], [-most, most, 2, most, 2, -most]], np.float32)
    top_k(x, 6)
    top_k(-x, 6, largest=0)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_of_integers(largest: int, dtype: Any, soc: str) -> None:
    scale = 2**40 if dtype is np.int64 else 2**20
    x = (RNG.integers(-9, 9, (3, 70)) * scale + RNG.integers(0, 2, (3, 70))).astype(dtype)
    top_k(x, 40, largest=largest, soc=soc)


@pytest.mark.parametrize("shape", [(20003,), (2, 4100)], ids=str)
def test_top_k_of_long_rows(shape: tuple[int, ...]) -> None:
    x = RNG.integers(0, 2000, shape).astype(np.float32)
    assert top_k(x, 20).count("TopKD") > 1


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend910A"])
def test_chips_that_order_fp16_alone(soc: str) -> None:
    """Places are exact as far as fp16 counts; elements are looked up without an instruction for it."""
    x = RNG.integers(0, 2000, (2, 4100)).astype(np.float32)
    top_k(x, 20, soc=soc)
    check("ArgMax", {"x": x[:, :2048]}, [], axis=1, soc=soc)
    check("GatherElements", {"x": x[:, :90], "i": RNG.integers(-90, 90, (2, 7))}, [], axis=1, soc=soc)


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_top_k_of_any_shape(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=3))
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = RNG.integers(-9, 9, shape).astype(np.float32)
    top_k(x, data.draw(st.integers(1, shape[axis])), axis=axis, largest=int(data.draw(st.booleans())))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.uint8, np.bool_])
def test_transpose(dtype: Any) -> None:
    for shape, perm in (((40, 33), [1, 0]), ((4, 6, 50), [2, 0, 1])):
        check("Transpose", {"x": RNG.integers(0, 2, shape).astype(dtype)}, [], perm=perm)
