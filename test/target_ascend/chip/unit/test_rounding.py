"""Rounding to fp16 against numpy's own casts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from graph_engine.target_ascend.chip.rounding import (
    HALF_MAX,
    brain_from_lanes,
    half_from_lanes,
    lanes_from_brain,
    lanes_from_half,
    round_scalar_to_half,
    round_to_half,
    write_lanes,
)

EVERY_HALF = np.arange(1 << 16, dtype=np.uint16)


def near_ties() -> Any:
    """Every fp16, and every midpoint of two, as fp32 with the neighbours two steps up and down."""
    exact = EVERY_HALF.view(np.float16).astype(np.float32)
    bits = exact[np.isfinite(exact)].view(np.uint32).astype(np.int64)
    around = [bits + middle + step for middle in (0, 1 << 12, 1 << 13) for step in (-2, -1, 0, 1, 2)]
    patterns = np.concatenate(around)
    patterns = patterns[(patterns >= 0) & (patterns < 1 << 32)]
    subnormal = np.arange(-5000, 5000, dtype=np.float64)
    extremes = [0.0, -0.0, 1e-45, -1e-45, 65519.996, 65520, -65520, 65536, 1e38, -1e38, np.inf, -np.inf]
    values = [subnormal * 2.0**-25, subnormal * 2.0**-26, subnormal * 2.0**-24 * 1.0000001, extremes]
    floats = np.concatenate(values).astype(np.float32)
    return np.concatenate([patterns.astype(np.uint32).view(np.float32), floats])


def rounded(values: Any, saturate: bool) -> Any:
    out = np.empty_like(values)
    with np.errstate(all="ignore"):
        round_to_half(values, out, np.empty_like(values), saturate=saturate)
    return out


@pytest.mark.parametrize("saturate", [True, False])
def test_equals_numpy_on_every_pattern_near_a_tie(saturate: bool) -> None:
    values = near_ties()
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        wanted = values.astype(np.float16).astype(np.float32)
    if saturate:
        wanted = np.clip(wanted, -HALF_MAX, HALF_MAX)
    np.testing.assert_array_equal(rounded(values, saturate).view(np.uint32), wanted.view(np.uint32))
    # In range alone, a shorter path is taken.
    small = values[np.abs(values) <= HALF_MAX]
    with np.errstate(over="ignore"):
        wanted = small.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(rounded(small, saturate).view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("saturate", [True, False])
def test_equals_numpy_on_random_patterns(saturate: bool) -> None:
    values = np.random.default_rng(11).integers(0, 1 << 32, 300_000, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        wanted = values.astype(np.float16).astype(np.float32)
    if saturate:
        wanted = np.clip(wanted, -HALF_MAX, HALF_MAX)
    np.testing.assert_array_equal(rounded(values, saturate), wanted)


def test_nan_stays_and_is_a_lane() -> None:
    bits = np.array([0x7F800001, 0x7FC00000, 0xFFFFFFFF, 0x7FC01FFF], np.uint32)
    result = rounded(bits.view(np.float32), True)
    assert np.isnan(result).all()
    assert not (result.view(np.uint32) & 0x1FFF).any()


def test_strided_arrays() -> None:
    values = np.random.default_rng(1).normal(size=(6, 10)).astype(np.float32)
    out = np.zeros((12, 20), np.float32)
    round_to_half(values[::2], out[::4, ::2], np.empty((3, 10), np.float32), saturate=True)
    np.testing.assert_array_equal(out[::4, ::2], values[::2].astype(np.float16).astype(np.float32))


def test_every_half_survives_the_lanes() -> None:
    lanes = lanes_from_half(EVERY_HALF)
    np.testing.assert_array_equal(half_from_lanes(lanes), EVERY_HALF)
    np.testing.assert_array_equal(lanes, EVERY_HALF.view(np.float16).astype(np.float32))


@pytest.mark.parametrize("count", [1 << 16, 0x7C00, 0])
def test_lanes_written_to_gaps_are_those_of_the_table(count: int) -> None:
    """Every pattern, the finite positive ones alone, none; NaN by its bits."""
    wide = np.full((count, 3), np.nan, np.float32)
    write_lanes(np.repeat(EVERY_HALF, 2)[: 2 * count : 2], wide[:, 1])
    np.testing.assert_array_equal(
        wide[:, 1].copy().view(np.uint32), lanes_from_half(EVERY_HALF[:count]).view(np.uint32)
    )
    assert np.isnan(wide[:, ::2]).all()


def test_scalar() -> None:
    assert round_scalar_to_half(0.1, saturate=True) == float(np.float16(0.1))
    assert round_scalar_to_half(1e6, saturate=True) == HALF_MAX
    assert round_scalar_to_half(-1e6, saturate=False) == -np.inf


def test_bf16_equals_ml_dtypes_on_every_pattern_and_near_every_tie() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    lanes = lanes_from_brain(every)
    number = ~np.isnan(lanes)
    np.testing.assert_array_equal(lanes[number], every.view(ml_dtypes.bfloat16)[number].astype(np.float32))
    np.testing.assert_array_equal(brain_from_lanes(lanes)[number], every[number])
    around = (every.astype(np.uint32) << 16) + np.array([[0x7FFF], [0x8000], [0x8001], [0xFFFF], [1]], np.uint32)
    lanes = around.view(np.float32)
    number, got = ~np.isnan(lanes), brain_from_lanes(lanes)
    with np.errstate(over="ignore"):
        want = lanes[number].astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got[number], want.view(np.uint16))
    assert np.isnan(lanes_from_brain(got[~number])).all()
