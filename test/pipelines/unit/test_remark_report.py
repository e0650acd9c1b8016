"""Remarks as text and as YAML, filtered by a regular expression."""

import io
from pathlib import Path

import pytest
import yaml

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.remark_report import RemarkReport, write_text, write_yaml
from graph_engine.target_ascend.om.program import SourceNode
from graph_engine.tools.ge_opt.main import main
from graph_engine.transforms.remarks import Kind, Remark

MISSED = Remark(
    Kind.MISSED,
    "fuse-x",
    "NotFused",
    "ge.conv2d",
    (SourceNode("c\u00e4: 1", "Conv", ("y",)),),
    "also read by 'p'",
    {"guard": "single-user", "readers": ["p"]},
)
SIZE = Remark(Kind.ANALYSIS, "lay-x", "Cost", "func.func", (), "8 bytes", {"bytes": 8})


def test_text():
    file = io.StringIO()
    write_text([MISSED, SIZE], file)
    assert file.getvalue().splitlines() == [
        "missed: node 'c\u00e4: 1' (Conv): also read by 'p' [fuse-x]",
        "analysis: func.func: 8 bytes [lay-x]",
    ]


def test_yaml_reads_back():
    file = io.StringIO()
    write_yaml([MISSED, SIZE], file)
    assert [line for line in file.getvalue().splitlines() if line.startswith("---")] == ["--- !Missed", "--- !Analysis"]
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_multi_constructor("!", lambda loader, tag, node: (tag, loader.construct_mapping(node, deep=True)))
    (tag, missed), (_, size) = yaml.load_all(file.getvalue(), loader)
    assert tag == "Missed"
    assert missed["Nodes"] == [{"name": "c\u00e4: 1", "type": "Conv"}]
    assert missed["Args"] == {"guard": "single-user", "readers": ["p"]}
    assert size["Nodes"] == [] and size["Args"]["bytes"] == 8


def test_filter():
    assert RemarkReport("-", "^Missed fuse-").chosen([MISSED, SIZE]) == [MISSED]
    assert RemarkReport("-", "Cost$").chosen([MISSED, SIZE]) == [SIZE]
    with pytest.raises(GraphEngineError, match="--remarks-filter: '\\(' is no regular expression"):
        RemarkReport("-", "(")


SOURCE = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = ge.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = ge.relu %0 : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
"""


def test_tool_writes_what_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "in.mlir"
    source.write_text(SOURCE)
    assert main(["--remarks", "--fuse-elementwise", str(source)]) == 0
    assert "passed: ge.fused: fused ge.relu, ge.relu [fuse-elementwise]" in capsys.readouterr().err
    assert main([f"--remarks={tmp_path / 'r.yaml'}", "--fuse-elementwise", str(source)]) == 0
    assert (tmp_path / "r.yaml").read_text().startswith("--- !Passed\nPass: fuse-elementwise\nName: Fused\n")
    assert main([f"--remarks={tmp_path / 'no' / 'r.yaml'}", "--fuse-elementwise", str(source)]) == 1
    assert "cannot write" in capsys.readouterr().err
