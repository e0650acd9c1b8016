"""Writes the page about a corpus of models on chips from the rows of a sweep.

    python bench/chip_sweep.py FOLDER --json rows.json
    python bench/chip_page.py rows.json > docs/chip_corpus.md

The date is that of the rows. All rows must be of one commit, which the page names; with `--mixed` it names all.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chip_sweep import FAILED, GOOD
from corpus_page import MEANING


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--mixed", action="store_true", help="take rows of several commits")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(options.rows.read_text())
    versions = sorted({row["version"] for row in rows})
    if len(versions) > 1 and not options.mixed:
        parser.error(f"rows of several commits: {', '.join(versions)}")
    date = datetime.fromtimestamp(options.rows.stat().st_mtime, UTC).date().isoformat()
    print(page(rows, date, ", ".join(versions)))


def page(rows: list[dict[str, Any]], date: str, version: str) -> str:
    """The page in Markdown."""
    from graph_engine.target_ascend.soc.soc import load_soc

    models, socs = len({row["model"] for row in rows}), sorted({row["soc"] for row in rows})
    good = sum(row["class"] in GOOD and not row.get("findings") for row in rows)
    silent = sum(not row.get("findings") for row in rows)
    classes = Counter(row["class"] for row in rows)
    return "\n".join(
        [
            "# Real architectures on the modelled chips",
            "",
            f"Measured on {date} at commit {version} by `bench/chip_sweep.py`, written by `bench/chip_page.py`: {models} exported",
            f"graphs of [the corpus](corpus.md), compiled for {' and '.join(socs)} and run in [checking mode](checking.md)",
            "on seeded inputs. Errors are the largest difference from onnxruntime in fp32 over all outputs, as a part of the output's",
            "range; of probabilities, the logits as well. Times:",
            "",
            *(f"* {soc}: {load_soc(soc).trust()}." for soc in socs),
            "",
            f"**{good} of {len(rows)}** are good. Checking mode is silent in {silent}.",
            "",
            "| on the chip | rows | meaning |",
            "|---|---|---|",
            *(f"| {kind} | {count} | {_meaning(kind)} |" for kind, count in classes.most_common()),
            "",
            "| model | chip | tasks | on the AI CPU | modelled us | error | rounding alone | findings | verdict |",
            "|---|---|---|---|---|---|---|---|---|",
            *map(line, rows),
            "",
            "## Left to the AI CPU",
            "",
            *(hosts(rows) or ["Nothing."]),
        ]
    )


def _meaning(kind: str) -> str:
    return "an error, told in the table" if kind == FAILED else MEANING.get(kind, "")


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    numbers = [f"{row[key]:.1e}" if key in row else "-" for key in ("fp16", "rounding")]
    time = f"{row['us']:.1f}" if "us" in row else "-"
    host = sum(count for count, _ in row.get("aicpu", {}).values())
    verdict = row["verdict"].replace("|", "\\|")
    cells = [
        row["model"],
        row["soc"],
        row.get("tasks", "-"),
        host,
        time,
        *numbers,
        len(row.get("findings", [])),
        verdict,
    ]
    return f"| {' | '.join(map(str, cells))} |"


def hosts(rows: list[dict[str, Any]]) -> list[str]:
    """Operators that run on the AI CPU, with the reason why."""
    tasks: Counter[tuple[str, str]] = Counter()
    models: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for name, (count, reason) in row.get("aicpu", {}).items():
            tasks[name, reason] += count
            models.setdefault((name, reason), set()).add(row["model"])
    lines = [f"| `{key[0]}` | {count} | {len(models[key])} | {key[1]} |" for key, count in tasks.most_common()]
    return ["| operator | tasks | models | reason |", "|---|---|---|---|", *lines] if lines else []


if __name__ == "__main__":
    main()
