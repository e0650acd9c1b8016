"""The ONNX Backend Test Suite: every case through import, passes and reference, and through the modelled chip."""

import pytest
from onnx_backend import known_failures
from onnx_backend.cases import all_cases
from onnx_backend.through import through_chip, through_reference

CASES = all_cases()


def as_expected(what: str, error: Exception | None, reason: str | None) -> bool:
    """Whether the case passes; fails where that is not what the side table says."""
    if error is not None and reason is None:
        pytest.fail(f"{what}: {type(error).__name__}: {error}", pytrace=False)
    if error is None and reason is not None:
        pytest.fail(f"{what}: passes, but is listed as a known failure: {reason}", pytrace=False)
    return error is None


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    error, outcome, runs = None, None, []
    try:
        outcome, runs = through_reference(CASES[name])
    except Exception as caught:
        error = caught
    if not as_expected("reference", error, known_failures.reason(known_failures.REFERENCE, name)):
        return
    if CASES[name].kind == "real":  # the light networks go through the chip in test/acceptance
        return
    assert outcome is not None
    try:
        through_chip(outcome, runs)
    except Exception as caught:
        error = caught
    as_expected("chip", error, known_failures.reason(known_failures.CHIP, name))


@pytest.mark.parametrize("table", ["REFERENCE", "CHIP"])
def test_every_known_failure_is_a_case(table: str) -> None:
    entries = getattr(known_failures, table)
    assert [entry for entry in entries if not any(known_failures.matches(entry, name) for name in CASES)] == []
