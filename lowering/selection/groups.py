"""Blocks of groups: what FRACTAL_Z holds of a grouped filter, as blocks of channels of the feature maps around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graph_engine.planning.index_map import BlockDiagonal


@dataclass(frozen=True)
class GroupBlocks:
    """`count` blocks of groups; each takes c1 blocks of input channels and gives n1 blocks of 16 output channels.

    `last`: c1 and n1 of the last one, where fewer groups are left for it.
    """

    count: int
    c1: int
    n1: int
    last: tuple[int, int] | None


def blocks_of_groups(filters: Sequence[int], groups: int, c0: int) -> GroupBlocks:
    """Of a filter [O, C / groups, kh, kw], channels in blocks of `c0`, outputs in such blocks or in those of 16 if that is more:
    whole groups fill whole blocks but in the end."""
    n0 = max(16, c0)
    each, cout, cin = BlockDiagonal(groups, n0, c0).per_block(tuple(filters))

    def channels(count: int) -> tuple[int, int]:
        return -(-count * cin // c0), -(-count * cout // n0) * (n0 // 16)

    count = -(-groups // each)
    rest = channels(groups - (count - 1) * each)
    whole = channels(each)
    return GroupBlocks(count, *whole, rest if rest != whole else None)
