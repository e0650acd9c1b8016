"""A team of a mixed kernel: its cores run their parts in turn, each as far as cross-core flags let it.

A flag that the Cube core raises is raised for each Vector core; the Cube core goes on where both have raised theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from typing import Generic, TypeAlias, TypeVar

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import TEAM, Part

T = TypeVar("T")
R = TypeVar("R")

Flow: TypeAlias = Generator[int, None, R]
"""A part at work; yields the number of a flag where it has to wait for one."""

Way: TypeAlias = tuple[Part, Part]
"""Who raises a flag, and for whom."""


class Deadlock(GraphEngineError):
    """The cores of a team wait for each other."""


def ways_from(part: Part) -> tuple[Way, ...]:
    """For whom a part raises its flags."""
    return tuple((part, other) for other in TEAM if (other is Part.CUBE) != (part is Part.CUBE))


def ways_to(part: Part) -> tuple[Way, ...]:
    """By whom a flag must be raised for a part to go on."""
    return tuple((other, part) for other in TEAM if (other is Part.CUBE) != (part is Part.CUBE))


class CrossFlags(Generic[T]):
    """The cross-core flags that are up, each with what its raising tells. `events` counts what was raised and taken."""

    def __init__(self) -> None:
        self._up: dict[tuple[int, Way], deque[T]] = {}
        self.events = 0

    def raise_(self, part: Part, flag: int, what: T) -> int:
        """block_set; gives how often the flag is up now."""
        self.events += 1
        queues = [self._up.setdefault((flag, way), deque()) for way in ways_from(part)]
        for queue in queues:
            queue.append(what)
        return max(map(len, queues))

    def take(self, part: Part, flag: int) -> list[T]:
        """block_wait: what those who raised the flag told; nothing where it is not up."""
        queues = [self._up.get((flag, way)) for way in ways_to(part)]
        if not all(queues):
            return []
        self.events += 1
        return [queue.popleft() for queue in queues if queue]

    def left(self) -> Iterator[tuple[int, Way, T]]:
        """All that is still up."""
        for (flag, way), queue in self._up.items():
            for what in queue:
                yield flag, way, what


def run_team(flows: Mapping[Part, Flow[R]], flags: CrossFlags[T]) -> dict[Part, R]:
    """Runs all parts to their ends; gives what they return. Raises Deadlock where they wait for each other."""
    left, waits, results = dict(flows), dict[Part, int](), dict[Part, R]()
    while left:
        events, running = flags.events, len(left)
        for part, flow in list(left.items()):
            try:
                waits[part] = next(flow)
            except StopIteration as end:
                results[part] = end.value
                del left[part]
        if flags.events == events and len(left) == running:
            stuck = ", ".join(f"{part.name} for flag {waits[part]}" for part in left)
            raise Deadlock(f"deadlock, its cores wait for each other: {stuck}")
    return results
