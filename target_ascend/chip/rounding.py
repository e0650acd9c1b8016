"""fp16 and bf16 numbers carried in fp32: rounding to nearest even and exact conversion to and from 16-bit patterns.

A *lane* is an fp32 that an fp16 represents exactly (NaN payloads included: the low 13 bits are 0), so one table
look-up converts either way without loss. Rounding works on whole arrays with a few passes of integer and float
operations (1.6-2 ns an element; a cast through numpy's float16 costs 3.5 ns).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

HALF_MAX = 65504.0
"""The largest finite fp16."""

_EXPONENT = np.uint32(0x7F800000)
_SIGN = np.uint32(0x80000000)
_LARGE = np.float32(2.0**15).view(np.uint32)
_LANE_BITS = np.uint32(0xFFFFE000)
_SMALLEST_NORMAL = np.float32(2.0**-14)
_MAGIC = np.float32(1.5 * 2.0**13)
_HALF_MAX = np.float32(HALF_MAX)
_HALF_OVERFLOW = np.float32(65536.0)
_INFINITY = np.float32(np.inf)
_POSITIVE_INFINITY, _NEGATIVE_INFINITY = 0x7C00, 0xFC00
_SIGN_AND_HALF = np.int32(0x8FFFE000 - (1 << 32))
_HALF_BIAS = np.float32(2.0**112)
_PART = 1 << 16

FloatArray = npt.NDArray[np.float32]


def round_to_half(source: FloatArray, out: FloatArray, scratch: FloatArray, *, saturate: bool) -> None:
    """Writes to `out` the fp16 nearest to each fp32 of `source`, ties to even, subnormals included.

    The three arrays have one shape and share no memory; `scratch` is overwritten. Overflow gives +-65504 if
    `saturate`, else infinity. NaN stays NaN. Adding and subtracting 1.5 * 2**13 times the value's power of two
    (at least the smallest normal one) makes the adder round at the tenth fraction bit; the sign is put back for
    results of -0.
    """
    for part in _parts(source.shape):
        _round_part(source[part], out[part], scratch[: len(source[part])], saturate)


def _parts(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices of the first axis of about `_PART` elements: several passes over so many find them in the processor's cache."""
    rows = max(_PART // max(prod(shape[1:]), 1), 1)
    return (slice(start, start + rows) for start in range(0, shape[0], rows))


def _round_part(source: FloatArray, out: FloatArray, scratch: FloatArray, saturate: bool) -> None:
    bits = source.view(np.uint32)
    out_bits = out.view(np.uint32)
    scratch_bits = scratch.view(np.uint32)
    np.bitwise_and(bits, _EXPONENT, out=scratch_bits)
    # The usual array, nothing near overflow and no NaN, takes four passes less.
    plain = scratch_bits.max(initial=0) < _LARGE
    values = source
    if not plain:
        limit = _HALF_MAX if saturate else _HALF_OVERFLOW
        np.maximum(source, -limit, out=out)
        np.minimum(out, limit, out=out)
        values = out
        np.bitwise_and(out_bits, _EXPONENT, out=scratch_bits)
    np.maximum(scratch, _SMALLEST_NORMAL, out=scratch)
    np.multiply(scratch, _MAGIC, out=scratch)
    np.add(values, scratch, out=out)
    np.subtract(out, scratch, out=out)
    np.bitwise_and(bits, _SIGN, out=scratch_bits)
    if not plain:
        np.bitwise_and(out_bits, _LANE_BITS, out=out_bits)
    np.bitwise_or(out_bits, scratch_bits, out=out_bits)
    if not plain and not saturate:
        np.abs(out, out=scratch)
        over = scratch > _HALF_MAX
        if over.any():
            np.copyto(out, np.copysign(_INFINITY, out), where=over)


def round_scalar_to_half(value: float, *, saturate: bool) -> float:
    """The fp16 nearest to `value`, as a float."""
    lane = np.empty(1, np.float32)
    round_to_half(np.array([value], np.float32), lane, np.empty(1, np.float32), saturate=saturate)
    return float(lane[0])


@lru_cache(maxsize=1)
def _lanes_of_half() -> FloatArray:
    """Lane of every 16-bit pattern."""
    bits = np.arange(1 << 16, dtype=np.uint32)
    lanes = bits.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    nan = (bits & 0x7FFF) > 0x7C00
    lanes[nan] = ((bits[nan] & 0x8000) << 16) | 0x7F800000 | ((bits[nan] & 0x3FF) << 13)
    return lanes.view(np.float32)


@lru_cache(maxsize=1)
def _half_of_lanes() -> npt.NDArray[np.uint16]:
    """16-bit pattern by the upper 19 bits of a lane."""
    table = np.zeros(1 << 19, np.uint16)
    table[_lanes_of_half().view(np.uint32) >> 13] = np.arange(1 << 16, dtype=np.uint16)
    return table


def lanes_from_half(bits: npt.NDArray[np.uint16]) -> FloatArray:
    """The lanes of 16-bit patterns (same shape, a new array)."""
    return _lanes_of_half().take(bits)


def write_lanes(bits: npt.NDArray[np.uint16], out: FloatArray) -> None:
    """Writes the lanes of 16-bit patterns to `out`, of the same shape.

    As fp32 the fraction and exponent of a finite fp16, in the places of an fp32, stand for 2**-112 of its value.
    """
    for part in _parts(bits.shape):
        _write_part(bits[part], out[part])


def _write_part(bits: npt.NDArray[np.uint16], out: FloatArray) -> None:
    if not bits.size or bits.max() >= _NEGATIVE_INFINITY or bits.view(np.int16).max() >= _POSITIVE_INFINITY:
        out[...] = lanes_from_half(bits)
        return
    out_bits = out.view(np.int32)
    np.copyto(out_bits, bits.view(np.int16))
    np.left_shift(out_bits, 13, out=out_bits)
    np.bitwise_and(out_bits, _SIGN_AND_HALF, out=out_bits)
    np.multiply(out, _HALF_BIAS, out=out)


def half_from_lanes(lanes: FloatArray) -> npt.NDArray[np.uint16]:
    """The 16-bit patterns of lanes (same shape, a new array)."""
    return _half_of_lanes().take(lanes.view(np.uint32) >> 13)


def lanes_from_brain(bits: npt.NDArray[np.uint16]) -> FloatArray:
    """The fp32 of 16-bit patterns of bf16, which are its upper halves (same shape, a new array)."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def brain_from_lanes(lanes: FloatArray) -> npt.NDArray[np.uint16]:
    """The bf16 nearest to each fp32, ties to even, as 16-bit patterns (same shape, a new array).

    What is nearer to 2^128 than to the largest number becomes infinite; NaN stays NaN, quiet, with its upper digits.
    """
    bits = np.ascontiguousarray(lanes).view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + (bits >> 16 & 1))) >> 16
    none = np.isnan(lanes)
    if none.any():
        rounded[none] = bits[none] >> 16 | 0x40
    return rounded.astype(np.uint16)
