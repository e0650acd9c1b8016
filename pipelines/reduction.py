"""Cut a graph down to the operators that a failure needs: what they read becomes inputs, what others read outputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp

WIDEST = 6
"""Steps along the data flow around the first operators that are tried before the whole graph."""
MOST_TRIALS = 400

Fails = Callable[[ModuleOp], bool]


def operators(block: Block) -> list[Operation]:
    """What is counted and cut: everything but constants, which go with their users, and the return."""
    return [op for op in block.ops if not isinstance(op, ConstantOp | ReturnOp)]


def cut(block: Block, kept: Collection[Operation]) -> ModuleOp:
    """A module whose `@main` holds copies of the operators `kept` of `block`, in their order.

    A value that others read too stays an output, so that nothing has fewer users than before.
    """
    chosen = [op for op in operators(block) if op in kept]
    made = {result for op in chosen for result in op.results}
    read = dict.fromkeys(value for op in chosen for value in op.operands if value not in made)
    constants = [value.owner for value in read if isinstance(value.owner, ConstantOp)]
    inputs = [value for value in read if not isinstance(value.owner, ConstantOp)]
    outputs = [
        result
        for op in chosen
        for result in op.results
        if not result.uses or any(use.operation not in kept for use in result.uses)
    ]
    body = Block(arg_types=[value.type for value in inputs])
    values: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
    for old, new in zip(inputs, body.args, strict=True):
        new.name_hint = old.name_hint
    body.add_ops(op.clone(values) for op in (*constants, *chosen))
    body.add_op(ReturnOp(*(values[value] for value in outputs)))
    types = [value.type for value in inputs], [value.type for value in outputs]
    return ModuleOp([FuncOp("main", types, Region(body))])


def neighbourhood(block: Block, first: Iterable[Operation], distance: int) -> set[Operation]:
    """The operators at most `distance` steps of data flow away from `first`."""
    countable = set(operators(block))
    found = countable.intersection(first)
    edge = set(found)
    for _ in range(distance):
        beside = {value.owner for op in edge for value in op.operands}
        beside |= {use.operation for op in edge for result in op.results for use in result.uses}
        edge = {op for op in beside if isinstance(op, Operation) and op in countable} - found
        found |= edge
    return found


def reduce_graph(block: Block, first: Collection[Operation], fails: Fails) -> ModuleOp | None:
    """A cut of `block` that fails and of which no single operator can be left out; None if no cut fails.

    Searched for around `first`, then in the whole graph, by delta debugging (Zeller and Hildebrandt 2002).
    """
    for distance in range(WIDEST):
        kept = neighbourhood(block, first, distance)
        if kept and fails(cut(block, kept)):
            break
    else:
        kept = set(operators(block))
        if not fails(cut(block, kept)):
            return None
    order = [op for op in operators(block) if op in kept]
    return cut(block, set(_minimal(order, lambda ops: fails(cut(block, set(ops))))))


def _minimal(order: list[Operation], fails: Callable[[Sequence[Operation]], bool]) -> list[Operation]:
    chunk = max(len(order) // 2, 1)
    trials = 0
    while trials < MOST_TRIALS:
        start = 0
        removed = False
        while start < len(order) and trials < MOST_TRIALS:
            fewer = order[:start] + order[start + chunk :]
            trials += 1
            if fewer and fails(fewer):
                order, removed = fewer, True
            else:
                start += chunk
        if chunk == 1 and not removed:
            break
        chunk = max(chunk // 2, 1)
    return order
