"""Resizes as products with constants: right on the chip beside onnxruntime, and left alone where they are no products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import node_model, onnxruntime_outputs
from harness.on_the_chip import chip_outputs
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run


def model(shape: tuple[int, ...], factors: tuple[float, ...], **attributes: Any) -> Any:
    result = tuple(int(np.floor(n * f)) for n, f in zip(shape, factors, strict=True))
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], name="resize", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [helper.make_tensor("scales", TensorProto.FLOAT, [len(factors)], factors)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def check(shape: tuple[int, ...], factors: tuple[float, ...], **attributes: Any) -> None:
    """The chip, checked, without the AI CPU: within four roundings of fp16 of onnxruntime in fp32."""
    source = model(shape, factors, **attributes)
    x = np.random.default_rng(4).normal(size=shape).astype(np.float32)
    (want,) = onnxruntime_outputs(source, {"x": x})
    module = import_onnx(source)
    compile_module(module)
    program = emit_program(module)
    entry = program.entry_points[0]
    assert not any(isinstance(task, AicpuCall) for stream in entry.streams for task in stream.tasks)
    found = run(program, [x], mode="functional", check=True)
    assert not found.findings, found.findings[:3]
    np.testing.assert_allclose(found.outputs[0], want, atol=4 * 2**-11 * np.abs(x).max(), rtol=0)


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
def test_modes(mode: str, coordinates: str) -> None:
    kind = {"nearest_mode": "floor"} if mode == "nearest" else {}
    check((1, 5, 6, 10), (1.0, 1.0, 2.5, 2.5), mode=mode, coordinate_transformation_mode=coordinates, **kind)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_aspect_ratio_kept(policy: str, mode: str) -> None:
    x = np.random.default_rng(4).normal(size=(1, 3, 7, 9)).astype(np.float32)
    inputs = {"x": x, "r": None, "s": None, "sizes": np.array([5, 11])}
    attributes = {"axes": [2, 3], "keep_aspect_ratio_policy": policy, "mode": mode}
    source = node_model("Resize", inputs, attributes, constants=["sizes"], opset=18)
    found, _ = chip_outputs(source, {"x": x})
    np.testing.assert_allclose(found[0], onnxruntime_outputs(source, {"x": x})[0], atol=2**-9 * np.abs(x).max())


def test_crop() -> None:
    """Places outside of x get a number of their own."""
    x = np.random.default_rng(4).normal(size=(1, 2, 6, 8)).astype(np.float32)
    roi = np.array([0, 0, 0.4, -0.2, 1, 1, 1.2, 0.7], np.float32)
    inputs = {"x": x, "roi": roi, "s": None, "sizes": np.array([1, 2, 4, 5])}
    attributes = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    source = node_model("Resize", inputs, attributes, constants=["roi", "sizes"])
    found, types = chip_outputs(source, {"x": x})
    assert any("MatMul" in name for name in types), types
    right = onnxruntime_outputs(source, {"x": x})[0]
    assert (right == 7).any()
    np.testing.assert_allclose(found[0], right, atol=2**-9 * np.abs(x).max())


def test_antialias_when_shrinking() -> None:
    check((1, 3, 24, 20), (1.0, 1.0, 0.5, 0.4), mode="linear", antialias=1)


@pytest.mark.parametrize("channels", [3, 24])
def test_more_copies_than_a_movement_makes(channels: int) -> None:
    check(
        (1, channels, 6, 5),
        (1.0, 1.0, 8.0, 8.0),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_any_axes(data: st.DataObject) -> None:
    rank = data.draw(st.integers(3, 5))
    shape = tuple(data.draw(st.lists(st.integers(1, 12), min_size=rank, max_size=rank)))
    spatial = data.draw(st.lists(st.sampled_from([1.0, 1.5, 2.0, 3.0]), min_size=rank - 2, max_size=rank - 2))
    check(shape, (1.0, 1.0, *spatial), mode="linear")
