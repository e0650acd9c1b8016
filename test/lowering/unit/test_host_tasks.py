"""What the host does for operators without a kernel: packing filters that arrive at run time, and empty tensors."""

import numpy as np
import onnxruntime
import pytest
from models.small import single_node

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import AicpuCall, Program
from graph_engine.target_ascend.runtime.device import run


def host_operators(program: Program) -> list[str]:
    tasks = [task for stream in program.entry_points[0].streams for task in stream.tasks]
    return [task.op for task in tasks if isinstance(task, AicpuCall)]


@pytest.mark.parametrize(("group", "channels"), [(1, 5), (2, 8), (4, 4)])
def test_a_filter_given_at_run_time_in_groups_is_packed_by_the_host(group: int, channels: int) -> None:
    rng = np.random.default_rng(group)
    x = rng.uniform(-1, 1, (1, channels, 6, 7)).astype(np.float32)
    w = rng.uniform(-1, 1, (8, channels // group, 3, 3)).astype(np.float32)
    model = single_node("Conv", {"x": x.shape, "w": w.shape}, group=group)
    names = [value.name for value in model.graph.input]
    [right] = onnxruntime.InferenceSession(model.SerializeToString()).run(None, dict(zip(names, (x, w), strict=True)))
    module = import_onnx(model)
    compile_module(module)
    program = emit_program(module)
    assert host_operators(program) == (["layout.transdata"] if group > 1 else [])
    [value] = run(program, [x, w], mode="functional").outputs
    np.testing.assert_allclose(value, right, atol=2e-2)


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
