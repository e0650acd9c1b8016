"""Switch files in both of GE's forms: which rewrites are made, what is told, and the counts of what was made."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from models.detector import detector
from models.light import random_inputs, reference_outputs
from models.small import conv_bn_relu, mlp

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines import ge_pass_names
from graph_engine.pipelines.compile import compile_module, read_module
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.fusion_switch import (
    REQUIRED,
    fusion_counts,
    fusion_passes,
    read_switches,
    switchable,
    write_fusion_result,
)
from graph_engine.pipelines.registry import instantiate
from graph_engine.pipelines.runner import RunOptions, RunReport, Step, run_steps
from graph_engine.pipelines.spec import PassSpec
from graph_engine.target_ascend.runtime.device import run

NETWORK = """
func.func @main(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %w = ge.constant dense<0.5> : tensor<16x16x1x1xf32>
  %s = ge.constant dense<2.0> : tensor<16xf32>
  %a = ge.conv2d %x, %w : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %b = ge.relu %a : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %c = ge.conv2d %b, %w : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %d = ge.batch_norm %c, %s, %s, %s, %s : (tensor<1x16x8x8xf32>, FOUR) -> tensor<1x16x8x8xf32>
  return %d : tensor<1x16x8x8xf32>
}
""".replace("FOUR", ", ".join(["tensor<16xf32>"] * 4))


def fused(path: Path, text: str) -> RunReport:
    """What `fuse-conv-bn-relu` does to convolution and ReLU, convolution and BatchNorm, with a switch file of that text."""
    path.write_text(text)
    source = path.with_suffix(".mlir")
    source.write_text(NETWORK)
    module = read_module(str(source))
    passes = [Step(instantiate(PassSpec("fuse-conv-bn-relu")))]
    return run_steps(make_context(), module, passes, RunOptions(switches=read_switches(str(path))))


def made(report: RunReport) -> set[str]:
    """The rewrites of fusion passes."""
    return {name for step in report.steps if step.name in fusion_passes() for name in step.rewrites}


def section(**sections: dict[str, str]) -> str:
    return json.dumps({"Switch": sections}, indent=1)


BOTH = {"fold-batch-norm-into-conv", "fuse-epilogue"}
ALL_OFF = {"ALL": "off"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", BOTH),
        ("ALL:on", BOTH),
        ("ALL:off\n", set[str]()),
        ("# a comment\n\nConvBatchnormFusionPass : off\n", {"fuse-epilogue"}),
        ("convbatchnorm:off", {"fuse-epilogue"}),
        ("fold-batch-norm-into-conv:off", {"fuse-epilogue"}),
        ("TbeConv2DEltwisePass:off", {"fold-batch-norm-into-conv"}),
        ("fuse-epilogue:off", {"fold-batch-norm-into-conv"}),
        ("fuse-conv-bn-relu:off", set[str]()),
        ("fuse-conv-bn-relu/fuse-epilogue:off", {"fold-batch-norm-into-conv"}),
        ("fuse-matmul-elementwise/fuse-epilogue:off", BOTH),
        ("ALL:off\nfuse-conv-bn-relu:on", BOTH),
        ("ConvBatchnormFusionPass:on\nALL:off", {"fold-batch-norm-into-conv"}),
        ("ALL:off\nTbeConv2DEltwisePass:on", {"fuse-epilogue"}),
        ("fuse-conv-bn-relu:off\nfold-batch-norm-into-conv:on", {"fold-batch-norm-into-conv"}),
        (section(GraphFusion=ALL_OFF), {"fuse-epilogue"}),
        (section(UBFusion=ALL_OFF), {"fold-batch-norm-into-conv"}),
        (section(UBFusion=ALL_OFF, GraphFusion=ALL_OFF), set[str]()),
        (section(GraphFusion=ALL_OFF | {"ConvBatchnormFusionPass": "on"}), BOTH),
        (section(UBFusion=ALL_OFF | {"TbeConv2DEltwisePass": "on"}), BOTH),
        (section(GraphFusion={"fuse-conv-bn-relu": "off"}), set[str]()),
    ],
)
def test_forms(text: str, expected: set[str], tmp_path: Path):
    assert made(fused(tmp_path / "switch.cfg", text)) - {"fuse-elementwise"} == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A:off\nB", "s.cfg:2: error: expected NAME:on or NAME:off, found 'B'"),
        ("A:of", "s.cfg:1: error: 'A' is 'of', expected on or off"),
        ('{"Switch": {\n  "GraphFusion": {"A": "off",}\n}}', "s.cfg:2:"),
        ('{"Switch": {\n "GraphFusion": {\n  "A": true}}}', "s.cfg:3: error: 'A' is 'True', expected on or off"),
        (
            '{"Switch": {\n "GraphFusions": {}}}',
            "s.cfg:2: error: unknown section 'GraphFusions', did you mean 'GraphFusion'",
        ),
        ("{}", 's.cfg:1: error: expected an object under "Switch"'),
    ],
)
def test_errors_tell_the_line(text: str, message: str, tmp_path: Path):
    path = tmp_path / "s.cfg"
    path.write_text(text)
    with pytest.raises(GraphEngineError) as error:
        read_switches(str(path))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_missing_file():
    with pytest.raises(GraphEngineError, match="--fusion-switch-file: cannot read 'none.cfg': No such file"):
        read_switches("none.cfg")


def test_names_that_change_nothing_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "s.cfg"
    path.write_text("ConvBatchnormFusonPass:off\nTbePool2dQuantFusionPass:off\nge-infer-shapes:off\nforce-fp16:off")
    switches = read_switches(str(path))
    assert not switches.names
    lines = [
        line.removeprefix(f"{path}: ")
        for line in capsys.readouterr().err.replace("--fusion-switch-file ", "").split("\n")
    ]
    assert [line.replace(f"{path}: ", "") for line in lines if line] == [
        "warning: no fusion is called 'ConvBatchnormFusonPass', did you mean 'ConvBatchnormFusionPass'?;"
        " the line is ignored",
        "warning: 'ge-infer-shapes' cannot be switched off: later passes need what it does",
        "warning: 'force-fp16' cannot be switched off: later passes need what it does",
        "note: nothing here corresponds to TbePool2dQuantFusionPass",
    ]


def test_every_name_of_ours_in_the_table_exists():
    for ours in (*ge_pass_names.GRAPH.values(), *ge_pass_names.UB.values(), ge_pass_names.FUSING_PATTERNS):
        for name in ours:
            assert set(name.split("/")) <= {*switchable()}, name
    assert REQUIRED.isdisjoint(switchable())


def test_names_are_told_apart_without_their_endings():
    for table in (ge_pass_names.GRAPH, ge_pass_names.UB):
        short = [ge_pass_names.without_ending(name) for name in table]
        assert len(set(short)) == len(short)


def test_counts_have_the_names_of_ge(tmp_path: Path):
    report = fused(tmp_path / "s.cfg", "")
    target = tmp_path / "fusion_result.json"
    write_fusion_result(str(target), [report, RunReport()])
    found = json.loads(target.read_text())
    assert found["session_and_graph_id_0_0"] == {
        "graph_fusion": {"ConvBatchnormFusionPass": {"effect_times": "1", "match_times": "1"}},
        "ub_fusion": {"TbeConv2DEltwisePass": {"effect_times": "1", "match_times": "1", "repository_hit_times": "0"}},
    }
    assert fusion_counts([RunReport()])["session_and_graph_id_0_0"] == {"graph_fusion": {}, "ub_fusion": {}}


def test_every_switch_alone_leaves_a_module_that_compiles():
    """All off is the hardest: nothing that fuses is needed to get to tasks."""
    from graph_engine.transforms.switches import Switches

    for names in ({name: False for name in switchable()}, dict.fromkeys(fusion_passes(), False)):
        module = import_onnx(conv_bn_relu())
        compile_module(module, options=RunOptions(switches=Switches(names)))


@pytest.mark.parametrize("model", [conv_bn_relu(), detector(), mlp()], ids=["conv_bn_relu", "detector", "mlp"])
def test_nothing_fused_agrees_with_onnxruntime(model: onnx.ModelProto, tmp_path: Path):
    """Within 1 % of the range, the fp16 bound."""
    path = tmp_path / "off.cfg"
    path.write_text("ALL:off")
    module = import_onnx(model)
    report = compile_module(module, options=RunOptions(switches=read_switches(str(path))))
    assert not made(report) - {"expand-batch-norm"}
    feeds = random_inputs(model)
    found = run(emit_program(module, "m"), list(feeds.values())).outputs
    for ours, theirs in zip(found, reference_outputs(model, feeds).values(), strict=True):
        assert np.abs(ours.astype(np.float64) - theirs).max() <= 0.01 * np.ptp(theirs)
