"""The demo's printed answers, on the smallest of the light models."""

import re

import pytest

from graph_engine.tools.demo import main


def test_the_demo_prints_what_it_promises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", "squeezenet", "--seed", "9"]) == 0
    text = capsys.readouterr().out
    for promise in (
        r"\d+ operators before fusion, \d+ tasks after it",
        r"squeezenet on Ascend310P3: .* FPS",
        r"TransData \d+ \(.*% of task time",
        r"memory: workspace .* \(lower bound .*\)",
        r"Longest tasks \(10 of \d+\)",
        r"logits\): 0\.\d+% of the range at most, cosine 0\.9999|cosine 1\.0000",
    ):
        assert re.search(promise, text), promise
    before, after = re.search(r"(\d+) operators before fusion, (\d+) tasks", text).groups()
    assert int(after) < int(before)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--model resnet51", "--model resnet51: no light model"),
        ("--batch 0", "--batch is at least 1"),
        ("--batc 2", "unknown option '--batc', did you mean '--batch'?"),
    ],
)
def test_wrong_flags(flags: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(flags.split())
    except SystemExit as stop:
        code = stop.code
    error = capsys.readouterr().err
    assert code == 1
    assert message in error
    assert error.count("\n") == 1
