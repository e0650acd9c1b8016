"""Lowest and highest value of a set of real numbers, and what arithmetic makes of them.

Bounds are closed and may be infinite. NaN is no number and lies in none; where a product has no value (0 times
infinity) it counts as 0, since no number in the set comes from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, inf, isnan


@dataclass(frozen=True, slots=True)
class Bounds:
    """All numbers x with low <= x <= high."""

    low: float = -inf
    high: float = inf

    @staticmethod
    def of(numbers: Iterable[float]) -> Bounds:
        """The narrowest bounds around some numbers; NaN is left out, no number at all is unbounded."""
        known = [float(number) for number in numbers if not isnan(number)]
        return Bounds(min(known), max(known)) if known else Bounds()

    @property
    def finite(self) -> bool:
        """Whether both ends are finite."""
        return -inf < self.low and self.high < inf

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(-self.low, self.high)

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high

    def within(self, other: Bounds) -> bool:
        """Whether every number lies in `other` as well."""
        return other.low <= self.low and self.high <= other.high

    def hull(self, *others: Bounds) -> Bounds:
        """The narrowest bounds around all of them."""
        every = (self, *others)
        return Bounds(min(one.low for one in every), max(one.high for one in every))

    def clamped(self, low: float, high: float) -> Bounds:
        """Of min(max(x, low), high)."""
        return Bounds(min(max(self.low, low), high), min(max(self.high, low), high))

    def whole(self) -> Bounds:
        """Of x rounded to an integer in whatever direction."""
        return Bounds(
            self.low if self.low == -inf else floor(self.low), self.high if self.high == inf else -floor(-self.high)
        )

    def __neg__(self) -> Bounds:
        return Bounds(-self.high, -self.low)

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(_sum(self.low, other.low, -inf), _sum(self.high, other.high, inf))

    def __sub__(self, other: Bounds) -> Bounds:
        return self + -other

    def __mul__(self, other: Bounds) -> Bounds:
        return Bounds.of(product(x, y) for x in (self.low, self.high) for y in (other.low, other.high))

    def __truediv__(self, other: Bounds) -> Bounds:
        """Unbounded where the divisor may be 0."""
        if 0.0 in other:
            return Bounds()
        return self * Bounds.of(1.0 / y for y in (other.low, other.high))

    def square(self) -> Bounds:
        """Of x * x."""
        ends = self * self
        return Bounds(0.0, ends.high) if 0.0 in self else Bounds(min(self.low**2, self.high**2), ends.high)

    def scaled(self, factor: float) -> Bounds:
        """Of `factor` * x."""
        return self * Bounds(factor, factor)


def product(x: float, y: float) -> float:
    """x * y, where nothing of anything is nothing."""
    return 0.0 if x == 0 or y == 0 else x * y


def _sum(x: float, y: float, if_opposite: float) -> float:
    total = x + y
    return if_opposite if isnan(total) else total
