"""Graphs with unknown sizes are refused before kernels are built, by the names of what makes them unknown."""

from __future__ import annotations

import pytest
from models.small import single_node

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


def test_data_that_are_constant_give_a_known_size() -> None:
    import numpy as np

    module = import_onnx(single_node("NonZero", {"x": np.array([[0, 1, 2]], np.float32)}))
    compile_module(module)
