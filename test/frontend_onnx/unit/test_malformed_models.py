"""Malformed model files through ge-translate: one message that names the place and the cure, exit 1, no output file."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from models.small import SMALL, GraphBuilder, single_node
from onnx import AttributeProto, ModelProto, TensorProto, helper

from graph_engine.dialects.ge.onnx_file import LARGE, read_model
from graph_engine.dialects.ge.weights import WeightAttr, materialize
from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.tools.ge_translate.main import main

Capture = pytest.CaptureFixture[str]


def refusal(path: Path, capsys: Capture, *arguments: str) -> str:
    """The one message about a model file, which must leave nothing else behind."""
    before = sorted(path.parent.iterdir())
    assert main(["--onnx-to-mlir", str(path), "-o", str(path.parent / "out.mlir"), *arguments]) == 1
    captured = capsys.readouterr()
    assert sorted(path.parent.iterdir()) == before
    assert captured.out == "" and captured.err.startswith("error: ") and captured.err.count("error:") == 1
    assert "Traceback" not in captured.err and "warning" not in captured.err
    return captured.err.removeprefix("error: ").rstrip("\n")


def saved(folder: Path, model: ModelProto | bytes) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return path


# The ten of the acceptance


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_truncated_protobuf(part: float, tmp_path: Path, capsys: Capture) -> None:
    content = SMALL["residual"]().SerializeToString()
    text = refusal(saved(tmp_path, content[: int(len(content) * part)]), capsys)
    assert "m.onnx' is not an ONNX model or is truncated: a part at byte " in text
    assert text.endswith("follow; export or copy it again")


def test_cyclic_graph(tmp_path: Path, capsys: Capture) -> None:
    b = GraphBuilder()
    b.node("Add", [b.input("x", (1,)), "c"], "a")
    b.node("Relu", ["a"], "c")
    text = refusal(saved(tmp_path, b.model("c")), capsys)
    assert text.startswith("the graph has a cycle: ") and text.endswith("; export the model again")
    assert "'node_a'" in text and "'node_c'" in text


def test_external_data_of_the_wrong_length(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "m.onnx"
    onnx.save_model(SMALL["residual"](), str(path), save_as_external_data=True, location="w.bin", size_threshold=64)
    model = onnx.load(str(path), load_external_data=False)
    next(e for e in model.graph.initializer[0].external_data if e.key == "length").value = "2044"
    text = refusal(saved(tmp_path, model), capsys)
    assert text.startswith("tensor 'w0': 2044 bytes at offset 0 of 'w.bin' for 2048 bytes of values; copy the data")
    (tmp_path / "w.bin").write_bytes(b"\0" * 100)
    assert "'w.bin' is truncated: 100 bytes," in refusal(saved(tmp_path, model), capsys)


def test_unknown_operator_of_a_custom_domain(tmp_path: Path, capsys: Capture) -> None:
    b = GraphBuilder()
    model = b.model(b.node("FancyNorm", [b.input("x", (1,))], "n", domain="com.vendor"))
    model.opset_import.append(helper.make_opsetid("com.vendor", 1))
    assert refusal(saved(tmp_path, model), capsys).splitlines() == [
        "1 node of the model cannot be imported:",
        "  com.vendor:FancyNorm (1): node_n",
        "replace operators that docs/onnx_operators.md does not list by those that it lists",
    ]


def test_two_unsupported_operators(tmp_path: Path, capsys: Capture) -> None:
    b = GraphBuilder()
    x = b.input("x", (1,))
    text = refusal(saved(tmp_path, b.model(b.node("Mystery", [x], "m"), b.node("Enigma", [x], "e"))), capsys)
    assert text.startswith("2 nodes of the model") and "Mystery (1): node_m" in text and "Enigma (1): node_e" in text


def test_negative_extents(tmp_path: Path, capsys: Capture) -> None:
    model = single_node("Relu", {"x": (1, 2)})
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -5
    text = refusal(saved(tmp_path, model), capsys)
    assert text.startswith("input 'x' is declared with shape [1, -5]: extents are 0 or more; give it a shape")
    model = SMALL["residual"]()
    model.graph.initializer[0].dims[0] *= -1
    assert "initialiser 'w0' has shape [-" in refusal(saved(tmp_path, model), capsys)


def test_duplicate_names(tmp_path: Path, capsys: Capture) -> None:
    b = GraphBuilder()
    x = b.input("x", (1,))
    b.node("Relu", [x], "y")
    model = b.model("y")
    model.graph.node.append(helper.make_node("Neg", ["x"], ["y"], name="other"))
    text = refusal(saved(tmp_path, model), capsys)
    assert text == "tensor 'y' is made twice: by node 'other' and by node 'node_y'; rename one of them"
    for what, size in (("initialisers", 1), ("initialisers", LARGE), ("inputs", 0)):
        model = single_node("Add", {"x": (1,), "w": np.ones(max(size, 1), np.float32)})
        items: Any = model.graph.initializer if size else model.graph.input
        items.append(items[0])
        name = items[0].name
        text = refusal(saved(tmp_path, model), capsys)
        assert text == f"two {what} are called '{name}'; rename one of them"


def test_file_beyond_the_limit_of_protobuf(tmp_path: Path, capsys: Capture) -> None:
    path = saved(tmp_path, SMALL["stem"]())
    os.truncate(path, 2**31)  # sparse
    text = refusal(path, capsys)
    assert (
        "has 2147483648 bytes, a protobuf file ends at 2147483647: save the model with its weights as external" in text
    )


def test_name_that_is_no_utf8(tmp_path: Path, capsys: Capture) -> None:
    b = GraphBuilder()
    x = b.input("xxxx", (1,))
    content = b.model(b.node("Relu", [x], "yyyy")).SerializeToString()
    text = refusal(saved(tmp_path, content.replace(b"node_yyyy", b"node_y\xffyy")), capsys)
    assert text == "node 0 (Relu): the name 'node_y\\xffyy' is not UTF-8; rename it, or export the model again"
    text = refusal(saved(tmp_path, content.replace(b"xxxx", b"x\xfexx")), capsys)
    assert "input 0: the name 'x\\xfexx' is not UTF-8" in text
    assert "node 'node_yyyy' (Relu): the name 'x\\xfexx' is not UTF-8" in text


def test_the_tool_itself_ends_without_a_traceback(tmp_path: Path) -> None:
    """In a process of its own, with warnings as Python prints them."""
    path = saved(tmp_path, SMALL["residual"]().SerializeToString()[:-1000])
    command = [sys.executable, "-m", "graph_engine.tools.ge_translate.main", "--onnx-to-mlir", str(path), "-o"]
    done = subprocess.run([*command, str(tmp_path / "out.mlir")], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith("error: ") and "is truncated" in done.stderr
    assert list(tmp_path.iterdir()) == [path]


def stale(shape: Sequence[int | str]) -> ModelProto:
    b = GraphBuilder()
    y = b.node("Relu", [b.conv(b.input("x", ("N", 3, 8, 8)), 3, 4)], "y")
    model = b.model(y)
    model.graph.value_info.append(helper.make_tensor_value_info("t0", TensorProto.FLOAT, shape))
    return model


def test_stale_value_info_is_overruled(tmp_path: Path, capsys: Capture) -> None:
    for shape, shown in (([1, 4, 9, 9], "[1, 4, 9, 9]"), (["N", 4, 8], "[N, 4, 8]")):
        path = saved(tmp_path, stale(shape))
        assert main(["--onnx-to-mlir", str(path), "-o", str(tmp_path / "o.mlir"), "--input-shape", "x:1,3,8,8"]) == 0
        text = f"node 'node_t0' (Conv): value_info declares 't0' as {shown}, it is [1, 4, 8, 8], which is taken\n"
        assert capsys.readouterr().err == f"warning: {text}"
        assert "tensor<1x4x8x8xf32>" in (tmp_path / "o.mlir").read_text()
    path = saved(tmp_path, stale(["N", 4, 8, 8]))
    assert main(["--onnx-to-mlir", str(path), "-o", str(tmp_path / "o.mlir"), "--input-shape", "x:1,3,8,8"]) == 0
    assert capsys.readouterr().err == ""


def test_shapes_that_the_user_makes_stale_are_not_told(tmp_path: Path, capsys: Capture) -> None:
    model = single_node("Relu", {"x": (1, 2)})
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2]))
    path = saved(tmp_path, model)
    assert main(["--onnx-to-mlir", str(path), "-o", str(tmp_path / "o.mlir"), "--input-shape", "x:7,2"]) == 0
    assert capsys.readouterr().err == ""


def test_symbolic_extents_stay_and_are_told(tmp_path: Path, capsys: Capture) -> None:
    path = saved(tmp_path, stale(["N", 4, 8, 8]))
    assert main(["--onnx-to-mlir", str(path), "-o", str(tmp_path / "o.mlir")]) == 0
    assert capsys.readouterr().err == "note: extents stay symbolic: x:N,3,8,8; --input-shape fixes them\n"
    text = (tmp_path / "o.mlir").read_text()
    assert "tensor<?x3x8x8xf32>" in text and 'ge.dims = ["N", "", "", ""]' in text


# Ranks, types, initialisers


def test_wrong_rank(tmp_path: Path, capsys: Capture) -> None:
    b = GraphBuilder()
    model = b.model(b.node("MaxPool", [b.input("x", (4, 8))], "p", kernel_shape=[2, 2]))
    text = refusal(saved(tmp_path, model), capsys)
    assert "node_p" in text and "rank 2" in text


def test_contradicting_types(tmp_path: Path, capsys: Capture) -> None:
    model = single_node("Relu", {"x": (1, 2)})
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.INT64, [1, 2]))
    text = refusal(saved(tmp_path, model), capsys)
    assert "(Relu): the graph output declares 'y' as i64, it is f32; correct the declaration" in text
    model = single_node("Add", {"x": (1,), "w": np.ones(1, np.float32)})
    model.graph.input.append(helper.make_tensor_value_info(model.graph.initializer[0].name, TensorProto.INT32, [1]))
    assert "holds f32 and is declared as an input of i32; make them agree" in refusal(saved(tmp_path, model), capsys)
    b = GraphBuilder()
    x, i = b.input("x", (2,)), b.input("i", (2,), TensorProto.INT32)
    text = refusal(saved(tmp_path, b.model(b.node("Add", [x, i], "sum"))), capsys)
    assert "node 'node_sum' (Add)" in text and "f32" in text and "i32" in text


def test_missing_initialiser(tmp_path: Path, capsys: Capture) -> None:
    model = SMALL["residual"]()
    user = next(node for node in model.graph.node if "w0" in node.input)
    del model.graph.initializer[0]
    text = refusal(saved(tmp_path, model), capsys)
    assert "the model lacks tensors" in text and f"'w0', read by node '{user.name}'" in text and "export it" in text


@pytest.mark.parametrize("count", [7, LARGE])
def test_data_and_shape_of_an_initialiser_differ(count: int, tmp_path: Path, capsys: Capture) -> None:
    model = single_node("Add", {"x": (1,), "w": np.ones(count, np.float32)})
    weight = model.graph.initializer[0]
    weight.dims[0] += 1
    text = refusal(saved(tmp_path, model), capsys)
    assert f"tensor '{weight.name}' of shape [{count + 1}] takes {4 * count + 4} bytes, {4 * count} are there" in text
    typed = helper.make_tensor(weight.name, TensorProto.FLOAT, [count], [1.0] * count)
    typed.dims[0] += 1
    weight.CopyFrom(typed)
    assert f"takes {count + 1} values, {count} are there" in refusal(saved(tmp_path, model), capsys)


# What the fuzz run found


def test_axes_that_repeat(tmp_path: Path, capsys: Capture) -> None:
    model = single_node("Unsqueeze", {"x": (2, 3), "axes": np.array([1, 1])})
    assert "axes [1, 1] name an axis twice" in refusal(saved(tmp_path, model), capsys)


def test_negative_shape_of_a_constant_node(tmp_path: Path, capsys: Capture) -> None:
    model = single_node("ConstantOfShape", {"shape": np.array([2, -7])})
    text = refusal(saved(tmp_path, model), capsys)
    assert "node 'node' (ConstantOfShape): tensor 'y' has shape [2, -7]: extents are 0 or more" in text


def test_attributes_that_the_schema_refuses(tmp_path: Path, capsys: Capture) -> None:
    """A converter that stumbles is reported with its node and what onnx's schema says."""
    model = single_node("STFT", {"x": (1, 8, 1), "step": np.array(2), "window": None, "length": np.array(4)})
    del model.graph.node[0].input[1:]
    text = refusal(saved(tmp_path, model), capsys)
    assert model.graph.node[0].name in text


