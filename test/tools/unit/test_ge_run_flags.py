"""ge-run's command line: every contradiction is one line on standard error, exit code 1, no traceback."""

from pathlib import Path

import pytest

from graph_engine.tools.ge_run.main import main


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("", "the following arguments are required: --model"),
        ("--model m.om --engin reference", "unknown option '--engin', did you mean '--engine'?"),
        ("--model m.om extra.om", "unexpected 'extra.om'"),
        ("--model m.om --engine numpy", "--engine numpy: choose chip or reference"),
        ("--model m.om --mode fast", "--mode fast: choose functional, timing or both"),
        ("--model m.om --outfmt JPG", "--outfmt JPG: choose NPY, BIN or TXT"),
        ("--model m.om --fill ones", "--fill ones: choose zero or random"),
        ("--model m.om --seed x", "invalid int value: 'x'"),
        ("--model m.om --fill random --seed -1", "--seed -1: a seed is not negative"),
        ("--model m.om --input x.npy --fill random", "--fill is for runs without --input"),
        ("--model m.onnx --engine reference --mode timing", "cannot run with --mode timing"),
        ("--model m.onnx --engine reference --mode both", "cannot run with --mode both"),
        ("--model m.onnx --engine reference --check", "--check needs the chip's memories"),
        ("--model m.onnx --engine reference --profile", "--profile needs times"),
        ("--model m.onnx --mode functional --trace t.json", "--trace needs times"),
        ("--model m.om --mode timing --check", "--check needs values"),
        ("--model m.onnx --engine reference --remarks", "--remarks is for the compiler"),
        ("--model m.onnx --engine reference --fusion-switch-file f", "--fusion-switch-file is for the compiler"),
        ("--model none.om", "cannot read none.om: No such file or directory"),
        ("--model none.onnx", "cannot read none.onnx: No such file or directory"),
        ("--model none.onnx --engine reference", "cannot read none.onnx: No such file or directory"),
    ],
)
def test_contradictions(
    flags: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = main(flags.split())
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 1
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "flags", "message"),
    [
        ("m.txt", b"hello", "", "a model is an .om, .onnx or .mlir file"),
        ("m.om", b"hello", "", "is not an OM file: it starts with 68 65 6c 6c 6f"),
        ("m.om", b"", "", "the file is empty"),
        ("m.om", b"hello", "--engine reference", "holds kernels and no graph"),
        ("m.om", b"hello", "--input-shape x:1", "--input-shape is for .onnx models"),
    ],
)
def test_wrong_models(
    name: str, content: bytes, flags: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert main(["--model", str(path), *flags.split()]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_a_vendor_om_prints_its_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "v.om"
    path.write_bytes(b"IMOD" + bytes([0, 1, 0, 0, 0, 0, 0, 0x20]) + bytes(244))
    assert main(["--model", str(path)]) == 1
    error = capsys.readouterr().err
    assert "is a vendor OM file (IMOD)" in error
    assert "version: 0x20000000" in error
    assert "Traceback" not in error


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "--input-shape" in capsys.readouterr().out
