"""The ONNX Backend Test Suite: every case through import, passes and reference, and through the modelled chip."""

import pytest
from onnx_backend import known_failures
from onnx_backend.cases import all_cases
from onnx_backend.report import Result, outdated, run_case

CASES = all_cases()
RESULTS: dict[str, Result] = {}


def check(what: str, error: Exception | None, reason: str | None) -> None:
    """Fails where a case passes or fails otherwise than the side table says."""
    if error is not None and reason is None:
        pytest.fail(f"{what}: {type(error).__name__}: {error}", pytrace=False)
    if error is None and reason is not None:
        pytest.fail(f"{what}: passes, but is listed as a known failure: {reason}", pytrace=False)


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    result = RESULTS[name] = run_case(CASES[name])
    check("reference", result.error, known_failures.reason(known_failures.REFERENCE, name))
    if result.error is None:
        check("chip", result.chip_error, known_failures.reason(known_failures.CHIP, name))


@pytest.mark.parametrize("table", ["REFERENCE", "CHIP"])
def test_every_known_failure_is_a_case(table: str) -> None:
    entries = getattr(known_failures, table)
    assert [entry for entry in entries if not any(known_failures.matches(entry, name) for name in CASES)] == []


def test_page_and_readme_say_what_the_suite_says() -> None:
    if RESULTS.keys() != CASES.keys():
        pytest.skip("needs the results of all cases")
    stale = [path.name for path in outdated(RESULTS)]
    assert not stale, f"run `python test/onnx_backend/report.py --write`: out of date are {', '.join(stale)}"
