"""The precision flags of ge-opt, ge-run and the demo: they reach the pipeline, and errors are one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from models.small import SMALL

from graph_engine.tools import demo
from graph_engine.tools.ge_opt.main import main as ge_opt
from graph_engine.tools.ge_run.main import main as ge_run

GRAPH = """
func.func @main(%x: tensor<4x16xf32> {ge.name = "x"}) -> (tensor<16x4xf32> {ge.name = "y"}) {
  %0 = ge.exp %x : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("first"("Exp"("e")))
  %1 = ge.transpose %0 {perm = [1, 0]} : (tensor<4x16xf32>) -> tensor<16x4xf32> loc("between"("Transpose"("t")))
  %2 = ge.softmax %1 : (tensor<16x4xf32>) -> tensor<16x4xf32> loc("second, last"("Softmax"("y")))
  return %2 : tensor<16x4xf32>
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a graph, a model and a list whose name has a blank and a key of the pipeline in it."""
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(GRAPH)
    Path("my $soc list.txt").write_text("second, last\n")
    onnx.save(SMALL["mlp"](), "m.onnx")
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "half"),
    [
        ([], {"ge.exp", "ge.softmax"}),
        (["--precision-mode=origin"], set[str]()),
        (["--precision-mode", "must_keep_origin_dtype"], set[str]()),
        (["--keep-dtype-nodes=first"], {"ge.softmax"}),
        (["--keep-dtype=my $soc list.txt"], {"ge.exp"}),
        (["--default-pipeline=precision-mode=origin"], set[str]()),
        (["--default-pipeline=keep-dtype='my $soc list.txt'"], {"ge.exp"}),
        (["--default-pipeline=precision-mode=fp16", "--precision-mode=origin"], {"ge.exp", "ge.softmax"}),
    ],
)
def test_ge_opt(flags: list[str], half: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert ge_opt(["--compile-to=precision", "m.mlir", *flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = {op for op in ("ge.exp", "ge.softmax") for line in lines if f"{op} " in line and "xf16>" in line}
    assert found == half


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--compile-to=precision --precision-mode=orgin", "unknown precision mode 'orgin', did you mean 'origin'?"),
        ("--compile-to=precision --precision-mod=origin", "did you mean '--precision-mode'?"),
        ("--compile-to=precision --keep-dtype=none.txt", "cannot read none.txt: No such file or directory"),
        ("--compile-to=precision --modify-mixlist=m.json", "changes the lists of precision mode allow_mix_precision"),
        (
            "--compile-to=precision --keep-dtype-nodes=frist,x",
            "called 'frist', did you mean 'first'?; no node is called 'x'",
        ),
        (
            "--precision-mode=origin --force-fp16",
            "--precision-mode is for the default pipeline: add --default-pipeline",
        ),
        ("--default-pipeline=precision_mod=origin", "has no option 'precision_mod', did you mean 'precision_mode'?"),
    ],
)
def test_ge_opt_refuses(flags: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = ge_opt([*flags.split(), "m.mlir"])
    except SystemExit as stop:
        code = stop.code
    error = capsys.readouterr().err
    assert code == 1
    assert message in error
    assert error.count("\n") == 1


def test_ge_run_keeps_the_models_types(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("half", "origin")
    for name, flags in zip(names, ([], ["--precision-mode=origin"]), strict=True):
        run = ["--model=m.onnx", "--fill=random", "--mode=functional", f"--output={name}", *flags]
        assert ge_run(run) == 0
    half, origin = (np.load(Path(name) / "m_output_0.npy") for name in names)
    assert ge_run(["--model=m.onnx", "--fill=random", "--engine=reference", "--output=right"]) == 0
    right = np.load(Path("right") / "m_output_0.npy")
    assert np.abs(origin - right).max() < 1e-5 < np.abs(half - right).max()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--model m.onnx --precision-mode fp61", "unknown precision mode 'fp61', did you mean 'fp16'?"),
        ("--model m.onnx --engine reference --precision-mode fp16", "precision modes are for the compiler"),
        ("--model m.om --keep-dtype-nodes a", "--keep-dtype-nodes is for .onnx and .mlir models"),
    ],
)
def test_ge_run_refuses(flags: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.om").write_bytes(b"")
    assert ge_run(flags.split()) == 1
    assert message in capsys.readouterr().err


def test_the_demo_refuses_before_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--model", "squeezenet", "--precision-mode", "orign"]) == 1
    assert "did you mean 'origin'?" in capsys.readouterr().err
