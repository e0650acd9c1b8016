"""ge-run on graphs by the numpy reference, judged by onnxruntime, with every way to feed it."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from graph_engine.tools.ge_run.main import main

A, B = "branch/a:0", "b"


def write_model(path: Path, batch: int | str = 2) -> bytes:
    """relu(a @ w) + b; one input has a name with a slash and a colon."""
    rng = np.random.default_rng(11)
    weights = helper.make_tensor("w", TensorProto.FLOAT, [4, 3], rng.standard_normal(12).tolist())
    nodes = [
        helper.make_node("MatMul", [A, "w"], ["m"], name="fc"),
        helper.make_node("Relu", ["m"], ["r"]),
        helper.make_node("Add", ["r", B], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info(A, TensorProto.FLOAT, [batch, 4]),
        helper.make_tensor_value_info(B, TensorProto.FLOAT, [batch, 3]),
    ]
    outputs = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 3]),
        helper.make_tensor_value_info("r", TensorProto.FLOAT, [batch, 3]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return model.SerializeToString()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path / "m.onnx")
    return tmp_path


def feeds(batch: int = 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        A: rng.standard_normal((batch, 4)).astype(np.float32),
        B: rng.standard_normal((batch, 3)).astype(np.float32),
    }


def expect(model: bytes, values: dict[str, np.ndarray]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in session.run(None, dict(values))]


def ge_run(folder: Path, *flags: str, model: str = "m.onnx") -> list[np.ndarray]:
    out = folder / "out"
    assert main(["--model", str(folder / model), "--engine", "reference", "--output", str(out), *flags]) == 0
    stem = Path(model).stem
    return [np.load(out / f"{stem}_output_{index}.npy") for index in range(2)]


def assert_close(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for have, want in zip(found, wanted, strict=True):
        assert have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


def test_every_form_of_input_gives_what_onnxruntime_gives(folder: Path) -> None:
    values = feeds()
    wanted = expect((folder / "m.onnx").read_bytes(), values)
    np.savez(folder / "in.npz", **dict(reversed(values.items())))
    np.save(folder / "a.npy", values[A])
    (folder / "b.bin").write_bytes(values[B].tobytes())
    (folder / "d").mkdir()
    np.save(folder / "d" / "0.npy", values[A])
    np.save(folder / "d" / "1.npy", values[B])
    for argument in (f"{folder}/in.npz", f"{folder}/a.npy,{folder}/b.bin", f"{folder}/d"):
        assert_close(ge_run(folder, "--input", argument), wanted)


def test_an_open_batch_is_set_by_input_shape_at_the_last_colon(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_model(folder / "open.onnx", "N")
    values = feeds(3)
    np.savez(folder / "in.npz", **values)
    shapes = f"{A}:3,4;{B}:3,3"
    found = ge_run(folder, "--input", f"{folder}/in.npz", "--input-shape", shapes, model="open.onnx")
    assert_close(found, expect(model, values))
    assert "output 0 'y' float32[3, 3]" in capsys.readouterr().out
    assert_close(ge_run(folder, "--input", f"{folder}/in.npz", model="open.onnx"), expect(model, values))


def test_zeros_by_default_and_random_by_seed(folder: Path) -> None:
    model = (folder / "m.onnx").read_bytes()
    zeros = {name: np.zeros_like(array) for name, array in feeds().items()}
    assert_close(ge_run(folder), expect(model, zeros))
    first, again = ge_run(folder, "--fill", "random", "--seed", "4"), ge_run(folder, "--fill", "random", "--seed", "4")
    other = ge_run(folder, "--fill", "random", "--seed", "5")
    np.testing.assert_array_equal(first[0], again[0])
    assert (first[0] != other[0]).any()


def test_text_and_raw_outputs(folder: Path) -> None:
    values = ge_run(folder, "--fill", "random")
    for form in ("BIN", "txt"):
        flags = ["--engine", "reference", "--fill", "random", "--output", str(folder / "o"), "--outfmt", form]
        assert main(["--model", str(folder / "m.onnx"), *flags]) == 0
    assert (folder / "o" / "m_output_0.bin").read_bytes() == values[0].tobytes()
    np.testing.assert_array_equal(np.loadtxt(folder / "o" / "m_output_1.txt").astype(np.float32), values[1])


def test_a_mismatch_is_refused_with_both_sides_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(folder / "in.npz", **feeds(3))
    out = folder / "out"
    flags = ["--engine", "reference", "--input", f"{folder}/in.npz", "--output", str(out)]
    assert main(["--model", str(folder / "m.onnx"), *flags]) == 1
    error = capsys.readouterr().err
    assert f"in.npz[{A}] is float32[3, 4], input '{A}' takes float32[2, 4]" in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_text_at_several_phases_gives_the_same(folder: Path) -> None:
    from graph_engine.tools.ge_opt.main import main as ge_opt
    from graph_engine.tools.ge_translate.main import main as ge_translate

    np.savez(folder / "in.npz", **feeds())
    wanted = expect((folder / "m.onnx").read_bytes(), feeds())
    text = str(folder / "i.mlir")
    assert ge_translate(["--onnx-to-mlir", str(folder / "m.onnx"), "-o", text]) == 0
    assert_close(ge_run(folder, "--input", f"{folder}/in.npz", model="i.mlir"), wanted)
    assert ge_opt(["--default-pipeline", "--compile-to=fused", text, "-o", str(folder / "f.mlir")]) == 0
    assert_close(ge_run(folder, "--input", f"{folder}/in.npz", model="f.mlir"), wanted)


def test_a_graph_that_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty.mlir").write_text("builtin.module {\n}\n")
    assert main(["--model", str(folder / "empty.mlir"), "--engine", "reference"]) == 1
    assert "has no graph @main" in capsys.readouterr().err
    (folder / "broken.mlir").write_text("builtin.module {\n  oops\n}\n")
    assert main(["--model", str(folder / "broken.mlir"), "--engine", "reference"]) == 1
    error = capsys.readouterr().err
    assert "broken.mlir:2:" in error
    assert "Traceback" not in error
