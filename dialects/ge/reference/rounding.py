"""How fp16 is computed: in fp32, rounded to nearest even once at the result."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def widen(array: Array) -> Array:
    """fp16 as fp32; everything else as it is."""
    return array.astype(np.float32) if array.dtype == np.float16 else array


def narrow(array: Array, dtype: np.dtype[Any]) -> Array:
    """The result in `dtype`, rounded to nearest even; what is too large for fp16 becomes infinite."""
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore"):
        return array.astype(dtype)
