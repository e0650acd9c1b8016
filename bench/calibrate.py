"""Fits a few values of a chip file to published times of whole networks.

    python bench/calibrate.py TABLE.csv CACHE [--soc NAME|FILE] [--batches 1,8] [--values KEY=VALUE,...]

CACHE holds the compiled programs that `validate_timing.py TABLE.csv --cache CACHE` keeps; those that are missing there
are left out. `KNOBS` names every value that may be fitted, and the range that its physical meaning allows: eight at
most. Only the networks whose sha256 of the name is even are fitted, those without pre-processing of images in the
model; the odd ones are only reported, before and after.

What is minimised is the mean over networks of |log(ours / published)|. A network whose compiled code is more than
`HOPELESS` times off is a matter of the compiler and must not bend the chip: it is left out. Each network is timed once
with the chip file and once with each step of each knob; between them the effects are added up, and the best sum of
steps is searched. What is printed as "after" is timed with all values together. Nothing is written. `--values` does not fit, but compares the chip file with these values.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import itertools
import math
import pickle
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validate_timing import cached, error, to_report

if TYPE_CHECKING:
    from graph_engine.target_ascend.soc.soc import Soc

Values = Mapping[str, float]


@dataclass(frozen=True)
class Knob:
    """A value of the chip file by its key (`*` and `?` for several paths at once), its steps and what bounds them."""

    key: str
    steps: tuple[float, ...]
    why: str


KNOBS = (
    Knob("paths.*@ddr.bytes_per_cycle", (17, 19), "17 is published; 8 x 21 is the share of the chip's 180 GB/s"),
    Knob("paths.*@ddr.latency_cycles", (400, 1400), "200 and 1400 are published, for other chips"),
    Knob("paths.*@l2.latency_cycles", (100,), "50 is published, for another chip"),
    Knob("overheads.sw_init_us", (1.0, 1.7, 2.0), "1 us is published at 1800 MHz: 1.7 us for as many cycles here"),
)
"""What may be fitted. A key `vector.ops` would be a factor to all slopes."""

HOPELESS = 2.5


@dataclass(frozen=True, eq=False)
class Case:
    """A compiled network at a batch size and its published milliseconds."""

    network: str
    batch: int
    published: float
    aipp: bool
    program: Any


def main() -> int:
    """Fits, and prints the values and the errors before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="the published measurements")
    parser.add_argument("cache", type=Path, help="folder of compiled programs")
    parser.add_argument("--soc", default="Ascend310P3", help="chip or chip file to begin with")
    parser.add_argument("--batches", default="", help="batch sizes, with commas (default: all that are kept)")
    parser.add_argument("--values", default="", help="compare the chip file with these values instead of fitting")
    options = parser.parse_args()

    from graph_engine.target_ascend.soc.soc import load_soc

    cases = kept_cases(options.table, options.cache, {int(batch) for batch in options.batches.split(",") if batch})
    fitted = [case for case in cases if not to_report(case.network) and not case.aipp]
    if not fitted:
        print("error: no compiled program of a network to fit on", file=sys.stderr)
        return 1
    soc = load_soc(options.soc)
    given = {key: float(value) for key, value in (item.split("=") for item in options.values.split(",") if item)}
    values = given or fit(fitted, soc)
    print("\n".join(report(cases, soc, values)))
    return 0


def kept_cases(table: Path, cache: Path, batches: set[int]) -> list[Case]:
    """The fp16 rows of the table whose compiled program is kept, at these batch sizes (all if there are none)."""
    cases: list[Case] = []
    with table.open() as file:
        for row in csv.DictReader(file):
            batch, path = int(row["batch"]), cached(cache, row["model"], int(row["batch"]))
            if row["precision"] == "fp16" and (not batches or batch in batches) and path.exists():
                program = pickle.loads(path.read_bytes())
                cases.append(Case(row["model"], batch, float(row["latency_ms"]), row["aipp"] == "yes", program))
    return cases


