"""Extents and scale factors of a resize: pure Python, shared by type inference and the reference."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

POLICIES = ("stretch", "not_larger", "not_smaller")


def resized(
    extents: Sequence[int], sizes: Sequence[int], scales: Sequence[float], policy: str = "stretch"
) -> tuple[list[int], list[float]]:
    """(result extents, scale factors) of the axes whose `extents` are given.

    Sizes win over scales; a `policy` other than "stretch" keeps the aspect ratio and takes the sizes as bounds.
    """
    if not sizes:
        return [floor(extent * scale) for extent, scale in zip(extents, scales, strict=True)], list(scales)
    factors = [size / extent for size, extent in zip(sizes, extents, strict=True)]
    if policy == "stretch":
        return list(sizes), factors
    factor = min(factors) if policy == "not_larger" else max(factors)
    return [floor(factor * extent + 0.5) for extent in extents], [factor] * len(extents)
