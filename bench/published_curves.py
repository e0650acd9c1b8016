"""What published figures say of themselves, for the networks that are far from them: curves, revisions, libraries, notes.

Part of the page that `validate_timing.py` writes. A figure at batch 1 that does not scale holds time that no image takes: it is set
beside what an image takes in the larger batches. `published/remains.csv` holds what a person found, a line a network.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

FAR = 0.3
"""Error from which on a network is listed."""
NOTES = Path(__file__).parent / "published" / "remains.csv"

HEAD = (
    "What the published figures of each network that is more than 30 % off say of themselves. All are of one table: milliseconds an",
    "image at batch 1, at the next batch published and at the batch of the highest throughput; what batch 1 would take on the straight",
    "line from that next batch to the largest (a figure far above it holds time that no image takes, such as the host's); teraflops a",
    "second at batch 1, of the 69.5 that the Cube has, theirs and ours; how far revisions of the figure lie apart; the library. Our",
    "largest contributors are in the first table.",
)


def section(far: dict[str, float], table: Path, precision: str) -> list[str]:
    """The lines of the page; `far` is our time by published time at the first batch, by network."""
    with NOTES.open(encoding="utf-8") as file:
        notes = {row["model"]: row["note"] for row in csv.DictReader(file)}
    with table.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["precision"] == precision and row["model"] in far]
    lines = [
        *HEAD,
        "",
        "| network | ms at 1 | next | best | 1 on the line | TFLOPS | ours | apart | library | what is known |",
        "|---|" + "---:|" * 7 + "---|---|",
    ]
    for name, ratio in far.items():
        lines.append(f"| {name} | {cells((r for r in rows if r['model'] == name), ratio)} | {notes.get(name, '')} |")
    return lines


def cells(rows: Iterable[dict[str, str]], ratio: float) -> str:
    """The figures of one network as cells of its line."""
    curve = sorted(rows, key=lambda row: int(row["batch"]))
    times = {int(row["batch"]): float(row["latency_ms"]) for row in curve}
    first, *larger = times
    best = min(times, key=lambda batch: times[batch] / batch)
    on_line = next_one = "-"
    if larger:
        start, end = larger[0], larger[-1]
        next_one = f"{times[start] / start:.2f} ({start})"
        if end > start:
            slope = (times[end] - times[start]) / (end - start)
            on_line = f"{times[start] - (start - first) * slope:.2f}"
    teraflops = 2 * float(curve[0]["gmac"]) * first / times[first]
    low, high = float(curve[0]["published_min"]), float(curve[0]["published_max"])
    at = f"{times[first] / first:.2f}" + ("" if first == 1 else f" ({first})")
    return " | ".join(
        (
            *(at, next_one, f"{times[best] / best:.2f} ({best})", on_line, f"{teraflops:.1f}"),
            *(f"{teraflops / ratio:.1f}", f"{high / low - 1:.0%}", curve[0]["cann"] or "-"),
        )
    )
