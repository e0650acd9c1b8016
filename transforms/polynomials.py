"""Chains of elementwise operators read as polynomials: every order and placement of the constants becomes one form.

`x * 0.5 * (1 + e)`, `0.5 * (x * (e + 1))` and `x / 2 + x * e / 2` all are {(1, 0): 0.5, (1, 1): 0.5} in (x, e). Patterns
of activation functions compare such terms instead of listing the graphs that exporters write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import element_of
from graph_engine.dialects.ge.elementwise import AddOp, BinaryOp, DivOp, MulOp, NegOp, PowOp, SubOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.recipes import known

Terms: TypeAlias = dict[tuple[int, ...], float]
"""Coefficients by the exponents of the variables."""

ARITHMETIC = (AddOp, SubOp, MulOp, DivOp, PowOp, NegOp)
MOST_OPERATORS, HIGHEST_POWER, LONGEST_CHAIN = 12, 4, 5
"""Where reading ends: activation functions are smaller."""


def is_float(value: SSAValue) -> bool:
    """Whether the elements are floats: patterns of real numbers do not hold in integers."""
    return element_name(element_of(value)) in ("f16", "bf16", "f32", "f64")


def tolerance(value: SSAValue) -> float:
    """How far a constant in this element type may be from the one it stands for: a few roundings."""
    return 2e-6 if element_name(element_of(value)) in ("f32", "f64") else 2.0**-9


def scalar(value: SSAValue) -> float | None:
    """The number that a constant of one element holds; None if the value is something else."""
    constant = known(value)
    if constant is None or constant.elements != 1:
        return None
    return float(constant.numbers().reshape(-1)[0])


@dataclass(frozen=True)
class Polynomial:
    """What a value is, and the operators that compute it from the variables."""

    terms: Terms
    operators: frozenset[Operation]

    def equals(self, wanted: Mapping[tuple[int, ...], float], share: float) -> bool:
        """Whether each coefficient is within `share` of the wanted one; what is not wanted must vanish."""
        largest = max(map(abs, wanted.values()))
        return all(
            abs(self.terms.get(key, 0.0) - wanted.get(key, 0.0)) <= share * abs(wanted.get(key, 0.0) or largest * 1e-3)
            for key in {*self.terms, *wanted}
        )


def _product(a: Terms, b: Terms) -> Terms:
    result: Terms = {}
    for p, x in a.items():
        for q, y in b.items():
            key = tuple(i + j for i, j in zip(p, q, strict=True))
            result[key] = result.get(key, 0.0) + x * y
    return result


def polynomial(value: SSAValue, variables: Sequence[SSAValue]) -> Polynomial | None:
    """`value` in terms of `variables`; None if it reads anything else but numbers, or is too large."""
    operators: dict[Operation, None] = {}
    zero = (0,) * len(variables)
    seen: dict[SSAValue, Terms | None] = {
        v: {tuple(int(i == k) for i in range(len(variables))): 1.0} for k, v in enumerate(variables)
    }

    def read(value: SSAValue) -> Terms | None:
        if value not in seen:
            number = scalar(value)
            seen[value] = computed(value.owner) if number is None else {zero: number}
        return seen[value]

    def computed(op: object) -> Terms | None:
        if not isinstance(op, ARITHMETIC) or len(operators) == MOST_OPERATORS:
            return None
        operators[op] = None
        sides = [read(operand) for operand in op.operands]
        left, right = sides[0], sides[-1]
        if left is None or right is None:
            return None
        terms = combined(op, left, right)
        return None if terms is None or any(sum(key) > HIGHEST_POWER for key in terms) else terms

    def combined(op: Operation, left: Terms, right: Terms) -> Terms | None:
        if isinstance(op, NegOp):
            return _product(left, {zero: -1.0})
        if isinstance(op, MulOp):
            return _product(left, right)
        if isinstance(op, AddOp | SubOp):
            sign = 1.0 if isinstance(op, AddOp) else -1.0
            return {key: left.get(key, 0.0) + sign * right.get(key, 0.0) for key in {*left, *right}}
        number = right.get(zero, 0.0)
        if set(right) != {zero} or number == 0:
            return None
        if isinstance(op, DivOp):
            return _product(left, {zero: 1 / number})
        if number not in (1, 2, 3):
            return None
        power = left
        for _ in range(int(number) - 1):
            power = _product(power, left)
        return power

    terms = read(value)
    return None if terms is None else Polynomial(terms, frozenset(operators))


def sources(value: SSAValue) -> Iterator[SSAValue]:
    """`value` and what its arithmetic reads, the nearest first: the candidates for a variable."""
    found = {value: 0}
    for candidate in (queue := [value]):
        yield candidate
        if isinstance(candidate.owner, ARITHMETIC) and found[candidate] < LONGEST_CHAIN:
            for operand in candidate.owner.operands:
                if operand not in found and known(operand) is None and len(found) < MOST_OPERATORS:
                    found[operand] = found[candidate] + 1
                    queue.append(operand)


def chain(value: SSAValue) -> Iterator[Operation]:
    """The arithmetic behind `value`: its one reader, the one reader of that, ..."""
    for _ in range(LONGEST_CHAIN):
        user = single_user(value)
        if not isinstance(user, ARITHMETIC):
            return
        yield user
        value = user.results[0]


def stays_inside(operators: Set[Operation], last: Operation) -> bool:
    """Whether nothing but `operators` reads what they compute, up to the result of `last`."""
    return all(
        use.operation in operators for op in operators if op is not last for result in op.results for use in result.uses
    )


def with_number(op: Operation) -> tuple[SSAValue, float] | None:
    """The other operand and the number, of a binary operator in which either order means the same."""
    assert isinstance(op, BinaryOp)
    for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if (number := scalar(other)) is not None:
            return value, number
    return None
