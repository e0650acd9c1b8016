"""Quantised numbers. Integer sums are exact: they are computed in floats that hold them, then taken as i32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graph_engine.dialects.ge.reference.convolution import conv2d
from graph_engine.dialects.ge.reference.element_types import NUMPY_NAMES, convert, numpy_dtype
from graph_engine.dialects.ge.reference.rounding import Array, narrow

_NAMES = {numpy_name: name for name, numpy_name in NUMPY_NAMES.items()}


def _along(value: Array, x: Array, axis: int, block: int) -> Array:
    """A scale or zero point so that it broadcasts onto x."""
    if block:
        return np.repeat(value, block, axis)[tuple(slice(n) for n in x.shape)]
    if value.size == 1:
        return value.reshape(())
    return value.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def _rounded(real: Array, zero_point: Array, dtype: np.dtype[np.generic]) -> Array:
    """round(real) + zero_point, cut to the range of an integer type."""
    if dtype.kind in "iu":
        bounds: Any = np.iinfo(dtype.name)
    else:
        import ml_dtypes

        bounds = ml_dtypes.iinfo(dtype.name)
    zero = zero_point.astype(np.float32)
    real = np.clip(np.where(np.isnan(real), np.float32(0), real), bounds.min - zero, bounds.max - zero)
    whole = np.rint(real) + zero
    return whole.astype(np.int32).astype(dtype)


def quantize(
    x: Array, scale: Array, zero_point: Array, *, axis: int = 1, block: int = 0, saturate: bool = True
) -> Array:
    """round(x / scale) + zero_point in the type of zero_point."""
    with np.errstate(all="ignore"):
        real = x.astype(np.float32) / _along(scale, x, axis, block).astype(np.float32)
        name = _NAMES[str(zero_point.dtype)]
        if name.startswith("f"):
            return convert(real, name, saturate)
        return _rounded(real, _along(zero_point, x, axis, block), zero_point.dtype)


def dequantize(x: Array, scale: Array, zero_point: Array, *, axis: int = 1, block: int = 0, to: str = "") -> Array:
    """(x - zero_point) * scale in type `to`, by default that of scale."""
    integer = not _NAMES[str(x.dtype)].startswith("f")
    wide = np.dtype(np.int32 if integer else np.float32)
    real = x.astype(wide) - _along(zero_point, x, axis, block).astype(wide)
    factor = _along(scale, x, axis, block)
    return narrow(real.astype(np.float32) * factor.astype(np.float32), numpy_dtype(to) if to else scale.dtype)


def requantize(x: Array, factor: Array, zero_point: Array) -> Array:
    """round(x * factor) + zero_point in the type of zero_point."""
    return _rounded(x.astype(np.float32) * factor, zero_point, zero_point.dtype)


def dequantize_sums(x: Array, first: Array, second: Array | None = None, *, to: str = "f32") -> Array:
    """x * (first * second) in type `to`."""
    return narrow(x.astype(np.float32) * (first if second is None else first * second), numpy_dtype(to))


def dynamic_quantize(x: Array) -> list[Array]:
    """x in unsigned bytes, its scale, its zero point."""
    low, high = np.minimum(x.min(initial=0), np.float32(0)), np.maximum(x.max(initial=0), np.float32(0))
    scale = np.asarray((high - low) / np.float32(255) if high > low else 1, np.float32)
    zero = np.asarray(np.rint(np.clip(-low / scale, 0, 255)), np.uint8)
    return [quantize(x, scale, zero), scale, zero]


def _multiply_add(x: Array, y: Array, z: Array) -> Array:
    """x * y + z in fp32, rounded once: fp64 holds the product of two fp32 numbers."""
    return (x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)).astype(np.float32)


def quantized_add(
    a: Array,
    a_scale: Array,
    a_zero: Array,
    b: Array,
    b_scale: Array,
    b_zero: Array,
    y_scale: Array,
    y_zero: Array,
) -> Array:
    """The sum of two quantised tensors, quantised, by multiply-adds from the inside out."""
    first, second = (a_scale / y_scale).reshape(()), (b_scale / y_scale).reshape(())
    zeros = _multiply_add(first, a_zero.reshape(()), second * b_zero.reshape(()).astype(np.float32))
    total = _multiply_add(a, first, _multiply_add(b, second, y_zero.reshape(()).astype(np.float32) - zeros))
    return _rounded(total, np.zeros((), y_zero.dtype), y_zero.dtype)


def _exact(terms: int) -> type[np.floating]:
    """A float type that holds every sum of `terms` products of 9-bit numbers."""
    return np.float32 if terms * 255 * 255 < 2**24 else np.float64


def matmul_integer(a: Array, b: Array, a_zero: Array, b_zero: Array) -> Array:
    """(a - a_zero) @ (b - b_zero) in i32."""
    real = _exact(a.shape[-1])
    left, right = a.astype(real) - a_zero.astype(real), b.astype(real) - b_zero.astype(real)
    return np.matmul(left, right).astype(np.int64).astype(np.int32)


def conv2d_integer(
    x: Array,
    w: Array,
    x_zero: Array,
    w_zero: Array,
    *,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    group: int = 1,
) -> Array:
    """The convolution of x - x_zero by w - w_zero in i32."""
    real = _exact(w[0].size)
    image, kernel = x.astype(real) - x_zero.astype(real), w.astype(real) - w_zero.astype(real)
    y = conv2d(image, kernel, strides=strides, pads=pads, dilations=dilations, group=group)
    return y.astype(np.int64).astype(np.int32)
