"""Pooling kernels on the chip, in checking mode, against windows taken one by one in fp64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, encode, fused, instructions, kernel_of, run_operator, value
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.elementwise import AddOp, CastOp, MulOp, ReluOp, SigmoidOp
from graph_engine.dialects.ge.pooling import AvgPoolOp, GlobalAvgPoolOp, GlobalMaxPoolOp, MaxPoolOp
from graph_engine.dialects.layout import nc1hwc0
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import tensor
from graph_engine.lowering.selection.table import select

MAP = nc1hwc0()
WINDOWS: dict[str, tuple[tuple[int, int, int, int], dict[str, Any]]] = {
    "ResNet": ((1, 16, 112, 112), {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "2x2": ((2, 40, 13, 9), {"kernel": (2, 2), "strides": (2, 2)}),
    "overlapping, ceil": ((1, 33, 14, 15), {"kernel": (3, 3), "strides": (2, 2), "ceil_mode": True}),
    "asymmetric": ((1, 20, 11, 12), {"kernel": (3, 4), "strides": (1, 3), "pads": (0, 2, 2, 1)}),
    "13x13 at every pixel": ((1, 32, 19, 19), {"kernel": (13, 13), "pads": (6, 6, 6, 6)}),
    "row": ((1, 16, 6, 30), {"kernel": (1, 5), "strides": (1, 2), "pads": (0, 2, 0, 2)}),
    "column": ((1, 16, 30, 6), {"kernel": (5, 1), "strides": (3, 1), "pads": (0, 0, 4, 0)}),
    "one pixel": ((3, 16, 5, 5), {"kernel": (1, 1), "strides": (2, 2)}),
    "many planes": ((9, 80, 6, 6), {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "long rows": ((1, 16, 7, 2500), {"kernel": (5, 5), "strides": (2, 2), "pads": (2, 2, 2, 2)}),
    "whole plane with pads": ((1, 16, 4, 4), {"kernel": (6, 6), "pads": (1, 1, 1, 1)}),
}


def windows(
    x: Any, outputs: tuple[int, int], kernel: Any, strides: Any = (1, 1), pads: Any = (0, 0, 0, 0),
    dilations: Any = (1, 1), ceil_mode: bool = False, count_include_pad: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Largest element and mean of every window, one window at a time."""
    n, c, h, w = x.shape
    largest, mean = np.empty((n, c, *outputs)), np.empty((n, c, *outputs))
    for r in range(outputs[0]):
        for s in range(outputs[1]):
            rows = [r * strides[0] - pads[0] + i * dilations[0] for i in range(kernel[0])]
            columns = [s * strides[1] - pads[1] + i * dilations[1] for i in range(kernel[1])]
            inside = x[:, :, [i for i in rows if 0 <= i < h]][..., [i for i in columns if 0 <= i < w]].astype(float)
            count = inside.shape[2] * inside.shape[3]
            largest[:, :, r, s] = inside.max(axis=(2, 3)) if count else -65504
            if count_include_pad:
                count = sum(i < h + pads[2] for i in rows) * sum(i < w + pads[3] for i in columns)
            mean[:, :, r, s] = inside.sum(axis=(2, 3)) / max(1, count)
    return largest, mean


def random(shape: tuple[int, ...], dtype: Any = np.float16) -> Any:
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def pooled(make: Any, x: Any, dtype: str = "f16", **attributes: Any) -> tuple[Any, tuple[int, int]]:
    op = encode(make(value(x.shape, dtype, MAP), **attributes), MAP)
    outputs = tensor(op.results[0]).get_shape()[2:]
    return run_operator(op, [x]), (outputs[0], outputs[1])


@pytest.mark.parametrize("name", WINDOWS)
def test_max(name: str) -> None:
    shape, attributes = WINDOWS[name]
    x = random(shape)
    got, outputs = pooled(MaxPoolOp, x, **attributes)
    assert_close(got, windows(x, outputs, **attributes)[0], 0)


@pytest.mark.parametrize("include", [False, True], ids=["inside", "with pads"])
@pytest.mark.parametrize("name", WINDOWS)
def test_average(name: str, include: bool) -> None:
    shape, attributes = WINDOWS[name]
    x = random(shape)
    got, outputs = pooled(AvgPoolOp, x, **attributes, count_include_pad=include)
    # Sums in fp32 and one rounding to fp16; the absolute part is fp32's on sums that cancel.
    assert_close(got, windows(x, outputs, **attributes, count_include_pad=include)[1], 1, 2e-6)


