"""Reductions and normalizations on the chip, in checking mode, against numpy in fp64: any axes, formats and neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, encode, fused, kernel_of, run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import reduction as ge
from graph_engine.dialects.ge.elementwise import AddOp, MulOp, ReluOp, SubOp
from graph_engine.dialects.ge.normalization import GroupNormOp, LayerNormOp, RmsNormOp, SoftmaxOp
from graph_engine.dialects.layout import fractal_nz, nc1hwc0
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.table import select

Array = np.ndarray[Any, Any]
DTYPES = {"f16": np.float16, "f32": np.float32}
REDUCTIONS: dict[str, tuple[Any, Any]] = {
    "sum": (ge.ReduceSumOp, np.sum),
    "mean": (ge.ReduceMeanOp, np.mean),
    "max": (ge.ReduceMaxOp, np.max),
    "min": (ge.ReduceMinOp, np.min),
    "sum_square": (ge.ReduceSumSquareOp, lambda x, **k: np.square(x).sum(**k)),
    "l2": (ge.ReduceL2Op, lambda x, **k: np.sqrt(np.square(x).sum(**k))),
    "log_sum_exp": (ge.ReduceLogSumExpOp, lambda x, **k: np.log(np.exp(x).sum(**k))),
}


def random(shape: tuple[int, ...], dtype: str = "f16", seed: int = 5) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[dtype])


def layer_norm(x: Array, scale: Array, bias: Array | float, axes: tuple[int, ...], epsilon: float = 1e-5) -> Array:
    wide = x.astype(float)
    centred = wide - wide.mean(axis=axes, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=axes, keepdims=True) + epsilon) * scale.astype(float) + bias


def near(got: Array, expected: Array, elements: int) -> None:
    """Within an fp16 step of the result, or the roundings of fp32 sums of that many numbers of about 1."""
    size = np.abs(expected).max(initial=1)
    assert_close(got, expected, 1 if got.dtype == np.float16 else 64, 2.0**-22 * size * max(4, elements**0.5))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_any_axes(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 16, 17]), min_size=1, max_size=4), "shape"))
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=3, unique=True), "axes")
    name, dtype = data.draw(st.sampled_from(sorted(REDUCTIONS)), "name"), data.draw(st.sampled_from(["f16", "f32"]))
    make, meaning = REDUCTIONS[name]
    x = random(shape, dtype)
    op = make(value(shape, dtype), axes=sorted(axes), keepdims=data.draw(st.booleans(), "keepdims"))
    expected = meaning(x.astype(float), axis=tuple(axes), keepdims=bool(op.keepdims.value.data))
    kept = [a for a in range(len(shape)) if a not in axes and shape[a] > 1]
    inner = [a for a in axes if shape[a] > 1 and kept and kept[0] < a < kept[-1]]
    if len({next(k for k in kept if k > a) for a in inner}) > 1 or (
        inner and any(a < kept[0] for a in axes if shape[a] > 1)
    ):
        with pytest.raises(NoKernel, match="more than once"):
            select(op)
        return
    near(run_operator(op, [x]), expected, x.size // max(1, expected.size))


@pytest.mark.parametrize(
    "shape", [(1, 8), (3, 768), (128, 768), (2, 50, 96), (197, 384), (5, 1000), (7, 3), (2, 5000)], ids=str
)
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_layer_norm(shape: tuple[int, ...], dtype: str) -> None:
    x, scale, bias = random(shape, dtype), random(shape[-1:], dtype, 6), random(shape[-1:], dtype, 7)
    vector = value(shape[-1:], dtype)
    got = run_operator(LayerNormOp(value(shape, dtype), vector, value(shape[-1:], dtype)), [x, scale, bias])
    near(got, layer_norm(x, scale, bias.astype(float), (-1,)), shape[-1])
    got = run_operator(RmsNormOp(value(shape, dtype), value(shape[-1:], dtype), epsilon=1e-6), [x, scale])
    wide = x.astype(float)
    near(got, wide / np.sqrt(np.square(wide).mean(-1, keepdims=True) + 1e-6) * scale.astype(float), shape[-1])


@pytest.mark.parametrize("extent", [1, 2, 3, 5])
@pytest.mark.parametrize("length", [1024, 2048, 6144, 20000])
def test_long_slabs_of_few_numbers(length: int, extent: int) -> None:
    """Reduced axes in front of a short one: tiles of one number begin at whole blocks as well."""
    x = random((2, length, extent))
    got = run_operator(SoftmaxOp(value(x.shape), axis=1), [x])
    powers = np.exp(x.astype(float))
    near(got, powers / powers.sum(1, keepdims=True), length)


def test_layer_norm_over_two_axes_without_a_bias() -> None:
    x, scale = random((4, 6, 10)), random((6, 10), seed=6)
    near(
        run_operator(LayerNormOp(value(x.shape), value(scale.shape), axis=1), [x, scale]),
        layer_norm(x, scale, 0, (1, 2)),
        60,
    )


@pytest.mark.parametrize(
    ("shape", "groups"), [((2, 8, 5, 7), 4), ((1, 32, 16, 16), 32), ((3, 6, 9), 1), ((1, 16, 33), 2)], ids=str
)
def test_group_norm(shape: tuple[int, ...], groups: int) -> None:
    x, scale, bias = random(shape), random(shape[1:2], seed=6), random(shape[1:2], seed=7)
    op = GroupNormOp(value(shape), value(shape[1:2]), value(shape[1:2]), groups=groups)
    split = x.reshape(shape[0], groups, -1)
    each = (shape[1], *(1 for _ in shape[2:]))
    expected = layer_norm(split, np.ones(1), 0, (2,)).reshape(shape) * scale.astype(float).reshape(each)
    near(run_operator(op, [x, scale, bias]), expected + bias.astype(float).reshape(each), split.shape[-1])


@pytest.mark.parametrize(
    ("shape", "groups"),
    [((2, 64, 5, 7), 4), ((1, 64, 14, 14), 1), ((2, 48, 3, 3), 48), ((1, 320, 14, 14), 1), ((1, 32, 1, 1), 32)],
    ids=str,
)
def test_group_norm_of_blocks(shape: tuple[int, ...], groups: int) -> None:
    """NC1HWC0: groups of whole blocks of channels, and of one channel each."""
    x, scale, bias = random(shape), random(shape[1:2], seed=6), random(shape[1:2], seed=7)
    op = GroupNormOp(value(shape, "f16", nc1hwc0()), value(shape[1:2]), value(shape[1:2]), groups=groups)
    split = x.reshape(shape[0], groups, -1)
    expected = layer_norm(split, np.ones(1), 0, (2,)).reshape(shape) * scale.astype(float)[:, None, None]
    got = run_operator(encode(op, nc1hwc0()), [x, scale, bias])
    near(got, expected + bias.astype(float)[:, None, None], split.shape[-1])


@pytest.mark.parametrize("rows", [1, 16, 37, 128])
def test_rows_of_fractals(rows: int) -> None:
    """FRACTAL_NZ between two matrix products: a row lies in blocks of 16 columns; scale and bias are plain vectors."""
    nz = fractal_nz(16, "undef")
    x, scale, bias = random((2, rows, 96)), random((96,), seed=6), random((96,), seed=7)
    op = encode(LayerNormOp(value(x.shape, "f16", nz), value((96,)), value((96,))), nz)
    near(run_operator(op, [x, scale, bias]), layer_norm(x, scale, bias.astype(float), (-1,)), 96)
    op = encode(SoftmaxOp(value(x.shape, "f16", nz)), nz)
    powers = np.exp(x.astype(float))
    near(run_operator(op, [x]), powers / powers.sum(-1, keepdims=True), 96)


def test_channels_of_feature_maps() -> None:
    x = random((2, 48, 5, 7))
    op = encode(SoftmaxOp(value(x.shape, "f16", nc1hwc0()), axis=1), nc1hwc0())
    powers = np.exp(x.astype(float))
    near(run_operator(op, [x]), powers / powers.sum(1, keepdims=True), 48)


@pytest.mark.parametrize("shape", [(2, 48, 5, 7), (1, 96, 14, 14), (3, 2048, 1, 3), (1, 9216, 2, 2)], ids=str)
@pytest.mark.parametrize("stored", [True, False])
def test_layer_norm_of_channels(shape: tuple[int, ...], stored: bool) -> None:
    """Channels that come first, in blocks or plain; scale and bias are plain; in passes where they do not fit."""
    each = (shape[1], 1, 1)
    x, scale, bias = random(shape), random(each, seed=6), random(each, seed=7)
    nc1 = nc1hwc0() if stored else None
    op = LayerNormOp(value(shape, "f16", nc1), value(each), value(each), axis=1, last_axis=1)
    got = run_operator(encode(op, nc1) if nc1 else op, [x, scale, bias])
    near(got, layer_norm(x, scale, bias.astype(float), (1,)), shape[1])


def test_neighbours_in_one_kernel() -> None:
    """Residual Add in front, activation behind; L2 normalization as its small operators."""
    x, y, scale, bias = random((9, 200)), random((9, 200), seed=8), random((200,), seed=6), random((200,), seed=7)
    values = [value(x.shape), value(x.shape), value((200,)), value((200,))]
    op = fused(
        values,
        lambda x, y, s, b: [t := AddOp(x, y), u := LayerNormOp(t.result, s, b), ReluOp(u.result)],
        "ge.layer_norm",
    )
    summed = (x + y).astype(np.float16)
    near(
        run_operator(op, [x, y, scale, bias]), np.maximum(layer_norm(summed, scale, bias.astype(float), (-1,)), 0), 200
    )

    def centre(x: Any) -> Any:
        mean = ge.ReduceMeanOp(x, axes=[1])
        return [mean, t := SubOp(x, mean.result), MulOp(t.result, t.result)]

    x = random((9, 200), "f32")
    got = run_operator(fused([value(x.shape, "f32")], centre, "ge.reduce_mean"), [x])
    near(got, np.square(x.astype(float) - x.astype(float).mean(1, keepdims=True)), 200)


@pytest.mark.parametrize(
    ("shape", "axes"), [((3, 5, 2), [1]), ((4, 6), [0]), ((2, 3, 4, 5), [1, 2]), ((7, 16), [1])], ids=str
)
def test_steps_on_statistics_without_their_axes(shape: tuple[int, ...], axes: list[int]) -> None:
    """What stands beside a statistic has the shape of the result, not of the reduced tensor."""
    x = random(shape)
    expected = x.astype(float).sum(axis=tuple(axes))
    side = random(expected.shape, seed=9)
    values = [value(x.shape), value(side.shape)]
    op = fused(
        values, lambda x, s: [t := ge.ReduceSumOp(x, axes=axes, keepdims=False), MulOp(t.result, s)], "ge.reduce_sum"
    )
    near(run_operator(op, [x, side]), expected.astype(np.float16).astype(float) * side.astype(float), 16)
    square = random((3, 3))
    op = fused(
        [value((3, 3)), value((3,))],
        lambda x, s: [t := ge.ReduceSumOp(x, axes=[1], keepdims=False), AddOp(t.result, s)],
        "ge.reduce_sum",
    )
    near(run_operator(op, [square, square[0]]), square.astype(float).sum(1) + square[0], 3)


def test_cores_share_the_rows() -> None:
    choice, kernel = kernel_of(LayerNormOp(value((512, 768)), value((768,)), value((768,))))
    assert (choice.type, choice.in_place, kernel.block_dim) == ("LayerNorm", (0,), 8)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: SoftmaxOp(value((1, 20, 4, 4), "f16", nc1hwc0()), axis=1), "padding"),
        (lambda: ge.ReduceSumOp(value((2, 3), "i32"), axes=[1]), "fp16 and fp32"),
        (
            lambda: GroupNormOp(value((1, 48, 4, 4), "f16", nc1hwc0()), value((48,)), value((48,)), groups=2),
            "whole blocks of channels",
        ),
        (
            lambda: fused(
                [value((4, 5))], lambda x: [t := SoftmaxOp(x), SoftmaxOp(t.result, axis=0)], "ge.softmax"
            ), "different axes",
        ),
    ],
)  # fmt: skip
def test_refused_with_a_reason(make: Any, reason: str) -> None:
    with pytest.raises(NoKernel, match=reason):
        select(make())
