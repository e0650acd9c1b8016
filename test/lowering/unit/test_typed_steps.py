"""Kernels of casts, comparisons, choices, logic, rounding, powers and trigonometry on the chip, in checking mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge import logic, unary_math
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.typed_steps import TYPED
from graph_engine.lowering.selection.table import select
from graph_engine.target_ascend.isa.model import PREDICATES, DType

RNG = np.random.default_rng(11)
INTEGERS = ("i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64")
STORED = ("f16", "f32", "i1", *INTEGERS)
EDGES = {
    "f16": [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2047.5, 65504.0, -65504.0, 6e-8],
    "f32": [0.0, -0.0, 0.5, -2.5, 8388607.5, -16777217.0, 3e9, -3e9, 1e15, -1e15, 2.0**31, -(2.0**31), 1e-30],
    "i32": [0, 1, -1, 2**31 - 1, -(2**31), 2**24 + 1, -(2**24) - 1, 65535],
    "i64": [0, 1, -1, -5, 2**31, -(2**31) - 1, 2**32, -(2**32), 2**33 + 7, 2**62, -(2**62)],
    "i1": [False, True],
    "i8": [0, 1, -1, 127, -128],
    "ui8": [0, 1, 255, 128],
    "i16": [0, 1, -1, 32767, -32768, 255],
    "ui16": [0, 1, 65535, 32768, 32767],
    "ui32": [0, 1, 2**32 - 1, 2**31, 2**31 - 1, 2**24 + 1],
    "ui64": [0, 1, 2**64 - 1, 2**63, 2**63 - 1, 2**32, 2**31],
}


def reference(op: Any, inputs: list[Any]) -> Any:
    """The operator's own meaning; numpy warns of infinities."""
    with np.errstate(all="ignore"):
        return evaluate_op(op, inputs)[0]


def some(dtype: str, shape: tuple[int, ...]) -> Any:
    """Numbers of all sizes, the awkward ones among them."""
    return RNG.choice(np.array(EDGES[dtype], DType.from_mlir(dtype).numpy), shape)


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("dtype", STORED)
def test_compare(dtype: str, predicate: str) -> None:
    a, b = some(dtype, (3, 37)), some(dtype, (37,))
    if dtype in ("f16", "f32"):
        a[0, :5], b[3:9] = np.nan, np.inf
    op = logic.CompareOp(value(a.shape, dtype), value(b.shape, dtype), predicate=predicate)
    np.testing.assert_array_equal(run_operator(op, [a, b]), reference(op, [a, b]))


@pytest.mark.parametrize("dtype", STORED)
def test_select(dtype: str) -> None:
    condition, a, b = some("i1", (5, 1)), some(dtype, (5, 21)), some(dtype, (1, 21))
    op = logic.SelectOp(value(condition.shape, "i1"), value(a.shape, dtype), value(b.shape, dtype))
    np.testing.assert_array_equal(run_operator(op, [condition, a, b]), np.where(condition, a, b))


@pytest.mark.parametrize("target", STORED)
@pytest.mark.parametrize("source", STORED)
def test_cast(source: str, target: str) -> None:
    x = some(source, (4, 33))
    floats = source in ("f16", "f32")
    if floats and target in INTEGERS:  # what is out of range has no defined result
        info = np.iinfo(DType.from_mlir(target).numpy)
        wide = source == "f32" and target == "i64"
        x = x if wide else np.clip(x.astype(np.float64), max(info.min, -60000), min(info.max, 60000)).astype(x.dtype)
    op = ge.CastOp(value(x.shape, source), target)
    want = reference(op, [x])
    if target == "f16":
        want = np.clip(want, -65504, 65504)
    if source in ("i64", "ui64", "ui32") and target in ("f16", "f32"):
        np.testing.assert_allclose(run_operator(op, [x]), want, rtol=2e-7)
    else:
        np.testing.assert_array_equal(run_operator(op, [x]), want)


@pytest.mark.parametrize("make", [logic.AndOp, logic.OrOp, logic.XorOp])
def test_logic(make: Any) -> None:
    a, b = some("i1", (3, 7, 5)), some("i1", (7, 1))
    op = make(value(a.shape, "i1"), value(b.shape, "i1"))
    np.testing.assert_array_equal(run_operator(op, [a, b]), reference(op, [a, b]))


def test_not() -> None:
    x = some("i1", (77,))
    np.testing.assert_array_equal(run_operator(unary_math.NotOp(value(x.shape, "i1")), [x]), ~x)


@pytest.mark.parametrize("make", [ge.AddOp, ge.SubOp, ge.MulOp, ge.MaximumOp, ge.MinimumOp])
def test_int32_arithmetic_wraps_around(make: Any) -> None:
    a, b = some("i32", (6, 9)), some("i32", (6, 1))
    op = make(value(a.shape, "i32"), value(b.shape, "i32"))
    np.testing.assert_array_equal(run_operator(op, [a, b]), reference(op, [a, b]))


@pytest.mark.parametrize("make", [ge.AbsOp, ge.NegOp, ge.ReluOp, unary_math.SignOp])
def test_int32_functions(make: Any) -> None:
    x = some("i32", (50,))
    op = make(value(x.shape, "i32"))
    np.testing.assert_array_equal(run_operator(op, [x]), reference(op, [x]))


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("make", [unary_math.FloorOp, unary_math.CeilOp, unary_math.RoundOp, unary_math.SignOp])
def test_rounding_is_exact(make: Any, dtype: str) -> None:
    x = some(dtype, (6, 40))
    x[0, :3] = np.nan, np.inf, -np.inf
    x[1] = RNG.normal(size=40) * 100
    op = make(value(x.shape, dtype))
    np.testing.assert_array_equal(run_operator(op, [x]), reference(op, [x]))


