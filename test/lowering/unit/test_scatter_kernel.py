"""Scatters on the checked chip, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

RNG = np.random.default_rng(12)


def check(op: str, x: Any, indices: Any, updates: Any, *, opset: int = 17, **attributes: Any) -> list[str]:
    """Numbers are exact in fp16. Returns the types of the tasks."""
    feeds = {"x": x, "i": indices, "u": updates}
    model = node_model(op, feeds, attributes, opset=opset)
    (value,), types = chip_outputs(model, feeds)
    np.testing.assert_array_equal(value, onnxruntime_outputs(model, feeds)[0])
    return types


def some(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return RNG.integers(0, 99, shape).astype(dtype)


def distinct(count: int, extents: tuple[int, ...]) -> Any:
    """Coordinates (count, axes), none twice: onnxruntime writes those in any order."""
    places = RNG.choice(int(np.prod(extents)), count, replace=False)
    coordinates = np.stack(np.unravel_index(places, extents), -1)
    return np.where(RNG.random(coordinates.shape) < 0.5, coordinates, coordinates - np.array(extents))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64])
@pytest.mark.parametrize(
    ("shape", "named", "count"),
    [((8, 16, 32), 1, 3), ((8, 16, 3), 2, 10), ((8, 16, 3), 3, 40), ((40,), 1, 7), ((5, 4000), 1, 2)],
    ids=str,
)
def test_slices(shape: tuple[int, ...], named: int, count: int, dtype: Any) -> None:
    indices = distinct(count, shape[:named])
    check("ScatterND", some(shape, dtype), indices, some((count, *shape[named:]), dtype))


@pytest.mark.parametrize(
    ("shape", "places", "axis"),
    [((4, 40), (4, 9), 1), ((8, 5, 16), (3, 5, 16), 0), ((17,), (17,), 0), ((3, 1000), (3, 300), -1)],
    ids=str,
)
def test_elements(shape: tuple[int, ...], places: tuple[int, ...], axis: int) -> None:
    extent = shape[axis]
    lanes = RNG.permuted(np.broadcast_to(np.arange(extent), (*np.delete(places, axis), extent)), axis=-1)
    indices = np.moveaxis(lanes[..., : places[axis]], -1, axis)
    types = check("ScatterElements", some(shape), np.ascontiguousarray(indices), some(places), axis=axis)
    assert "ScatterElements" in types


def test_the_last_of_several_updates_stays() -> None:
    indices = np.zeros((1, 30), np.int64)
    assert "ScatterElements" in check("ScatterElements", some((1, 8)), indices, some((1, 30)), axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_combined(reduction: str, dtype: Any) -> None:
    def small(*shape: int) -> Any:
        return RNG.choice([-2, -1, 1], shape).astype(dtype)

    for shape, named, count in (((8, 4, 32), 1, 20), ((8, 6), 2, 40), ((5, 3), 1, 9)):
        indices = np.stack([RNG.integers(-n, n, count) for n in shape[:named]], -1)
        updates = small(count, *shape[named:])
        if reduction == "mul":
            updates = np.sign(updates)
        check("ScatterND", small(*shape), indices, updates, opset=18, reduction=reduction)


@pytest.mark.parametrize("reduction", ["add", "none"])
@pytest.mark.parametrize("axis", [0, 1])
def test_one_index_for_whole_rows(axis: int, reduction: str) -> None:
    """As graph networks add the messages of edges to their nodes."""
    x, places = (12, 5, 16), [12, 5, 16]
    places[axis] = 9 if axis == 0 else 4
    order = RNG.permutation(x[axis])[: places[axis]] if reduction == "none" else RNG.integers(0, x[axis], places[axis])
    index = order.reshape([places[axis] if a == axis else 1 for a in range(3)])
    nodes = [
        helper.make_node("Expand", ["i", "shape"], ["all"]),
        helper.make_node("ScatterElements", ["x", "all", "u"], ["y"], axis=axis, reduction=reduction),
    ]
    feeds = {"x": some(x), "i": index, "u": some(tuple(places))}
    ends = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feeds.items()
    ]
    result = [helper.make_tensor_value_info("y", 1, x)]
    graph = helper.make_graph(nodes, "g", ends, result, [numpy_helper.from_array(np.array(places), "shape")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    (value,), types = chip_outputs(model, feeds)
    np.testing.assert_array_equal(value, onnxruntime_outputs(model, feeds)[0])
    assert "ScatterNdUpdate" in types


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_slices_of_any_shape(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    named = data.draw(st.integers(1, len(shape)))
    count = data.draw(st.integers(1, int(np.prod(shape[:named]))))
    check("ScatterND", some(shape), distinct(count, shape[:named]), some((count, *shape[named:])))
