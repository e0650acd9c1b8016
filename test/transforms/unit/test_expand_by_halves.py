"""Reductions and running sums of integers, and products, on the checked chip, beside onnxruntime or numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs

RNG = np.random.default_rng(9)


def outputs(op: str, x: Any, constants: dict[str, Any], **attributes: Any) -> tuple[Any, Any]:
    model = node_model(op, {"x": x, **constants}, attributes, constants=list(constants))
    return chip_outputs(model, {"x": x})[0][0], onnxruntime_outputs(model, {"x": x})[0]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("axes", [[1], [0, 2]], ids=str)
def test_integers(op: str, axes: list[int], dtype: Any) -> None:
    x = RNG.integers(-(2**20), 2**20, (5, 13, 8)).astype(dtype)
    x = x * 99999 if dtype is np.int64 else x
    given = {"a": np.array(axes)} if op == "ReduceSum" else {}
    attributes = {} if given else {"axes": axes}
    value, right = outputs(op, x, given, keepdims=0, **attributes)
    np.testing.assert_array_equal(value, right)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ArgMax", "ArgMin"])
def test_extremes_of_bytes(op: str, dtype: Any) -> None:
    info = np.iinfo(dtype)
    x = RNG.integers(info.min, info.max + 1, (5, 70)).astype(dtype)
    value, right = outputs(op, x, {}, **({"axis": 1} if op.startswith("Arg") else {"axes": [1]}))
    np.testing.assert_array_equal(value, right)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.uint8])
def test_the_largest_of_short_integers(dtype: Any) -> None:
    info = np.iinfo(dtype)
    x = RNG.integers(info.min, info.max + 1, (3, 90)).astype(dtype)
    model = node_model("TopK", {"x": x, "k": np.array([9])}, constants=["k"], outputs=2, opset=24)
    (values, places), _ = chip_outputs(model, {"x": x})
    right = np.argsort(-x.astype(int), axis=1, kind="stable")[:, :9]
    np.testing.assert_array_equal(places, right)
    np.testing.assert_array_equal(values, np.take_along_axis(x, right, 1))


@pytest.mark.parametrize("extent", [1, 7, 32])
def test_products(extent: int) -> None:
    x = RNG.uniform(0.8, 1.25, (3, extent)).astype(np.float32)
    value, right = outputs("ReduceProd", x, {}, axes=[1])
    np.testing.assert_allclose(value, right, rtol=0.005)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize(("shape", "axis"), [((3, 40), 1), ((9, 4), 0)], ids=str)
def test_running_sums(shape: tuple[int, ...], axis: int, exclusive: int, reverse: int, dtype: Any) -> None:
    x = RNG.integers(-999, 999, shape).astype(dtype)
    value, right = outputs("CumSum", x, {"a": np.array(axis)}, exclusive=exclusive, reverse=reverse)
    np.testing.assert_array_equal(value, right)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize(("upper", "k"), [(0, 0), (1, 0), (1, 2), (0, -3)])
def test_triangle(upper: int, k: int, dtype: Any) -> None:
    x = RNG.integers(-99, 99, (2, 5, 7)).astype(dtype)
    value, right = outputs("Trilu", x, {"k": np.array(k)}, upper=upper)
    np.testing.assert_array_equal(value, right)