@pytest.mark.parametrize("kind", [AttributeProto.STRING, AttributeProto.GRAPH, AttributeProto.TENSORS, 99])
def test_attributes_of_a_strange_type_end_in_no_traceback(kind: int, tmp_path: Path) -> None:
    model = single_node("Softmax", {"x": (2, 3)}, axis=1)
    content = model.SerializeToString().replace(b"\xa0\x01\x02", b"\xa0\x01" + bytes([kind]))
    assert content != model.SerializeToString()
    try:
        import_onnx(saved(tmp_path, content))
    except GraphEngineError as error:
        assert str(error)


def as_constant(model: ModelProto) -> ModelProto:
    """The model with its weight in a Constant node."""
    (weight,) = model.graph.initializer
    model.graph.node.insert(0, helper.make_node("Constant", [], [weight.name], value=weight))
    del model.graph.initializer[:]
    return model


def in_a_body(model: ModelProto) -> ModelProto:
    """The model within a branch of an If."""
    body = helper.make_graph(list(model.graph.node), "b", [], list(model.graph.output), list(model.graph.initializer))
    node = helper.make_node("If", ["c"], ["r"], then_branch=body, else_branch=body)
    inputs = [*model.graph.input, helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    outer = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="r")])
    return helper.make_model(outer, opset_imports=model.opset_import, ir_version=8)


