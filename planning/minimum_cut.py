"""Minimum s-t cut by maximum flow, with the flow as certificate: no cut can cost less than what flows.

Dinic's algorithm (shortest augmenting paths by levels, 1970) over flat lists of arcs. What source and sink alone hold
together is independent: each weakly connected part of the other nodes is a flow problem of its own. In the problems of a
compiler most nodes are tied to one side, so that the parts are small and the whole is close to linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

INFINITE = 1 << 120
"""Capacity of an arc that must not be cut."""

Arc = tuple[int, int, int]
"""(tail, head, capacity): costs `capacity` if the tail is on the source's side and the head is not."""


@dataclass(frozen=True)
class Cut:
    """The nodes on the source's side (as few as any minimum cut has), the cut's cost, and the flow on every arc."""

    value: int
    source_side: tuple[bool, ...]
    flow: tuple[int, ...]


def minimum_cut(nodes: int, arcs: Sequence[Arc], source: int, sink: int) -> Cut:
    """The cheapest cut between `source` and `sink` in a graph of `nodes` nodes; several arcs may join two nodes.

    Raises ValueError for a negative capacity, and where arcs of `INFINITE` capacity join source and sink.
    """
    graph = _Residual(nodes, arcs)
    value = sum(graph.saturate(arc) for arc in graph.out[source] if graph.head[arc] == sink and not arc & 1)
    for part in _parts(graph, source, sink):
        value += graph.augment(part, source, sink)
    if value >= INFINITE:
        raise ValueError("source and sink are joined by arcs that must not be cut")
    flow = tuple(capacity - left for (_, _, capacity), left in zip(arcs, graph.left[::2], strict=True))
    return Cut(value, tuple(graph.reached(source)), flow)


def cut_cost(arcs: Sequence[Arc], source_side: Sequence[bool]) -> int:
    """What a cut costs: the capacities of the arcs that leave the source's side."""
    return sum(capacity for tail, head, capacity in arcs if source_side[tail] and not source_side[head])


def is_certified(arcs: Sequence[Arc], cut: Cut, source: int, sink: int) -> bool:
    """Whether `cut` proves itself: its flow is legal and as large as its cost, so no cut is cheaper."""
    balance = [0] * len(cut.source_side)
    for (tail, head, capacity), flow in zip(arcs, cut.flow, strict=True):
        if not 0 <= flow <= capacity:
            return False
        balance[tail] -= flow
        balance[head] += flow
    inner = [b for node, b in enumerate(balance) if node not in (source, sink)]
    ends = cut.source_side[source] and not cut.source_side[sink]
    return not any(inner) and balance[sink] == cut.value == cut_cost(arcs, cut.source_side) and ends


def _parts(graph: _Residual, source: int, sink: int) -> list[list[int]]:
    """The weakly connected parts of all nodes but source and sink."""
    seen = [False] * len(graph.out)
    seen[source] = seen[sink] = True
    parts: list[list[int]] = []
    for start in range(len(graph.out)):
        if seen[start]:
            continue
        seen[start] = True
        part = [start]
        for node in part:  # grows while it is walked
            for arc in graph.out[node]:
                head = graph.head[arc]
                if not seen[head]:
                    seen[head] = True
                    part.append(head)
        parts.append(part)
    return parts


class _Residual:
    """Arc 2i is the i-th given one, arc 2i + 1 its reverse; `left` is what may still flow along each."""

    def __init__(self, nodes: int, arcs: Sequence[Arc]):
        self.out: list[list[int]] = [[] for _ in range(nodes)]
        self.head: list[int] = []
        self.left: list[int] = []
        for number, (tail, head, capacity) in enumerate(arcs):
            if capacity < 0:
                raise ValueError(f"arc {tail} -> {head} has the negative capacity {capacity}")
            self.head += (head, tail)
            self.left += (capacity, 0)
            if tail != head:
                self.out[tail].append(2 * number)
                self.out[head].append(2 * number + 1)
        self.level = [-1] * nodes
        self.next = [0] * nodes

    def saturate(self, arc: int) -> int:
        """Lets all that fits flow along one arc."""
        amount = self.left[arc]
        self.left[arc], self.left[arc ^ 1] = 0, self.left[arc ^ 1] + amount
        return amount

    def augment(self, part: Sequence[int], source: int, sink: int) -> int:
        """The largest flow through the nodes of `part`, which is left behind in `left`."""
        total = 0
        entries = [arc ^ 1 for node in part for arc in self.out[node] if arc & 1 and self.head[arc] == source]
        while self._levels(part, entries, source, sink):
            for arc in entries:
                node = self.head[arc]
                while self.left[arc] and self.level[node] == 1:
                    pushed = self._push(arc, sink)
                    if not pushed:
                        break
                    total += pushed
        return total

    def _levels(self, part: Sequence[int], entries: Sequence[int], source: int, sink: int) -> bool:
        """Distances from the source along what may still flow; whether the sink is reached."""
        level, head, left, out = self.level, self.head, self.left, self.out
        for node in part:
            level[node] = -1
            self.next[node] = 0
        level[sink] = -1
        level[source] = 0
        frontier: list[int] = []
        for arc in entries:
            node = head[arc]
            if left[arc] and level[node] < 0:
                level[node] = 1
                frontier.append(node)
        depth = 1
        while frontier and level[sink] < 0:
            depth += 1
            following: list[int] = []
            for node in frontier:
                for arc in out[node]:
                    if left[arc] and level[head[arc]] < 0:
                        level[head[arc]] = depth
                        following.append(head[arc])
            frontier = following
        return level[sink] >= 0

    def _push(self, entry: int, sink: int) -> int:
        """One augmenting path that starts with `entry`; 0 if there is none left in this phase."""
        level, head, left, out, following = self.level, self.head, self.left, self.out, self.next
        path = [entry]
        node = head[entry]
        while node != sink:
            arcs = out[node]
            at = following[node]
            while at < len(arcs):
                arc = arcs[at]
                if left[arc] and level[head[arc]] == level[node] + 1:
                    break
                at += 1
            following[node] = at
            if at < len(arcs):
                path.append(arcs[at])
                node = head[arcs[at]]
                continue
            level[node] = -2  # a dead end of this phase
            path.pop()
            if not path:
                return 0
            node = head[path[-1]]
        amount = min(left[arc] for arc in path)
        for arc in path:
            left[arc] -= amount
            left[arc ^ 1] += amount
        return amount

    def reached(self, source: int) -> list[bool]:
        """The nodes to which more could flow."""
        seen = [False] * len(self.out)
        seen[source] = True
        pending = [source]
        while pending:
            for arc in self.out[pending.pop()]:
                node = self.head[arc]
                if self.left[arc] and not seen[node]:
                    seen[node] = True
                    pending.append(node)
        return seen
