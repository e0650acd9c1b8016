"""Which operators stay in fp32: names, lists and files, right and wrong, each error with all that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from models.small import GraphBuilder, conv_bn_relu
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.precision import precision_of
from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import check_default_options, compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.transforms.mark_precision import BLACK, MarkPrecision
from graph_engine.transforms.precision_modes import ALIASES, MODES, mode_named
from graph_engine.transforms.remarks import Kind, Remark, listening


def network() -> ModuleOp:
    """Relu "node_r" -> MatMul "node_m" -> Softmax "node_s" -> Exp "node_y"."""
    b = GraphBuilder()
    x = b.input("x", (4, 16))
    b.node("MatMul", [b.node("Relu", [x], "r"), b.weight((16, 16))], "m")
    b.node("Exp", [b.node("Softmax", ["m"], "s")], "y")
    return import_onnx(b.model("y"))


def kept(module: ModuleOp, **options: Any) -> set[str]:
    """Names of the operators that stay in fp32 after the pass, without their `ge.`."""
    MarkPrecision(**options).apply(Context(), module)
    return {op.name.removeprefix("ge.") for op in module.walk() if isinstance(op, GeOp) and precision_of(op) == "fp32"}


def written(path: Path, content: object) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("force_fp16", set()),
        ("must_keep_origin_dtype", {"relu", "matmul", "softmax", "exp"}),
        ("allow_mix_precision", {"relu", "exp"}),
        ("allow_fp32_to_fp16", {"relu", "softmax", "exp"}),
    ],
)
def test_modes(mode: str, expected: set[str]) -> None:
    assert kept(network(), mode=mode) == expected


def test_every_alias_names_a_mode() -> None:
    assert {mode_named(alias) for alias in ALIASES} <= set(MODES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("force_pf16", "unknown precision mode 'force_pf16', did you mean 'force_fp16'?"),
        ("must_keep_dtype", "did you mean 'must_keep_origin_dtype'?"),
        ("bananas", "unknown precision mode 'bananas'; modes: force_fp16, "),
        ("force_fp32", "precision mode 'force_fp32' is not offered; modes: "),
    ],
)
def test_unknown_modes(name: str, message: str) -> None:
    with pytest.raises(GraphEngineError, match=message.replace("?", r"\?")):
        MarkPrecision(mode=name)
    with pytest.raises(GraphEngineError, match=message.replace("?", r"\?")):
        check_default_options({"precision_mode": name})


def test_keep_dtype_file(tmp_path: Path) -> None:
    path = written(tmp_path / "keep.cfg", "node_r\n\n  OpType::Exp  \n")
    assert kept(network(), keep_dtype=path, keep_dtype_nodes=("node_s",)) == {"relu", "exp", "softmax"}


def test_all_wrong_names_at_once(tmp_path: Path) -> None:
    path = written(tmp_path / "keep.cfg", "node_q\nOpType::Sofmax\nnode_r")
    with pytest.raises(GraphEngineError) as error:
        kept(network(), keep_dtype=path, keep_dtype_nodes=("zebra",))
    assert "no node is called 'node_q', did you mean 'node_" in str(error.value)
    assert "no node is called 'zebra';" in str(error.value)
    assert "no operator type is called 'Sofmax', did you mean 'Softmax'?" in str(error.value)
    assert "node_r'" not in str(error.value).replace("did you mean 'node_r'", "")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"black-list": {"to-add": ["Softmax"]}}, {"relu", "softmax", "exp"}),
        ({"black-list": {"to-add": ["ge.softmax"], "to-remove": ["Exp"]}}, {"relu", "softmax", "exp"}),
        ({"black-list": {"to-remove": ["Exp"]}}, {"relu"}),
        ({"white-list": {"to-add": ["Exp", "Relu"]}}, set[str]()),
        ({"white-list": {"to-remove": ["MatMul"]}}, {"relu", "matmul", "softmax", "exp"}),
        ({"gray-list": {"to-add": ["Exp"]}, "white-list": {"to-add": ["Relu"]}}, set[str]()),
        ({"black-list": {"to-add": ["LSTM"]}}, {"relu", "exp"}),
    ],
)
def test_mixlist(tmp_path: Path, changes: object, expected: set[str]) -> None:
    assert kept(network(), mode="mixed_float16", mixlist=written(tmp_path / "mix.json", changes)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ([1], "the file is no object with black-list, white-list, gray-list"),
        ({"blacklist": {}}, "unknown entry 'blacklist', did you mean 'black-list'"),
        ({"black-list": {"add": []}}, "'black-list' has an unknown entry 'add', did you mean 'to-add'"),
        ({"black-list": {"to-add": "Exp"}}, "'to-add' of 'black-list' is no list"),
        ({"black-list": {"to-add": ["Exp"]}, "white-list": {"to-add": ["Exp"]}}, "'Exp' is added to two lists"),
        (
            {"gray-list": {"to-add": ["Sofmax", "ge.exq"]}},
            "'Sofmax', did you mean 'Softmax'?; no operator is called 'ge.exq', did you mean 'ge.exp'?",
        ),
    ],
)
def test_wrong_mixlists(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(GraphEngineError) as error:
        kept(network(), mode="allow_mix_precision", mixlist=written(tmp_path / "mix.json", content))
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path))


def test_a_mixlist_needs_the_mixed_mode() -> None:
    with pytest.raises(GraphEngineError, match="lists of precision mode allow_mix_precision, not of force_fp16"):
        MarkPrecision(mixlist="mix.json")


def test_files_that_are_not_there() -> None:
    with pytest.raises(GraphEngineError, match=r"cannot read none\.cfg: No such file"):
        check_default_options({"keep_dtype": "none.cfg"})


def test_a_kernel_with_a_kept_node_stays_whole_and_says_so() -> None:
    module = import_onnx(conv_bn_relu())
    relu = next(node.name for node in conv_bn_relu().graph.node if node.op_type == "Relu")
    compile_module(module, until=Phase.FUSED)
    said: list[Remark] = []
    with listening(said.append, frozenset({Kind.ANALYSIS})):
        kept(module, keep_dtype_nodes=(relu,))
    (remark,) = [remark for remark in said if remark.name == "KeptFp32"]
    assert f"as asked for '{relu}'; with it 'node_t" in remark.message
    (fused,) = [op for op in module.walk() if isinstance(op, FusedOp)]
    assert precision_of(fused) == "fp32"


def test_the_black_list_names_operators_that_exist() -> None:
    from graph_engine.dialects.ge.dialect import GE

    assert {op.name for op in GE.operations} >= BLACK
