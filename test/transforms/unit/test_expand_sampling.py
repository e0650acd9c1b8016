"""Grids and regions on the checked chip beside onnxruntime, without the AI CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run

RNG = np.random.default_rng(8)


def check(op_type: str, inputs: Mapping[str, Any], shape: tuple[int, ...], soc: str, **attributes: Any) -> None:
    """Within what fp16 images and weights cost: four roundings of the largest element."""
    node = helper.make_node(op_type, list(inputs), ["y"], **attributes)
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    session = onnxruntime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    (want,) = session.run(None, dict(inputs))
    module = import_onnx(source)
    compile_module(module, soc)
    program = emit_program(module)
    assert not any(isinstance(task, AicpuCall) for stream in program.entry_points[0].streams for task in stream.tasks)
    found = run(program, list(inputs.values()), mode="functional", check=True)
    assert not found.findings, found.findings[:3]
    largest = max(np.abs(inputs[next(iter(inputs))]).max(), 1.0)
    np.testing.assert_allclose(found.outputs[0], np.asarray(want), atol=8 * 2**-11 * largest, rtol=0)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_grid(mode: str, padding: str, aligned: int) -> None:
    """Places inside, at the border and far outside; channels that fill no block."""
    x = RNG.normal(size=(2, 5, 6, 9)).astype(np.float32)
    grid = RNG.uniform(-1.6, 1.6, size=(2, 4, 7, 2)).astype(np.float32)
    grid[0, 0, :3] = [[-1, 1], [1, 1], [-0.97, 0.13]]
    soc = "Ascend310P3" if aligned else "Ascend910B3"
    check(
        "GridSample", {"x": x, "grid": grid}, (2, 5, 4, 7), soc, mode=mode, padding_mode=padding, align_corners=aligned
    )


def test_grid_in_a_volume() -> None:
    x = RNG.normal(size=(1, 3, 4, 5, 6)).astype(np.float32)
    grid = RNG.uniform(-1.2, 1.2, size=(1, 2, 3, 2, 3)).astype(np.float32)
    check("GridSample", {"x": x, "grid": grid}, (1, 3, 2, 3, 2), "Ascend310P3", mode="linear")


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("transformation", ["half_pixel", "output_half_pixel"])
def test_regions(mode: str, transformation: str) -> None:
    """Regions inside, across the border, smaller than an element, with columns and rows of their own."""
    x = RNG.normal(size=(2, 6, 12, 10)).astype(np.float32)
    rois = np.array([[2, 3, 15, 18], [-4, -2, 9.5, 30], [7, 7, 7.5, 7.25], [0, 0, 19, 23]], np.float32)
    inputs = {"x": x, "rois": rois, "batch": np.array([0, 1, 1, 0])}
    check(
        "RoiAlign", inputs, (4, 6, 3, 2), "Ascend310P3", mode=mode, output_height=3, output_width=2, sampling_ratio=2,
        spatial_scale=0.5, coordinate_transformation_mode=transformation,
    )  # fmt: skip


@pytest.mark.parametrize(("parts", "group"), [(1, 1), (2, 1), (1, 3), (2, 3)])
def test_deformed_convolution(parts: int, group: int) -> None:
    """Taps that move inside, across the border and far away; channels in parts with offsets of their own, masks."""
    x = RNG.normal(size=(2, 6, 8, 7)).astype(np.float32)
    offset = RNG.normal(size=(2, 2 * parts * 9, 4, 4)).astype(np.float32) * 2
    offset[0, :, 0, 0] = 40
    inputs = {
        "x": x,
        "w": (RNG.normal(size=(6, 6 // group, 3, 3)) * 0.2).astype(np.float32),
        "offset": offset,
        "b": RNG.normal(size=6).astype(np.float32),
        "mask": RNG.uniform(0, 1, size=(2, parts * 9, 4, 4)).astype(np.float32),
    }
    options = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "offset_group": parts, "group": group}
    check("DeformConv", inputs, (2, 6, 4, 4), "Ascend310P3", **options)
