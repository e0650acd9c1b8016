"""Writes the page about a corpus of models from the rows of a sweep.

    python bench/model_sweep.py FOLDER --fp16 --json rows.json
    python bench/corpus_page.py rows.json > docs/corpus.md

The date on the page is that of the rows.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fp16_error import DIFFERS, EXPLAINED, FLOOR, OF_RANGE, ROUNDING, TIMES_ROUNDING, WITHIN

MEANING = {
    WITHIN: f"at most {TIMES_ROUNDING:.0f} times what rounding alone costs (no less than {FLOOR:.1e}), "
    f"and at most {OF_RANGE:.0%} of the range",
    EXPLAINED: "outside, but back in the bound with the nodes in fp32 that the warnings name",
    ROUNDING: "outside of 1 %, not cured by warnings, but onnxruntime with its tensors rounded errs as much",
    DIFFERS: "outside, and neither cured nor as rounding alone",
}


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    path = parser.parse_args().rows
    rows: list[dict[str, Any]] = sorted(json.loads(path.read_text()), key=lambda row: row["model"])
    print(page(rows, datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()))


def page(rows: list[dict[str, Any]], date: str) -> str:
    """The page in Markdown."""
    agree = sum(row["verdict"].startswith("agrees") for row in rows)
    classes = Counter(row.get("fp16_class", "not computed") for row in rows)
    warned = [row for row in rows if row.get("warned")]
    told = sum("warned" in row for row in rows)
    lines = [
        "# Real architectures beside onnxruntime",
        "",
        f"Measured on {date} by `bench/model_sweep.py FOLDER --fp16`, written by `bench/corpus_page.py`: {len(rows)} exported",
        "graphs of known architectures with seeded random weights. Errors are the largest difference from onnxruntime in",
        "fp32 over all outputs, as a part of the output's range; of probabilities, the logits as well.",
        "",
        f"In fp32, **{agree} of {len(rows)}** agree. {len(warned)} of {told} have warnings without a sample. In fp16:",
        "",
        "| in fp16 | models | meaning |",
        "|---|---|---|",
        *(f"| {kind} | {count} | {MEANING.get(kind, '')} |" for kind, count in classes.most_common()),
        "",
        "| model | operators | fp32 error | fp16 error | rounding alone | warnings | verdict on fp16 |",
        "|---|---|---|---|---|---|---|",
        *map(line, rows),
        "",
        "## What the warnings say",
        "",
    ]
    for row in rows:
        said = row.get("warnings", []) + (
            [f"with a sample: {text}" for text in row.get("sample_warnings", [])]
            if row.get("fp16_class") != WITHIN
            else []
        )
        if said:
            lines += [f"**{row['model']}**", "", *(f"* {short(text)}" for text in said[:4])]
            lines += [f"* and {len(said) - 4} more"] if len(said) > 4 else []
            lines += [""]
    return "\n".join(lines).rstrip()


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    numbers = [f"{row[key]:.1e}" if key in row else "-" for key in ("error", "fp16", "rounding")]
    counts = str(row.get("simplified", "-"))
    verdict = row.get("fp16_verdict") or row["verdict"]
    return f"| {row['model']} | {counts} | {' | '.join(numbers)} | {row.get('warned', '-')} | {verdict} |"


def short(warning: str) -> str:
    """A warning without the nodes to keep, which would fill the page, and without its pass."""
    return warning.partition("; --keep")[0].partition(" [check-fp16-range]")[0]


if __name__ == "__main__":
    main()
