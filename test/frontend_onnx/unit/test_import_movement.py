"""Operators that move, choose and sample elements, in the forms of their opsets, against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.frontend_onnx.importer import import_onnx

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(11)
I64 = np.int64


def model_of(
    op_type: str,
    inputs: Mapping[str, Array | None],
    opset: int,
    constants: Sequence[str],
    outputs: int,
    **attributes: Any,
) -> onnx.ModelProto:
    """One node; `constants` are initialisers, an input of None is left out."""
    names = [name if value is not None else "" for name, value in inputs.items()]
    node = helper.make_node(op_type, names, [f"y{i}" for i in range(outputs)], **attributes)
    given = {name: value for name, value in inputs.items() if value is not None}
    graph = helper.make_graph(
        [node],
        "one",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in given.items()
            if name not in constants
        ],
        [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)],
        [numpy_helper.from_array(given[name], name) for name in constants if name in given],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def check(
    op_type: str,
    inputs: Mapping[str, Array | None],
    opset: int,
    constants: Sequence[str] = (),
    outputs: int = 1,
    tolerance: float = 1e-5,
    **attributes: Any,
) -> list[str]:
    """Asserts that all outputs agree with onnxruntime; gives the operators used, constants left out."""
    model = model_of(op_type, inputs, opset, constants, outputs, **attributes)
    feeds = {name: value for name, value in inputs.items() if name not in constants and value is not None}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = session.run(None, feeds)
    module = import_onnx(model)
    module.verify()
    (function,) = module.body.block.ops
    block = function.regions[0].block
    found = evaluate_block(block, list(feeds.values()))
    for got, wanted in zip(found, expected, strict=True):
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype
        if wanted.dtype.kind == "f":
            scale = float(np.abs(wanted).max(initial=1.0))
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * scale)
        else:
            np.testing.assert_array_equal(got, wanted)
    names = [op.name.removeprefix("ge.") for op in block.ops if op.name.startswith("ge.")]
    return [name for name in names if name != "constant"]


def floats(*shape: int) -> Array:
    """Normal fp32 numbers."""
    return RNG.standard_normal(shape).astype(np.float32)


X = floats(2, 3, 5, 7)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [[0, 0, 1, 2, 0, 0, 3, 0], [1, 0, 0, 4, 0, 2, 0, 4], [0, 0, -1, 2, 0, 0, 2, -3]])
def test_pad(mode: str, pads: list[int]) -> None:
    if mode == "reflect":
        pads = [min(p, 2) if i % 4 < 2 else p for i, p in enumerate(pads)]
        pads[0], pads[5] = min(pads[0], 1), min(pads[5], 2)
    used = check("Pad", {"x": X, "pads": np.array(pads, I64)}, 19, ["pads"], mode=mode)
    assert set(used) <= {"pad", "slice", "concat"}


@pytest.mark.parametrize(("opset", "axes"), [(18, [1, 3]), (21, [-1, 1])])
def test_pad_of_some_axes_with_a_value(opset: int, axes: list[int]) -> None:
    inputs = {
        "x": X,
        "pads": np.array([1, 2, 0, 3], I64),
        "value": np.array(0.1, np.float32),
        "axes": np.array(axes, I64),
    }
    assert check("Pad", inputs, opset, ["pads", "value", "axes"]) == ["pad"]


def test_pad_with_a_number_that_fp32_does_not_hold() -> None:
    x, value = np.arange(6, dtype=I64).reshape(2, 3), np.array(2**40 + 1, I64)
    inputs = {"x": x, "pads": np.array([1, 0, 0, 2], I64), "value": value}
    check("Pad", inputs, 13, ["pads", "value"])
    check("Pad", inputs, 13, ["pads"])


def test_pad_by_attributes() -> None:
    assert check("Pad", {"x": X}, 10, pads=[0, 0, 1, 1, 0, 0, 1, 1], value=2.5) == ["pad"]


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ([1, 0], [3, 7], [2, 3], [1, 2]),
        ([-1], [-100], [3], [-1]),
        ([100, 4], [0, -(2**63)], [3, 2], [-2, -1]),
        ([-3], [2**63 - 1], [-2], [1]),
        ([3], [3], [2], [1]),
    ],
)
def test_slice(starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> None:
    names = ("starts", "ends", "axes", "steps")
    inputs = {"x": X} | {n: np.array(v, I64) for n, v in zip(names, (starts, ends, axes, steps), strict=True)}
    assert check("Slice", inputs, 13, names) == ["slice"]


@pytest.mark.parametrize(("opset", "attributes"), [(18, {"num_outputs": 3}), (13, {})])
def test_split_in_equal_parts(opset: int, attributes: dict[str, int]) -> None:
    x = floats(2, 8) if opset == 18 else floats(2, 9)
    assert check("Split", {"x": x}, opset, outputs=3, axis=1, **attributes) == ["slice"] * 3


@pytest.mark.parametrize(
    ("places", "used"),
    [
        ([2], ["slice"]),
        (2, ["slice", "reshape"]),
        ([1, 2, 3], ["slice"]),
        ([0, 2, 4], ["slice"]),
        ([-1, 0], ["slice", "slice", "concat"]),
        ([4, 3, 2, 1, 0], ["slice"]),
        ([3, 0, 2, 2, 1], ["gather"]),
        ([[0, 1], [2, 3]], ["slice", "reshape"]),
        ([[3, 1], [0, 4]], ["gather"]),
    ],
)
def test_gather_at_constant_places(places: Any, used: list[str]) -> None:
    assert check("Gather", {"x": X, "i": np.array(places, I64)}, 13, ["i"], axis=2) == used


def test_gathers_at_places_given_at_run_time() -> None:
    assert check("Gather", {"x": X, "i": np.array([[1, -1], [0, 2]], np.int32)}, 13, axis=1) == ["gather"]
    places = RNG.integers(-5, 5, (2, 3, 4, 7))
    assert check("GatherElements", {"x": X, "i": places}, 13, axis=2) == ["gather_elements"]
    assert check("GatherND", {"x": X, "i": RNG.integers(-5, 5, (2, 3, 4, 1))}, 13, batch_dims=2) == ["gather_nd"]
    assert check("GatherND", {"x": X, "i": RNG.integers(0, 2, (6, 3))}, 13) == ["gather_nd"]


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatters(reduction: str) -> None:
    places = np.argsort(RNG.random((2, 3, 5, 7)), axis=2)[:, :, :4] if reduction == "none" else None
    places = RNG.integers(-5, 5, (2, 3, 4, 7)) if places is None else places.astype(I64)
    inputs = {"x": X, "i": places, "u": floats(2, 3, 4, 7)}
    check("ScatterElements", inputs, 18, axis=2, reduction=reduction)
    places = np.array([[1, 2], [0, 0], [1, 2]] if reduction != "none" else [[1, 2], [0, 0], [-1, 0]], I64)
    used = check("ScatterND", {"x": X, "i": places, "u": floats(3, 5, 7)}, 18, reduction=reduction)
    assert used == ["scatter_nd"]


@pytest.mark.parametrize(("mode", "starts"), [("linear", [1, 3]), ("circular", [4, 2])])
def test_a_cache_is_updated_from_given_positions(mode: str, starts: list[int]) -> None:
    x, updates = floats(2, 3, 6, 4), floats(2, 3, 3, 4)
    model = model_of("TensorScatter", {"x": x, "u": updates, "s": np.array(starts, I64)}, 24, [], 1, mode=mode)
    expected = x.copy()
    for batch, start in enumerate(starts):
        expected[batch][:, [(start + i) % 6 for i in range(3)]] = updates[batch]
    (function,) = import_onnx(model).body.block.ops
    block = function.regions[0].block
    assert block.first_op is not None and block.first_op.name == "ge.tensor_scatter"
    np.testing.assert_array_equal(evaluate_block(block, [x, updates, np.array(starts, I64)])[0], expected)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis: int) -> None:
    inputs = {"i": np.array([[0, -1, 9], [3, 12, -20]], I64), "d": np.array(10, I64), "v": np.array([2, 5], np.float32)}
    assert check("OneHot", inputs, 11, ["d"], axis=axis) == ["one_hot"]


@pytest.mark.parametrize(("largest", "axis", "dtype"), list(product([0, 1], [0, -1], [np.float32, np.int64])))
def test_top_k_prefers_the_lower_index(largest: int, axis: int, dtype: Any) -> None:
    x = RNG.integers(0, 5, (6, 8)).astype(dtype)
    inputs = {"x": x, "k": np.array([4], I64)}
    assert check("TopK", inputs, 11, ["k"], 2, largest=largest, axis=axis) == ["top_k"]


@pytest.mark.parametrize("in_order", [0, 1])
def test_unique_and_non_zero(in_order: int) -> None:
    x = RNG.integers(0, 4, (3, 5)).astype(np.float32)
    assert check("Unique", {"x": x}, 11, outputs=4, sorted=in_order) == ["reshape", "unique"]
    if in_order:
        assert check("Unique", {"x": x[:, [0, 1, 0, 4, 1]]}, 11, outputs=4, axis=1) == ["unique"]
    assert check("NonZero", {"x": x}, 13) == ["non_zero"]
    assert check("NonZero", {"x": x}, 13, ["x"]) == ["non_zero"]


def test_sizes_are_known_where_the_data_are_constant() -> None:
    x = np.array([[0, 3, 0], [1, 0, 2]], np.float32)
    model = model_of("NonZero", {"x": x}, 13, ["x"], 1)
    assert str(import_onnx(model).body.block.first_op.function_type.outputs.data[0]) == "tensor<2x3xi64>"  # type: ignore[union-attr]


def test_compress() -> None:
    condition = np.array([True, False, True, True, False])
    assert check("Compress", {"x": X, "c": condition}, 11, axis=2) == ["compress"]
    assert check("Compress", {"x": X, "c": condition}, 11, ["c"], axis=2) == ["slice", "slice", "concat"]
    assert check("Compress", {"x": X, "c": condition}, 11) == ["reshape", "compress"]


@pytest.mark.parametrize("center", [0, 1])
def test_non_max_suppression(center: int) -> None:
    boxes = RNG.random((2, 20, 4)).astype(np.float32) * np.array([1, 1, 0.3, 0.3] if center else 1, np.float32)
    scores = RNG.random((2, 3, 20)).astype(np.float32)
    limit, overlap, least = np.array([6], I64), np.array([0.2], np.float32), np.array([0.3], np.float32)
    inputs = {"b": boxes, "s": scores, "n": limit, "o": overlap, "t": least}
    assert check("NonMaxSuppression", inputs, 11, center_point_box=center) == ["non_max_suppression"]
    check("NonMaxSuppression", inputs | {"t": None, "o": None}, 11, center_point_box=center)


def test_reverse_sequence_and_trilu() -> None:
    x = floats(5, 4, 3)
    inputs = {"x": x, "n": np.array([5, 1, 3, 2], I64)}
    assert check("ReverseSequence", inputs, 10, time_axis=0, batch_axis=1) == ["reverse_sequence"]
    for upper, k in product([0, 1], [-2, 0, 3]):
        assert check("Trilu", {"x": x, "k": np.array(k, I64)}, 14, ["k"], upper=upper) == ["trilu"]
    assert check("Trilu", {"x": x, "k": np.array(1, I64)}, 14) == ["trilu"]


COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("sizes", [(10, 21), (3, 4), (1, 9)])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_to_sizes(mode: str, sizes: tuple[int, int], coordinates: str) -> None:
    x = floats(2, 3, 5, 7)
    inputs = {"x": x, "roi": None, "scales": None, "sizes": np.array([2, 3, *sizes], I64)}
    how = {"mode": mode, "coordinate_transformation_mode": coordinates}
    assert check("Resize", inputs, 19, ["sizes"], **how) == ["resize"]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("scales", [(2.0, 3.0), (0.55, 1.5)])
def test_resize_to_the_nearest(coordinates: str, nearest: str, scales: tuple[float, float]) -> None:
    if coordinates == "align_corners" and scales[0] < 1:
        pytest.skip("onnxruntime takes the rounded extent, the standard the exact product")
    inputs = {"x": floats(1, 2, 5, 8), "roi": None, "scales": np.array([1, 1, *scales], np.float32)}
    how = {"coordinate_transformation_mode": coordinates, "nearest_mode": nearest}
    check("Resize", inputs, 19, ["scales"], **how)


def test_repeating_elements_is_a_movement() -> None:
    inputs = {"x": X, "roi": None, "scales": np.array([1, 1, 2, 2], np.float32)}
    how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    assert check("Resize", inputs, 13, ["scales"], **how) == ["reshape", "tile", "reshape"]
    assert check("Upsample", {"x": X, "s": np.array([1, 1, 2, 3], np.float32)}, 9, ["s"]) == [
        "reshape",
        "tile",
        "reshape",
    ]
    assert check("Resize", {"x": X, "s": np.array([1, 1, 2, 1], np.float32)}, 10, ["s"], mode="linear") == ["resize"]
    assert check("Resize", {"x": X, "roi": None, "s": np.ones(4, np.float32)}, 13, ["s"]) == []


@pytest.mark.parametrize(("mode", "scale"), list(product(["linear", "cubic"], [0.4, 0.7])))
def test_resize_with_antialias_away_from_the_border(mode: str, scale: float) -> None:
    x = np.pad(floats(1, 1, 10, 12), ((0, 0), (0, 0), (12, 12), (12, 12)), mode="edge")
    x[:, :, :12] = x[:, :, -12:] = x[..., :12] = x[..., -12:] = 0  # a border of zeros: how it is repeated is no matter
    inputs = {"x": x, "roi": None, "scales": np.array([1, 1, scale, scale], np.float32)}
    check("Resize", inputs, 19, ["scales"], mode=mode, antialias=1, tolerance=1e-4)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_crop_and_resize(mode: str) -> None:
    roi = np.array([0, 0, 0.2, -0.31, 1, 1, 0.9, 0.82], np.float32)
    inputs = {"x": X, "roi": roi, "scales": None, "sizes": np.array([2, 3, 6, 9], I64)}
    how = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 4.5}
    check("Resize", inputs, 13, ["roi", "sizes"], **how)


@pytest.mark.parametrize(("policy", "axes"), list(product(["not_larger", "not_smaller"], [[2, 3], [3, 2]])))
def test_resize_that_keeps_the_aspect_ratio(policy: str, axes: list[int]) -> None:
    inputs = {"x": X, "roi": None, "scales": None, "sizes": np.array([11, 9], I64)}
    how = {"mode": "linear", "keep_aspect_ratio_policy": policy, "axes": axes}
    assert check("Resize", inputs, 18, ["sizes"], **how) == ["resize"]


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize(("padding", "align"), list(product(["zeros", "border", "reflection"], [0, 1])))
def test_grid_sample(mode: str, padding: str, align: int) -> None:
    grid = (RNG.random((2, 4, 6, 2)).astype(np.float32) - 0.5) * 3
    how = {"mode": mode, "padding_mode": padding, "align_corners": align}
    assert check("GridSample", {"x": X, "g": grid}, 20, tolerance=1e-4, **how) == ["grid_sample"]
    if mode != "cubic":
        x, grid = floats(1, 2, 4, 5, 6), (RNG.random((1, 3, 4, 5, 3)).astype(np.float32) - 0.5) * 3
        check("GridSample", {"x": x, "g": grid}, 20, tolerance=1e-4, **how)


@pytest.mark.parametrize(("align", "size"), list(product([0, 1], [[2, 3, 5, 6], [2, 3, 4, 5, 6]])))
def test_affine_grid(align: int, size: list[int]) -> None:
    rank = len(size) - 2
    inputs = {"theta": floats(2, rank, rank + 1), "size": np.array(size, I64)}
    assert check("AffineGrid", inputs, 20, ["size"], align_corners=align) == ["matmul", "reshape"]


@pytest.mark.parametrize(
    ("mode", "ratio", "pixel"), list(product(["avg", "max"], [0, 2], ["half_pixel", "output_half_pixel"]))
)
def test_roi_align(mode: str, ratio: int, pixel: str) -> None:
    x = floats(2, 3, 12, 14)
    corners = RNG.random((5, 4)).astype(np.float32) * 20
    rois = np.concatenate([np.minimum(corners[:, :2], corners[:, 2:]), np.maximum(corners[:, :2], corners[:, 2:])], 1)
    inputs = {"x": x, "r": rois, "b": np.array([0, 1, 1, 0, 1], I64)}
    how = {"mode": mode, "sampling_ratio": ratio, "coordinate_transformation_mode": pixel}
    how |= {"output_height": 3, "output_width": 4, "spatial_scale": 0.5}
    assert check("RoiAlign", inputs, 16, tolerance=1e-4, **how) == ["roi_align"]


def test_max_roi_pool_and_max_unpool() -> None:
    rois = np.array([[0, 1, 1, 9, 8], [1, 0, 3, 13, 4], [1, 20, 2, 30, 40]], np.float32)
    inputs = {"x": floats(2, 3, 12, 14), "r": rois}
    assert check("MaxRoiPool", inputs, 9, pooled_shape=[3, 2], spatial_scale=0.5) == ["max_roi_pool"]
    places = np.argsort(RNG.random((1, 24)), axis=1)[:, :6].reshape(1, 1, 2, 3).astype(I64)
    used = check("MaxUnpool", {"x": floats(1, 1, 2, 3), "i": places}, 11, kernel_shape=[2, 2], strides=[2, 2])
    assert used == ["reshape", "reshape", "scatter_elements", "reshape"]


@pytest.mark.parametrize(("strides", "pads", "dilations"), [([1, 1], [0] * 4, [1, 1]), ([2, 1], [1, 0, 1, 2], [1, 2])])
def test_col2im(strides: list[int], pads: list[int], dilations: list[int]) -> None:
    image, block = (6, 7), (2, 3)
    counts = [(image[i] + pads[i] + pads[i + 2] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in (0, 1)]
    inputs = {"x": floats(2, 4 * 6, counts[0] * counts[1]), "i": np.array(image, I64), "b": np.array(block, I64)}
    used = check("Col2Im", inputs, 18, ["i", "b"], strides=strides, pads=pads, dilations=dilations)
    assert used == ["col2im"]


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_blocks_between_depth_and_space(mode: str) -> None:
    assert check("DepthToSpace", {"x": floats(2, 12, 3, 5)}, 13, blocksize=2, mode=mode) == [
        "reshape",
        "transpose",
        "reshape",
    ]
    if mode == "DCR":
        assert check("SpaceToDepth", {"x": floats(2, 3, 4, 6)}, 13, blocksize=2) == ["reshape", "transpose", "reshape"]


def test_center_crop_pad() -> None:
    check("CenterCropPad", {"x": X, "s": np.array([8, 4], I64)}, 18, ["s"], axes=[2, 3])


@pytest.mark.parametrize(("shape", "allow_zero"), [([0, -1], 0), ([3, 0, 5], 1), ([-1, 0, 4], 0)])
def test_reshape_with_zeros(shape: list[int], allow_zero: int) -> None:
    x = np.zeros((2, 0, 3), np.float32) if allow_zero else floats(2, 6, 2)
    check("Reshape", {"x": x, "s": np.array(shape, I64)}, 14, ["s"], allowzero=allow_zero)


def test_bits_read_as_another_type() -> None:
    model = model_of("BitCast", {"x": X}, 26, [], 1, to=onnx.TensorProto.INT32)
    (function,) = import_onnx(model).body.block.ops
    block = function.regions[0].block
    assert block.first_op is not None and block.first_op.name == "ge.bitcast"
    np.testing.assert_array_equal(evaluate_block(block, [X])[0], X.view(np.int32))