@pytest.mark.parametrize("place", [lambda m: m, as_constant, in_a_body])
def test_a_large_weight_stays_in_the_file(place: Callable[[ModelProto], ModelProto], tmp_path: Path) -> None:
    values = np.arange(LARGE, dtype=np.float32)
    path = saved(tmp_path, place(single_node("Add", {"x": (1,), "w": values})))
    assert read_model(path).ByteSize() < 1000
    module = import_onnx(path)
    assert str(module) == str(import_onnx(onnx.load(str(path))))
    weights = [op.properties["value"] for op in module.walk() if op.name == "ge.constant"]
    assert all(isinstance(weight, WeightAttr) for weight in weights) and weights
    for weight in weights:
        array = materialize(weight)
        np.testing.assert_array_equal(array, values)
        assert not array.flags.owndata and not array.flags.writeable


def test_external_data_of_constant_nodes_is_found(tmp_path: Path) -> None:
    """Also where the node becomes an operator of its own."""
    b = GraphBuilder()
    value = helper.make_tensor("v", TensorProto.FLOAT, [1], [2.5])
    model = b.model(b.node("ConstantOfShape", [b.input("s", (2,), TensorProto.INT64)], "y", value=value))
    expected = str(import_onnx(saved(tmp_path, model)))
    tensor = model.graph.node[0].attribute[0].t
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    (tmp_path / "w.bin").write_bytes(np.float32(2.5).tobytes())
    assert str(import_onnx(saved(tmp_path, model))) == expected
    (tmp_path / "w.bin").unlink()
    with pytest.raises(GraphEngineError, match="file 'w.bin' is missing beside the model"):
        import_onnx(tmp_path / "m.onnx")
