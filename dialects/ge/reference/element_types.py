"""MLIR's element types in numpy, and casts between them as ONNX defines them.

Types that numpy lacks (bf16, floats and integers of 8 bits and less) come from the package ml_dtypes, which is imported
for them alone. One element takes whole bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array, narrow

NUMPY_NAMES: dict[str, str] = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "ui8": "uint8",
    "ui16": "uint16",
    "ui32": "uint32",
    "ui64": "uint64",
    "bf16": "bfloat16",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
    "f4E2M1FN": "float4_e2m1fn",
    "f6E2M3FN": "float6_e2m3fn",
    "f6E3M2FN": "float6_e3m2fn",
    "i4": "int4",
    "ui4": "uint4",
    "i2": "int2",
    "ui2": "uint2",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}
"""MLIR element type -> the name of numpy's or ml_dtypes' type."""

SATURATING = frozenset({"f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ"})
"""Floats to which a cast cuts what is too large, unless told otherwise."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy type of an element type by its MLIR name. Raises KeyError for an unknown one."""
    return dtype_named(NUMPY_NAMES[name])


def dtype_named(name: str) -> np.dtype[Any]:
    """numpy's or ml_dtypes' type of a name."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def convert(x: Array, to: str, saturate: bool = True, round_mode: str = "up") -> Array:
    """ONNX's Cast to element type `to` (MLIR's name).

    Floats round to nearest even, to integers towards zero; integers wrap. A float of 8 bits gets its largest finite value
    for what is too large, with `saturate`; one without mantissa (f8E8M0FNU) rounds to a power of two by `round_mode`:
    up, down or nearest.
    """
    if to == "i1":
        return x != x.dtype.type(0)
    dtype = numpy_dtype(to)
    if x.dtype == dtype:
        return x
    if to == "f8E8M0FNU":
        return _powers_of_two(x.astype(np.float32), saturate, round_mode).view(dtype)
    if to in SATURATING and saturate:
        import ml_dtypes

        largest = float(ml_dtypes.finfo(dtype).max)
        x = np.clip(x.astype(np.float64 if x.dtype == np.float64 else np.float32), -largest, largest)
    with np.errstate(invalid="ignore"):
        if x.dtype.kind == "V" and dtype.kind in "biu":
            x = x.astype(np.float32)
        return narrow(x, dtype)


def _powers_of_two(x: Array, saturate: bool, round_mode: str) -> Array:
    """The biased exponents of fp32 numbers as bytes, 255 for nan and infinity; the sign is lost."""
    bits = x.view(np.uint32)
    exponent, fraction = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if round_mode == "nearest":
        half = 0x400000
        up = (fraction > half) | ((fraction == half) & (exponent > 0))
    else:
        up = (fraction > 0) & (round_mode == "up")
    if saturate:
        up &= exponent < 0xFE
    return np.where(exponent == 0xFF, 0xFF, exponent + up).astype(np.uint8)
