"""Attention masks: numbers far below all scores that a softmax makes 0 of, and how far such numbers travel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.fused import FusedOp, YieldOp
from graph_engine.transforms.range_rules import JOINS, PICKS
from graph_engine.transforms.value_ranges import LARGEST, Ranges

CARRYING = frozenset(
    f"ge.{name}"
    for name in (
        *(*PICKS, *JOINS, "add", "sub", "mul", "maximum", "minimum", "neg", "abs", "pad", "cast"),
        *("scatter_elements", "scatter_nd", "reduce_sum", "reduce_l2"),
    )
)
"""Operators whose results are as large as their operands."""
ABSORBED, ABSORBING = 15.0, 2.0**28
"""A score up to the first is rounded away beside 65504 in fp16, and beside the second in fp32."""
APART = 32000.0
"""Scores up to this are at least 1,500 above 65504 less another."""


def readers(op: Operation) -> Iterator[Operation]:
    """The operators that read the results of `op`, those inside kernels and behind their ends included."""
    for result in op.results:
        yield from readers_of(result)


def readers_of(value: SSAValue) -> Iterator[Operation]:
    """The same for one value."""
    for use in value.uses:
        if isinstance(use.operation, FusedOp):
            yield from readers_of(use.operation.block.args[use.index])
        elif isinstance(use.operation, YieldOp):
            kernel = use.operation.parent_op()
            assert isinstance(kernel, FusedOp)
            yield from readers_of(kernel.results[use.index])
        else:
            yield use.operation


def keepers(ops: Iterable[Operation], ranges: Ranges) -> list[Operation]:
    """`ops` and all behind them up to where their large numbers end, which have to stay in fp32 together."""
    kept: dict[Operation, None] = {}
    first = list(ops)
    waiting = first[::-1]
    while waiting:
        op = waiting.pop()
        if not isinstance(op, GeOp) or op in kept:
            continue
        kept[op] = None
        if (op.name in CARRYING or op in first) and not all(
            ranges[result].largest <= LARGEST["f16"] for result in op.results
        ):
            waiting += list(readers(op))[::-1]
    return list(kept)


def only_limits(op: Operation, constant: SSAValue, ranges: Ranges) -> bool:
    """Whether `op` takes the larger of something and a number below fp16's range, or the smaller of one above."""
    if op.name == "ge.maximum":
        return ranges[constant].high < -LARGEST["f16"]
    return op.name == "ge.minimum" and ranges[constant].low > LARGEST["f16"]


def harmless_mask(constant: SSAValue, users: Sequence[GeOp], ranges: Ranges) -> bool:
    """Whether every softmax behind `constant` gives the same if its numbers below fp16's range become -65504.

    The constant may only be chosen by a Where, or added once, on the way to a softmax. With -inf a row without any
    score has no result in the model either; with another number such a row is even, if scores are too small to be seen
    beside it in fp32 and in fp16.
    """
    low, high = ranges[constant].low, ranges[constant].high
    if high > LARGEST["f16"] or -inf < low > -ABSORBING:
        return False
    limit = APART if low == -inf else ABSORBED

    waiting: list[tuple[Operation, SSAValue, bool]] = [(user, constant, False) for user in users]
    seen: set[tuple[Operation, bool]] = set()
    while waiting:
        op, path, added = waiting.pop()
        if (op, added) in seen or op.name == "ge.softmax":
            continue
        seen.add((op, added))
        others = [value for value in op.operands if not ranges.same(value, path)]
        if op.name == "ge.select":
            others = [value for value in op.operands[1:] if value in others]
        elif op.name == "ge.add" and not added and len(others) == 1:
            added = True
        elif op.name.removeprefix("ge.") not in PICKS or op.name.startswith("ge.reduce"):
            return False
        else:
            others = []
        if any(ranges[value].largest > limit for value in others):
            return False
        waiting += [(reader, op.results[0], added) for reader in readers(op)]
    return True
