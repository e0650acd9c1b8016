"""Writes the page about a corpus of models from the rows of a sweep.

    python bench/model_sweep.py FOLDER --fp16 --json rows.json
    python bench/corpus_page.py rows.json > docs/corpus.md

Several files of rows are one table. The date is that of the rows. All rows must be of one commit, which the page names;
with `--mixed` it names all, with the number of their models.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fp16_error import CRASHED, DIFFERS, EXPLAINED, FLOOR, OF_RANGE, TIMES_ROUNDING, UNDETERMINED, WITHIN

MEANING = {
    WITHIN: f"at most {TIMES_ROUNDING:.0f} times what rounding alone costs (no less than {FLOOR:.1e}), "
    f"and at most {OF_RANGE:.0%} of the range",
    EXPLAINED: "outside, but back in the bound with the nodes in fp32 that the warnings name",
    UNDETERMINED: f"onnxruntime in fp32 is more than {OF_RANGE:.0%} from itself; with those nodes in fp32 we are no further",
    DIFFERS: "outside, and not cured by what the warnings name",
    CRASHED: "an error on the way to fp16, or in fp32 already",
}


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--mixed", action="store_true", help="take rows of several commits")
    options = parser.parse_args()
    paths: list[Path] = options.rows
    rows: list[dict[str, Any]] = sorted((row for p in paths for row in json.loads(p.read_text())), key=name_of)
    versions = Counter(row.get("version", "unknown") for row in rows)
    counted = ", ".join(f"{version} ({count} models)" for version, count in versions.most_common())
    if len({name_of(row) for row in rows}) < len(rows) or (len(versions) > 1 and not options.mixed):
        parser.error(f"rows of several sweeps: {counted}")
    date = datetime.fromtimestamp(max(path.stat().st_mtime for path in paths), UTC).date().isoformat()
    print(
        page(rows, date, f"commits {counted}" if len(versions) > 1 else f"commit {rows[0].get('version', 'unknown')}")
    )


def name_of(row: dict[str, Any]) -> str:
    """The model of a row."""
    return row["model"]


def page(rows: list[dict[str, Any]], date: str, version: str) -> str:
    """The page in Markdown."""
    agree = sum(row["verdict"].startswith("agrees") for row in rows)
    classes = Counter(row.get("fp16_class", CRASHED) for row in rows)
    lines = [
        "# Real architectures beside onnxruntime",
        "",
        f"Measured on {date} at {version} by `bench/model_sweep.py FOLDER --fp16`, written by `bench/corpus_page.py`:",
        f"{len(rows)} exported graphs of known architectures with seeded random weights. Errors are the largest difference from",
        "onnxruntime in fp32 over all outputs, as a part of the output's range; of probabilities, the logits as well.",
        "",
        f"In fp32, **{agree} of {len(rows)}** agree. In fp16:",
        "",
        "| in fp16 | models | meaning |",
        "|---|---|---|",
        *(f"| {kind} | {classes[kind]} | {meaning} |" for kind, meaning in MEANING.items() if classes[kind]),
        "",
        *counts(rows),
        "",
        "| model | operators | fp32 error | fp16 error | rounding alone | warnings | verdict on fp16 |",
        "|---|---|---|---|---|---|---|",
        *map(line, rows),
        "",
        "## What the warnings say",
        "",
        "The first four of each model, without the nodes to keep. Those with a sample are shown where fp16 leaves the bound.",
        "",
    ]
    for row in rows:
        said = row.get("warnings", []) + [f"with a sample: {text}" for text in row.get("sample_warnings", [])]
        if said:
            lines += [f"**{row['model']}**", "", *(f"* {short(text)}" for text in said[:4])]
            lines += [f"* and {len(said) - 4} more"] if len(said) > 4 else []
            lines += [""]
    return "\n".join(lines).rstrip()


def counts(rows: list[dict[str, Any]]) -> list[str]:
    """How many models have warnings of each kind, and how many of those leave the bound on the sample."""
    warned = [row for row in rows if row.get("warned")]
    outside = [row for row in rows if row.get("fp16_class", WITHIN) != WITHIN]
    silent = sum(not row.get("warned") for row in outside)
    lines = [
        f"Without a sample, {len(warned)} of {len(rows)} models have a warning, {sum(row['warned'] for row in warned)} in all.",
        f"Of the {len(outside)} outside of the bound, {silent} have none: only the sample shows how large their numbers are.",
        "",
        "| remark | models | of these outside of the bound |",
        "|---|---|---|",
    ]
    for key in ("warning_kinds", "sample_kinds"):
        for kind, count in Counter(kind for row in rows for kind in row.get(key, [])).most_common():
            bad = sum(kind in row.get(key, []) for row in outside)
            lines.append(f"| `{kind}` | {count} | {bad} |")
    return lines


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
