"""The pattern of an activation function: one x in, elementwise operators around a core that applies a known function.

A subclass says for its core what the whole has to be, as a polynomial in (x, core), and which operator it becomes; the
order and placement of the constants do not matter (`polynomials.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from xdsl.ir import Operation, SSAValue

from graph_engine.transforms.driver import CountedRewriter, Pattern
from graph_engine.transforms.polynomials import (
    Polynomial,
    Terms,
    chain,
    is_float,
    polynomial,
    sources,
    stays_inside,
    tolerance,
)

Roots: TypeAlias = tuple[type[Operation], ...]


@dataclass(frozen=True)
class Form:
    """What an activation function looks like around its core."""

    argument: SSAValue
    """What the core is applied to; a polynomial in x."""
    whole: Callable[[Polynomial, float], Terms | None]
    """The whole as a polynomial in (x, core), from the argument and the tolerance; None if this is not the function."""
    becomes: Callable[[SSAValue, Polynomial], Operation]
    """The operator that takes its place, from x and the argument."""
    inside: Sequence[Operation] = ()
    """The operators between argument and core."""


class ActivationPattern(Pattern):
    """Replaces an activation function by its operator; `root` is its core."""

    root: ClassVar[Roots]

    def form(self, op: Any) -> Form | None:
        """The form around the core `op`; None if it cannot be one."""
        raise NotImplementedError

    def rewrite(self, op: Operation, rewriter: CountedRewriter) -> bool:
        form = self.form(op)
        found = None if form is None else _found(op, form)
        if found is None:
            return False
        rewriter.replace(*found)
        return True


def _found(core: Operation, form: Form) -> tuple[Operation, Operation] | None:
    """The last operator of the function, and what takes its place."""
    result = core.results[0]
    if not is_float(result):
        return None
    for x in sources(form.argument):
        share = tolerance(x)
        given = polynomial(form.argument, [x])
        wanted = None if given is None or x.type != result.type else form.whole(given, share)
        if given is None or wanted is None:
            continue
        for last in chain(result):
            whole = polynomial(last.results[0], [x, result])
            if whole is None or not whole.equals(wanted, share) or last.results[0].type != x.type:
                continue
            if stays_inside(given.operators | whole.operators | {core, *form.inside}, last):
                return last, form.becomes(x, given)
    return None
