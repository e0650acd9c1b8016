"""Attention of shifted windows that lie in whole maps, on the chip in checking mode, against numpy in fp64."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from harness.checked_operators import fused, run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.elementwise import AddOp, MulOp
from graph_engine.dialects.ge.heads import MergeHeadsOp, SplitHeadsOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.ge.shape import SliceOp
from graph_engine.dialects.ge.windows import WindowMergeOp, WindowPartitionOp
from graph_engine.dialects.layout import fractal_nz
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.table import select

MATRIX = fractal_nz(pad="undef")
Pair = tuple[int, int]


def attention_of_windows(grid: tuple[int, int, int], window: Pair, shift: Pair, heads: int, width: int = 32) -> float:
    """The largest deviation: queries, keys and values are columns of one matrix; a bias a head, a mask a window."""
    rng = np.random.default_rng(19)
    maps, height, across = grid
    h, w = window
    rows, count = h * w, maps * (height // h) * (across // w)
    x = rng.standard_normal((maps * height * across, 3 * heads * width)).astype(np.float16)
    bias = rng.standard_normal((1, heads, rows, rows)).astype(np.float16)
    mask = np.where(rng.random((count, 1, rows, rows)) < 0.2, -100, 0).astype(np.float16)
    scale = np.full((), width**-0.5, np.float16)
    operands = [value(x.shape, "f16", MATRIX), value((), "f16")]
    operands += [value(side.shape, "f16", fractal_nz()) for side in (bias, mask)]

    def body(x: SSAValue, scale: SSAValue, bias: SSAValue, mask: SSAValue) -> list[Operation]:
        part = WindowPartitionOp(x, grid=grid, window=window, shift=shift)
        split = SplitHeadsOp(part.result, heads=3 * heads)
        q, k, v = (SliceOp(split.result, starts=[i * heads], ends=[(i + 1) * heads], axes=[1]) for i in range(3))
        scores = MatmulOp(q.result, k.result, transpose_b=True)
        scaled = MulOp(scores.result, scale)
        added = AddOp(scaled.result, bias)
        masked = AddOp(added.result, mask)
        weights = SoftmaxOp(masked.result, axis=3)
        y = MatmulOp(weights.result, v.result)
        merge = MergeHeadsOp(y.result)
        back = WindowMergeOp(merge.result, grid=grid, window=window, shift=shift)
        return [part, split, q, k, v, scores, scaled, added, masked, weights, y, merge, back]

    got = run_operator(fused(operands, body, "ge.matmul", MATRIX), [x, scale, bias, mask])
    image = np.roll(x.astype(float).reshape(maps, height, across, -1), (-shift[0], -shift[1]), axis=(1, 2))
    cut = image.reshape(maps, height // h, h, across // w, w, 3, heads, width).transpose(5, 0, 1, 3, 6, 2, 4, 7)
    q, k, v = cut.reshape(3, count, heads, rows, width)
    scores = q @ k.swapaxes(-1, -2) * float(scale) + bias + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = weights / weights.sum(-1, keepdims=True) @ v
    y = y.reshape(maps, height // h, across // w, heads, h, w, width).transpose(0, 1, 4, 2, 5, 3, 6)
    y = np.roll(y.reshape(maps, height, across, -1), shift, axis=(1, 2))
    return float(abs(got.astype(float) - y.reshape(got.shape)).max())


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.data())
def test_any_windows(data: st.DataObject) -> None:
    h, w = (data.draw(st.integers(1, 5), name) for name in "hw")
    height, across = h * data.draw(st.integers(1, 3)), w * data.draw(st.integers(1, 3))
    grid = (16 // gcd(16, height * across), height, across)  # whole blocks of rows: the harness wants all of a result
    shift = (data.draw(st.integers(0, h - 1)), data.draw(st.integers(0, w - 1)))
    heads = data.draw(st.integers(1, 3), "heads")
    assert attention_of_windows(grid, (h, w), shift, heads, data.draw(st.sampled_from([16, 32]))) < 0.02


@pytest.mark.parametrize("shift", [(0, 0), (3, 3)])
def test_windows_of_swin(shift: Pair) -> None:
    """Seven by seven: 49 rows, 15 of padding on the chip; rows of windows and heads are shared by the cores."""
    assert attention_of_windows((1, 28, 28), (7, 7), shift, 3) < 0.02


def test_large_windows_are_no_kernel() -> None:
    """All scores of a window have to lie in UB at once."""
    with pytest.raises(NoKernel, match="scores of a window"):
        attention_of_windows((1, 40, 20), (20, 20), (0, 0), 1)


def test_three_matrices_of_different_windows_are_no_kernel() -> None:
    def body(x: SSAValue) -> list[Operation]:
        parts = [WindowPartitionOp(x, grid=(1, 4, 4), window=(2, 2), shift=(s, 0)) for s in (0, 1, 0)]
        splits = [SplitHeadsOp(part.result, heads=1) for part in parts]
        scores = MatmulOp(splits[0].result, splits[1].result, transpose_b=True)
        weights = SoftmaxOp(scores.result, axis=3)
        y = MatmulOp(weights.result, splits[2].result)
        merge = MergeHeadsOp(y.result)
        return [*parts, *splits, scores, weights, y, merge, WindowMergeOp(merge.result, grid=(1, 4, 4), window=(2, 2))]

    with pytest.raises(NoKernel, match="same windows"):
        select(fused([value((16, 16), "f16", MATRIX)], body, "ge.matmul", MATRIX))
