"""The ONNX Backend Test Suite: every case through import, passes and reference, and through the modelled chip."""

import pytest
from onnx_backend import known_failures
from onnx_backend.cases import all_cases
from onnx_backend.through import Outcome, through_reference

CASES = all_cases()


def passed(name: str, table: dict[str, str], outcome: Outcome | Exception) -> bool:
    """Whether the case passes; fails where that is not what the table says."""
    reason = known_failures.reason(table, name)
    if isinstance(outcome, Exception) and reason is None:
        pytest.fail(f"{type(outcome).__name__}: {outcome}", pytrace=False)
    if not isinstance(outcome, Exception) and reason is not None:
        pytest.fail(f"passes, but is a known failure: {reason}", pytrace=False)
    return reason is None


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    case = CASES[name]
    try:
        outcome: Outcome | Exception = through_reference(case)
    except Exception as error:
        outcome = error
    passed(name, known_failures.REFERENCE, outcome)
