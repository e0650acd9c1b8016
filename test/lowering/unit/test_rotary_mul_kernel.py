"""Rotary position embedding on the chip, in checking mode, against numpy: any sizes, fractals and rows, fp16 and fp32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from harness.checked_operators import encode, fused, run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.heads import RotaryMulOp
from graph_engine.dialects.ge.normalization import RmsNormOp
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


def check_normalised(batch: Sequence[int], rows: int, columns: int, dtype: str, nd: bool, each: bool) -> None:
    """A norm in fp64, rounded to the element type as the kernel's is, then turned; two roundings more at most."""
    rng = np.random.default_rng(18)
    kind = np.float32 if dtype == "f32" else np.float16
    x = (rng.standard_normal((*batch, rows, columns)) * rng.uniform(0.1, 9, (*batch, rows, 1))).astype(kind)
    scale = rng.uniform(0.5, 1.5, (*batch, 1, columns) if each else (columns,)).astype(kind)
    cos, sin = (rng.standard_normal((rows, columns)).astype(kind) for _ in range(2))
    wide = x.astype(float)
    normal = wide / np.sqrt(np.mean(wide**2, axis=-1, keepdims=True) + 1e-6) * scale.astype(float)
    half = columns // 2
    turned = np.concatenate([-normal[..., half:], normal[..., :half]], axis=-1)
    exact = normal * cos + turned * sin
    encoding = None if nd else MATRIX
    operands = [
        value(x.shape, dtype, encoding),
        value(scale.shape, dtype),
        *(value(cos.shape, dtype, encoding) for _ in range(2)),
    ]

    def body(*args: SSAValue) -> list[Operation]:
        norm = RmsNormOp(args[0], args[1], axis=len(x.shape) - 1, epsilon=1e-6)
        return [norm, RotaryMulOp(norm.result, *args[2:])]

    got = run_operator(fused(operands, body, "ge.rotary_mul", encoding), [x, scale, cos, sin])
    bound = 4 * np.finfo(kind).eps * (1 + abs(normal)) * (1 + abs(cos) + abs(sin)) * (1 + abs(turned))
    assert np.all(abs(got.astype(float) - exact) <= bound)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 5), max_size=2),
    st.integers(1, 70),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_norms_of_any_size(batch: list[int], rows: int, halves: int, nd: bool, each: bool) -> None:
    check_normalised(batch, rows, 32 * halves, "f16", nd, each)


def test_norms_of_fp32_and_of_many_rows() -> None:
    check_normalised((3,), 20, 64, "f32", True, True)
    check_normalised((12,), 600, 128, "f16", False, True)


def test_norms_of_several_rows_are_no_kernel() -> None:
    def body(x: SSAValue, scale: SSAValue, cos: SSAValue) -> list[Operation]:
        norm = RmsNormOp(x, scale, axis=1)
        return [norm, RotaryMulOp(norm.result, cos, cos)]

    matrix = value((2, 16, 64), "f16", MATRIX)
    with pytest.raises(NoKernel, match="none of rows"):
        select(fused([matrix, value((64,)), value((16, 64), "f16", MATRIX)], body, "ge.rotary_mul", MATRIX))
