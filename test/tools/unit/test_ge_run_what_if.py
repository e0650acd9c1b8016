"""ge-run --what-if and --sensitivity: the times of a chip file that says the same, and refusals in one line."""

import re
from pathlib import Path

import onnx
import pytest
from models.small import GraphBuilder

from graph_engine.tools.ge_opt.main import main as optimise
from graph_engine.tools.ge_run.main import main
from graph_engine.tools.ge_translate.main import main as translate


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three convolutions as ONNX and OM, and a chip file with twice the UB and half the overhead of set-up."""
    path = tmp_path_factory.mktemp("what_if")
    b = GraphBuilder()
    y = b.conv_bn_relu(b.input("x", (1, 16, 56, 56)), 16, 64)
    b.node("Relu", [b.conv(b.conv_bn_relu(y, 64, 128, strides=[2, 2]), 128, 128)], "y")
    onnx.save(b.model("y"), str(path / "m.onnx"))
    assert translate(["--onnx-to-mlir", str(path / "m.onnx"), "-o", str(path / "m.mlir")]) == 0
    assert optimise(["--default-pipeline=soc=Ascend310P3", str(path / "m.mlir"), "-o", str(path / "t.mlir")]) == 0
    assert translate(["--mlir-to-om", str(path / "t.mlir"), "-o", str(path / "m.om")]) == 0
    values = "buffers: {ub: {value: 524288, assumed: x}}\noverheads: {sw_init_us: {value: 0.5, assumed: x}}\n"
    (path / "chip.yaml").write_text(f"extends: Ascend310P3\nsources: {{}}\n{values}")
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def latency(text: str) -> list[str]:
    found = re.search(r"latency ([\d.]+) (?:-> ([\d.]+) )?us", text)
    assert found is not None
    return [number for number in found.groups() if number]


def test_the_time_is_that_of_a_chip_file_that_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]):
    model = str(folder / "m.onnx")
    (now,) = latency(printed(capsys, "--model", model, "--mode", "timing"))
    (then,) = latency(printed(capsys, "--model", model, "--mode", "timing", "--soc-file", str(folder / "chip.yaml")))
    text = printed(capsys, "--model", model, "--what-if", "ub_size=512K,overheads.sw_init_us=0.5us")
    assert latency(text) == [now, then]
    assert "what if ub_size 262144 -> 524288, overheads.sw_init_us 1.7 -> 0.5:" in text
    assert re.search(r"^bottleneck: .+ \d+% \(\d+ tasks\) -> .+ \d+% \(\d+ tasks\)$", text, re.M)


def test_a_rate_times_an_om_again(folder: Path, capsys: pytest.CaptureFixture[str]):
    text = printed(capsys, "--model", str(folder / "m.om"), "--what-if", "hbm_bandwidth=2x")
    now, then = map(float, latency(text))
    assert then < now
    rows = re.findall(r"^  .{22} *([\d.]+) +([\d.]+)$", text, re.M)
    for column, total in enumerate((now, then)):
        assert sum(float(row[column]) for row in rows) == pytest.approx(total, abs=0.05), "the reasons add up"


def test_sensitivity_ranks(folder: Path, capsys: pytest.CaptureFixture[str]):
    text = printed(capsys, "--model", str(folder / "m.om"), "--sensitivity")
    rows = re.findall(r"^(\w+) +([\d.]+) us +([-+][\d.]+)% +([\d.]+) us +([-+][\d.]+)%", text, re.M)
    assert {"hbm_bandwidth", "l2_bandwidth", "frequency", "cube_rate", "launch_overhead"} <= {row[0] for row in rows}
    assert [float(row[1]) for row in rows] == sorted(float(row[1]) for row in rows)
    assert all(float(row[2]) <= 0 <= float(row[4]) for row in rows)
    assert "not asked or without an answer: l1_size, ub_size, l0a_size, l0b_size, l0c_size, cores" in text


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--what-if ub_size=512K", "ub_size=512K: kernels are built by it, and an OM file cannot be compiled again"),
        ("--what-if hbm_bandwith=2x", "did you mean hbm_bandwidth?"),
        ("--what-if l2_size=1x --mode functional", "--what-if compares times: it cannot go with --mode functional"),
        ("--sensitivity --check", "--sensitivity compares times: --check does not go with it"),
        ("--sensitivity --engine reference", "--engine reference has no clock"),
        ("--what-if l2_size=1x --profile-json p", "--what-if compares times: --profile-json does not go with it"),
    ],
)
def test_refusals(folder: Path, flags: str, message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--model", str(folder / "m.om"), *flags.split()]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
