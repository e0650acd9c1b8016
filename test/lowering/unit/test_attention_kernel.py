"""Attention on the chip, in checking mode, against numpy in fp64: any sizes, masks, grouped heads, tiles of keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, fused, run_operator, run_stored, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.layout import fractal_nz

MATRIX, UNDEFINED = fractal_nz(), fractal_nz(pad="undef")
Array = np.ndarray[Any, Any]


def attention(q: Any, k: Any, v: Any, scale: Any = None, mask: Any = None) -> Any:
    """softmax(q k^T * scale + mask) v as one operator."""
    operands = [operand for operand in (q, k, scale, mask, v) if operand is not None]

    def body(q: Any, k: Any, *rest: Any) -> Any:
        *sides, v = rest
        ops: list[Any] = [MatmulOp(q, k, transpose_b=True)]
        if scale is not None:
            ops.append(ge.MulOp(ops[-1].results[0], sides[0]))
        if mask is not None:
            ops.append(ge.AddOp(ops[-1].results[0], sides[-1]))
        ops.append(SoftmaxOp(ops[-1].results[0], axis=-1))
        return [*ops, MatmulOp(ops[-1].results[0], v)]

    zeros = all(operand.type.encoding == MATRIX for operand in (q, k, v)) and q.type.get_shape()[-2] % 16 == 0
    return fused(operands, body, "ge.matmul", MATRIX if zeros else UNDEFINED)


def stored(d: int, e: int) -> list[Any]:
    """How q, k and v lie: what is behind their rows may be anything, what is behind columns must be zeros."""
    return [UNDEFINED if columns % 16 == 0 else MATRIX for columns in (d, d, e)]


def expected(q: Array, k: Array, v: Array, scale: float = 1, mask: Array | float = 0) -> tuple[Array, Any]:
    """The result in fp64 and how far fp16 may be from it."""
    wide = [x.astype(float) for x in (q, k, v)]
    scores = wide[0] @ wide[1].swapaxes(-1, -2) * scale
    sums = scores + np.maximum(mask, -65504)
    weights = np.exp(sums - sums.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    # Three roundings of a score that counts, each of half a unit, change its weight by that share.
    share = 2.0**-11 * (3 * abs(scores).max(-1, keepdims=True) + 2) + 2.0**-10
    return weights @ wide[2], share * (weights @ abs(wide[2])) + 1e-6


def check(batch: Any, kv_batch: Any, m: int, n: int, d: int, e: int, mask: Any = None, scaled: bool = True) -> None:
    """Runs one attention; `mask` is the shape of a mask that hides about a third of the keys."""
    rng = np.random.default_rng(31)
    q = rng.standard_normal((*batch, m, d)).astype(np.float16)
    k = rng.standard_normal((*kv_batch, n, d)).astype(np.float16)
    v = rng.standard_normal((*kv_batch, n, e)).astype(np.float16)
    operands = [value(x.shape, "f16", lies) for x, lies in zip((q, k, v), stored(d, e), strict=True)]
    arrays = [q, k]
    scale, hidden = d**-0.5, None
    sides: dict[str, Any] = {}
    if scaled:
        sides["scale"] = value((), "f16")
        arrays.append(np.array(scale, np.float16))
    if mask is not None:
        hidden = np.where(rng.random(mask) < 0.3, -65504, rng.standard_normal(mask)).astype(np.float16)
        hidden[..., 0] = 0
        matrix = len(mask) > 1 and mask[-2:] == (m, n)
        sides["mask"] = value(mask, "f16", MATRIX if matrix else None)
        arrays.append(hidden)
    got = run_operator(attention(*operands, **sides), [*arrays, v])
    want, slack = expected(
        q, k, v, float(np.float16(scale)) if scaled else 1, 0 if hidden is None else hidden.astype(float)
    )
    assert_close(got, want, 1, slack)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_any_size(data: st.DataObject) -> None:
    m, n = (data.draw(st.sampled_from([1, 16, 17, 49, 128]) | st.integers(1, 300), name) for name in "mn")
    d, e = (data.draw(st.sampled_from([16, 32, 64, 128, 5, 36]), name) for name in "de")
    batch, kv_batch = data.draw(st.sampled_from(BATCHES), "batch")
    masks = [None, (n,), (1, n), (m, n), (*(1 for _ in batch), m, n), (*batch, m, n), (*batch, 1, n)]
    check(batch, kv_batch, m, n, d, e, data.draw(st.sampled_from(masks), "mask"), data.draw(st.booleans(), "scaled"))


BATCHES: list[Any] = [((), ()), ((1, 2), (1, 2)), ((3,), (3,)), ((2, 3, 2), (2, 3, 1)), ((9,), (1,)), ((2, 2), (1, 2))]


@pytest.mark.parametrize(
    ("batch", "m", "n", "d", "mask"),
    [
        ((1, 2), 128, 128, 64, (1, 1, 128, 128)),
        ((1, 3), 197, 197, 64, None),
        ((1, 1), 1500, 1500, 64, None),
        ((4, 3), 49, 49, 32, (4, 1, 49, 49)),
        ((2, 2), 1, 1000, 128, (2, 1, 1, 1000)),
        ((1,), 33, 600, 256, (1, 33, 600)),
        ((4, 4), 256, 256, 36, None),
        ((4, 4), 16, 16, 60, None),
    ],
    ids=str,
)
def test_sizes_of_networks(batch: Any, m: int, n: int, d: int, mask: Any) -> None:
    check(batch, batch, m, n, d, d, mask)


@pytest.mark.parametrize("keys", [40, 700], ids=["one tile", "many tiles"])
def test_rows_without_keys_get_the_mean(keys: int) -> None:
    """Beside -65504 fp16 sees no score below 16: all keys of a row that is masked wholly count the same."""
    rng = np.random.default_rng(32)
    q, k, v = ((rng.standard_normal((n, 32)) / 2).astype(np.float16) for n in (20, keys, keys))
    mask = np.zeros((20, keys), np.float16)
    mask[3:7] = -65504
    operands = [*(value(x.shape, "f16", UNDEFINED) for x in (q, k, v)), None, value(mask.shape, "f16", MATRIX)]
    got = run_operator(attention(*operands), [q, k, mask, v])
    assert_close(got[3:7], np.tile(v.astype(float).mean(0), (4, 1)), 1, 2.0**-11)


def test_columns_of_padding_stay_zeros() -> None:
    """Behind 36 columns of values the result has zeros, as its format promises."""
    rng = np.random.default_rng(33)
    q, k, v = (rng.standard_normal((2, rows, 36)).astype(np.float16) for rows in (32, 40, 40))
    op = attention(*(value(x.shape, "f16", MATRIX) for x in (q, k, v)))
    got = run_stored(op, [q, k, v])
    assert got.shape == (2, 3, 2, 16, 16)
    assert not got[:, 2, :, :, 4:].any() and got[:, 2, :, :, :4].any()
