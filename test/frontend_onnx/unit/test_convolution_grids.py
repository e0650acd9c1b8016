"""Grids of convolutions and pools against onnxruntime: axes, pads, auto_pad, dilations, groups, transposition."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from harness.judge import agree

EXTENTS = {1: (11,), 2: (9, 10), 3: (5, 7, 6)}
KERNELS = {1: (3,), 2: (3, 2), 3: (2, 3, 2)}


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def settings(rank: int) -> list[dict[str, Any]]:
    """Pads or auto_pad, with strides and dilations that make both matter."""
    kernel = KERNELS[rank]
    pads: list[dict[str, Any]] = [
        {},
        {"pads": [1] * rank + [0] * rank},
        {"pads": [1 if k > 2 else 0 for k in kernel] + [1] * rank},
    ]
    pads += [{"auto_pad": mode} for mode in ("VALID", "SAME_UPPER", "SAME_LOWER")]
    strides = [[1] * rank, [2] * rank, [3, 1, 2][:rank]]
    return [pad | {"strides": stride} for pad, stride in product(pads, strides)]


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("bias", [False, True])
def test_conv(rank: int, group: int, bias: bool) -> None:
    for setting, dilation in product(settings(rank), (1, 2)):
        if dilation > 1 and "SAME" in setting.get("auto_pad", ""):
            continue  # onnxruntime refuses this
        inputs = {
            "x": floats(2, 4, *EXTENTS[rank]),
            "w": floats(8, 4 // group, *KERNELS[rank]),
            "b": floats(8) if bias else None,
        }
        used = agree("Conv", inputs, setting | {"group": group, "dilations": [dilation] * rank})
        assert [op for op in used if op != "reshape"] == ["conv3d" if rank == 3 else "conv2d"]


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
def test_conv_transpose(rank: int, group: int, dilation: int) -> None:
    for number, setting in enumerate(settings(rank)):
        more: dict[str, Any] = {"group": group, "dilations": [dilation] * rank}
        if "SAME" in setting.get("auto_pad", "") and any(
            s > k for s, k in zip(setting["strides"], KERNELS[rank], strict=True)
        ):
            continue  # onnxruntime's result is smaller than the standard's
        if number % 2 and max(setting["strides"]) > 1:
            more["output_padding"] = [min(1, s - 1) for s in setting["strides"]]
        inputs = {
            "x": floats(2, 4, *EXTENTS[rank]),
            "w": floats(4, 6 // group, *KERNELS[rank]),
            "b": floats(6) if number % 3 else None,
        }
        agree("ConvTranspose", inputs, setting | more)


@pytest.mark.parametrize("mode", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("size", [(19, 21), (18, 22), (20, 20), (17, 19)])
def test_conv_transpose_to_a_given_shape(mode: str, size: tuple[int, ...]) -> None:
    inputs = {"x": floats(1, 3, 9, 10), "w": floats(3, 2, 3, 4)}
    agree("ConvTranspose", inputs, {"strides": [2, 2], "output_shape": list(size), "auto_pad": mode})


@pytest.mark.parametrize("kernel, stride", [(2, 2), (4, 4), (4, 2), (3, 2), (5, 3), (1, 2), (2, 3), (3, 1)])
def test_conv_transpose_multiplies_no_zeros_between_elements(kernel: int, stride: int) -> None:
    inputs = {"x": floats(1, 3, 6, 5), "w": floats(3, 2, kernel, kernel), "b": floats(2)}
    used = agree("ConvTranspose", inputs, {"strides": [stride, stride]})
    assert used.count("conv2d") == 1 and set(used) <= {"conv2d", "reshape", "transpose", "pad", "slice", "expand"}


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_pool(op: str, rank: int, ceil_mode: int) -> None:
    for setting, dilation in product(settings(rank), (1, 2)):
        if "SAME" in setting.get("auto_pad", "") and (dilation > 1 or ceil_mode):
            continue
        attributes = setting | {"kernel_shape": KERNELS[rank], "ceil_mode": ceil_mode, "dilations": [dilation] * rank}
        if op == "AveragePool":
            for include in (0, 1):
                agree(op, {"x": floats(2, 3, *EXTENTS[rank])}, attributes | {"count_include_pad": include}, opset=19)
        elif op == "LpPool":
            for p in (1, 2, 3):
                agree(op, {"x": floats(2, 3, *EXTENTS[rank])}, attributes | {"p": p}, opset=18)
        else:
            agree(op, {"x": floats(2, 3, *EXTENTS[rank])}, attributes, opset=12)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("storage_order", [0, 1])
def test_max_pool_with_indices(rank: int, storage_order: int) -> None:
    for setting in settings(rank):
        attributes = setting | {"kernel_shape": KERNELS[rank], "storage_order": storage_order}
        agree("MaxPool", {"x": floats(2, 3, *EXTENTS[rank])}, attributes, outputs=2, opset=12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("outputs", [1, 2])
def test_max_pool_of_bytes(dtype: Any, outputs: int) -> None:
    x = np.random.default_rng(1).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (1, 2, 7, 8)).astype(dtype)
    agree("MaxPool", {"x": x}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, outputs=outputs, opset=12)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_global_pool(op: str, rank: int) -> None:
    agree(op, {"x": floats(2, 3, *EXTENTS[rank])})


@pytest.mark.parametrize("group, offset_group, masked", [(1, 1, False), (2, 1, True), (1, 2, True), (2, 4, False)])
def test_deformable_convolution(group: int, offset_group: int, masked: bool) -> None:
    inputs = {
        "x": floats(2, 4, 7, 8),
        "w": floats(6, 4 // group, 3, 2),
        "offset": 2 * floats(2, offset_group * 12, 4, 4),
        "b": None if offset_group == 2 else floats(6),
        "mask": floats(2, offset_group * 6, 4, 4) if masked else None,
    }
    attributes = {"strides": [2, 2], "pads": [1, 0, 1, 0], "group": group, "offset_group": offset_group}
    agree("DeformConv", inputs, attributes, opset=19, tolerance=1e-4)
