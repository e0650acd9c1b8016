"""Convolutions of volumes on the checked chip beside onnxruntime: any shape, what follows them, filters that are inputs."""

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
from graph_engine.lowering.kernels.conv_shape import Depth
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run

Shape = tuple[int, ...]


def check(
    x: Shape,
    w: Shape,
    tail: str = "",
    *,
    constant: bool = True,
    soc: str = "Ascend310P3",
    behind: Any = (),
    **attributes: Any,
) -> Counter[str]:
    """Conv of x with w and what `tail` says behind it; how often each type of task runs."""
    rng = np.random.default_rng(3)
    filters = (rng.standard_normal(w) / np.sqrt(np.prod(w[1:]))).astype(np.float32)
    bias = rng.standard_normal(w[0]).astype(np.float32)
    feeds = {"x": rng.standard_normal(x).astype(np.float32)} | ({} if constant else {"w": filters})
    nodes = [helper.make_node("Conv", ["x", "w", "b"] if constant else ["x", "w"], ["y"], name="conv", **attributes)]
    if "scale" in tail:
        nodes.append(helper.make_node("Mul", [nodes[-1].output[0], "s"], ["scaled"]))
    if "residual" in tail:
        nodes.append(helper.make_node("Conv", ["x", "v", "b"], ["other"], name="other", **attributes))
        nodes.append(helper.make_node("Add", [nodes[-2].output[0], "other"], ["sum"]))
    if "relu" in tail:
        nodes.append(helper.make_node("Relu", [nodes[-1].output[0]], ["positive"]))
    for node in behind:
        node.input[0] = nodes[-1].output[0]
        nodes.append(node)
    weights = {"b": bias, "s": rng.standard_normal((1, w[0], 1, 1, 1)).astype(np.float32), "v": filters[::-1]}
    weights |= {"w": filters} if constant else {}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, feed.shape) for name, feed in feeds.items()],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, [None] * 5)],
        [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    want = np.asarray(session.run(None, feeds)[0])
    module = import_onnx(model)
    compile_module(module, soc)
    program = emit_program(module)
    tasks = [task for stream in program.entry_points[0].streams for task in stream.tasks]
    assert not any(isinstance(task, AicpuCall) for task in tasks)
    found = run(program, list(feeds.values()), mode="both", check=True)
    assert not found.findings, found.findings[:3]
    np.testing.assert_allclose(found.outputs[0], want, atol=2**-8 * max(1.0, np.abs(want).max()), rtol=0)
    assert found.profile is not None
    return Counter(task.type for task in found.profile.tasks)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_any_shape(data: st.DataObject) -> None:
    def three(low: int, high: int) -> list[int]:
        return [data.draw(st.integers(low, high)) for _ in range(3)]

    cin, cout = data.draw(st.sampled_from([1, 3, 16, 20, 40])), data.draw(st.sampled_from([1, 7, 16, 33]))
    kernel, strides, dilations, extents = three(1, 3), three(1, 3), three(1, 2), three(1, 9)
    reach = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
    begins, ends = ([data.draw(st.integers(0, r)) for r in reach] for _ in range(2))
    assume(all(n + b + e > r for n, b, e, r in zip(extents, begins, ends, reach, strict=True)))
    first = range(0, extents[0] + begins[0] + ends[0] - reach[0], strides[0])
    assume(all(any(0 <= f - begins[0] + r < extents[0] for r in range(0, reach[0] + 1, dilations[0])) for f in first))
    batch = data.draw(st.integers(1, 2))
    try:
        check(
            (batch, cin, *extents), (cout, cin, *kernel), data.draw(st.sampled_from(["", "relu", "scale relu"])),
            strides=strides, dilations=dilations, pads=[*begins, *ends],
        )  # fmt: skip
    except AssertionError as error:
        raise AssertionError(f"{extents} {kernel} {strides} {dilations} {begins} {ends}") from error


@pytest.mark.parametrize("tail", ["", "relu", "scale relu", "residual", "residual relu"])
def test_what_follows_leaves_along(tail: str) -> None:
    types = check((1, 24, 6, 9, 10), (40, 24, 3, 3, 3), tail, pads=[1] * 6, strides=[2, 1, 1])
    assert types == {"Conv3D": 2 if "residual" in tail else 1, "TransData": 2}


@pytest.mark.parametrize(
    ("x", "w", "strides", "pads"),
    [
        ((1, 64, 8, 14, 14), (64, 64, 3, 3, 3), (1, 1, 1), (1,) * 6),
        ((1, 3, 8, 40, 40), (45, 3, 1, 7, 7), (1, 2, 2), (0, 3, 3, 0, 3, 3)),
        ((2, 128, 4, 7, 7), (256, 128, 3, 3, 3), (2, 2, 2), (1,) * 6),
        ((1, 512, 2, 7, 7), (512, 512, 3, 3, 3), (1, 1, 1), (1,) * 6),
        ((1, 45, 8, 14, 14), (64, 45, 3, 1, 1), (1, 1, 1), (1, 0, 0, 1, 0, 0)),
        ((10, 16, 3, 5, 4), (16, 16, 2, 2, 2), (1, 1, 1), (0,) * 6),
    ],
)
def test_larger(x: Shape, w: Shape, strides: Shape, pads: Shape) -> None:
    types = check(x, w, "relu", strides=strides, pads=pads)
    assert types == {"Conv3D": 1, "TransData": 2}


@pytest.mark.parametrize(("cin", "cout", "group"), [(40, 40, 40), (48, 96, 3), (20, 30, 5), (96, 64, 32)])
def test_groups(cin: int, cout: int, group: int) -> None:
    types = check((1, cin, 4, 7, 6), (cout, cin // group, 3, 3, 2), "relu", group=group, pads=[1, 1, 0, 1, 1, 1])
    assert types == {"Conv3D": 1, "TransData": 2}


def test_groups_of_which_fewer_are_left() -> None:
    types = check((1, 72, 4, 7, 6), (72, 24, 1, 3, 3), "relu", group=3, strides=[2, 1, 1])
    assert types == {"Conv3D": 1, "TransData": 2}


def test_filter_that_is_an_input() -> None:
    types = check((1, 20, 5, 6, 7), (17, 20, 3, 2, 3), constant=False, pads=[1, 0, 1, 1, 1, 0])
    assert types["Conv3D"] == 1


@pytest.mark.parametrize("soc", ["Ascend310B1", "Ascend910B3"])
def test_other_ways_out_of_the_cube(soc: str) -> None:
    types = check((1, 20, 5, 6, 7), (17, 20, 3, 2, 3), "relu", soc=soc, pads=[1, 0, 1, 1, 1, 0])
    assert types["Conv3D"] == 1


def test_taps_inside_the_volume() -> None:
    """Counted by hand: 4 slices, taps at o - 2, o, o + 2 for output o."""
    depth = Depth(inputs=4, outputs=4, taps=3, stride=1, dilation=2, pad=2)
    assert [depth.needed(o) for o in range(4)] == [(0, 1, 2), (1, 1, 2), (0, 0, 2), (1, 0, 2)]
    with pytest.raises(NoKernel, match="nothing but padding"):
        Depth(inputs=2, outputs=4, taps=1, stride=1, dilation=1, pad=1).needed(0)


@pytest.mark.parametrize(
    ("kernel", "strides", "pads", "ceil"),
    [
        ((2, 2, 2), (2, 2, 2), (0, 0, 0, 0, 0, 0), 0),
        ((1, 2, 2), (1, 2, 2), (0, 0, 0, 0, 0, 0), 0),
        ((3, 3, 2), (2, 1, 2), (1, 1, 0, 1, 0, 1), 1),
        ((3, 1, 1), (1, 1, 1), (1, 0, 0, 1, 0, 0), 0),
    ],
)
def test_maxima_of_volumes(kernel: Shape, strides: Shape, pads: Shape, ceil: int) -> None:
    """Pools between convolutions need no other layout; one window in depth, one in the planes."""
    pool = helper.make_node("MaxPool", ["y"], ["z"], kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=ceil)
    types = check((2, 16, 5, 8, 9), (24, 16, 1, 1, 1), "relu", behind=[pool])
    parts = (kernel[0] > 1) + (kernel[1:] != (1, 1))
    assert types == {"Conv3D": 1, "MaxPool3D": parts, "TransData": 2}
