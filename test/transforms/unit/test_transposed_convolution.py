"""Transposed convolutions of any kind on the checked chip beside onnxruntime, and where they need no other layout."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run

Shape = tuple[int, ...]


def network(x: Shape, w: Shape, tail: list[Any], weights: dict[str, Any], **attributes: Any) -> Any:
    """ConvTranspose of x with random w and b, then the nodes of `tail` on "y"."""
    rng = np.random.default_rng(5)
    group = attributes.get("group", 1)
    fan = x[1] // group * np.prod(w[2:]) / np.prod(attributes.get("strides", (1, 1)))
    weights = {
        "w": (rng.standard_normal(w) / np.sqrt(max(fan, 1))).astype(np.float32),
        "b": rng.standard_normal(w[1] * group).astype(np.float32),
        **weights,
    }
    nodes = [helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], name="up", **attributes), *tail]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, [None] * 4)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check(model: Any, shape: Shape) -> Counter[str]:
    """Compares with onnxruntime, findings none, no AI CPU; returns how often each type of task runs."""
    x = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    want = np.asarray(session.run(None, {"x": x})[0])
    module = import_onnx(model)
    compile_module(module)
    program = emit_program(module)
    tasks = [task for stream in program.entry_points[0].streams for task in stream.tasks]
    assert not any(isinstance(task, AicpuCall) for task in tasks)
    found = run(program, [x], mode="both", check=True)
    assert not found.findings, found.findings[:3]
    np.testing.assert_allclose(found.outputs[0], want, atol=2**-8 * max(1.0, np.abs(want).max()), rtol=0)
    assert found.profile is not None
    return Counter(task.type for task in found.profile.tasks)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_any_form(data: st.DataObject) -> None:
    def pair(low: int, high: int) -> tuple[int, int]:
        return data.draw(st.tuples(st.integers(low, high), st.integers(low, high)))

    group = data.draw(st.sampled_from([1, 1, 1, 2, 3]), "group")
    cin, cout = data.draw(st.sampled_from([1, 3, 8, 16, 20])), data.draw(st.sampled_from([1, 3, 8, 16, 24]))
    kernel, strides, dilations, extent = pair(1, 4), pair(1, 3), pair(1, 2), pair(1, 9)
    begin, end, extra = pair(0, 2), pair(0, 2), pair(0, 1)
    for i in range(2):
        assume(extra[i] < strides[i])
        size = (extent[i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 + extra[i] - begin[i] - end[i]
        assume(size > 0)
    batch = data.draw(st.integers(1, 2))
    shape = (batch, cin * group, *extent)
    attributes = {"strides": strides, "dilations": dilations, "pads": (*begin, *end), "output_padding": extra}
    check(network(shape, (cin * group, cout, *kernel), [], {}, group=group, **attributes), shape)


@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "channels"), [(2, 2, 0, 32), (4, 2, 1, 32), (3, 2, 1, 24), (8, 4, 2, 16)]
)
def test_convolution_behind_it_reads_what_it_writes(kernel: int, stride: int, pad: int, channels: int) -> None:
    """Two conversions: at the input and at the output of the network, none between the operators."""
    rng = np.random.default_rng(7)
    weights = {"v": (rng.standard_normal((8, channels, 3, 3)) / np.sqrt(9 * channels)).astype(np.float32)}
    tail = [helper.make_node("Relu", ["y"], ["r"]), helper.make_node("Conv", ["r", "v"], ["z"], pads=[1, 1, 1, 1])]
    shape = (1, 20, 7, 9)
    attributes = {"strides": [stride] * 2, "pads": [pad] * 4}
    types = check(network(shape, (20, channels, kernel, kernel), tail, weights, **attributes), shape)
    slices = {"SliceD": 1} if pad else {}
    assert types == {"TransData": 2, "Conv2D": 2, "DepthToSpace": 1, **slices}
