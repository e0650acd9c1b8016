"""int64 sums and extremes, int32 quotients and rests on the checked chip, beside numpy; all results are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise, logic
from graph_engine.dialects.ge.evaluate import evaluate_op

SPECIAL = [0, 1, -1, 2, -2, 7, -7, 65535, 65536, -65536, 2**31 - 1, -(2**31) + 1, 16777217, -16777217, 123456789]
RNG = np.random.default_rng(4)


def pairs(dtype: Any, *, no_zero: bool = False) -> tuple[Any, Any]:
    """Special and random numbers against each other."""
    limits = np.iinfo(dtype)
    special = np.array([*SPECIAL, *((2**32, -(2**32), limits.max, limits.min) if dtype is np.int64 else ())], dtype)
    a, b = (x.ravel() for x in np.meshgrid(special, special))
    c, d = (
        RNG.integers(limits.min, limits.max, 300, dtype=dtype) >> RNG.integers(0, 31, 300).astype(dtype) for _ in "ab"
    )
    a, b = np.concatenate([a, c]), np.concatenate([b, d])
    keep = b != 0 if no_zero else np.full(b.shape, True)
    return a[keep], b[keep]


def check(make: Any, dtype: str, a: Any, b: Any, **options: Any) -> None:
    op = make(value(a.shape, dtype), value(b.shape, dtype), **options)
    np.testing.assert_array_equal(run_operator(op, [a, b]), evaluate_op(op, [a, b])[0])


@pytest.mark.parametrize(
    "make", [elementwise.AddOp, elementwise.SubOp, elementwise.MaximumOp, elementwise.MinimumOp], ids=str
)
def test_long(make: Any) -> None:
    check(make, "i64", *pairs(np.int64))
    a, b = pairs(np.int64)
    check(make, "i64", a[:12].reshape(3, 4), b[:4])


def test_quotient() -> None:
    a, b = pairs(np.int32, no_zero=True)
    op = elementwise.DivOp(value(a.shape, "i32"), value(b.shape, "i32"))
    right = np.trunc(a.astype(np.longdouble) / b.astype(np.longdouble)).astype(np.int32)
    np.testing.assert_array_equal(run_operator(op, [a, b]), right)


@pytest.mark.parametrize("fmod", [False, True])
def test_rest(fmod: bool) -> None:
    a, b = pairs(np.int32, no_zero=True)
    op = logic.ModOp(value(a.shape, "i32"), value(b.shape, "i32"), fmod=fmod)
    right = (np.fmod if fmod else np.mod)(a.astype(np.int64), b.astype(np.int64))
    np.testing.assert_array_equal(run_operator(op, [a, b]), right)


@settings(max_examples=4, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.data())
def test_any_numbers(shape: list[int], data: st.DataObject) -> None:
    count = int(np.prod(shape))
    numbers = st.integers(-(2**31) + 1, 2**31 - 1)
    a = np.array(data.draw(st.lists(numbers, min_size=count, max_size=count)), np.int32).reshape(shape)
    b = np.array([data.draw(numbers.filter(bool))], np.int32)
    check(logic.ModOp, "i32", a, b)
    check(elementwise.SubOp, "i64", a.astype(np.int64) * 5, b.astype(np.int64))
