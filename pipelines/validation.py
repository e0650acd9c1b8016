"""`--validate-each`: the graph before and after each pass on seeded inputs, held to what the pass declares."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from graph_engine.pipelines.numerics import (
    Answers,
    Feeds,
    answers,
    chip_answers,
    first_different,
    has_16_bits,
    largest_difference,
    operator_title,
)
from graph_engine.pipelines.reference import graph_functions
from graph_engine.pipelines.runner import PassFailed
from graph_engine.pipelines.spec import build_options, options_text
from graph_engine.pipelines.verification import InvalidOperation, content_of, same_objects
from graph_engine.transforms.pass_base import EXACT, Numerics

_FLAG = "--validate-each"


@dataclass(frozen=True)
class Validation(Feeds):
    """On which inputs to run, and whether (`chip`) the tasks at the end run on the modelled chip as well."""

    chip: bool = False

    @staticmethod
    def of(options: Mapping[str, str]) -> Validation:
        """From options as written. Raises GraphEngineError for wrong ones."""
        return build_options(Validation, options, _FLAG, _FLAG)

    @property
    def flag(self) -> str:
        """The flag that gives these options again."""
        text = options_text(self)
        return f"{_FLAG}={text}" if text else _FLAG


def declared(body: ModulePass) -> Numerics:
    """What a pass declares; one that declares nothing has to be exact."""
    return getattr(body, "numerics", EXACT)


def _content(module: ModuleOp) -> list[object]:
    return [item for function in graph_functions(module) for item in content_of(function)]


class Validator:
    """Follows one module through its passes. A graph that a pass left alone is not run again."""

    def __init__(self, options: Validation, module: ModuleOp):
        self.options = options
        self.answers: Answers = answers(module, options)
        self.before = module.clone()
        self._content = _content(module)
        self._lines: list[str] = []
        self._behind: list[ModulePass] = []

    def check(self, module: ModuleOp, body: ModulePass) -> None:
        """Compare with what stood before `body`. Raises PassFailed that names the operators that begin to differ."""
        if not graph_functions(module):
            self._behind.append(body)
            return
        content = _content(module)
        if same_objects(self._content, content):
            return
        numerics = declared(body)
        after = answers(module, self.options)
        bound = numerics.bound(has_16_bits(self.before, module))
        worst = largest_difference(self.answers, after)
        apart = worst.share > bound
        operators = first_different(self.before, module, self.options, bound) if apart or self.options.inner else []
        if apart or operators:
            allowed = f"declared {numerics.title}" + (f", {bound:.2g}" if bound else "")
            where = "; ".join(map(operator_title, operators[:3])) + ("; ..." if len(operators) > 3 else "")
            text = f"after pass '{body.name}': the numbers change: {worst if apart else 'inside the graph'} ({allowed})"
            text += f"; first at {where}" if where else ""
            raise PassFailed(text, InvalidOperation(operators[0], text) if operators else None)
        self._lines.append(f"{body.name:<32}{numerics.title:<12}{bound:>9.2g}{max(worst.share, 0):>11.2g}")
        self.answers, self.before, self._content = after, module.clone(), content

    def report(self, module: ModuleOp) -> None:
        """A table to standard error; with `chip`, the tasks run on the modelled chip first. Raises PassFailed."""
        names = f"{self._behind[0].name} to {self._behind[-1].name}" if self._behind else ""
        if self._behind and self.options.chip:
            bound = sum(declared(body).bound(True) for body in self._behind)
            worst = largest_difference(self.answers, chip_answers(module, self.options))
            if worst.share > bound:
                raise PassFailed(f"passes {names}: the numbers change: {worst} on the chip (declared {bound:.2g})")
            self._lines.append(f"{names:<31} {'chip':<12}{bound:>9.2g}{max(worst.share, 0):>11.2g}")
        print(f"{'validated on ' + self.options.title:<44}{'declared':>9}{'measured':>11}", file=sys.stderr)
        for line in self._lines:
            print(line, file=sys.stderr)
        if self._behind and not self.options.chip:
            print(f"note: not run: {names}, behind the graph; chip=true runs their result", file=sys.stderr)
