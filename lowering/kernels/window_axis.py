"""Sliding windows along one axis, cut into spans of outputs: which inputs each position of the window reads.

A position of the window takes part only in those outputs for which it lies inside the input, so padding needs no
storage: it is what no tap touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class WindowAxis:
    """`inputs` elements, `outputs` windows; window o covers o * stride - pad + t * dilation for t < kernel."""

    inputs: int
    outputs: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    pad: int = 0

    def counts(self, before: int = 0, behind: int = 0) -> list[int]:
        """Positions of each window that lie inside the input, or up to `before` and `behind` outside it."""
        return [
            sum(-before <= o * self.stride - self.pad + t * self.dilation < self.inputs + behind for t in range(self.kernel))
            for o in range(self.outputs)
        ]  # fmt: skip

    def reach(self, outputs: int) -> int:
        """Inputs that a run of outputs spans at most."""
        return min(self.inputs, (outputs - 1) * self.stride + (self.kernel - 1) * self.dilation + 1)


@dataclass(frozen=True)
class Tap:
    """One position of the window: outputs first..first+count of a span read inputs from `at`, one a stride."""

    first: int
    count: int
    at: int


@dataclass(frozen=True)
class Span:
    """A run of `outputs` windows over `inputs` elements, and its taps; positions count from the span's start."""

    outputs: int
    inputs: int
    taps: tuple[Tap, ...]


@dataclass(frozen=True)
class SpanRun:
    """`count` equal spans, the first at these output and input positions, the next ones a step further."""

    span: Span
    count: int
    out_at: int
    in_at: int
    out_step: int = 0
    in_step: int = 0


def span_at(axis: WindowAxis, start: int, outputs: int) -> tuple[Span, int]:
    """The span of the outputs start..start+outputs, and the input that it begins at."""
    origin = start * axis.stride - axis.pad
    last = origin + (outputs - 1) * axis.stride + (axis.kernel - 1) * axis.dilation
    first = min(max(0, origin), axis.inputs - 1)
    last = max(first, min(axis.inputs - 1, last))
    taps: list[Tap] = []
    for t in range(axis.kernel):
        base = t * axis.dilation - axis.pad
        low = max(start, -(base // axis.stride))
        high = min(start + outputs, (axis.inputs - 1 - base) // axis.stride + 1)
        if low < high:
            taps.append(Tap(low - start, high - low, low * axis.stride + base - first))
    return Span(outputs, last - first + 1, tuple(taps)), first


@lru_cache(maxsize=1024)
def span_runs(axis: WindowAxis, start: int, outputs: int, tile: int) -> tuple[SpanRun, ...]:
    """The outputs start..start+outputs in spans of `tile`, equal neighbours as one run."""
    runs: list[SpanRun] = []
    for at in range(start, start + outputs, tile):
        span, in_at = span_at(axis, at, min(tile, start + outputs - at))
        if runs and runs[-1].span == span:
            run = runs[-1]
            steps = at - run.out_at, in_at - run.in_at
            if run.count == 1 or steps == (run.out_step * run.count, run.in_step * run.count):
                steps = steps[0] // run.count, steps[1] // run.count
                runs[-1] = SpanRun(span, run.count + 1, run.out_at, run.in_at, *steps)
                continue
        runs.append(SpanRun(span, 1, at, in_at))
    return tuple(runs)


def identity(outputs: int) -> tuple[Tap, ...]:
    """The taps of an axis that is not reduced."""
    return (Tap(0, outputs, 0),)


def pairs(rows: Sequence[Tap], columns: Sequence[Tap], full: tuple[int, int]) -> list[tuple[Tap, Tap]]:
    """Positions of a two-dimensional window, those that take part in all outputs (`full` of them) first."""
    both = [(r, c) for r in rows for c in columns]
    return sorted(both, key=lambda pair: (pair[0].count, pair[1].count) != full)
