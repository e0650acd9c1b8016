"""Whole networks: the imported graph, run by the numpy reference, against onnxruntime in fp32."""

import numpy as np
import onnx
import pytest
from models.light import (
    LIGHT_NAMES,
    graph_inputs,
    inner_names,
    light_model,
    light_path,
    logits_name,
    random_inputs,
    reference_outputs,
    with_extra_outputs,
)
from models.small import SMALL
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.dialects.ge.interning import shape_of_type
from graph_engine.frontend_onnx.importer import import_onnx


def main_of(module) -> FuncOp:
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    return function


def assert_agrees(model: onnx.ModelProto, seed: int = 0) -> None:
    """Every output within 1e-4 of its range; logits before a softmax are the judge where there is one."""
    feeds = random_inputs(model, seed)
    module = import_onnx(model)
    module.verify()
    function = main_of(module)
    assert [a.data["ge.name"].data for a in function.arg_attrs] == [v.name for v in graph_inputs(model)]
    names = [a.data["ge.name"].data for a in function.res_attrs]
    assert names == [v.name for v in model.graph.output]
    results = evaluate_block(function.body.block, [feeds[v.name] for v in graph_inputs(model)])
    expected = reference_outputs(model, feeds)
    for name, result in zip(names, results, strict=True):
        assert result.shape == expected[name].shape, name
        assert result.dtype == expected[name].dtype, name
        assert np.abs(result - expected[name]).max() <= 1e-4 * np.ptp(expected[name]), name


@pytest.mark.parametrize("name", SMALL)
def test_small_graph(name: str) -> None:
    assert_agrees(SMALL[name](seed=1, batch=2), seed=4)


@pytest.mark.parametrize(
    "name", ["squeezenet", "resnet50", "shufflenet", "inception_v1", "inception_v2", "densenet121"]
)
def test_light_model(name: str) -> None:
    model = light_model(name, seed=11)
    assert_agrees(with_extra_outputs(model, [logits_name(model), *inner_names(model, 10)]), seed=12)


def test_light_model_of_batch_two() -> None:
    model = light_model("squeezenet", seed=11, batch=2)
    assert_agrees(with_extra_outputs(model, [logits_name(model)]), seed=12)


@pytest.mark.parametrize("name", LIGHT_NAMES)
def test_light_model_as_it_ships(name: str) -> None:
    """ConstantOfShape weights stay unmade; the dummy inputs have initialisers and are no arguments."""
    model = onnx.load(str(light_path(name)))
    module = import_onnx(light_path(name))
    module.verify()
    function = main_of(module)
    (argument,) = function.body.block.args
    assert shape_of_type(argument.type) == (1, 3, 224, 224)
    declared = tuple(d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim)
    assert shape_of_type(function.function_type.outputs.data[0]) == declared


def test_every_node_has_its_location() -> None:
    from graph_engine.dialects.ge.locations import source_nodes

    model = light_model("squeezenet")
    block = main_of(import_onnx(model)).body.block
    sources = [source_nodes(op.location) for op in block.ops if op.name.startswith("ge.") and op.operands]
    assert all(len(nodes) == 1 for nodes in sources)
    found = {nodes[0].name: nodes[0] for nodes in sources}
    expected = {node.name: node for node in model.graph.node if node.op_type != "Dropout"}
    assert found.keys() == expected.keys()
    for name, source in found.items():
        assert source.op_type == expected[name].op_type
        assert list(source.outputs) == list(expected[name].output)


def test_types_are_shared() -> None:
    block = main_of(import_onnx(light_model("resnet50"))).body.block
    values: list[SSAValue] = [result for op in block.ops for result in op.results]
    assert len({id(value.type) for value in values}) == len({value.type for value in values})


def test_symbolic_batch() -> None:
    function = main_of(import_onnx(light_model("resnet50", batch="N")))
    (argument,) = function.body.block.args
    assert shape_of_type(argument.type) == (-1, 3, 224, 224)
    assert [s.data for s in function.arg_attrs.data[0].data["ge.dims"]] == ["N", "", "", ""]
    assert shape_of_type(function.function_type.outputs.data[0]) == (-1, 1000)
    given = main_of(import_onnx(light_model("resnet50", batch="N"), {"gpu_0/data_0": (4, 3, 224, 224)}))
    assert shape_of_type(given.function_type.outputs.data[0]) == (4, 1000)
    assert given.arg_attrs.data[0].data == {"ge.name": StringAttr("gpu_0/data_0")}
