"""ge-translate's command line: where the weights go, pipes and files, all errors in one line each."""

import io
from pathlib import Path

import onnx
import pytest
from models.small import SMALL
from onnx import TensorProto, helper

from graph_engine.dialects.ge import stores
from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.compile import parse_input_shapes
from graph_engine.tools.ge_opt.main import main as ge_opt
from graph_engine.tools.ge_translate.main import main


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "m.onnx"
    onnx.save(SMALL["residual"](), str(path))
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture(autouse=True)
def no_stores():
    stores.forget_stores()
    yield
    stores.forget_stores()


def test_file_output_brings_its_weights(model: Path):
    (model.parent / "sub").mkdir()
    assert main(["--onnx-to-mlir", "m.onnx", "-o", "sub/f.mlir"]) == 0
    assert (model.parent / "sub/f.weights.safetensors").stat().st_size > 10_000
    text = (model.parent / "sub/f.mlir").read_text()
    assert 'ge.stores = ["f.weights.safetensors"]' in text and "ge.conv2d" in text


def test_further_files_refer_to_the_store_of_the_first(model: Path):
    (model.parent / "sub").mkdir()
    assert main(["--onnx-to-mlir", "m.onnx", "-o", "sub/f.mlir"]) == 0
    assert ge_opt(["sub/f.mlir", "-o", "g.mlir"]) == 0
    assert 'ge.stores = ["sub/f.weights.safetensors"]' in (model.parent / "g.mlir").read_text()
    assert not (model.parent / "g.weights.safetensors").exists()


def test_a_pipe_refers_to_the_model(model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert main(["--onnx-to-mlir", "m.onnx"]) == 0
    piped = capsys.readouterr()
    assert 'ge.stores = ["m.onnx"]' in piped.out and piped.err == ""
    stores.forget_stores()
    monkeypatch.setattr("sys.stdin", io.StringIO(piped.out))
    assert ge_opt(["-", "-o", "h.mlir"]) == 0
    assert 'ge.stores = ["m.onnx"]' in (model.parent / "h.mlir").read_text()
    assert ge_opt(["h.mlir"]) == 0
    assert capsys.readouterr().out == piped.out


def test_a_missing_store_is_named(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--onnx-to-mlir", "m.onnx", "-o", "f.mlir"]) == 0
    (model.parent / "f.weights.safetensors").unlink()
    stores.forget_stores()
    assert ge_opt(["f.mlir"]) == 1
    assert "f.weights.safetensors does not exist" in capsys.readouterr().err


def test_batch_is_set_on_import(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--onnx-to-mlir", "m.onnx", "--input-shape", "x:3,32,9,9", "--no-locations"]) == 0
    out = capsys.readouterr().out
    assert "%x: tensor<3x32x9x9xf32>" in out and "-> (tensor<3x64x5x5xf32>" in out and "loc(" not in out


def test_all_unsupported_operators_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    nodes = [
        helper.make_node("Mystery", ["x"], ["a"], name="first"),
        helper.make_node("Mystery", ["x"], ["b"], name="second"),
        helper.make_node("Enigma", ["x"], ["c"], name="third"),
    ]
    value = helper.make_tensor_value_info
    inputs = [value("x", TensorProto.FLOAT, [2, 3])]
    outputs = [value(name, TensorProto.FLOAT, None) for name in "abc"]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    path = tmp_path / "bad.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    assert main(["--onnx-to-mlir", str(path), "-o", str(tmp_path / "o.mlir")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert all(word in err for word in ("Mystery", "first", "second", "Enigma", "third"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.onnx"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--onnx-to-mlir", "none.onnx"], "error: cannot read 'none.onnx': no such file"),
        (["--onnx-to-mlir"], "error: an ONNX model is binary: give its path"),
        (["--om-to-mlir"], "error: an OM file is binary: give its path"),
        (["--onnx-to-mlir", "f.mlir"], "error: 'f.mlir' is not an ONNX model"),
        (["--mlir-to-om", "f.mlir"], "error: an OM file is binary: name it with -o"),
        (["--mlir-to-om", "f.mlir", "-o", "f.om"], "error: 'f.mlir' is at phase 'imported', an OM file needs 'tasks'"),
        (["--mlir-to-om", "f.mlir", "-o", "f.om", "--input-shape", "x:1"], "error: --input-shape goes with"),
        (
            ["--onnx-to-mlir", "m.onnx", "--input-shape", "x"],
            "error: --input-shape: 'x' is no name and extents, as in 'data:1,3,224,224'",
        ),
        (["--onnx-to-mlir", "m.onnx", "--input-shape", "z:1,2"], "z"),
        (["m.onnx"], "error: one of the arguments --onnx-to-mlir --mlir-to-om --om-to-mlir is required"),
        (["--onnx-to-mlr", "m.onnx"], "error: "),
        (["--om-to-mlir", "m.onnx"], "error: "),
    ],
)
def test_errors(arguments: list[str], message: str, model: Path, capsys: pytest.CaptureFixture[str]):
    (model.parent / "f.mlir").write_text("func.func @main() {\n  func.return\n}\n")
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 1 and message in captured.err and captured.out == ""
    assert captured.err.count("\n") == 1
    assert not (model.parent / "f.om").exists()


def test_input_shapes_split_at_the_last_colon():
    assert parse_input_shapes("a:0:1,3; b/c:7;s:") == {"a:0": (1, 3), "b/c": (7,), "s": ()}
    assert parse_input_shapes("x:-1,3") == {"x": (-1, 3)}
    for wrong in ("x", ":1", "x:1,a", "x:1;x:2"):
        with pytest.raises(GraphEngineError):
            parse_input_shapes(wrong)
