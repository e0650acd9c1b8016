"""Model inputs fixed to values: by the importer's `bindings`, and by --bind-input on the command line."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import parse_bindings
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.tools.ge_run.main import main as ge_run
from graph_engine.tools.ge_translate.main import main as ge_translate


def reshape_model() -> onnx.ModelProto:
    """y = reshape(x, shape), both given at run time."""
    value = helper.make_tensor_value_info
    inputs = [value("x", TensorProto.FLOAT, [2, 6]), value("shape", TensorProto.INT64, [2])]
    node = helper.make_node("Reshape", ["x", "shape"], ["y"], name="flatten")
    graph = helper.make_graph([node], "g", inputs, [value("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_bound_shape_makes_the_graph_static() -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    for shape in ([3, 4], np.array([3, 4]), [[3, 4]]):
        graph = ReferenceGraph(import_onnx(reshape_model(), bindings={"shape": shape}), "m")
        assert [port.name for port in graph.inputs] == ["x"]
        np.testing.assert_array_equal(graph.run([x])[0], x.reshape(3, 4))


def test_a_bound_input_overrules_its_default() -> None:
    model = reshape_model()
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([12, 1]), "shape"))
    assert ReferenceGraph(import_onnx(model), "m").outputs[0].shape == (12, 1)
    assert ReferenceGraph(import_onnx(model, bindings={"shape": [1, 12]}), "m").outputs[0].shape == (1, 12)


@pytest.mark.parametrize(
    ("bindings", "message"),
    [
        ({"shap": [3, 4]}, "the model has no input 'shap'; did you mean 'shape'?"),
        ({"k": 1}, "the model has no input 'k'; the model has 'x', 'shape'"),
        ({"shape": [3, 4, 1]}, r"input 'shape': a value of shape \[3\] does not fit the declared \[2\]"),
        ({"shape": [1.5, 8]}, r"input 'shape': \[1.5, 8.0\] cannot be int64"),
        ({"shape": "ab"}, "input 'shape': 'ab' holds no numbers"),
        ({"shape": 3, "z": 1}, "(?s)inputs cannot be bound:.*shape.*'z'"),
    ],
)
def test_what_does_not_fit_is_refused(bindings: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphEngineError, match=message):
        import_onnx(reshape_model(), bindings=bindings)


def test_values_on_the_command_line(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([3, 4]))
    found = parse_bindings(["a=1", "b=1,3", "c=[1, 3]", "d:0=2.5", f"e={tmp_path}/a.npy"])
    assert found.pop("e").tolist() == [3, 4]
    assert found == {"a": 1, "b": [1, 3], "c": [1, 3], "d:0": 2.5}
    for wrong in ("a", "=1", "a=x", "a=none.npy", "a="):
        with pytest.raises(GraphEngineError, match="--bind-input: "):
            parse_bindings([wrong])
    with pytest.raises(GraphEngineError, match="'a' is given twice"):
        parse_bindings(["a=1", "a=2"])


def test_tools_take_bindings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m.onnx")
    onnx.save(reshape_model(), path)
    assert ge_translate(["--onnx-to-mlir", path, "--bind-input", "shape=4,3"]) == 0
    assert "ge.reshape %x {shape = [4, 3]}" in capsys.readouterr().out
    assert ge_run(["--model", path, "--bind-input", "shape=[4, 3]"]) == 0
    assert "output 0 'y' float32[4, 3]" in capsys.readouterr().out
    assert ge_run(["--model", path, "--bind-input", "shapes=[4, 3]"]) == 1
    assert "did you mean 'shape'?" in capsys.readouterr().err
    assert ge_translate(["--om-to-mlir", path, "--bind-input", "shape=1"]) == 1
    assert "error: --bind-input goes with --onnx-to-mlir" in capsys.readouterr().err