@pytest.mark.parametrize("dilations", [(2, 2), (1, 3)])
def test_dilated_max(dilations: tuple[int, int]) -> None:
    x = random((1, 24, 17, 18))
    attributes: dict[str, Any] = {"kernel": (3, 3), "strides": (2, 1), "pads": (2, 1, 1, 2), "dilations": dilations}
    got, outputs = pooled(MaxPoolOp, x, **attributes)
    assert_close(got, windows(x, outputs, **attributes)[0], 0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_window(data: st.DataObject) -> None:
    def pair(low: int, high: int) -> tuple[int, int]:
        return data.draw(st.tuples(st.integers(low, high), st.integers(low, high)))

    kernel, strides, extents = pair(1, 5), pair(1, 4), pair(1, 23)
    mean = data.draw(st.booleans(), "mean")
    dilations = (1, 1) if mean else pair(1, 3)
    reach = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
    pads = tuple(data.draw(st.integers(0, reach[i % 2])) for i in range(4))
    attributes = {"kernel": kernel, "strides": strides, "pads": pads, "ceil_mode": data.draw(st.booleans(), "ceil")}
    attributes |= {"count_include_pad": data.draw(st.booleans())} if mean else {"dilations": dilations}
    x = random((data.draw(st.integers(1, 3)), data.draw(st.sampled_from([3, 16, 70])), *extents))
    try:
        got, outputs = pooled(AvgPoolOp if mean else MaxPoolOp, x, **attributes)
    except VerifyException:
        assume(False)  # the window does not fit
        raise
    want = windows(x, outputs, **attributes)
    assert_close(got, want[mean], int(mean), 2e-6 * mean)


@pytest.mark.parametrize("shape", [(1, 2048, 7, 7), (2, 24, 1, 1), (1, 16, 3, 5), (1, 40, 199, 151), (7, 48, 9, 9)])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_whole_planes(shape: tuple[int, ...], dtype: str) -> None:
    x = random(shape, {"f16": np.float16, "f32": np.float32}[dtype])
    mean, _ = pooled(GlobalAvgPoolOp, x, dtype)
    assert_close(mean, x.astype(float).mean(axis=(2, 3), keepdims=True), 1, 1e-6)
    largest, _ = pooled(GlobalMaxPoolOp, x, dtype)
    assert_close(largest, x.astype(float).max(axis=(2, 3), keepdims=True), 0)


def test_window_that_covers_the_plane() -> None:
    x = random((1, 64, 7, 7))
    got, _ = pooled(AvgPoolOp, x, kernel=(7, 7))
    assert_close(got, x.astype(float).mean(axis=(2, 3), keepdims=True), 1, 1e-6)


def test_single_precision() -> None:
    attributes: dict[str, Any] = {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}
    x = random((1, 24, 15, 15), np.float32)
    got, outputs = pooled(MaxPoolOp, x, "f32", **attributes)
    largest, mean = windows(x, outputs, **attributes)
    assert_close(got, largest, 0)
    assert_close(pooled(AvgPoolOp, x, "f32", **attributes)[0], mean, 2, 5e-7)


@pytest.mark.parametrize("plane", [False, True], ids=["windows", "planes"])
def test_steps_behind(plane: bool) -> None:
    x = random((1, 32, 8, 8))

    def body(x: Any) -> list[Any]:
        pool = GlobalAvgPoolOp(x) if plane else AvgPoolOp(x, kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
        return [pool, relu := ReluOp(pool), SigmoidOp(relu)]

    anchor = "ge.global_avg_pool" if plane else "ge.avg_pool"
    got = run_operator(fused([value(x.shape, "f16", MAP)], body, anchor, MAP), [x])
    mean = x.astype(float).mean(axis=(2, 3), keepdims=True)
    if not plane:
        mean = windows(x, (4, 4), (3, 3), (2, 2), (1, 1, 1, 1))[1]
    assert_close(got, 1 / (1 + np.exp(-np.maximum(mean, 0))), 2)


def test_widened_maximum() -> None:
    x = random((1, 16, 8, 8))
    op = fused(
        [value(x.shape, "f16", MAP)], lambda x: [t := MaxPoolOp(x, kernel=(2, 2)), CastOp(t, "f32")], "ge.max_pool", MAP
    )
    assert_close(run_operator(op, [x]), windows(x, (7, 7), (2, 2))[0], 0)


COUNTS: dict[str, tuple[Any, int, int, str]] = {
    # name: operator, blocks, most instructions, profile type
    "ResNet-50 maximum": (
        lambda: MaxPoolOp(value((1, 64, 112, 112), "f16", MAP), kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)),
        8, 200, "MaxPoolV3",
    ),
    "ResNet-50 mean": (lambda: GlobalAvgPoolOp(value((1, 2048, 7, 7), "f16", MAP)), 8, 200, "GlobalAveragePool"),
    "YOLO pyramid": (
        lambda: MaxPoolOp(value((1, 512, 20, 20), "f16", MAP), kernel=(13, 13), pads=(6, 6, 6, 6)),
        8, 8 * 4 * 30, "MaxPoolV3",
    ),
    "batch of 16": (
        lambda: MaxPoolOp(value((16, 64, 112, 112), "f16", MAP), kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)),
        8, 3000, "MaxPoolV3",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_few_large_instructions(name: str) -> None:
    make, blocks, most, profile = COUNTS[name]
    choice, kernel = kernel_of(encode(make(), MAP))
    assert (choice.type, kernel.block_dim) == (profile, blocks)
    assert instructions(kernel) <= most


REFUSED: dict[str, tuple[Any, str]] = {
    "another format": (lambda: MaxPoolOp(value((1, 16, 8, 8)), kernel=(2, 2)), "needs NC1HWC0"),
    "integers": (lambda: encode(MaxPoolOp(value((1, 32, 8, 8), "i32", MAP), kernel=(2, 2)), MAP), "not in i32"),
    "a second operand": (
        lambda: fused(
            [value((1, 16, 8, 8), "f16", MAP)] * 2, lambda x, y: [t := GlobalMaxPoolOp(x), AddOp(t, y)],
            "ge.global_max_pool", MAP,
        ), "operand of its own",
    ),
    "steps before": (
        lambda: fused(
            [value((1, 16, 8, 8), "f16", MAP)], lambda x: [t := MulOp(x, x), GlobalMaxPoolOp(t)],
            "ge.global_max_pool", MAP,
        ), "operand of its own",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_reason(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(NoKernel, match=reason):
        select(make())


def test_a_dilated_window_that_counts_as_many_as_the_plane_does_not_cover_it() -> None:
    x = random((1, 16, 1, 4))
    attributes: dict[str, Any] = {"kernel": (1, 4), "strides": (1, 1), "pads": (0, 0, 0, 3), "dilations": (1, 2)}
    got, outputs = pooled(MaxPoolOp, x, ceil_mode=False, **attributes)
    want = windows(x, outputs, ceil_mode=False, **attributes)
    assert_close(got, want[False], 0, 0)
