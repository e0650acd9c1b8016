"""Models that begin and end in the hardware's formats: conversions vanish, values stay, wrong wishes are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from models.light import random_inputs, reference_outputs
from models.small import SMALL

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import Launch, Program
from graph_engine.target_ascend.runtime.device import run
from graph_engine.tools.ge_run.main import main as ge_run


def compiled(name: str, **formats: str) -> Program:
    module = import_onnx(SMALL[name]())
    compile_module(module, formats.pop("soc", "Ascend310P3"), pipeline=formats)
    return emit_program(module, name)


def conversions(program: Program) -> int:
    tasks = [task for stream in program.entry_points[0].streams for task in stream.tasks]
    return sum(isinstance(task, Launch) and task.type == "TransData" for task in tasks)


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("name", ["conv_bn_relu", "odd_channels"])
def test_conversions_at_the_borders_vanish(name: str, soc: str):
    """The same numbers as with ND borders, in fp16; the user's arrays stay logical."""
    plain = compiled(name, soc=soc)
    adjusted = compiled(name, soc=soc, input_format="NC1HWC0", output_format="NC1HWC0")
    assert conversions(adjusted) <= conversions(plain) - 2
    (point,) = adjusted.entry_points
    (x,) = point.inputs
    assert (x.format, x.dtype.mlir) == ("NC1HWC0", "f16")
    model = SMALL[name]()
    inputs = random_inputs(model)
    fed = [array.astype(np.float16) for array in inputs.values()]
    result = run(adjusted, fed, mode="functional", check=True)
    assert not result.findings
    for value, exact in zip(result.outputs, reference_outputs(model, inputs).values(), strict=True):
        assert value.shape == exact.shape
        assert np.abs(value - exact).max() <= 3e-3 * np.ptp(exact)


def test_one_of_two_by_name_and_the_rest_stays():
    model = SMALL["conv_bn_relu"]()
    name = model.graph.input[0].name
    (point,) = compiled("conv_bn_relu", input_format=f"{name}:NC1HWC0").entry_points
    assert [tensor.format for tensor in point.inputs] == ["NC1HWC0"]
    assert {tensor.format for tensor in point.outputs} == {"ND"}
    (point,) = compiled("conv_bn_relu", input_format=f"NC1HWC0;{name}:ND").entry_points
    assert [tensor.format for tensor in point.inputs] == ["ND"]


def test_what_is_read_in_nd_too_is_converted_inside():
    """A softmax over channels reads the input in ND: one conversion takes the place of the one that vanished."""
    value = onnx.helper.make_tensor_value_info
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["a"]),
        onnx.helper.make_node("Softmax", ["x"], ["b"], axis=1),
        onnx.helper.make_node("ReduceSum", ["b"], ["c"]),
    ]
    w = np.random.default_rng(0).normal(size=(16, 16, 1, 1)).astype(np.float32)
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [value("x", 1, [1, 16, 4, 4])],
        [value("a", 1, [1, 16, 4, 4]), value("c", 1, [1, 1, 1, 1])],
        [onnx.numpy_helper.from_array(w, "w")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    module = import_onnx(model)
    compile_module(module, pipeline={"input_format": "NC1HWC0"})
    program = emit_program(module, "both")
    x = np.random.default_rng(1).normal(size=(1, 16, 4, 4)).astype(np.float16)
    outputs = run(program, [x], mode="functional", check=True).outputs
    np.testing.assert_allclose(outputs[1].ravel(), 16.0, rtol=2e-3)
    exact = np.einsum("nchw,oc->nohw", x.astype(np.float64), w[:, :, 0, 0])
    assert np.abs(outputs[0] - exact).max() <= 3e-3 * np.ptp(exact)


def test_the_choice_of_formats_knows_of_the_borders():
    """y = relu(x) leaves, and a convolution reads y. With ND borders relu stays ND, in front of the one conversion that both
    ways have. With borders in NC1HWC0 it works in that format, and nothing is converted."""
    value = onnx.helper.make_tensor_value_info
    w = np.random.default_rng(0).normal(size=(16, 16, 1, 1)).astype(np.float32) / 4
    nodes = [
        onnx.helper.make_node("Relu", ["x"], ["y"]),
        onnx.helper.make_node("Conv", ["y", "w"], ["z"]),
        onnx.helper.make_node("Sigmoid", ["x"], ["s"]),
    ]
    shape = [1, 16, 4, 4]
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [value("x", 1, shape)],
        [value(name, 1, shape) for name in "yzs"],
        [onnx.numpy_helper.from_array(w, "w")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    programs: list[Program] = []
    for formats in ({}, {"input_format": "NC1HWC0", "output_format": "NC1HWC0"}, {"output_format": "z:NC1HWC0"}):
        module = import_onnx(model)
        compile_module(module, pipeline=formats)
        programs.append(emit_program(module, "borders"))
    assert [conversions(program) for program in programs] == [2, 0, 1]
    x = np.random.default_rng(1).normal(size=shape).astype(np.float16)
    result = run(programs[1], [x], mode="functional", check=True)
    assert not result.findings
    y = np.maximum(x.astype(float), 0)
    for got, want in zip(
        result.outputs, (y, np.einsum("nchw,oc->nohw", y, w[:, :, 0, 0]), 1 / (1 + np.exp(-x))), strict=True
    ):
        assert np.abs(got - want).max() <= 3e-3 * np.ptp(want)


@pytest.mark.parametrize(
    ("flag", "text", "message"),
    [
        ("input_format", "NC1HWCO", "'NC1HWCO' is no format of a border; there are ND, NC1HWC0, FRACTAL_NZ"),
        ("input_format", "nope:NC1HWC0", "the model has no 'nope'"),
        ("output_format", "nope:ND", "the model has no 'nope'"),
    ],
)
def test_wrong_wishes_are_refused(flag: str, text: str, message: str):
    with pytest.raises(GraphEngineError, match=message):
        compiled("conv_bn_relu", **{flag: text})


def test_a_matrix_is_no_feature_map():
    model = SMALL["mlp"]()
    name = next(i.name for i in model.graph.input)
    with pytest.raises(GraphEngineError, match=f"'{name}' cannot be NC1HWC0: it has 2 axes, not four axes"):
        compiled("mlp", input_format=f"{name}:NC1HWC0")
    program = compiled("mlp", input_format="FRACTAL_NZ", output_format="FRACTAL_NZ")
    assert {tensor.format for tensor in program.entry_points[0].inputs} == {"FRACTAL_NZ"}
    inputs = random_inputs(model)
    result = run(program, [array.astype(np.float16) for array in inputs.values()], mode="functional", check=True)
    assert not result.findings
    (exact,) = reference_outputs(model, inputs).values()
    assert np.abs(result.outputs[0] - exact).max() <= 3e-3 * np.ptp(exact)


def test_the_flags_reach_the_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(SMALL["conv_bn_relu"](), "m.onnx")
    assert ge_run(["--model=m.onnx", "--fill=random", "--input-format=NC1HWC0", "--output-format=NC1HWC0"]) == 0
