"""How often Python looks for cyclic garbage while a model is in memory. Imports nothing of ours."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def relaxed_gc() -> Generator[None]:
    """Fewer collections: a graph is millions of long-lived cyclic objects, and the default visits all of them often.

    A visit costs a tenth of a compilation, what it frees in between is little; a million new objects are 100 MB or less.
    """
    before = gc.get_threshold()
    gc.set_threshold(1_000_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
