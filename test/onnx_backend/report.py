"""Counts of the ONNX Backend Test Suite, and the page on which ONNX operator becomes what, from one run of all cases.

python test/onnx_backend/report.py           # print the counts
python test/onnx_backend/report.py --write   # also renew docs/onnx_operators.md and the row in README.md
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "test"))

from onnx_backend import known_failures  # noqa: E402
from onnx_backend.cases import Case, all_cases  # noqa: E402
from onnx_backend.through import SIZES, Outcome, through_chip, through_reference  # noqa: E402

PAGE, README = ROOT / "docs" / "onnx_operators.md", ROOT / "README.md"
ROW = re.compile(r"<!-- onnx suite -->.*?<!-- end -->")
GENERATED = "<!-- Written by test/onnx_backend/report.py from the code and a run of all cases; do not edit. -->"


@dataclass
class Result:
    """How a case went: `error` through the reference, `chip_error` behind it."""

    case: Case
    outcome: Outcome | None = None
    error: Exception | None = None
    chip_error: Exception | None = None

    @property
    def group(self) -> str:
        """The suite's kind of case; node cases of an operator and of its function body are two groups."""
        return (
            f"node, {'function bodies' if self.case.expanded else 'operators'}"
            if self.case.kind == "node"
            else self.case.kind
        )

    @property
    def on_the_chip(self) -> bool:
        """Whether the case ran on the modelled chip, rightly, by kernels or by the host's operators."""
        ran = self.outcome is not None and self.error is None and self.chip_error is None and self.case.kind != "real"
        return ran and self.outcome is not None and not self.outcome.refused

    @property
    def with_kernels(self) -> bool:
        """Whether it did so with something computed on the AI Core."""
        return self.on_the_chip and self.outcome is not None and self.outcome.kernels > 0

    @property
    def by_kernels_alone(self) -> bool:
        """Whether it did so without the host."""
        return self.on_the_chip and self.outcome is not None and not self.outcome.aicpu


def run_case(case: Case) -> Result:
    """The case through the reference and, if that is right, through the chip; with its sizes bound if it needs them."""
    result = Result(case)
    try:
        result.outcome, runs = through_reference(case)
    except Exception as error:
        result.error = error
        return result
    if case.kind != "real":  # the light networks go through the chip in test/acceptance
        try:
            through_chip(result.outcome, runs)
            if SIZES in result.outcome.refused and not result.outcome.bound:
                result.outcome, runs = through_reference(case, bind=True)
                through_chip(result.outcome, runs)
        except Exception as error:
            result.chip_error = error
    return result


COLUMNS: dict[str, Callable[[Result], bool]] = {
    "cases": lambda result: True,
    "right": lambda result: result.error is None,
    "with inputs bound": lambda result: result.error is None and bool(result.outcome and result.outcome.bound),
    "on the chip": lambda result: result.on_the_chip,
    "with kernels": lambda result: result.with_kernels,
    "by kernels alone": lambda result: result.by_kernels_alone,
}


