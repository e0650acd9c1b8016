"""Integers of all widths on the checked chip, beside numpy: sums, products, quotients, extremes, bits; all are exact."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness.checked_operators import run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise, logic, unary_math
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.target_ascend.isa.model import DType

SPECIAL = [0, 1, -1, 2, -2, 7, -7, 65535, 65536, -65536, 2**31 - 1, -(2**31) + 1, 16777217, -16777217, 123456789]
LONG = [2**32, -(2**32), 2**40 + 12345, -(2**53) - 1, 3 * 2**61 + 5]
TYPES = ("i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64")
RNG = np.random.default_rng(4)


def pairs(dtype: Any, *, no_zero: bool = False, no_lowest: bool = False) -> tuple[Any, Any]:
    """Special and random numbers against each other."""
    limits = np.iinfo(dtype)
    special = [n for n in (*SPECIAL, *LONG, limits.max, limits.min) if limits.min <= n <= limits.max]
    a, b = (x.ravel() for x in np.meshgrid(np.array(special, dtype), np.array(special, dtype)))
    c, d = (
        RNG.integers(limits.min, limits.max, 300, dtype=dtype) >> RNG.integers(0, limits.bits - 1, 300).astype(dtype)
        for _ in "ab"
    )
    a, b = np.concatenate([a, c]), np.concatenate([b, d])
    keep = b != 0 if no_zero else np.full(b.shape, True)
    if no_lowest and limits.min:
        keep &= (a != limits.min) & (b != limits.min)
    return a[keep], b[keep]


def check(make: Any, dtype: str, a: Any, b: Any, **options: Any) -> None:
    op = make(value(a.shape, dtype), value(b.shape, dtype), **options)
    np.testing.assert_array_equal(run_operator(op, [a, b]), evaluate_op(op, [a, b])[0])


def exact(function: Callable[[int, int], int], a: Any, b: Any) -> Any:
    """A function of python's integers, of which the low bits are kept."""
    bits = np.iinfo(a.dtype).bits
    low = [function(int(x), int(y)) % 2**bits for x, y in zip(a, b, strict=True)]
    return np.array(low, np.dtype(f"u{a.dtype.itemsize}")).view(a.dtype)


def towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rest_of_a(a: int, b: int) -> int:
    return a - towards_zero(a, b) * b


ARITHMETIC: dict[str, tuple[Any, Callable[[int, int], int], dict[str, Any]]] = {
    "add": (elementwise.AddOp, operator.add, {}),
    "sub": (elementwise.SubOp, operator.sub, {}),
    "mul": (elementwise.MulOp, operator.mul, {}),
    "maximum": (elementwise.MaximumOp, max, {}),
    "minimum": (elementwise.MinimumOp, min, {}),
    "div": (elementwise.DivOp, towards_zero, {}),
    "mod": (logic.ModOp, operator.mod, {}),
    "fmod": (logic.ModOp, rest_of_a, {"fmod": True}),
    "and": (logic.AndOp, operator.and_, {}),
    "or": (logic.OrOp, operator.or_, {}),
    "xor": (logic.XorOp, operator.xor, {}),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_two_operands(name: str, dtype: str) -> None:
    make, function, options = ARITHMETIC[name]
    division = name in ("div", "mod", "fmod")
    lowest = division and dtype == "i32"  # its size is no int32
    a, b = pairs(np.dtype(DType.from_mlir(dtype).numpy).type, no_zero=division, no_lowest=lowest)
    op = make(value(a.shape, dtype), value(b.shape, dtype), **options)
    np.testing.assert_array_equal(run_operator(op, [a, b]), exact(function, a, b))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("make", "function"),
    [(elementwise.NegOp, operator.neg), (elementwise.AbsOp, abs), (unary_math.NotOp, operator.invert)],
    ids=["neg", "abs", "not"],
)
def test_one_operand(make: Any, function: Callable[[int], int], dtype: str) -> None:
    a, _ = pairs(np.dtype(DType.from_mlir(dtype).numpy).type)
    want = exact(lambda x, _: function(x), a, a)
    np.testing.assert_array_equal(run_operator(make(value(a.shape, dtype)), [a]), want)


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64"])
def test_sign(dtype: str) -> None:
    a, _ = pairs(np.dtype(DType.from_mlir(dtype).numpy).type)
    np.testing.assert_array_equal(run_operator(unary_math.SignOp(value(a.shape, dtype)), [a]), np.sign(a))


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("dtype", TYPES)
def test_shift(dtype: str, direction: str) -> None:
    """By 0 up to the width, and by amounts that leave the sign alone."""
    numbers, _ = pairs(np.dtype(DType.from_mlir(dtype).numpy).type)
    limits = np.iinfo(numbers.dtype)
    amounts = [*range(limits.bits + 1), min(100, limits.max), limits.max, *((-1, -8) if limits.min else ())]
    a, b = (x.ravel() for x in np.meshgrid(numbers[::3], np.array(amounts, numbers.dtype)))

    def moved(x: int, y: int) -> int:
        if not 0 <= y < limits.bits:
            return -1 if x < 0 and direction == "right" else 0
        return x << y if direction == "left" else x >> y

    op = logic.ShiftOp(value(a.shape, dtype), value(b.shape, dtype), direction=direction)
    np.testing.assert_array_equal(run_operator(op, [a, b]), exact(moved, a, b))


@pytest.mark.parametrize("dtype", ["i64", "ui16", "i8"])
def test_broadcast(dtype: str) -> None:
    a, b = pairs(np.dtype(DType.from_mlir(dtype).numpy).type)
    check(elementwise.MulOp, dtype, a[:12].reshape(3, 4), b[:4])
    check(logic.AndOp, dtype, a[:12].reshape(3, 4), b[:3].reshape(3, 1))


@pytest.mark.parametrize("fmod", [False, True])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_rest_of_floats(dtype: str, fmod: bool) -> None:
    numpy_type = DType.from_mlir(dtype).numpy
    a = np.concatenate([RNG.uniform(-100, 100, 200), [0, 5, -5, 7.5, -7.5, 5, -5]]).astype(numpy_type)
    b = np.concatenate([RNG.uniform(0.5, 9, 200) * RNG.choice([-1, 1], 200), [3, 5, 5, -2.5, 2.5]]).astype(numpy_type)
    b = np.concatenate([b, np.array([np.inf, -np.inf], numpy_type)])
    got = run_operator(logic.ModOp(value(a.shape, dtype), value(b.shape, dtype), fmod=fmod), [a, b])
    want = (np.fmod if fmod else np.mod)(a.astype(np.float64), b.astype(np.float64))
    distance = np.abs(got - want)
    around = np.minimum(distance, np.abs(np.abs(b.astype(np.float64)) - distance))  # b itself is 0 but for a rounding
    np.testing.assert_array_less(around, 1e-2 if dtype == "f16" else 2e-5)
    assert (distance < 0.01).mean() > 0.98


@settings(max_examples=4, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.data())
def test_any_numbers(shape: list[int], data: st.DataObject) -> None:
    count = int(np.prod(shape))
    numbers = st.integers(-(2**31) + 1, 2**31 - 1)
    a = np.array(data.draw(st.lists(numbers, min_size=count, max_size=count)), np.int32).reshape(shape)
    b = np.array([data.draw(numbers.filter(bool))], np.int32)
    check(logic.ModOp, "i32", a, b)
    check(elementwise.SubOp, "i64", a.astype(np.int64) * 5, b.astype(np.int64))
