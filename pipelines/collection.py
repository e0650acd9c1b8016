"""How often Python looks for cyclic garbage while a model is in memory. Imports nothing of ours."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def relaxed_gc() -> Generator[None]:
    """Fewer collections: a graph is millions of long-lived cyclic objects, and the default visits all of them often."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
