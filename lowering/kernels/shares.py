"""Dealing units of work to the cores of a launch, so that few bodies of code serve all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """The blocks lo <= index < hi take `sizes[i]` units of part i each, from `steps[i]` * index."""

    lo: int
    hi: int
    sizes: tuple[int, ...]
    steps: tuple[int, ...]


def deal(extents: Sequence[int], cores: int, granules: Sequence[int] | None = None) -> Iterator[Share]:
    """Deals `extents[i]` units of each part in contiguous equal shares; blocks of equal sizes come together.

    A share is a multiple of `granules[i]` units, but for the last one.
    """
    granules = [1] * len(extents) if granules is None else granules
    steps = tuple(
        max(1, -(-extent // (cores * granule))) * granule for extent, granule in zip(extents, granules, strict=True)
    )
    used = max(-(-extent // step) for extent, step in zip(extents, steps, strict=True))

    def sizes(block: int) -> tuple[int, ...]:
        return tuple(max(0, min(step, extent - block * step)) for extent, step in zip(extents, steps, strict=True))

    lo = 0
    for block in range(1, used + 1):
        if block == used or sizes(block) != sizes(lo):
            yield Share(lo, block, sizes(lo), steps)
            lo = block


def block_dim(extents: Sequence[int], cores: int, granules: Sequence[int] | None = None) -> int:
    """How many blocks `deal` uses."""
    return max(share.hi for share in deal(extents, cores, granules))
