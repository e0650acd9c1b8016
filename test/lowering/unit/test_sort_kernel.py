"""Rows sorted whole: the k largest or smallest and their places, equal ones in order, silently in checking mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import kernel_of, launch_results, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge.selection import TopKOp
from graph_engine.dialects.ge.weights import materialize
from graph_engine.lowering.selection.choice import ConstantArgument
from graph_engine.target_ascend.soc.soc import load_soc

RNG = np.random.default_rng(2)


def check(x: Any, k: int, largest: bool, soc: str) -> None:
    choice, kernel = kernel_of(TopKOp(value(x.shape), k=k, largest=largest), load_soc(soc))
    assert choice.stem == "sort"
    (table,) = (v for v in choice.inputs if isinstance(v, ConstantArgument))
    form = (x.shape[0], k)
    results = [(form, np.dtype(np.float16)), (form, np.dtype(np.int64))]
    values, places = launch_results(kernel, [x, materialize(table.value, table.type)], results, {}, load_soc(soc))
    right = np.argsort(-x if largest else x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, right)
    np.testing.assert_array_equal(values, np.take_along_axis(x, right, 1))


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize(("rows", "row", "k"), [(1, 256, 256), (3, 700, 300), (2, 2048, 2047)])
@pytest.mark.parametrize("largest", [True, False])
def test_sort(rows: int, row: int, k: int, largest: bool, soc: str) -> None:
    x = RNG.integers(-200, 200, (rows, row)).astype(np.float16)
    x[0, :3], x[0, 5] = -65504, 65504
    check(x, k, largest, soc)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3", "Ascend950PR"])
def test_sort_of_more_places_than_fp16_counts(soc: str) -> None:
    x = RNG.integers(-900, 900, (1, 8000)).astype(np.float16)
    check(x, 8000, True, soc)


@settings(max_examples=6, deadline=None)
@given(st.integers(130, 600), st.integers(1, 9), st.booleans())
def test_sort_of_any_row(row: int, values: int, largest: bool) -> None:
    check(RNG.integers(0, values, (1, row)).astype(np.float16), row, largest, "Ascend310P3")
