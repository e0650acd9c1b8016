"""Softmax, normalizations and reductions as steps over a tile: everything in fp32, rounded once at the end.

Sums and products of statistics cost an instruction for all of them together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graph_engine.lowering.kernels.step import Step
from graph_engine.target_ascend.isa.model import DType


@dataclass
class StepList:
    """Steps over values 0..inputs-1; a method that adds one returns the number of its value."""

    inputs: int
    elements: int
    """How many elements a statistic stands for."""
    types: list[DType]
    steps: list[Step] = field(default_factory=list[Step])

    def add(self, op: str, *operands: int, dtype: DType = DType.F32, **attributes: float) -> int:
        """`op` of earlier values."""
        return self.append(Step(op, operands, tuple(sorted(attributes.items())), dtype))

    def append(self, step: Step) -> int:
        """A step that is ready."""
        self.steps.append(step)
        self.types.append(step.dtype)
        return self.inputs + len(self.steps) - 1

    def wide(self, value: int) -> int:
        """The value in fp32."""
        return value if self.types[value] is DType.F32 else self.add("ge.cast", value)

    def rounded(self, value: int, dtype: DType) -> int:
        """The value in `dtype`."""
        return value if self.types[value] is dtype else self.add("ge.cast", value, dtype=dtype)

    def mean(self, value: int) -> int:
        """The mean of the reduced elements."""
        return self.add("muls", self.add("cadd", value), imm=1 / self.elements)

    def over_root(self, value: int, mean_square: int, epsilon: float) -> int:
        """value / sqrt(mean_square + epsilon)."""
        root = self.add("ge.sqrt", self.add("adds", mean_square, imm=epsilon))
        return self.add("ge.mul", value, self.add("ge.reciprocal", root))


def softmax(steps: StepList, x: int, dtype: DType) -> int:
    """exp(x - max) / sum of exp(x - max)."""
    x = steps.wide(x)
    powers = steps.add("ge.exp", steps.add("ge.sub", x, steps.add("cmax", x)))
    return steps.add("ge.mul", powers, steps.add("ge.reciprocal", steps.add("cadd", powers)), dtype=dtype)


def standardise(steps: StepList, x: int, epsilon: float) -> int:
    """(x - mean) / sqrt(variance + epsilon) in fp32."""
    x = steps.wide(x)
    centred = steps.add("ge.sub", x, steps.mean(x))
    return steps.over_root(centred, steps.mean(steps.add("ge.mul", centred, centred)), epsilon)


def root_mean_square(steps: StepList, x: int, epsilon: float) -> int:
    """x / sqrt(mean of squares + epsilon) in fp32."""
    x = steps.wide(x)
    return steps.over_root(x, steps.mean(steps.add("ge.mul", x, x)), epsilon)


def scaled(steps: StepList, y: int, scale: int | None, bias: int | None, dtype: DType) -> int:
    """y * scale + bias, rounded."""
    if scale is not None:
        y = steps.add("ge.mul", y, scale, dtype=DType.F32 if bias is not None else dtype)
    if bias is not None:
        y = steps.add("ge.add", y, bias, dtype=dtype)
    return steps.rounded(y, dtype)


def _sum(steps: StepList, x: int) -> int:
    return steps.add("cadd", x)


def _log_sum_exp(steps: StepList, x: int) -> int:
    largest = steps.add("cmax", x)
    total = steps.add("cadd", steps.add("ge.exp", steps.add("ge.sub", x, largest)))
    return steps.add("ge.add", steps.add("ge.log", total), largest)


LARGE = 1e38
"""Twice this times the smallest difference of two numbers is above 1; no number that is compared is much larger."""


def place(steps: StepList, x: int, counter: int, *, largest: bool, last: bool) -> int:
    """The place of an extreme element as int64: `counter` holds 0, 1, 2, ..., of which the candidates' first or last is taken.

    How far x is from the extreme, raised to 0 or 1, times the number of elements moves what is no candidate out of the
    way. Infinities count as the largest numbers; up to 2^24 elements.
    """
    x = steps.add("maxs", steps.add("mins", steps.wide(x), imm=LARGE), imm=-LARGE)
    best = steps.add("cmax" if largest else "cmin", x)
    far = steps.add("ge.sub", best, x) if largest else steps.add("ge.sub", x, best)
    for _ in range(2):
        far = steps.add("mins", steps.add("muls", far, imm=LARGE), imm=LARGE)
    away = steps.add("muls", steps.add("mins", far, imm=1.0), imm=float(-steps.elements if last else steps.elements))
    found = steps.add("cmax" if last else "cmin", steps.add("ge.add", away, counter))
    return steps.add("ge.cast", found, dtype=DType.I64)


REDUCTIONS: dict[str, Callable[[StepList, int], int]] = {
    "ge.reduce_sum": _sum,
    "ge.reduce_mean": lambda steps, x: steps.mean(x),
    "ge.reduce_max": lambda steps, x: steps.add("cmax", x),
    "ge.reduce_min": lambda steps, x: steps.add("cmin", x),
    "ge.global_avg_pool": lambda steps, x: steps.mean(x),
    "ge.global_max_pool": lambda steps, x: steps.add("cmax", x),
    "ge.reduce_sum_square": lambda steps, x: _sum(steps, steps.add("ge.mul", x, x)),
    "ge.reduce_l2": lambda steps, x: steps.add("ge.sqrt", _sum(steps, steps.add("ge.mul", x, x))),
    "ge.reduce_log_sum_exp": _log_sum_exp,
}
"""The statistic that a reduction makes of a value in fp32."""
