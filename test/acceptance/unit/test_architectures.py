"""Graphs in the style of exporters: imported, simplified, fused and run by the reference, beside onnxruntime in fp32."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from models.architectures import ARCHITECTURES, feeds_of
from models.light import reference_outputs
from models.small import GraphBuilder
from onnx import helper

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.reference import ReferenceGraph

OF_RANGE = 1e-4


@pytest.mark.parametrize("fixed", [True, False], ids=["fixed shapes", "unknown batch"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architecture(name: str, fixed: bool) -> None:
    """Floats within 1e-4 of their range, integers exactly."""
    model = ARCHITECTURES[name]()
    feeds = feeds_of(model)
    shapes = {name: value.shape for name, value in feeds.items()}
    module = import_onnx(model, shapes if fixed else {name: (-1, *shape[1:]) for name, shape in shapes.items()})
    compile_module(module, until=Phase.FUSED)
    graph = ReferenceGraph(module, name)
    expected = reference_outputs(model, feeds)
    results = graph.run([feeds[port.name] for port in graph.inputs])
    for port, result in zip(graph.outputs, results, strict=True):
        right = expected[port.name]
        assert (result.shape, result.dtype) == (right.shape, right.dtype), port.name
        if right.dtype.kind == "f":
            assert np.abs(result - right).max(initial=0) <= OF_RANGE * np.ptp(right), port.name
        else:
            np.testing.assert_array_equal(result, right, port.name)


def test_trees_are_refused_by_name() -> None:
    """What LightGBM and scikit-learn export is no tensor program."""
    b = GraphBuilder()
    model = b.model("label", "scores")
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 4))
    model.graph.input.append(x)
    node = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], name="trees", domain="ai.onnx.ml")
    model.graph.node.append(node)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    with pytest.raises(GraphEngineError, match=r"ai\.onnx\.ml:TreeEnsembleClassifier \(1\): trees"):
        import_onnx(model)
