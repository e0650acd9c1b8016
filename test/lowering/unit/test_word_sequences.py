"""Comparison, choice and conversion on chips whose Vector unit does so with fp16 alone: exactly what numpy gives, silently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import run_stored, value
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import element_type, tensor_type
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.unary_math import CeilOp, FloorOp, RoundOp
from graph_engine.target_ascend.soc.soc import load_soc

FIRST = load_soc("Ascend310")
OLD = ("Ascend310", "Ascend910A")
RNG = np.random.default_rng(8)
FLOATS = np.concatenate(
    [
        *(sign * np.array([0, 1e-38, 6e-8, 0.5, 1.5, 2.5, 0.49999997, 1 - 2**-24, 3.4e38]) for sign in (1, -1)),
        [np.inf, -np.inf, 2.0**22 + 0.5, 2.0**22 + 1.5, 2.0**23 - 0.5, 2.0**24 + 2, 2.0**30 + 64, -(2.0**31)],
        RNG.normal(size=300) * 10.0 ** RNG.integers(-6, 9, 300),
    ]
).astype(np.float32)
WORDS = np.concatenate(
    [
        [0, 1, -1, 2**23, 2**23 - 1, -(2**23), 2**24 + 1, 2**24 + 3, 2**31 - 1, -(2**31), 2**30 + 65, 2049, 65536],
        RNG.integers(-(2**31), 2**31, 200),
        RNG.integers(-3000, 3000, 100),
    ]
).astype(np.int32)


@pytest.mark.parametrize("predicate", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_compare(predicate: str) -> None:
    a, b = (side.reshape(-1) for side in np.meshgrid(FLOATS[:40], FLOATS[:40]))
    a, b = np.concatenate([a, FLOATS]), np.concatenate([b, FLOATS])
    operator = CompareOp(value(a.shape, "f32"), value(b.shape, "f32"), predicate=predicate)
    names = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    found = run_stored(operator, [a, b], soc=FIRST).astype(bool)
    np.testing.assert_array_equal(found, getattr(np, names[predicate])(a, b))


@pytest.mark.parametrize("dtype", ["f32", "i32", "i64", "ui64"])
def test_select(dtype: str) -> None:
    numbers = FLOATS if dtype == "f32" else WORDS.astype({"i32": np.int32, "i64": np.int64, "ui64": np.uint64}[dtype])
    mask, other = RNG.integers(0, 2, numbers.shape).astype(bool), RNG.permutation(numbers)
    operator = SelectOp(value(mask.shape, "i1"), value(numbers.shape, dtype), value(other.shape, dtype))
    found = run_stored(operator, [mask, numbers, other], soc=FIRST)
    np.testing.assert_array_equal(found, np.where(mask, numbers, other))


@pytest.mark.parametrize(("kind", "right"), [(FloorOp, np.floor), (CeilOp, np.ceil), (RoundOp, np.rint)])
def test_rounding(kind: type[GeOp], right: Any) -> None:
    operator: Operation = kind(value(FLOATS.shape, "f32"))  # pyright: ignore[reportCallIssue]
    found = run_stored(operator, [FLOATS], soc=FIRST)
    np.testing.assert_array_equal(found, right(FLOATS))


def cast(x: Any, source: str, target: str, soc: str) -> Any:
    operator = CastOp(value(x.shape, source), result_type=tensor_type(x.shape, element_type(target)))
    return run_stored(operator, [x], soc=load_soc(soc))


@pytest.mark.parametrize("soc", OLD)
def test_floats_as_words(soc: str) -> None:
    x = FLOATS[np.abs(FLOATS) < 2**31]
    np.testing.assert_array_equal(cast(x, "f32", "i32", soc), np.trunc(x).astype(np.int32))


@pytest.mark.parametrize("soc", OLD)
def test_words_as_floats(soc: str) -> None:
    np.testing.assert_array_equal(cast(WORDS, "i32", "f32", soc), WORDS.astype(np.float32))


@pytest.mark.parametrize("soc", OLD)
@pytest.mark.parametrize("predicate", ["eq", "lt", "ge"])
def test_integers_in_order(predicate: str, soc: str) -> None:
    for dtype, numpy_type in (("i32", np.int32), ("i64", np.int64)):
        a = WORDS.astype(numpy_type)
        b = np.where(RNG.integers(0, 2, a.shape), a, RNG.permutation(a))
        operator = CompareOp(value(a.shape, dtype), value(b.shape, dtype), predicate=predicate)
        found = run_stored(operator, [a, b], soc=load_soc(soc)).astype(bool)
        right = {"eq": np.equal, "lt": np.less, "ge": np.greater_equal}[predicate]
        np.testing.assert_array_equal(found, right(a, b))