def counts_table(results: Iterable[Result]) -> list[str]:
    """Counts by group, as a Markdown table."""
    results = list(results)
    groups = dict.fromkeys(result.group for result in results)
    lines = [f"| group | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
    for group in [*groups, "all"]:
        members = [result for result in results if group in (result.group, "all")]
        lines.append(f"| {group} | {' | '.join(str(sum(map(count, members))) for count in COLUMNS.values())} |")
    return lines


def failures_table(results: Iterable[Result]) -> list[str]:
    """Known failures by reason."""
    lines = ["| cases | do not pass because |", "|---:|---|"]
    for table, wrong in (
        (known_failures.REFERENCE, lambda result: result.error),
        (known_failures.CHIP, lambda result: result.chip_error),
    ):
        reasons = Counter(known_failures.reason(table, result.case.name) for result in results if wrong(result))
        lines += [f"| {count} | {reason} |" for reason, count in reasons.most_common()]
    return lines


def summary(results: Iterable[Result]) -> str:
    """The README's row."""
    results = list(results)
    right, chip, kernels = (sum(map(COLUMNS[name], results)) for name in ("right", "on the chip", "with kernels"))
    return (
        f"{right:,} of {len(results):,} cases of the ONNX Backend Test Suite agree through import, passes and reference, "
        f"{chip:,} also on the modelled chip, {kernels:,} of them with kernels"
    )


def operators_table(results: Mapping[str, Result]) -> list[str]:
    """One row an ONNX operator: what it becomes, how its cases fare, and what the converter says."""
    from graph_engine.frontend_onnx import constant
    from graph_engine.frontend_onnx.folding import FOLDS
    from graph_engine.frontend_onnx.importer import CONVERTERS

    stated = {"Constant": constant.constant, "ConstantOfShape": constant.constant_of_shape}
    stated |= dict.fromkeys(("Shape", "Size"), constant.shape_value)
    functions: dict[str, Callable[..., object]] = {**FOLDS, **stated, **CONVERTERS}
    lines = ["| ONNX | becomes | cases | right | with kernels | |", "|---|---|---:|---:|---:|---|"]
    for name in sorted(functions, key=str.casefold):
        cases = [r for r in results.values() if r.case.operator == name and not r.case.expanded]
        made = [r.outcome.imported for r in cases if r.error is None and r.outcome is not None]
        counted = Counter(operator for one in made for operator in one)
        always = [f"`{op}`" for op, count in counted.most_common() if count == len(made)]
        others = [f"`{op}`" for op, count in counted.most_common() if count < len(made)]
        becomes = ", ".join(always) + (f" ({', '.join(others)})" if others else "")
        if made and not counted:
            becomes = "nothing"
        numbers = (len(cases), len(made), sum(r.with_kernels for r in cases)) if cases else ("", "", "")
        doc = (inspect.getdoc(functions[name]) or "").partition("\n\n")[0]
        text = " ".join(doc.split()).replace("|", "\\|")
        lines.append(f"| {name} | {becomes} | {' | '.join(map(str, numbers))} | {text} |")
    return lines


def page(results: Mapping[str, Result]) -> str:
    """docs/onnx_operators.md."""
    return "\n".join(
        [
            GENERATED,
            "",
            "# ONNX operators",
            "",
            "Which ONNX operator becomes which [`ge` operators](dialects.md), taken from importing the cases of the ONNX",
            "Backend Test Suite, and what its converter says. Operators in parentheses appear in some of its cases.",
            "Operators without cases come from exporters' own domains or only in older opsets.",
            "",
            "## The suite",
            "",
            f"{summary(results.values())}.",
            "`right`: imported, simplified, fused, and run by the reference within the suite's own tolerances. `with inputs",
            "bound`: the graph is static only with shapes, axes or bounds fixed, as `--bind-input` does. `on the chip`: run",
            "on the modelled chip in fp16, within four times what fp16 costs; `with kernels`: something other than casts and",
            "formats on the AI Core; `by kernels alone`: nothing on the host. The light networks (`real`) go through the chip",
            "in a test of their own.",
            "",
            *counts_table(results.values()),
            "",
            *failures_table(results.values()),
            "",
            "## Operators",
            "",
            *operators_table(results),
            "",
        ]
    )


def with_row(readme: str, results: Iterable[Result]) -> str:
    """README.md with the row as it is now."""
    return ROW.sub(lambda _: f"<!-- onnx suite -->{summary(results)}<!-- end -->", readme)


def outdated(results: Mapping[str, Result]) -> dict[Path, str]:
    """The files that differ from what the results say, with their new content."""
    wanted = {PAGE: page(results), README: with_row(README.read_text(encoding="utf-8"), results.values())}
    return {
        path: text for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def main() -> None:
    """Command line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = {name: run_case(case) for name, case in all_cases().items()}
    print("\n".join([*counts_table(results.values()), "", *failures_table(results.values())]))
    if "--write" in sys.argv[1:]:
        for path, text in outdated(results).items():
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
