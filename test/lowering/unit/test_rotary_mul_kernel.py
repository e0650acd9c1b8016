"""Rotary position embedding on the chip, in checking mode, against numpy: any sizes, fractals and rows, fp16 and fp32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from harness.checked_operators import encode, run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge.heads import RotaryMulOp
from graph_engine.dialects.layout import fractal_nz
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.table import select

MATRIX = fractal_nz(pad="undef")


def check(
    batch: Sequence[int], rows: int, columns: int, dtype: str = "f16", nd: bool = False, at: int | None = None
) -> None:
    """Complex numbers turned by an angle a row and column: what the embedding means, each product and sum rounded."""
    rng = np.random.default_rng(17)
    kind = np.float32 if dtype == "f32" else np.float16
    x = rng.standard_normal((*batch, rows, columns)).astype(kind)
    cos, sin = (rng.standard_normal((rows, columns)).astype(kind) for _ in range(2))
    left, right = x[..., : columns // 2], x[..., columns // 2 :]
    half = columns // 2
    right_sum = np.concatenate(
        [
            left * cos[:, :half] - right * sin[:, :half],
            right * cos[:, half:] + left * sin[:, half:],
        ],
        axis=-1,
    )
    assert right_sum.dtype == kind
    encoding = None if nd else MATRIX
    op = RotaryMulOp(
        value(x.shape, dtype, encoding),
        value((1,) * len(batch) + cos.shape, dtype, encoding),
        value(sin.shape, dtype, encoding),
    )
    sides = [cos.reshape((1,) * len(batch) + cos.shape), sin]
    np.testing.assert_array_equal(run_operator(encode(op, encoding), [x, *sides], in_place=at), right_sum)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 5), max_size=2),
    st.integers(1, 70),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([None, 0]),
)
def test_any_size(batch: list[int], rows: int, halves: int, nd: bool, at: int | None) -> None:
    check(batch, rows, 32 * halves, nd=nd, at=at)


@pytest.mark.parametrize("nd", [False, True])
def test_rows_and_heads_in_several_tiles(nd: bool) -> None:
    check((2,), 1500, 128, nd=nd)
    check((33,), 40, 64, nd=nd)


def test_fp32_row_by_row() -> None:
    check((2, 3), 20, 64, "f32", nd=True)


@pytest.mark.parametrize(
    ("shape", "cos", "reason"),
    [
        ((2, 16, 48), (1, 16, 48), "halves"),
        ((2, 16, 64), (2, 16, 64), "one matrix"),
        ((2, 16, 64), (1, 1, 64), "one matrix"),
    ],
)
def test_no_kernel(shape: tuple[int, ...], cos: tuple[int, ...], reason: str) -> None:
    with pytest.raises(NoKernel, match=reason):
        select(RotaryMulOp(value(shape), value(cos), value(shape[-2:])))
