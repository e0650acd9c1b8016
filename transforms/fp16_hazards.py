"""Operators known to lose their numbers in fp16: each kind with how it is found and what to keep in fp32 with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.planning.bounds import Bounds
from graph_engine.transforms.masks import keepers
from graph_engine.transforms.sum_ranges import squared
from graph_engine.transforms.value_ranges import LARGEST, Ranges

HALF = Bounds(-LARGEST["f16"], LARGEST["f16"])
TO_ZERO = 2.0**-25
"""No larger numbers round to 0 in fp16."""
STEEP = ("ge.exp", "ge.sinh", "ge.cosh")
STEEP_END = 11.0898
"""exp of this is the largest fp16 number."""
ADDING = ("ge.reduce_sum", "ge.reduce_sum_square", "ge.reduce_l2", "ge.reduce_prod", "ge.cum_sum", "ge.cum_prod")

Test: TypeAlias = "Callable[[GeOp, Ranges], bool]"
Group: TypeAlias = "Callable[[GeOp, Ranges], list[Operation]]"


@dataclass(frozen=True)
class Hazard:
    """A kind of trouble: the remark's name, whether an operator has it, what it does, what must be fp32 with it."""

    name: str
    found: Test
    text: str
    together: Group


def tiny(value: SSAValue, ranges: Ranges) -> bool:
    """Whether the smallest that `value` can be is positive, but 0 in fp16; of a square root, what it is taken of."""
    if 0 < ranges[value].low <= TO_ZERO:
        return True
    root = ranges.definition(value)
    return root is not None and root.name == "ge.sqrt" and tiny(root.operands[0], ranges)


def divisor_of(op: GeOp, ranges: Ranges) -> SSAValue | None:
    """What `op` divides by or takes the logarithm of."""
    match op.name:
        case "ge.div" | "ge.reciprocal":
            return op.operands[-1]
        case "ge.log":
            return op.operands[0]
        case "ge.pow" if ranges[op.operands[1]].low < 0:
            return op.operands[0]
        case _:
            return None


def vanishes(op: GeOp, ranges: Ranges) -> bool:
    """A divisor kept from 0 by an epsilon that fp16 rounds to 0."""
    divisor = divisor_of(op, ranges)
    return divisor is not None and element_of(divisor) == f32 and tiny(divisor, ranges)


def outside(bounds: Bounds) -> bool:
    """Whether no number is in fp16's range."""
    return bounds.low > HALF.high or bounds.high < HALF.low


def overflows(op: GeOp, ranges: Ranges) -> bool:
    """A result outside fp16 from finite operands inside it, where that is likely, or whatever the operands are."""
    operands, result = [ranges[value] for value in op.operands], ranges[op.results[0]]
    if element_of(op.results[0]) != f32:
        return False
    if outside(result):
        return not any(outside(x) for x in operands)
    if op.name in ADDING:
        return operands[0].within(HALF) and not result.within(HALF)
    if op.name in ("ge.div", "ge.reciprocal"):
        divisor, dividend = operands[-1].low, operands[0] if op.name == "ge.div" else Bounds(1, 1)
        reaches = divisor > TO_ZERO and dividend.largest / divisor > HALF.high
        return reaches and dividend.within(HALF) and not result.within(HALF)
    return False


def steep(op: GeOp, ranges: Ranges) -> bool:
    """An exponential of something not known to be small."""
    return op.name in STEEP and element_of(op.results[0]) == f32 and ranges[op.operands[0]].high > STEEP_END


def sums_squares(op: GeOp, ranges: Ranges) -> bool:
    """A variance or a mean square written out, of something not known to stay within 256."""
    return (
        op.name in ("ge.reduce_mean", "ge.reduce_sum")
        and element_of(op.results[0]) == f32
        and squared(op.operands[0], ranges) is not None
        and not ranges[op.operands[0]].within(HALF)
    )


def averaged_square(value: SSAValue, ranges: Ranges) -> SSAValue | None:
    """x if `value` is a mean (or a sum, times a number) of squares of x."""
    op = ranges.definition(value)
    if op is not None and op.name in ("ge.mul", "ge.div"):
        op = next((ranges.definition(x) for x in op.operands if ranges.array(x) is None), None)
    if op is None or op.name not in ("ge.reduce_mean", "ge.reduce_sum", "ge.reduce_sum_square"):
        return None
    return op.operands[0] if op.name == "ge.reduce_sum_square" else squared(op.operands[0], ranges)


def cancels(op: GeOp, ranges: Ranges) -> bool:
    """E[x^2] - E[x]^2."""
    return (
        op.name == "ge.sub"
        and squared(op.operands[1], ranges) is not None
        and averaged_square(op.operands[0], ranges) is not None
    )


def between(value: SSAValue, end: Callable[[SSAValue], bool], ranges: Ranges) -> list[Operation]:
    """The operators that make `value`, back to values that are an `end`, to inputs and to constants."""
    found: dict[Operation, None] = {}
    waiting = [value]
    while waiting:
        value = waiting.pop()
        op = ranges.definition(value)
        if isinstance(op, GeOp) and not isinstance(op, ConstantOp) and op not in found and not end(value):
            found[op] = None
            waiting += op.operands
    return list(found)[::-1]


def _with_divisor(op: GeOp, ranges: Ranges) -> list[Operation]:
    divisor = divisor_of(op, ranges)
    assert divisor is not None
    return [*between(divisor, lambda value: not tiny(value, ranges), ranges), op]


def _with_squares(op: GeOp, ranges: Ranges) -> list[Operation]:
    square = ranges.definition(op.operands[0])
    return [*([] if square is None else [square]), *keepers([op], ranges)]


def _with_means(op: GeOp, ranges: Ranges) -> list[Operation]:
    base = averaged_square(op.operands[0], ranges)
    assert base is not None
    return between(op.results[0], lambda value: ranges.same(value, base), ranges)


def _until_small(op: GeOp, ranges: Ranges) -> list[Operation]:
    return keepers([op], ranges)


HAZARDS = (
    Hazard(
        "DivisorVanishes", vanishes, "divides by what only a number that fp16 rounds to 0 keeps from 0", _with_divisor
    ),
    Hazard("ResultOutOfRange", overflows, "can leave fp16's range though its operands are inside", _until_small),
    Hazard("ExponentialOutOfRange", steep, "leaves fp16's range for operands above 11", _until_small),
    Hazard(
        "SquaresOutOfRange", sums_squares, "adds up squares, infinite in fp16 for operands beyond 256", _with_squares
    ),
    Hazard("VarianceCancels", cancels, "is a mean of squares less a squared mean: fp16 rounds it away", _with_means),
)
