"""Plants faults in lowered kernels and counts which of them checking mode or the numbers see.

    python bench/mutate_kernels.py --json rows.json [--soc Ascend310P3,Ascend910B3] [--only PATTERNS] [--most 4] [--seed 0]
    python bench/mutate_kernels.py --json rows.json --page > docs/mutations.md

For each kind of kernel (`CASES` of test/harness/mutation.py) a small model is compiled for a chip of the family with little
memory, so that kernels loop, rotate buffers and have tails. Each fault (`KINDS` of test/harness/kernel_mutants.py) is planted
in up to `--most` places of each kernel, drawn by the seed. A mutant must be refused, found by checking mode, or leave the
bound; else it must be equivalent: the same output bytes in program order and in seven adversarial orders of pipes and
blocks. Prints what escaped and exits 1 if anything did. Rows of chip and case that the file holds are not made again.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

from corpus_models import commit

FAMILIES = ("Ascend310", "Ascend310P3", "Ascend310B1", "Ascend910B3", "Ascend950PR_9599")
"""One chip of each way that Cube and Vector meet, and two element sets."""


def main() -> int:
    """Prints what escapes, or the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True, help="rows, those that are there and those to come")
    parser.add_argument("--soc", default=",".join(FAMILIES), help="chips, with commas")
    parser.add_argument("--only", default="*", help="patterns of cases, with commas")
    parser.add_argument("--kinds", default="*", help="patterns of faults, with commas")
    parser.add_argument("--most", type=int, default=4, help="places a fault and kernel")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", action="store_true", help="print the page of the rows")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(options.json.read_text()) if options.json.exists() else []
    if options.page:
        print(page(rows))
        return 0
    version = commit()
    for soc in options.soc.split(","):
        for case in cases(options.only):
            key = {"soc": soc, "case": case, "version": version}
            if any(key.items() <= row.items() for row in rows):
                continue
            start = time.process_time()
            for row in examined(soc, case, options):
                rows.append(key | row)
                if row["verdict"] == "escaped":
                    print(f"{soc} {case} {row['kernel']}: {row['kind']} at {row['place']}: {row['reason']}", flush=True)
            options.json.write_text(json.dumps(rows))
            mine = Counter(row["verdict"] for row in rows if key.items() <= row.items())
            print(f"{soc} {case}: {dict(mine)} in {time.process_time() - start:.0f} s", flush=True)
    return int(any(row["verdict"] == "escaped" for row in rows))


def cases(patterns: str) -> list[str]:
    """Names of the cases."""
    from harness.mutation import CASES

    return [name for name in CASES if any(fnmatch.fnmatch(name, pattern) for pattern in patterns.split(","))]


