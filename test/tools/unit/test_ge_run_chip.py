"""ge-run through the whole chain on the modelled chip: every entrance and mode gives the same, judged by onnxruntime."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from models import light, small

from graph_engine.tools.ge_opt.main import main as ge_opt
from graph_engine.tools.ge_run.main import main as ge_run
from graph_engine.tools.ge_translate.main import main as ge_translate

PHASES = (
    "imported",
    "simplified",
    "fused",
    "precision",
    "laid-out",
    "grouped",
    "kernels",
    "scheduled",
    "planned",
    "tasks",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small residual block as .onnx, its input, onnxruntime's answer, the text of phase `imported` and the OM."""
    path = tmp_path_factory.mktemp("chip")
    model = small.residual(seed=2)
    onnx.save(model, str(path / "m.onnx"))
    feeds = light.random_inputs(model, 5)
    np.savez(path / "in.npz", **feeds)
    (wanted,) = light.reference_outputs(model, feeds).values()
    np.save(path / "wanted.npy", wanted)
    assert ge_translate(["--onnx-to-mlir", str(path / "m.onnx"), "-o", str(path / "imported.mlir")]) == 0
    assert (
        ge_opt(["--default-pipeline=soc=Ascend310P3", str(path / "imported.mlir"), "-o", str(path / "tasks.mlir")]) == 0
    )
    assert ge_translate(["--mlir-to-om", str(path / "tasks.mlir"), "-o", str(path / "m.om")]) == 0
    return path


def output(folder: Path, model: str, *flags: str) -> np.ndarray:
    out = folder / "out"
    assert (
        ge_run(["--model", str(folder / model), "--input", str(folder / "in.npz"), "--output", str(out), *flags]) == 0
    )
    return np.load(out / f"{Path(model).stem}_output_0.npy")


def test_the_om_is_within_the_fp16_bound_of_onnxruntime(folder: Path) -> None:
    wanted = np.load(folder / "wanted.npy")
    found = output(folder, "m.om", "--check")
    assert found.dtype == wanted.dtype
    assert np.abs(found - wanted).max() <= 0.01 * np.ptp(wanted)


@pytest.mark.parametrize("phase", PHASES)
def test_text_at_every_phase_gives_the_same_values(folder: Path, phase: str) -> None:
    text = folder / f"{phase}.mlir"
    if not text.exists():
        arguments = ["--default-pipeline", f"--compile-to={phase}", str(folder / "imported.mlir"), "-o", str(text)]
        assert ge_opt(arguments) == 0
    np.testing.assert_array_equal(output(folder, text.name), output(folder, "m.om"))


def test_the_onnx_file_gives_the_same_values(folder: Path) -> None:
    np.testing.assert_array_equal(output(folder, "m.onnx"), output(folder, "m.om"))


def test_every_mode_gives_the_same_values_and_times(folder: Path) -> None:
    functional = output(folder, "m.om", "--mode", "functional")
    np.testing.assert_array_equal(functional, output(folder, "m.om", "--mode", "functional", "--real-bytes"))
    both, timing = folder / "both.json", folder / "timing.json"
    np.testing.assert_array_equal(functional, output(folder, "m.om", "--profile-json", str(both)))
    assert ge_run(["--model", str(folder / "m.om"), "--mode", "timing", "--profile-json", str(timing)]) == 0
    assert both.read_text() == timing.read_text()
    profile = json.loads(both.read_text())
    assert profile["latency_us"] > 0
    named = {name for task in profile["tasks"] for name in task["source_nodes"]}
    model = onnx.load(str(folder / "m.onnx"))
    assert {node.name or f"<{node.output[0]}>" for node in model.graph.node if node.op_type == "Conv"} <= named


def test_timing_mode_writes_no_outputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "none"
    assert ge_run(["--model", str(folder / "m.om"), "--mode", "timing", "--output", str(out)]) == 0
    assert "computes no values" in capsys.readouterr().err
    assert not out.exists()


def test_two_runs_write_the_same_om(folder: Path) -> None:
    assert ge_translate(["--mlir-to-om", str(folder / "tasks.mlir"), "-o", str(folder / "again.om")]) == 0
    assert (folder / "again.om").read_bytes() == (folder / "m.om").read_bytes()
