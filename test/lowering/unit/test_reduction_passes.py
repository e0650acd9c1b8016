"""Reductions that do not fit the unified buffer, and the same kernels forced into several passes, on the checked chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, fused, kernel_of, run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import normalization, reduction
from graph_engine.dialects.ge.elementwise import AddOp
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.lowering.kernels import reduction_passes
from graph_engine.target_ascend.isa.model import Opcode, Walker

RNG = np.random.default_rng(9)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """No reduction is built in one pass, and tiles are short."""
    monkeypatch.setattr(reduction_passes, "build_reduction", reduction_passes.build_reduction_in_passes)
    monkeypatch.setattr(reduction_passes, "largest", lambda limit, fits: min(limit, 100))


def some(shape: tuple[int, ...]) -> Any:
    return RNG.normal(size=shape).astype(np.float16)


def check(op: Any, *inputs: Any, absolute: float = 2e-3) -> None:
    (want,) = evaluate_op(op, [x.astype(np.float16) for x in inputs])
    assert_close(run_operator(op, list(inputs)), want.astype(np.float64), 2, absolute)


def test_long_softmax() -> None:
    check(normalization.SoftmaxOp(value((2, 70001)), axis=-1), some((2, 70001)) * np.float16(4))


def test_long_group_norm() -> None:
    shape = (1, 4, 150, 151)
    x, scale, bias = some(shape), some((4,)), some((4,))
    check(normalization.GroupNormOp(value(shape), value((4,)), value((4,)), groups=1), x, scale, bias, absolute=5e-3)


def test_long_layer_norm_of_a_sum() -> None:
    a, b, scale, bias = some((3, 40000)), some((3, 40000)), some((40000,)), some((40000,))
    op = fused(
        [value(v.shape) for v in (a, b, scale, bias)],
        lambda x, y, s, t: [z := AddOp(x, y), normalization.LayerNormOp(z, s, t, axis=-1)],
        "ge.layer_norm",
    )
    total = (a.astype(float) + b).astype(np.float16).astype(float)
    centred = total - total.mean(-1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias
    assert_close(run_operator(op, [a, b, scale, bias]), want, 2, 5e-3)


REDUCTIONS = ["ReduceSumOp", "ReduceMeanOp", "ReduceMaxOp", "ReduceMinOp", "ReduceSumSquareOp", "ReduceLogSumExpOp"]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    ("shape", "axes"), [((7, 333), [1]), ((333, 20), [0]), ((3, 50, 5, 70), [1, 3]), ((5, 60, 7), [0, 1, 2])], ids=str
)
def test_reductions_in_passes(name: str, shape: Any, axes: list[int]) -> None:
    check(getattr(reduction, name)(value(shape), axes=axes, keepdims=True), some(shape), absolute=1e-2)


@pytest.mark.usefixtures("always")
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_softmax_over_any_axis(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 150), min_size=1, max_size=3).filter(lambda s: np.prod(s) < 40000)))
    check(normalization.SoftmaxOp(value(shape), axis=data.draw(st.integers(0, len(shape) - 1))), some(shape))


def test_infinities_and_what_is_no_number_pass() -> None:
    x = some((2, 70000))
    x[0, 65000], x[1, 3] = np.nan, -np.inf
    op = reduction.ReduceMaxOp(value(x.shape), axes=[1], keepdims=True)
    np.testing.assert_array_equal(run_operator(op, [x]), x.max(1, keepdims=True))


def test_statistics_need_one_read_of_the_operand_each_and_the_result_one() -> None:
    _, kernel = kernel_of(normalization.SoftmaxOp(value((1, 200000)), axis=-1))
    moved = [i.operands[0] for i, _ in Walker(kernel, 0) if i.opcode is Opcode.COPY]
    assert sum(int(np.prod(o.sizes)) for o in moved) == 4 * 200000  # maximum, sum, result; and the result's store
