"""Switch files, counts and remarks on the command lines of ge-opt and ge-run."""

import json
from pathlib import Path

import pytest

from graph_engine.pipelines import registry
from graph_engine.tools.ge_opt.main import main as ge_opt
from graph_engine.tools.ge_run.main import main as ge_run

SOURCE = """
func.func @main(%x: tensor<16xf32> {ge.name = "x"}) -> (tensor<16xf32> {ge.name = "y"}) {
  %0 = ge.tanh %x : (tensor<16xf32>) -> tensor<16xf32>
  %1 = ge.relu %0 : (tensor<16xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.mlir"
    path.write_text(SOURCE)
    return str(path)


def ub_fusions(path: Path) -> dict[str, dict[str, str]]:
    return json.loads(path.read_text())["session_and_graph_id_0_0"]["ub_fusion"]


@pytest.fixture(autouse=True)
def forget_plugins():
    """A plug-in of one test must not answer for one of the same name in another."""
    yield
    registry.forget_plugins()


def test_ge_run_fuses_as_switched(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    counts, switches = tmp_path / "counts.json", tmp_path / "off.cfg"
    no_joints = tmp_path / "no_joints.cfg"
    no_joints.write_text("TbeMultiOutput:off")
    switches.write_text("TbeEltwiseFusionPass:off\nTbeMultiOutput:off")
    flags = ["--mode=functional", f"--fusion-result={counts}", "--remarks", "--remarks-filter=Kernel$"]
    assert ge_run(["--model", model, *flags, f"--fusion-switch-file={no_joints}"]) == 0
    assert list(ub_fusions(counts)) == ["TbeEltwiseFusionPass"]
    together = capsys.readouterr().err
    assert ge_run(["--model", model, *flags, f"--fusion-switch-file={switches}"]) == 0
    assert not ub_fusions(counts)
    alone = capsys.readouterr().err
    assert "@tanh_0" in alone and "@relu_0" in alone
    assert alone.count("analysis: ") == together.count("analysis: ") + 1


def test_ge_opt_counts_to_standard_error(model: str, capsys: pytest.CaptureFixture[str]):
    assert ge_opt(["--fuse-elementwise", "--fusion-result=-", model, "-o", "/dev/null"]) == 0
    found = json.loads(capsys.readouterr().err)["session_and_graph_id_0_0"]
    assert found["ub_fusion"]["TbeEltwiseFusionPass"]["match_times"] == "1"


def test_a_reproducer_names_the_switch_file(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin, switches = tmp_path / "crash.py", tmp_path / "off.cfg"
    plugin.write_text(
        "from dataclasses import dataclass\n"
        "from graph_engine.transforms.pass_base import GePass\n"
        "@dataclass(frozen=True)\n"
        "class Crash(GePass):\n"
        "    name = 'crash'\n"
        "    def apply(self, ctx, op):\n"
        "        raise KeyError('x')\n"
    )
    switches.write_text("fuse-elementwise:off")
    out = tmp_path / "r.mlir"
    flags = [f"--fusion-switch-file={switches}", f"--crash-reproducer={out}", f"--load-plugin={plugin}"]
    assert ge_opt([*flags, "--fuse-elementwise", "--crash", model]) == 1
    assert f"--fusion-switch-file={switches}" in capsys.readouterr().err
    assert "ge.fused" not in out.read_text()


def test_bisecting_takes_no_switch_file(model: str, capsys: pytest.CaptureFixture[str]):
    assert ge_opt(["--bisect", "--fusion-switch-file=x", model]) == 1
    assert "--fusion-switch-file does not go with it" in capsys.readouterr().err
