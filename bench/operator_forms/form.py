"""One way to use an operator, and the seeded numbers for its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

FLOATS = ("float32", "float16", "float64")
INTEGERS = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, "bool")


@dataclass
class Form:
    """Operands by name in the operator's order (None: an empty one), attributes (None: not stated), number of outputs.

    Operands named in `steering` give shapes, axes, bounds and the like: they are tried as constants and as inputs.
    """

    inputs: Mapping[str, Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    steering: tuple[str, ...] = ()
    outputs: int = 1


class Draw:
    """Seeded operands."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def any(self, dtype: str, *shape: int) -> Array:
        """Numbers of any element type, around 0 where it has signs."""
        kind = np.dtype(dtype).kind
        if kind == "f":
            return np.asarray(self.random.uniform(-3, 3, shape)).astype(dtype)
        if kind == "b":
            return np.asarray(self.random.integers(0, 2, shape)).astype(dtype)
        return np.asarray(self.random.integers(0 if kind == "u" else -9, 10, shape)).astype(dtype)

    def floats(self, *shape: int, low: float = -3, high: float = 3, dtype: str = "float32") -> Array:
        """Floats in an interval."""
        return np.asarray(self.random.uniform(low, high, shape)).astype(dtype)

    def integers(self, *shape: int, low: int = 0, high: int = 10, dtype: str = "int64") -> Array:
        """Integers in an interval without its upper end."""
        return np.asarray(self.random.integers(low, high, shape)).astype(dtype)

    def some(self, count: int, *choices: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        """At most `count` combinations of choices, in order, the first always among them."""
        every = list(product(*map(list, choices)))
        if len(every) > count:
            kept = {0, *self.random.choice(len(every), count - 1, replace=False).tolist()}
            every = [combination for number, combination in enumerate(every) if number in kept]
        yield from every


Forms: TypeAlias = Callable[[Draw, int], Iterator[Form]]
"""From a source of operands and an opset to forms."""


def ints(*values: int) -> Array:
    """A vector of int64, as shapes and axes are given."""
    return np.array(values, np.int64)
