"""Vector kernels on 8-bit numbers, in checking mode, number by number against numpy: to and from floats, pools, moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import encode, fused, run_operator, run_stored, typed, value
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.utils.test_value import create_ssa_value

from graph_engine.dialects.ge.elementwise import AddOp
from graph_engine.dialects.ge.pooling import MaxPoolOp
from graph_engine.dialects.ge.quantization import DequantizeOp, QuantizeOp, RequantizeOp
from graph_engine.dialects.layout import TransDataOp, nc1hwc0
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.table import select
from graph_engine.target_ascend.soc.soc import load_soc

TYPES = {"i8": np.int8, "ui8": np.uint8}
Array = np.ndarray[Any, Any]


def rounded(x: Array, scale: Any, zero: int, dtype: Any) -> Array:
    info = np.iinfo(dtype)
    return np.clip(np.rint(x.astype(np.float32) / np.float32(scale)) + zero, info.min, info.max).astype(dtype)


def bytes_of(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_to_bytes_and_back(data: st.DataObject) -> None:
    name, wide = data.draw(st.sampled_from(sorted(TYPES))), data.draw(st.sampled_from(["f16", "f32"]))
    dtype = TYPES[name]
    shape = data.draw(st.sampled_from([(5,), (3, 37), (1, 3, 40, 33), (2, 65, 1)]))
    scale = data.draw(st.sampled_from([0.03, 0.5, 1 / 127, 3.7]))
    zero = data.draw(st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)))
    rng = np.random.default_rng(2)
    x = (rng.standard_normal(shape) * scale * 90).astype({"f16": np.float16, "f32": np.float32}[wide])
    x.flat[:3] = scale * 2.5, 60000, -60000
    s, z = np.array(scale, np.float32), np.array(zero, dtype)
    op = QuantizeOp(value(shape, wide), value((), "f32"), value((), name))
    np.testing.assert_array_equal(run_operator(op, [x, s, z]), rounded(x, s, zero, dtype))
    q = bytes_of(rng, shape, dtype)
    back = DequantizeOp(value(shape, name), value((), "f32"), value((), name))
    np.testing.assert_array_equal(run_operator(back, [q, s, z]), (q.astype(np.float32) - zero) * s)


@pytest.mark.parametrize("name", TYPES)
def test_sums_become_bytes(name: str) -> None:
    """A factor and a zero point a column."""
    rng, dtype = np.random.default_rng(6), TYPES[name]
    x = rng.integers(-30000, 30000, (7, 21)).astype(np.int32)
    x[0, :2] = 2**31 - 1, -(2**31)
    factor, zero = rng.uniform(0.001, 0.01, 21).astype(np.float32), bytes_of(rng, (21,), dtype)
    op = RequantizeOp(value(x.shape, "i32"), value((21,), "f32"), value((21,), name))
    info = np.iinfo(dtype)
    want = np.clip(np.rint(x.astype(np.float32) * factor) + zero, info.min, info.max).astype(dtype)
    np.testing.assert_array_equal(run_operator(op, [x, factor, zero]), want)


def test_the_first_family_quantises() -> None:
    """It has no conversions between fp32 and int32 and divides by a reciprocal: a number in the middle may go either way."""
    x = np.random.default_rng(3).normal(size=(4, 50)).astype(np.float32) * 3
    scale, zero = np.array(0.05, np.float32), np.array(-3, np.int8)
    op = QuantizeOp(value(x.shape, "f32"), value((), "f32"), value((), "i8"))
    got = run_stored(op, [x, scale, zero], soc=load_soc("Ascend310"))
    away = np.abs(got.astype(int) - rounded(x, scale, -3, np.int8).astype(int))
    assert away.max() <= 1 and away.mean() < 0.02


def test_scale_of_each_channel_has_no_kernel() -> None:
    with pytest.raises(NoKernel, match="scale of its own"):
        select(DequantizeOp(value((4, 4), "i8"), value((4,), "f32"), value((4,), "i8"), axis=0))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("channels", [32, 40])
def test_sum_of_two_feature_maps(name: str, channels: int) -> None:
    """Blocks of 32 channels; scales differ, the sum has its own."""
    dtype, shape, stored = TYPES[name], (2, channels, 5, 7), nc1hwc0(32, "finite")
    rng = np.random.default_rng(4)
    a, b = bytes_of(rng, shape, dtype), bytes_of(rng, shape, dtype)
    scales, zeros = [np.array(s, np.float32) for s in (0.03, 0.07, 0.09)], [np.array(z, dtype) for z in (3, 100, 17)]
    operands = [value(shape, name, stored) for _ in "ab"]
    operands += [value((), "f32") for _ in scales] + [value((), name) for _ in zeros]

    def body(x: Any, y: Any, sx: Any, sy: Any, st: Any, zx: Any, zy: Any, zt: Any) -> Any:
        first, second = DequantizeOp(x, sx, zx), DequantizeOp(y, sy, zy)
        for op in (first, second):
            encode(op, stored)
        total = encode(AddOp(first.result, second.result), stored)
        return [first, second, total, QuantizeOp(total.results[0], st, zt)]

    got = run_operator(fused(operands, body, "ge.quantize", stored), [a, b, *scales, *zeros])
    reals = [(q.astype(np.float32) - z) * s for q, s, z in zip((a, b), scales, zeros, strict=False)]
    np.testing.assert_array_equal(got, rounded(reals[0] + reals[1], scales[2], 17, dtype))


@pytest.mark.parametrize("name", TYPES)
def test_pool(name: str) -> None:
    dtype, stored = TYPES[name], nc1hwc0(32)
    x = bytes_of(np.random.default_rng(6), (1, 64, 9, 11), dtype)
    op = encode(MaxPoolOp(value(x.shape, name, stored), kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)), stored)
    padded = np.pad(x.astype(int), ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-999)
    parts = [padded[:, :, i : i + 9 : 2, j : j + 11 : 2] for i in range(3) for j in range(3)]
    np.testing.assert_array_equal(run_operator(op, [x]), np.max(parts, 0))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", [(1, 3, 20, 30), (2, 70, 6, 5), (1, 32, 1, 1), (1, 1000, 1, 1), (1, 64, 56, 56)])
def test_blocks_of_32_channels_and_back(name: str, shape: tuple[int, ...]) -> None:
    x = bytes_of(np.random.default_rng(8), shape, TYPES[name])
    plain, stored = typed(shape, name), typed(shape, name, nc1hwc0(32))
    np.testing.assert_array_equal(run_operator(TransDataOp(create_ssa_value(plain), stored), [x]), x)
    np.testing.assert_array_equal(run_operator(TransDataOp(create_ssa_value(stored), plain), [x]), x)
