"""Running sums on the chip, as products with triangles, against numpy in fp64."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize(("shape", "axis"), [((3, 5, 40), 2), ((2, 50, 7), 1), ((30, 4), 0), ((17,), 0)], ids=str)
def test_cum_sum(shape: tuple[int, ...], axis: int, exclusive: int, reverse: int) -> None:
    node = helper.make_node("CumSum", ["x", "axis"], ["y"], exclusive=exclusive, reverse=reverse)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    constant = helper.make_tensor("axis", TensorProto.INT64, [], [axis])
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], [constant])
    module = import_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=9))
    compile_module(module)
    program = emit_program(module)
    assert not any(isinstance(t, AicpuCall) for stream in program.entry_points[0].streams for t in stream.tasks)
    x = np.random.default_rng(1).integers(-16, 16, shape).astype(np.float32) / 8
    found = run(program, [x], mode="functional", check=True)
    assert not found.findings, found.findings[:3]
    ordered = np.flip(x, axis) if reverse else x
    want = np.cumsum(ordered, axis) - (ordered if exclusive else 0)
    # Eighths up to 256 are exact in fp16, and so are their sums on the Cube.
    np.testing.assert_array_equal(found.outputs[0], np.flip(want, axis) if reverse else want)
