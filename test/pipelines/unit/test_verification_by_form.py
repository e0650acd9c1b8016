"""What a verifier has seen of valid operators never hides one that breaks a rule: every invalid case of the lit tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.source import Chunk, parse, split
from graph_engine.pipelines.verification import InvalidOperation, Verifier

DIALECTS = Path(__file__).parents[2] / "dialects"
INVALID = sorted(DIALECTS.glob("**/invalid_*.mlir"))


def found(verifier: Verifier | None, path: Path) -> list[str]:
    """What is wrong with each case that parses; without a verifier each has one of its own."""
    messages: list[str] = []
    for chunk in split(path.name, path.read_text(), True):
        try:
            module = parse(make_context(), chunk)
        except GraphEngineError:
            continue
        try:
            (verifier or Verifier()).verify(module)
        except InvalidOperation as failure:
            messages.append(str(failure))
    return messages


@cache
def experienced() -> Verifier:
    """A verifier that has seen every valid operator there is, and every case that an operator spoils."""
    verifier = Verifier()
    for path in (*sorted(DIALECTS.glob("**/ops_*.mlir")), *INVALID):
        found(verifier, path)
    return verifier


@pytest.mark.parametrize("path", INVALID, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_known_forms_hide_no_invalid_operator(path: Path) -> None:
    alone = found(None, path)
    assert alone
    assert found(experienced(), path) == alone


KERNEL = """
ascend.kernel @k() blocks(1) {{
  ascend.blocks %blk = 0 to 1 {{
    %b = ascend.alloc "b" : memref<16x16xf16, #ascend.ub>
    %a = ascend.view %b[0] : memref<16x16xf16, #ascend.ub> to memref<16x16xf16, #ascend.ub>
    %v = ascend.view %{}[0] : memref<16x16xf16, #ascend.ub> to memref<16x16xf16, #ascend.ub>
  }}
}}
"""


def test_a_view_of_a_view_is_found_beside_an_equal_view_of_a_buffer() -> None:
    good, bad = (parse(make_context(), Chunk("t.mlir", KERNEL.format(name))) for name in "ba")
    verifier = Verifier()
    verifier.verify(good)
    with pytest.raises(InvalidOperation, match="not of another view"):
        verifier.verify(bad)
