"""Writes the page about conversions of format over a corpus of models, from the rows of `bench/layout.py`.

    python bench/layout.py FOLDER --time --json rows.json
    python bench/layout_page.py rows.json > docs/layout_corpus.md

The date on the page is that of the rows.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from layout import WAYS, proof, worse

MEANING = {
    "default": "a minimum cut",
    "heavy-spread": "GE's way: heavy operators push their format to the neighbours",
    "unfused": "a minimum cut, every fusion switched off",
    "around": "nothing but heavy operators leaves ND",
}


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--commit", default="", help="what was measured, if all rows are of one commit")
    options = parser.parse_args()
    path: Path = options.rows
    rows: list[dict[str, Any]] = sorted(json.loads(path.read_text()), key=lambda row: row["model"])
    print(page(rows, datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat(), options.commit))


def page(rows: list[dict[str, Any]], date: str, commit: str) -> str:
    """The page in Markdown."""
    good = [row for row in rows if "error" not in row]
    failed = [row for row in rows if "error" in row]
    ratios = {way: _share([row[way][2] for row in good], [row["default"][2] for row in good]) for way in WAYS}
    tasks = {way: _share([row[way][0] for row in good], [row["default"][0] for row in good]) for way in WAYS}
    proved = sum(row["cost"] == row["bound"] for row in good)
    timed = any("us" in row for row in good)
    reasons = Counter(reason for row in good for reason in row["why default"])
    lines = [
        "# Conversions of format in real architectures",
        "",
        f"Measured on {date}{commit and f', at {commit},'} by `bench/layout.py FOLDER`, written by `bench/layout_page.py`: {len(good)} exported graphs of",
        "known architectures, each compiled in four ways. KB are what tasks read and write only to store the same elements",
        "otherwise, wherever that happens: TransData, transposes, and both on the AI CPU. How formats are chosen, and how to",
        "ask why a TransData is there: [formats and TransData](layout.md).",
        "",
        "| way | | tasks | KB |",
        "|---|---|---|---|",
        *(f"| {way} | {MEANING[way]} | {tasks[way]:.2f} x | {ratios[way]:.2f} x |" for way in WAYS),
        "",
        f"The minimum cut is proved optimal for {proved} of {len(good)}; it moves more than the spread in "
        f"{sum(map(worse, good))}. The last column says",
        "so, or how much more than the lower bound its conversions move. Columns of a way: tasks, TransData among them, KB.",
        "",
        f"| model | operators | {' | '.join(WAYS)} |{' us |' if timed else ''} minimum cut |",
        f"|---|---|---|---|---|---|{'---|' if timed else ''}---|",
        *(line(row, timed=timed) for row in good),
        "",
        "## Why the default's TransData are there",
        "",
        "| TransData | reason |",
        "|---|---|",
        *(f"| {count} | {reason} |" for reason, count in reasons.most_common()),
    ]
    if failed:
        lines += ["", "## Not measured", "", *(f"* {row['model']}: {row['error']}" for row in failed)]
    return "\n".join(lines)


def _share(numbers: list[int], of: list[int]) -> float:
    return sum(numbers) / max(sum(of), 1)


def line(row: dict[str, Any], *, timed: bool) -> str:
    """A row of the table; `timed` tables have the latency of the default."""
    cells = " | ".join(f"{row[way][0]}, {row[way][1]}, {row[way][2] / 1024:,.0f}" for way in WAYS)
    us = f" {row['us']:,.0f} |" if "us" in row else " - |"
    return f"| {row['model']} | {row['ops']} | {cells} |{us if timed else ''} {proof(row)} |"


if __name__ == "__main__":
    main()
