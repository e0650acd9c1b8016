"""`// expected-error {{text}}` comments, as MLIR's --verify-diagnostics reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from graph_engine.pipelines.source import Chunk, Diagnostic

_COMMENT = re.compile(r"expected-error(?:@(?P<where>[+-]\d+|below|above))?\s*\{\{(?P<text>.*?)\}\}")


@dataclass(frozen=True)
class Expectation:
    """An error that must be reported at `line` with `text` in its message."""

    line: int
    text: str

    def met_by(self, diagnostic: Diagnostic) -> bool:
        return diagnostic.line == self.line and self.text in diagnostic.message


def expectations(chunk: Chunk) -> list[Expectation]:
    """All expected errors of a chunk; `@+n`, `@-n`, `@below` and `@above` count lines from the comment."""
    found: list[Expectation] = []
    for number, line in enumerate(chunk.text.split("\n"), start=1):
        for match in _COMMENT.finditer(line):
            where = {None: "0", "below": "1", "above": "-1"}.get(match["where"], match["where"])
            found.append(Expectation(number + int(where or 0), match["text"]))
    return found


def mismatches(chunk: Chunk, reported: list[Diagnostic]) -> list[Diagnostic]:
    """What is wrong: expected errors that did not come, and errors that nobody expected."""
    expected = expectations(chunk)
    wrong = [d for d in reported if not any(e.met_by(d) for e in expected)]
    missing = [e for e in expected if not any(e.met_by(d) for d in reported)]
    return [
        *(Diagnostic(d.file, d.line, d.column, f"unexpected error: {d.message}") for d in wrong),
        *(Diagnostic(chunk.file, e.line, 1, f'expected error "{e.text}" was not produced') for e in missing),
    ]
