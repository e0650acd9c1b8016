"""Graphs with unknown sizes are refused before kernels are built, by the names of what makes them unknown."""

from __future__ import annotations

import pytest
from models.small import GraphBuilder, single_node

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module


def test_a_size_that_depends_on_data() -> None:
    module = import_onnx(single_node("NonZero", {"x": [3, 4]}))
    with pytest.raises(GraphEngineError, match=r"(?s)sizes depend on data.*node 'node': ge.non_zero gives 2x\?"):
        compile_module(module)


def test_an_input_of_unknown_size() -> None:
    module = import_onnx(single_node("Relu", {"x": ["N", 4]}))
    with pytest.raises(GraphEngineError, match=r"(?s)give input shapes.*input 'x' is \?x4"):
        compile_module(module)


def test_an_input_of_unknown_size_gets_as_far_as_formats_that_are_chosen_by_size() -> None:
    """An unknown extent counts as 1 where sizes are weighed."""
    b = GraphBuilder()
    y = b.conv_bn_relu(b.input("x", ("N", 3, "H", "W")), 3, 16)
    y = b.node("Add", [b.node("Softmax", [y], axis=1), b.node("Sigmoid", [b.conv(y, 16, 16)])])
    with pytest.raises(GraphEngineError, match=r"(?s)give input shapes.*input 'x' is \?x3x\?x\?"):
        compile_module(import_onnx(b.model(b.node("GlobalAveragePool", [y]))))


def test_data_that_are_constant_give_a_known_size() -> None:
    import numpy as np

    module = import_onnx(single_node("NonZero", {"x": np.array([[0, 1, 2]], np.float32)}))
    compile_module(module)
