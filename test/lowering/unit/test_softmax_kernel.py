"""Softmax kernels on the chip, in checking mode, against numpy in fp64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, encode, fused, instructions, kernel_of, run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge.elementwise import CastOp, MulOp, NegOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.layout import nc1hwc0
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.table import select

SMALLEST = float(np.finfo(np.float16).smallest_subnormal)


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x.astype(float) - x.astype(float).max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def random(shape: tuple[int, ...], dtype: str = "f16", spread: float = 4.0) -> Any:
    numbers = np.random.default_rng(11).standard_normal(shape) * spread
    return numbers.astype({"f16": np.float16, "f32": np.float32}[dtype])


@pytest.mark.parametrize("shape", [(1, 1000), (1, 1), (5, 1), (3, 17), (700, 50), (2, 3, 40, 41), (33, 6000)], ids=str)
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_rows(shape: tuple[int, ...], dtype: str) -> None:
    x = random(shape, dtype)
    got = run_operator(SoftmaxOp(value(shape, dtype)), [x])
    # fp32: x - max is rounded to 2^-24 of up to 40, exp multiplies that; the sum has log2(n) roundings.
    assert_close(got, softmax(x), 1 if dtype == "f16" else 40)
    assert np.abs(got.astype(float).sum(-1) - 1).max() < (1e-2 if dtype == "f16" else 1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300), st.floats(0, 100))
def test_any_shape_and_spread(rows: int, length: int, spread: float) -> None:
    x = random((rows, length), "f16", spread)
    assert_close(run_operator(SoftmaxOp(value(x.shape)), [x]), softmax(x), 1, SMALLEST)


def test_large_numbers_do_not_overflow() -> None:
    x = np.array([[60000, 60000, -60000, 1]], np.float16)
    assert run_operator(SoftmaxOp(value(x.shape)), [x]).tolist() == [[0.5, 0.5, 0, 0]]


def test_axis_with_nothing_behind_it() -> None:
    x = random((2, 30, 1, 1))
    assert_close(run_operator(SoftmaxOp(value(x.shape), axis=1), [x]), softmax(x, 1))


def test_result_in_the_place_of_the_operand() -> None:
    x = random((500, 77))
    assert_close(run_operator(SoftmaxOp(value(x.shape)), [x], in_place=0), softmax(x))


def test_cast_behind() -> None:
    half, single = random((9, 100)), random((9, 100), "f32")
    op = fused([value(half.shape)], lambda x: [t := SoftmaxOp(x), CastOp(t, "f32")], "ge.softmax")
    assert_close(run_operator(op, [half]), softmax(half).astype(np.float16).astype(float), 8192)  # 1 ulp of fp16
    op = fused([value(half.shape, "f32")], lambda x: [t := SoftmaxOp(x), CastOp(t, "f16")], "ge.softmax")
    assert_close(run_operator(op, [single]), softmax(single))


def test_steps_behind() -> None:
    x = random((9, 100))
    op = fused([value(x.shape)], lambda x: [t := SoftmaxOp(x), NegOp(t)], "ge.softmax")
    assert_close(run_operator(op, [x]), -softmax(x))


def test_few_instructions() -> None:
    choice, kernel = kernel_of(SoftmaxOp(value((1, 1000))))
    assert (choice.type, kernel.block_dim, instructions(kernel)) == ("SoftmaxV2", 1, 10)
    _, kernel = kernel_of(SoftmaxOp(value((12, 384, 384))))
    assert kernel.block_dim == 8
    assert instructions(kernel) <= 8 * 200


@pytest.mark.parametrize(("shape", "axis"), [((4, 5, 6), 1), ((3, 7, 33), 0), ((2, 19, 8, 8), 1)], ids=str)
def test_axis_in_front_of_others(shape: tuple[int, ...], axis: int) -> None:
    x = random(shape)
    assert_close(run_operator(SoftmaxOp(value(shape), axis=axis), [x]), softmax(x, axis))


def test_width_of_feature_maps() -> None:
    x = random((1, 16, 4, 5))
    op = encode(SoftmaxOp(value(x.shape, "f16", nc1hwc0()), axis=3), nc1hwc0())
    assert_close(run_operator(op, [x]), softmax(x, 3))


def test_operand_of_a_step() -> None:
    x, y = random((4, 5)), random((4, 5))
    op = fused([value((4, 5))] * 2, lambda x, y: [t := SoftmaxOp(x), MulOp(t.result, y)], "ge.softmax")
    expected = softmax(x).astype(np.float16).astype(float) * y.astype(float)
    assert_close(run_operator(op, [x, y]), expected, 1, np.abs(y) * 2.0**-11)


def test_unknown_rows() -> None:
    with pytest.raises(NoKernel, match="not known"):
        select(SoftmaxOp(value((-1, 10))))