def examined(soc: str, case: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each mutant of a case."""
    from harness.kernel_mutants import KINDS, Mutant
    from harness.mutation import CASES, Subject, tight_chip

    with tempfile.TemporaryDirectory() as folder:
        subject = Subject(*CASES[case](), tight_chip(soc, Path(folder), case))
        for name, kernel in subject.kernels.items():
            for kind, planted in KINDS.items():
                if not any(fnmatch.fnmatch(kind, pattern) for pattern in options.kinds.split(",")):
                    continue
                found = list(planted(kernel))
                random = Random(f"{options.seed} {soc} {case} {name} {kind}")
                for place, faulty in random.sample(found, min(options.most, len(found))):
                    verdict = subject.judge(Mutant(kind, place, faulty))
                    yield {
                        "kernel": name,
                        "kind": kind,
                        "place": place,
                        "verdict": verdict.name,
                        "reason": verdict.reason,
                    }


def page(rows: list[dict[str, Any]]) -> str:
    """The page in Markdown."""
    from harness.kernel_mutants import KINDS

    counts = Counter(row["verdict"] for row in rows)
    versions = ", ".join(sorted({row["version"] for row in rows}))
    socs = list(dict.fromkeys(row["soc"] for row in rows))
    worth = len(rows) - counts[EQUIVALENT]
    return "\n".join(
        [
            "# Faults planted in kernels",
            "",
            f"Counted at commit {versions} by `bench/mutate_kernels.py`, which also writes this page. {PLANTED}",
            "",
            f"**{worth - counts[ESCAPED]} of {worth}** mutants that change a byte or race are caught; {counts[EQUIVALENT]} more are equivalent.",
            "",
            *_table("fault", KINDS, "kind", rows, {kind: _first_line(function) for kind, function in KINDS.items()}),
            "",
            *_table("kernels", dict.fromkeys(row["case"] for row in rows), "case", rows),
            "",
            *_table("chip", socs, "soc", rows),
            "",
            "## What finds them",
            "",
            "| first finding | mutants |",
            "|---|---|",
            *(f"| `{kind}` | {count} |" for kind, count in _reasons(rows, CHECKED).most_common()),
            "",
            "## Equivalent mutants",
            "",
            "Their outputs are those of the right kernel, byte for byte, in program order and in seven adversarial orders: that is",
            "shown for each. The reason is that of its kind.",
            "",
            "| fault | mutants | why it changes nothing |",
            "|---|---|---|",
            *_equivalents(rows),
            *_escapes(rows),
        ]
    )


PLANTED = """Each kernel is made for a chip of its
family with little memory, so that it loops, rotates its buffers and has tails. A mutant is *refused* where the chip cannot run
it, *checked* where [checking mode](checking.md) finds something, *numbers* where a result leaves the fp16 bound beside
onnxruntime, which is 0 for the kernels of integers. What is left must be *equivalent*; what is neither has *escaped*."""
REFUSED, CHECKED, NUMBERS, EQUIVALENT, ESCAPED = VERDICTS = ("refused", "checked", "numbers", "equivalent", "escaped")
WHY = {
    "drop_flag": "a barrier that stands for a flag gives the same order",
    "drop_barrier": "flags, or another barrier, give the same order",
    "drop_instruction": "it fills padding of a finite promise, or what is overwritten before it is read",
    "wrong_event": "the flag is used in one turn only, in which the rotation is at its first number",
    "late_wait": "what it waits for is ordered by another flag, or the instruction in front touches nothing of it",
    "early_set": "what waits for it touches nothing of the instruction behind",
    "swap_instructions": "neither touches what the other writes, or both belong to other pipes with flags between",
    "shift_offset": "lanes of padding, or a row that is repeated",
    "loop_step": "the loop passes once, or the step leads to the same bytes modulo the version",
    "stride": "the axis lies in padding, or the operand repeats one value",
    "swap_buffers": "the other buffer holds the same values",
    "wrong_version": "the loop passes once, or no other version is in use at the time",
    "overlap": "the lives of both buffers do not meet, or an instruction goes in place from the front",
    "extent": "a lane more or less of padding that nobody reads",
    "trip": "the pass too many or too few does the same once more, or nothing",
    "swap_operands": "sums, products, maxima and comparisons for equality do not mind",
    "parameter": "a bound that no index comes near, a fill of padding that promises nothing, a shift of 0",
    "accumulation": "the accumulator is 0, or there is one pass over K",
}
"""Reasons by kind of fault."""


def _first_line(function: Any) -> str:
    return (function.__doc__ or "").splitlines()[0]


def _table(
    title: str, names: Iterable[str], key: str, rows: list[dict[str, Any]], texts: Mapping[str, str] | None = None
) -> list[str]:
    lines = [f"| {title} |{' what it is |' if texts else ''} mutants | {' | '.join(VERDICTS)} |"]
    lines += ["|---" * (len(VERDICTS) + 2 + bool(texts)) + "|"]
    for name in names:
        counts = Counter(row["verdict"] for row in rows if row[key] == name)
        if counts:
            text = f" {texts[name]} |" if texts else ""
            numbers = " | ".join(str(counts[verdict]) for verdict in VERDICTS)
            lines.append(f"| `{name}` |{text} {counts.total()} | {numbers} |")
    return lines


def _reasons(rows: list[dict[str, Any]], verdict: str) -> Counter[str]:
    return Counter(row["reason"] for row in rows if row["verdict"] == verdict)


def _equivalents(rows: list[dict[str, Any]]) -> Iterator[str]:
    counts = Counter((row["kind"], row["reason"]) for row in rows if row["verdict"] == EQUIVALENT)
    for (kind, reason), count in sorted(counts.items()):
        why = "padding that promises nothing is other, and nobody reads it" if reason.startswith("other") else WHY[kind]
        yield f"| `{kind}` | {count} | {why} |"


def _escapes(rows: list[dict[str, Any]]) -> Iterator[str]:
    escaped = [row for row in rows if row["verdict"] == ESCAPED]
    if escaped:
        yield from ("", "## Escaped", "")
        for row in escaped:
            yield f"* {row['soc']}, {row['case']}, `{row['kernel']}`: `{row['kind']}` at {row['place']}: {row['reason']}"


if __name__ == "__main__":
    sys.exit(main())
