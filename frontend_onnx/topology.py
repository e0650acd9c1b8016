"""The order and the completeness of a model's graph, before anything is converted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.problems import below

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto


def node_names(nodes: Iterable[NodeProto]) -> list[str]:
    """A unique name for every node: its own, else `<its first output>`; repeated ones get `_1`, `_2`, ..."""
    own = [node.name or f"<{next(filter(None, node.output), '')}>" for node in nodes]
    taken = set(own)
    seen: set[str] = set()
    counts: dict[str, int] = {}
    result: list[str] = []
    for name in own:
        unique = name
        while unique in seen or (unique != name and unique in taken):
            counts[name] = counts.get(name, 0) + 1
            unique = f"{name}_{counts[name]}"
        seen.add(unique)
        result.append(unique)
    return result


def reads(node: NodeProto) -> list[str]:
    """The tensors that a node reads, with those that the bodies of control flow take from outside them."""
    found = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs) if attribute.type in _GRAPHS else ():
            found += captures(graph)
    return list(dict.fromkeys(found))


_GRAPHS = frozenset({5, 10})
"""AttributeProto.AttributeType of a graph and of a list of graphs."""


def captures(graph: GraphProto) -> list[str]:
    """The tensors that a body reads and does not make, take or state itself."""
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    own.update(output for node in graph.node for output in node.output)
    wanted = [name for node in graph.node for name in reads(node)] + [value.name for value in graph.output]
    return [name for name in dict.fromkeys(wanted) if name not in own]


def order_nodes(
    nodes: Sequence[NodeProto], names: Sequence[str], available: Iterable[str], outputs: Sequence[str]
) -> list[int]:
    """The nodes that the outputs need, in an order in which every tensor comes before its users.

    The model's own order is kept where it is one (ONNX asks for it). Raises GraphEngineError for tensors that two nodes
    make, tensors that nothing makes (with their users, all at once), and cycles (with their nodes).
    """
    known = set(available)
    producer: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for output in filter(None, node.output):
            if output in producer or output in known:
                other = f"node '{names[producer[output]]}'" if output in producer else "an input or initialiser"
                raise GraphEngineError(
                    f"tensor '{output}' is made twice: by node '{names[index]}' and by {other}; rename one of them"
                )
            producer[output] = index

    missing: dict[str, list[str]] = {}
    needs: dict[int, list[int]] = {}
    pending: list[int] = []

    def need(tensor: str, user: str) -> int | None:
        if tensor in known:
            return None
        index = producer.get(tensor)
        if index is None:
            missing.setdefault(tensor, []).append(user)
        elif index not in needs:
            needs[index] = []
            pending.append(index)
        return index

    for output in outputs:
        need(output, "a graph output")
    while pending:
        index = pending.pop()
        found = (need(tensor, f"node '{names[index]}'") for tensor in reads(nodes[index]))
        needs[index] = sorted({i for i in found if i is not None})
    if missing:
        lines = [f"'{tensor}', read by {', '.join(dict.fromkeys(users))}" for tensor, users in missing.items()]
        raise GraphEngineError(
            below("the model lacks tensors (no node, input or initialiser makes them; export it again):", lines)
        )
    return _sorted(needs, names)


def _sorted(needs: dict[int, list[int]], names: Sequence[str]) -> list[int]:
    """Depth first from the lowest number on: the identity if the numbers are in order already."""
    order: list[int] = []
    state: dict[int, int] = {}  # 1 = on the path, 2 = done
    for root in sorted(needs):
        path = [(root, iter(needs[root]))] if root not in state else []
        state.setdefault(root, 1)
        while path:
            index, rest = path[-1]
            for child in rest:
                if child not in state:
                    state[child] = 1
                    path.append((child, iter(needs[child])))
                    break
                if state[child] == 1:
                    cycle = [i for i, _ in path]
                    cycle = cycle[cycle.index(child) :]
                    shown = " -> ".join(f"'{names[i]}'" for i in [*cycle[::-1][:10], cycle[-1]])
                    raise GraphEngineError(f"the graph has a cycle: {shown}; export the model again")
            else:
                path.pop()
                state[index] = 2
                order.append(index)
    return order
