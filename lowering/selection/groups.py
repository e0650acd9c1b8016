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


def blocks_of_groups(filters: Sequence[int], groups: int, unit: int) -> GroupBlocks:
    """Of a filter [O, C / groups, kh, kw], both channels in blocks of `unit`: whole groups fill whole blocks but in the end."""
    each, cout, cin = BlockDiagonal(groups, unit, unit).per_block(tuple(filters))

    def channels(count: int) -> tuple[int, int]:
        return -(-count * cin // unit), -(-count * cout // unit) * (unit // 16)

    count = -(-groups // each)
    rest = channels(groups - (count - 1) * each)
    whole = channels(each)
    return GroupBlocks(count, *whole, rest if rest != whole else None)
