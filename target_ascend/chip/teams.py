"""A team of a mixed kernel: its cores run their parts in turn, each as far as cross-core flags let it.

A flag that the Cube core raises is raised for each Vector core; the Cube core goes on where both have raised theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import TEAM, Part

Flow: TypeAlias = Iterator[int]
"""A part at work; yields the number of a flag where it has to wait for one."""

Way: TypeAlias = tuple[Part, Part]
"""Who raises a flag, and for whom."""


def ways_from(part: Part) -> tuple[Way, ...]:
    """For whom a part raises its flags."""
    return tuple((part, other) for other in TEAM if (other is Part.CUBE) != (part is Part.CUBE))


def ways_to(part: Part) -> tuple[Way, ...]:
    """By whom a flag must be raised for a part to go on."""
    return tuple((other, part) for other in TEAM if (other is Part.CUBE) != (part is Part.CUBE))


class CrossFlags:
    """Which cross-core flags are up, and how often. `events` counts what was raised and taken."""

    def __init__(self) -> None:
        self.up: Counter[tuple[int, Way]] = Counter()
        self.events = 0

    def raise_(self, part: Part, flag: int) -> None:
        """block_set."""
        self.events += 1
        for way in ways_from(part):
            self.up[flag, way] += 1

    def take(self, part: Part, flag: int) -> bool:
        """block_wait: whether the flag was up."""
        keys = [(flag, way) for way in ways_to(part)]
        if not all(self.up[key] for key in keys):
            return False
        self.events += 1
        for key in keys:
            self.up[key] -= 1
        return True


def run_team(flows: Mapping[Part, Flow], flags: CrossFlags, what: str) -> None:
    """Runs all parts to their ends. Raises GraphEngineError where they wait for each other."""
    left, waits = dict(flows), dict[Part, int]()
    while left:
        events, running = flags.events, len(left)
        for part, flow in list(left.items()):
            flag = next(flow, None)
            if flag is None:
                del left[part]
            else:
                waits[part] = flag
        if flags.events == events and len(left) == running:
            stuck = ", ".join(f"{part.name} for flag {waits[part]}" for part in left)
            raise GraphEngineError(f"{what}: deadlock, its cores wait for each other: {stuck}")
