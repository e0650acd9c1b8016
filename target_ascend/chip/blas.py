"""Keeps numpy's matrix products on one thread while a kernel runs.

Tiles are small: waking a second thread for each costs more than it gives, and on a busy machine a hundred times
the product itself. numpy's wheels bundle OpenBLAS, whose thread count can be set while the process runs; with any
other BLAS nothing happens here and its own environment variable decides.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np


@lru_cache(maxsize=1)
def _thread_functions() -> tuple[Any, Any] | None:
    """(get, set) of the bundled OpenBLAS's thread count."""
    for path in sorted((Path(np.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas*.so*")):
        try:
            library = ctypes.CDLL(str(path))
            return library.scipy_openblas_get_num_threads64_, library.scipy_openblas_set_num_threads64_
        except (OSError, AttributeError):
            continue
    return None


@contextmanager
def single_blas_thread() -> Generator[None]:
    """One thread inside, the former number afterwards."""
    functions = _thread_functions()
    if functions is None:
        yield
        return
    get, put = functions
    before = int(get())
    if before == 1:
        yield
        return
    put(1)
    try:
        yield
    finally:
        put(before)
