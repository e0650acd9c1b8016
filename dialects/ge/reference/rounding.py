"""How fp16 and smaller types are computed: in fp32, rounded to nearest even once at the result."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def widen(array: Array) -> Array:
    """Floats of 16 bits and less as fp32 (and integers of less than 8); everything else as it is."""
    return array.astype(np.float32) if array.dtype == np.float16 or array.dtype.kind == "V" else array


def narrow(array: Array, dtype: np.dtype[Any]) -> Array:
    """The result in `dtype`, rounded to nearest even; what is too large for fp16 becomes infinite."""
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore"):
        return array.astype(dtype)