FUNCTIONS: dict[str, tuple[Any, Any, tuple[float, float], float]] = {
    "sin": (unary_math.SinOp, np.sin, (-3000, 3000), 2e-7),
    "cos": (unary_math.CosOp, np.cos, (-3000, 3000), 2e-7),
    "tan": (unary_math.TanOp, np.tan, (-1.4, 1.4), 2e-6),
    "asin": (unary_math.AsinOp, np.arcsin, (-1, 1), 3e-7),
    "acos": (unary_math.AcosOp, np.arccos, (-1, 1), 4e-7),
    "atan": (unary_math.AtanOp, np.arctan, (-30, 30), 3e-7),
    "sinh": (unary_math.SinhOp, np.sinh, (-8, 8), 1e-3),
    "cosh": (unary_math.CoshOp, np.cosh, (-8, 8), 1e-3),
    "asinh": (unary_math.AsinhOp, np.arcsinh, (-50, 50), 1e-6),
    "acosh": (unary_math.AcoshOp, np.arccosh, (1, 50), 1e-6),
    "atanh": (unary_math.AtanhOp, np.arctanh, (-0.99, 0.99), 1e-6),
}


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_trigonometry(name: str, dtype: str) -> None:
    make, function, domain, absolute = FUNCTIONS[name]
    x = RNG.uniform(*domain, (5, 61)).astype(np.float16 if dtype == "f16" else np.float32)
    x[0, :2] = domain
    x[1] = np.clip(x[1] / 64, *domain)
    got = run_operator(make(value(x.shape, dtype)), [x])
    assert_close(got, function(x.astype(float)), 1 if dtype == "f16" else 16, absolute)


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_pow(dtype: str) -> None:
    """Within 2^-24 |y ln x| of the result; signs, zeros and what is no number as numpy has them."""
    x = np.array([0.0, 0.5, 1.0, 2.0, -2.0, -0.5, 3.0, 1.25, -1.0], np.float32)
    y = np.array([0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, 4.0], np.float32)[:, None]
    with np.errstate(all="ignore"):
        want = np.power(x.astype(float), y.astype(float))
    cast = np.float16 if dtype == "f16" else np.float32
    op = ge.PowOp(value(x.shape, dtype), value(y.shape, dtype))
    got = run_operator(op, [x.astype(cast), y.astype(cast)]).astype(float)
    finite = np.isfinite(want)
    np.testing.assert_allclose(got[finite], want[finite], rtol=1e-3 if dtype == "f16" else 1e-6)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    large = np.isinf(want)
    assert (np.abs(got[large]) >= 65504).all()


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -2, 64])
def test_whole_powers_are_products(exponent: int) -> None:
    """A rounding a product, whatever the size of the result; negative numbers and zeros too."""
    x = np.array([-1.5, -1.0, -0.25, 0.5, 1.0, 1.25, 2.0, 3.0], np.float32)
    power = ConstantOp(constant_attr(np.array(exponent, np.float32), "power"))
    op = ge.PowOp(value(x.shape, "f32"), power)
    got = run_operator(op, [x, np.array(exponent, np.float32)])
    np.testing.assert_allclose(got, np.power(x.astype(float), exponent), rtol=2**-23 * max(1, abs(exponent)))


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_broadcast(data: st.DataObject) -> None:
    """where(a < b, x, y) of drawn shapes: what repeats and what does not, tiles with any rest."""
    rank = data.draw(st.integers(1, 4))
    full = tuple(data.draw(st.lists(st.integers(1, 40), min_size=rank, max_size=rank)))
    shapes = [
        tuple(n if data.draw(st.booleans()) else 1 for n in full)[data.draw(st.integers(0, rank - 1)) :]
        for _ in range(2)
    ]
    dtype = data.draw(st.sampled_from(["f16", "f32", "i32", "i64"]))
    condition, a, b = some("i1", full), some(dtype, shapes[0]), some(dtype, shapes[1])
    op = logic.SelectOp(value(full, "i1"), value(a.shape, dtype), value(b.shape, dtype))
    np.testing.assert_array_equal(run_operator(op, [condition, a, b]), np.where(condition, a, b))


def test_every_typed_operator_is_tested_here() -> None:
    """But those of quantisation and of whole numbers, which have files of their own."""
    tested = {f"ge.{name}" for name in (*FUNCTIONS, "compare", "select", "cast", "and", "or", "xor", "not")}
    elsewhere = {
        f"ge.{name}"
        for name in (
            "quantize",
            "requantize",
            "dequantize",
            "add",
            "sub",
            "mul",
            "neg",
            "shift",
            "maximum",
            "minimum",
            "div",
            "mod",
        )
    }
    assert set(TYPED) - elsewhere == tested | {
        f"ge.{name}" for name in ("floor", "ceil", "round", "sign", "abs", "pow")
    }


@pytest.mark.parametrize(
    ("op", "text"),
    [
        (lambda: ge.MulOp(value((4,), "f64"), value((4,), "f64")), "ge.mul of f64"),
        (lambda: ge.SqrtOp(value((4,), "i64")), "ge.sqrt of i64"),
        (lambda: ge.ExpOp(value((4,), "i32")), "ge.exp of i32"),
        (lambda: ge.CastOp(value((4,), "f64"), "f32"), "ge.cast of f64 and f32"),
    ],
)
def test_without_a_sequence_the_reason_says_so(op: Any, text: str) -> None:
    with pytest.raises(NoKernel, match=f"no instruction sequence for {text}"):
        select(op())