def fit(cases: Sequence[Case], soc: Soc) -> dict[str, float]:
    """The best sum of steps."""
    base = {case: milliseconds(case, soc) for case in cases}
    cases = [case for case in cases if 1 / HOPELESS < base[case] / case.published < HOPELESS]
    print(f"fitted on {len({case.network for case in cases})} networks, {len(cases)} times", flush=True)
    effects: dict[tuple[str, float], dict[Case, float]] = {}
    for knob in KNOBS:
        for step in knob.steps:
            chip = changed(soc, {knob.key: step})
            effects[knob.key, step] = {case: milliseconds(case, chip) - base[case] for case in cases}
            print(f"  {knob.key} {step:g}: {mean_log(cases, base, [effects[knob.key, step]]):.4f}", flush=True)
    best, values = mean_log(cases, base, []), dict[str, float]()
    print(f"  chip file: {best:.4f}")
    for steps in itertools.product(*[(None, *knob.steps) for knob in KNOBS]):
        chosen = {knob.key: step for knob, step in zip(KNOBS, steps, strict=True) if step is not None}
        found = mean_log(cases, base, [effects[item] for item in chosen.items()])
        if found < best - 1e-9:
            best, values = found, chosen
    print(f"  all together: {best:.4f}")
    return values


def mean_log(cases: Sequence[Case], base: Mapping[Case, float], added: Sequence[Mapping[Case, float]]) -> float:
    """Mean over networks of the mean over their batches of |log ratio|, effects added to the base."""
    by_network: dict[str, list[float]] = defaultdict(list)
    for case in cases:
        ours = base[case] + sum(effect[case] for effect in added)
        by_network[case.network].append(abs(math.log(max(ours, 1e-6) / case.published)))
    return statistics.mean(statistics.mean(found) for found in by_network.values())


def changed(soc: Soc, values: Values) -> Soc:
    """The chip with other values. Whole numbers stay whole."""
    for key, value in values.items():
        head, *middle, field = key.split(".")
        if head == "paths":
            (pattern,) = middle
            paths = {
                name: replace(path, **{field: int(value)}) if fnmatch.fnmatch(name, pattern) else path
                for name, path in soc.paths.items()
            }
            soc = replace(soc, paths=paths)
        elif key == "vector.ops":
            ops = {name: (max(1, round(slope * value)), fixed) for name, (slope, fixed) in soc.vector.ops.items()}
            soc = replace(soc, vector=replace(soc.vector, ops=ops))
        else:
            part = getattr(soc, head)
            soc = replace(soc, **{head: replace(part, **{field: type(getattr(part, field))(value)})})
    return soc


def milliseconds(case: Case, soc: Soc) -> float:
    """Our time of a case."""
    from graph_engine.target_ascend.runtime.device import find_entry, time_program

    return time_program(case.program, find_entry(case.program), soc).latency_us / 1e3


def report(cases: Sequence[Case], soc: Soc, values: Values) -> list[str]:
    """The fitted values, and the networks' errors with the chip file and with them."""
    lines = ["", "chip file -> values:"]
    lines += [f"  {key}: {values[key]:g}" for key in values] or ["  none is better than the chip file"]
    lines += ["", f"{'networks':<12}{'number':>8}{'median error':>22}{'p75':>18}{'median ratio':>18}"]
    chips = soc, changed(soc, values)
    groups = {
        "fitted": [c for c in cases if not to_report(c.network) and not c.aipp],
        "reported": [c for c in cases if to_report(c.network) and not c.aipp],
        "with AIPP": [c for c in cases if c.aipp],
    }
    for title, group in groups.items():
        if not group:
            continue
        figures = [merit(group, chip) for chip in chips]
        shown = [f"{a:.1%} -> {b:.1%}" for a, b in zip(figures[0][:2], figures[1][:2], strict=True)]
        ratio = f"{figures[0][2]:.2f} -> {figures[1][2]:.2f}"
        count = len({case.network for case in group})
        lines.append(f"{title:<12}{count:>8}{shown[0]:>22}{shown[1]:>18}{ratio:>18}")
    return lines


def merit(cases: Sequence[Case], soc: Soc) -> tuple[float, float, float]:
    """(median, 75th percentile) of the networks' errors, median ratio."""
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    for case in cases:
        rows[case.network].append({"ratio": milliseconds(case, soc) / case.published})
    errors = sorted(error(found) for found in rows.values())
    ratios = [row["ratio"] for found in rows.values() for row in found]
    return statistics.median(errors), errors[min(len(errors) - 1, int(0.75 * len(errors)))], statistics.median(ratios)


if __name__ == "__main__":
    sys.exit(main())
