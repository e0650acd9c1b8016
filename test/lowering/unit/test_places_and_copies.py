"""arg_max and arg_min, global pools of plain tensors, many copies, and reversed slices on the checked chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import pooling, reduction, repetition
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.shape import SliceOp
from graph_engine.target_ascend.isa.model import DType

RNG = np.random.default_rng(6)


def check(op: Any, *inputs: Any) -> None:
    np.testing.assert_array_equal(run_operator(op, list(inputs)), evaluate_op(op, list(inputs))[0])


def some(shape: tuple[int, ...], dtype: str = "f16") -> Any:
    return RNG.integers(-9, 9, shape).astype(DType.from_mlir(dtype).numpy)


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("make", [reduction.ArgMaxOp, reduction.ArgMinOp])
def test_place_of_the_extreme(make: Any, last: bool, dtype: str) -> None:
    for shape, axis in (((3, 1000), 1), ((5, 7, 33), 1), ((40, 6), 0), ((17,), 0), ((2, 1), 1)):
        check(make(value(shape, dtype), axis=axis, select_last=last), some(shape, dtype))


def test_places_of_large_close_and_infinite_numbers() -> None:
    x = np.array([[1e-30, 0.0, 1.4e-45], [3e38, np.inf, -np.inf], [-np.inf, -np.inf, -3e37]], np.float32)
    got = run_operator(reduction.ArgMaxOp(value(x.shape, "f32"), axis=1), [x])
    np.testing.assert_array_equal(got[[0, 2], 0], [0, 2])
    assert got[1, 0] in (0, 1)  # infinity counts as a largest number
    x = RNG.normal(size=(2, 70000)).astype(np.float32)
    check(reduction.ArgMaxOp(value(x.shape, "f32"), axis=1), x)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_places_of_any_shape(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=4)))
    axis, keep = data.draw(st.integers(0, len(shape) - 1)), data.draw(st.booleans())
    check(reduction.ArgMaxOp(value(shape), axis=axis, keepdims=keep), some(shape))


@pytest.mark.parametrize("shape", [(2, 5, 33), (1, 3, 4, 9, 10), (2, 4, 7, 7)], ids=str)
def test_global_maximum_of_plain_tensors(shape: tuple[int, ...]) -> None:
    check(pooling.GlobalMaxPoolOp(value(shape)), some(shape))


@pytest.mark.parametrize("dtype", ["f16", "f32", "i32", "i64", "i1"])
def test_many_copies(dtype: str) -> None:
    check(repetition.ExpandOp(value((3, 1, 5, 1), dtype), shape=(3, 21, 5, 2)), some((3, 1, 5, 1), dtype))
    check(repetition.TileOp(value((3, 5), dtype), repeats=[20, 3]), some((3, 5), dtype))


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_slices_with_any_steps(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=3)))
    steps = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in shape]
    starts = [0 if s > 0 else n - 1 for s, n in zip(steps, shape, strict=True)]
    ends = [n if s > 0 else -n - 1 for s, n in zip(steps, shape, strict=True)]
    op = SliceOp(value(shape), starts=starts, ends=ends, axes=list(range(len(shape))), steps=steps)
    check(op, some(shape))
