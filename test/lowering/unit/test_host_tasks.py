"""What has no kernel: empty tensors, and element types that the chip lacks."""

import numpy as np
import pytest
from models.small import single_node

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.runtime.device import run


def test_empty_tensors_have_no_kernel() -> None:
    model = single_node("Concat", {"x": (2, 3), "empty": (2, 0)}, axis=1)
    module = import_onnx(model)
    compile_module(module)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    [value] = run(emit_program(module), [x, np.zeros((2, 0), np.float32)], mode="functional", check=True).outputs
    np.testing.assert_array_equal(value, x)


def test_element_types_that_the_chip_lacks_are_refused_with_their_nodes() -> None:
    module = import_onnx(single_node("Cast", {"x": (2, 3)}, opset=21, to=17))
    with pytest.raises(
        GraphEngineError, match=r"(?s)no such element types.*node '.*': ge.cast gives tensor<2x3xf8E4M3FN>"
    ):
        compile_module(module)
