"""The arithmetic of docs/timing.md is right."""

import re
from pathlib import Path

DOC = Path(__file__).parents[4] / "docs" / "timing.md"


def test_the_worked_examples_add_up():
    examples = re.findall(r"^    ([\d.+*/() ]+) = ([\d.]+)$", DOC.read_text(encoding="utf-8"), re.M)
    assert len(examples) == 39
    for terms, result in examples:
        assert abs(eval(terms) - float(result)) < 1e-9, f"{terms} = {result}"
