"""The flags that choose a chip: by name, by file, listed; wrong ones are one line and name the nearest."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_engine.target_ascend.soc.soc import available_socs
from graph_engine.tools.ge_opt.main import main as ge_opt
from graph_engine.tools.ge_run.main import main as ge_run

GRAPH = """
func.func @main(%x: tensor<4x16xf16> {ge.name = "x"}) -> (tensor<4x16xf16> {ge.name = "y"}) {
  %0 = ge.relu %x : (tensor<4x16xf16>) -> tensor<4x16xf16>
  return %0 : tensor<4x16xf16>
}
"""
WHAT_IF = "extends: Ascend310P3\nname: {value: Wide, assumed: what if}\nsources: {}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a graph and a chip."""
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(GRAPH)
    Path("wide.yaml").write_text(WHAT_IF)
    return tmp_path


@pytest.mark.parametrize("tool", [ge_opt, ge_run])
def test_every_chip_is_listed(tool: object, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        tool(["--list-socs"])  # pyright: ignore[reportCallIssue]
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(available_socs())


@pytest.mark.parametrize(
    ("flags", "soc"),
    [
        ([], "Ascend310P3"),
        (["--soc-version", "Ascend910A"], "Ascend910A"),
        (["--soc-file=wide.yaml"], "wide.yaml"),
        (["--default-pipeline=soc=Ascend310P1", "--soc-version=Ascend910A"], "Ascend310P1"),
    ],
)
def test_the_program_is_for_the_chip(flags: list[str], soc: str, capsys: pytest.CaptureFixture[str]):
    assert ge_opt(["m.mlir", "--compile-to=tasks", *flags]) == 0
    assert f'"{soc}"' in capsys.readouterr().out


def test_a_model_runs_on_a_chip_of_ones_own(capsys: pytest.CaptureFixture[str]):
    assert ge_run(["--model", "m.mlir", "--fill=random", "--soc-file", "wide.yaml", "--check"]) == 0
    assert "on Wide" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--soc-version=ascend910a1"], "unknown SoC 'ascend910a1'; did you mean Ascend910A?"),
        (["--soc-file=wide"], "a chip file ends in .yaml; --soc-version takes names"),
        (["--soc-file=none.yaml"], "none.yaml: no such chip description"),
        (["--soc-file=wide.yaml", "--soc-version=Ascend910A"], "--soc-version does not go with it"),
    ],
)
def test_wrong_chips_are_refused_before_any_work(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert ge_opt(["m.mlir", "--compile-to=tasks", "-o", "out.mlir", *flags]) == 1
    assert message in capsys.readouterr().err
    assert not Path("out.mlir").exists()


def test_a_chip_is_for_the_default_pipeline(capsys: pytest.CaptureFixture[str]):
    assert ge_opt(["m.mlir", "--ge-canonicalize", "--soc-version=Ascend910A"]) == 1
    assert "--soc-version is for the default pipeline" in capsys.readouterr().err
