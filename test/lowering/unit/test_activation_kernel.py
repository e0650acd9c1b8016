"""Activation functions on the chip, in checking mode, against numpy in fp64; alone, in groups, behind a convolution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, fused, run_operator, value

from graph_engine.dialects.ge import activation as ge
from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.dialect import GE
from graph_engine.dialects.ge.elementwise import AddOp, ErfOp, MulOp
from graph_engine.dialects.layout import nc1hwc0
from graph_engine.lowering.kernels.vector_steps import STEPS, takes
from graph_engine.target_ascend.isa.model import DType
from graph_engine.transforms.formats import rides_along

Array = np.ndarray[Any, Any]
DTYPES = {"f16": np.float16, "f32": np.float32}
EXACT_ERF = np.vectorize(math.erf, otypes=[float])
EXACT_ERFC = np.vectorize(math.erfc, otypes=[float])


def elu(x: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Array:
    return scale * np.where(x > 0, x, alpha * np.expm1(input_scale * np.minimum(x, 0)))


def gelu_tanh(x: Array) -> Array:
    return x / (1 + np.exp(-math.sqrt(8 / math.pi) * (x + 0.044715 * x**3)))


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array], float]] = {
    # operator, meaning in fp64, error beside the rounding of the result: absolute (relative for gelu and erf)
    "erf": (ErfOp, EXACT_ERF, 0),
    "elu": (ge.EluOp, elu, 2e-7),
    "selu": (lambda x: ge.EluOp(x, alpha=1.6732632, scale=1.050701), lambda x: elu(x, 1.6732632, 1.050701), 4e-7),
    "celu": (lambda x: ge.EluOp(x, alpha=2.0, input_scale=0.5), lambda x: elu(x, 2.0, 1.0, 0.5), 3e-7),
    "gelu": (ge.GeluOp, lambda x: 0.5 * x * EXACT_ERFC(-x / math.sqrt(2)), 1e-12),  # left of -5.6
    "gelu_tanh": (
        lambda x: ge.GeluOp(x, approximate="tanh"),
        gelu_tanh,
        2e-8,
    ),  # exp of -17 and less costs the left tail digits
    "swish": (ge.SwishOp, lambda x: x / (1 + np.exp(-x)), 0),
    "swish of 1.5": (lambda x: ge.SwishOp(x, alpha=1.5), lambda x: x / (1 + np.exp(-1.5 * x)), 0),
    "hard_sigmoid": (
        lambda x: ge.HardSigmoidOp(x, alpha=0.3, beta=0.4),
        lambda x: np.clip(0.3 * x + 0.4, 0, 1),
        1e-7,
    ),
    "hard_swish": (ge.HardSwishOp, lambda x: x * np.clip(x / 6 + 0.5, 0, 1), 4e-7),
    "softplus": (ge.SoftplusOp, softplus, 2e-7),
    "mish": (ge.MishOp, lambda x: x * np.tanh(softplus(x)), 0),
}


def numbers(shape: tuple[int, ...], dtype: str, low: float = -8, high: float = 8, seed: int = 3) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(DTYPES[dtype])


def assert_near(got: Array, expected: Array, absolute: float, relative: float) -> None:
    """Within `absolute` and `relative` beside half a unit in the last place of the result's type."""
    rounding = np.spacing(np.abs(expected).astype(got.dtype)).astype(float) / 2
    error = np.abs(got.astype(float) - expected)
    assert np.all(error <= rounding * 1.01 + absolute + relative * np.abs(expected)), error.max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name: str, dtype: str) -> None:
    make, function, absolute = FUNCTIONS[name]
    x = np.concatenate([numbers((4, 300), dtype), numbers((2, 300), dtype, -0.1, 0.1)])
    got = run_operator(make(value(x.shape, dtype)), [x])
    assert_near(got, function(x.astype(float)), absolute, 6e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_far_from_zero_nothing_becomes_nan(name: str) -> None:
    make, function, absolute = FUNCTIONS[name]
    x = np.array([[-60000, -1000, -100, -30, -0.0, 0.0, 30, 100, 1000, 60000]], np.float16)
    got = run_operator(make(value(x.shape)), [x])
    with np.errstate(over="ignore", invalid="ignore"):
        expected = function(x.astype(float))
    expected = np.where(np.isnan(expected), 0, expected)  # what fp64 itself cannot write down: the left end, 0
    assert_near(got, np.clip(expected, -65504, 65504), absolute, 6e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("slope", [(1,), (6, 1, 1), (5,), (2, 6, 4, 5)])
def test_prelu(slope: tuple[int, ...], dtype: str) -> None:
    x, by = numbers((2, 6, 4, 5), dtype), numbers(slope, dtype, -1, 1, seed=4)
    got = run_operator(ge.PReluOp(value(x.shape, dtype), value(by.shape, dtype)), [x, by])
    assert_close(got, np.where(x >= 0, x, x.astype(float) * by))


def test_group_on_a_feature_map() -> None:
    shape = (2, 20, 7, 9)
    a, b = numbers(shape, "f16", -4, 4), numbers(shape, "f16", -4, 4, seed=4)
    operands = [value(shape, "f16", nc1hwc0()), value(shape, "f16", nc1hwc0())]
    op = fused(operands, lambda x, y: [s := AddOp(x, y), t := ge.SwishOp(s), MulOp(t, y)], "ge.mul", nc1hwc0())
    total = (a.astype(float) + b).astype(np.float16).astype(float)
    inner = (total / (1 + np.exp(-total))).astype(np.float16).astype(float)
    assert_close(run_operator(op, [a, b]), inner * b, 2)


def test_what_passes_take_for_vector_work_has_an_instruction_sequence() -> None:
    """An elementwise operator has one, or says that it runs on the host: groups and formats rely on it."""
    operators = {op.name for op in GE.operations if issubclass(op, GeOp) and rides_along(op)}
    assert operators >= set(STEPS)
    assert all(takes(name, [DType.F16], DType.F16) for name in operators)
