"""Convolution kernels of any shape on the chip, in checking mode, against direct sums in fp64.

From the operator: groups and depthwise filters in FRACTAL_Z, bias of any length, side operands, epilogues.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, encode, fused, run_stored, value
from harness.kernels import SOC
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.dialects.layout import fractal_z, fractal_z_c04, nc1hwc0, nc1hwc0_c04, unpack
from graph_engine.lowering.kernels.conv_shape import ConvShape
from graph_engine.lowering.kernels.cube_tiling import choose_conv_tiling
from graph_engine.lowering.kernels.epilogue import Epilogue
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import tensor
from graph_engine.lowering.selection.table import select
from graph_engine.target_ascend.soc.soc import Soc, load_soc

MAP = nc1hwc0()
Pair = tuple[int, int]


def direct(x: Any, w: Any, strides: Pair, dilations: Pair, pads: tuple[int, ...], group: int) -> Any:
    """Sums of products in fp64, one kernel position and group at a time."""
    padded = np.pad(x.astype(float), ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    ho, wo = ((padded.shape[2 + i] - (w.shape[2 + i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in (0, 1))
    y = np.zeros((x.shape[0], w.shape[0], ho, wo))
    cin, cout = w.shape[1], w.shape[0] // group
    for g in range(group):
        for i, j in np.ndindex(w.shape[2:]):
            top, left = i * dilations[0], j * dilations[1]
            part = padded[:, g * cin : (g + 1) * cin, top : top + ho * strides[0] : strides[0]]
            part = part[..., left : left + wo * strides[1] : strides[1]][:, :, :ho, :wo]
            filters = w[g * cout : (g + 1) * cout, :, i, j].astype(float)
            y[:, g * cout : (g + 1) * cout] += np.einsum("nchw,oc->nohw", part, filters)
    return y


EPILOGUES: dict[str, tuple[str, Any, Any]] = {
    # name: (kind of side operand, operators behind the convolution, their meaning)
    "plain": ("", lambda y: [], lambda y: y),
    "relu": ("", lambda y: [ge.ReluOp(y)], lambda y: np.maximum(y, 0)),
    "clip": ("", lambda y: [ge.ClipOp(y, min=0.0, max=1.0)], lambda y: np.clip(y, 0, 1)),
    "leaky": ("", lambda y: [ge.LeakyReluOp(y, alpha=0.125)], lambda y: np.where(y < 0, y * 0.125, y)),
    "residual": ("tile", lambda y, s: [t := ge.AddOp(y, s), ge.ReluOp(t)], lambda y, s: np.maximum(y + s, 0)),
    "residual first": ("tile", lambda y, s: [ge.SubOp(s, y)], lambda y, s: s - y),
    "scale": ("channel", lambda y, s: [t := ge.MulOp(y, s), ge.ReluOp(t)], lambda y, s: np.maximum(y * s, 0)),
    "wide": ("", lambda y: [ge.CastOp(y, "f32")], lambda y: y),
}


def check(
    x: tuple[int, ...], w: tuple[int, ...], epilogue: str = "plain", bias: str = "", group: int = 1,
    strides: Pair = (1, 1), dilations: Pair = (1, 1), pads: tuple[int, ...] = (0, 0, 0, 0),
    soc: Soc = SOC, small: bool = False,
) -> None:  # fmt: skip
    """Runs one convolution and compares all of its result, padding lanes included."""
    rng = np.random.default_rng(17)
    image = rng.standard_normal(x).astype(np.float16)
    filters = (rng.standard_normal(w) / np.sqrt(np.prod(w[1:]))).astype(np.float16)
    sums = direct(image, filters, strides, dilations, pads, group)
    formats = (nc1hwc0_c04(), fractal_z_c04()) if small else (MAP, fractal_z(groups=group))
    operands, arrays = [value(x, "f16", formats[0]), value(w, "f16", formats[1])], [image, filters]
    if bias:
        vector = rng.standard_normal(w[0]).astype({"f16": np.float16, "f32": np.float32}[bias])
        sums += vector.astype(float)[:, None, None]
        operands.append(ConstantOp(constant_attr(vector, "bias")).results[0])
        arrays.append(vector)
    kind, operators, meaning = EPILOGUES[epilogue]
    sides: list[Any] = []
    if kind:
        side = rng.standard_normal(sums.shape if kind == "tile" else (1, w[0], 1, 1)).astype(np.float16)
        operands.append(value(side.shape, "f16", MAP))
        arrays.append(side)
        sides.append(side.astype(float))

    def body(*values: Any) -> Any:
        inputs = values[: len(values) - len(sides)]
        conv = Conv2dOp(*inputs, strides=strides, dilations=dilations, pads=pads, group=group)
        encode(conv, MAP)
        return [conv, *operators(conv.results[0], *values[len(inputs) :])]

    op = fused(operands, body, "ge.conv2d", MAP) if epilogue != "plain" else body(*operands)[0]
    stored = run_stored(op, arrays, soc=soc)
    ty = tensor(op.results[0])
    # One rounding of the sum to fp16, one of the result; fp32 sums err by at most 2^-24 of what they add, a product each.
    rounded = sums.astype(np.float16).astype(float)
    slack = direct(abs(image), abs(filters), strides, dilations, pads, group) * 2.0**-24 * np.prod(w[1:])
    slack += np.spacing(abs(sums.astype(np.float16))) * (slack > 0)
    slack *= 1 + sum((abs(s) for s in sides), np.zeros(1))
    assert_close(unpack(stored, ty), meaning(rounded, *sides), 1, slack)
    stored = stored.reshape(x[0], -1, *stored.shape[-3:]).transpose(0, 1, 4, 2, 3)
    assert not stored.reshape(x[0], -1, *stored.shape[-2:])[:, w[0] :].any()


@settings(max_examples=110, deadline=None, derandomize=True)
@given(st.data())
def test_any_shape(data: st.DataObject) -> None:
    def pair(low: int, high: int) -> Pair:
        return data.draw(st.tuples(st.integers(low, high), st.integers(low, high)))

    group = data.draw(st.sampled_from([1, 1, 2, 3, 5, 16, 24, 33]), "group")
    cin, cout = data.draw(st.sampled_from([1, 2, 3, 8, 16, 20]), "cin"), data.draw(st.sampled_from([1, 2, 7, 16, 17]))
    if group == 1:
        cin, cout = cin * data.draw(st.sampled_from([1, 1, 5])), cout * data.draw(st.sampled_from([1, 1, 6]))
    kernel, strides, dilations = pair(1, 4), pair(1, 3), pair(1, 2)
    reach = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
    pads = tuple(data.draw(st.integers(0, reach[i % 2]), "pad") for i in range(4))
    h, w = pair(1, 13)
    assume(h + pads[0] + pads[2] > reach[0] and w + pads[1] + pads[3] > reach[1])
    bias, epilogue = data.draw(st.sampled_from(["", "f32", "f16"])), data.draw(st.sampled_from(sorted(EPILOGUES)))
    batch = data.draw(st.sampled_from([1, 1, 2, 3]), "batch")
    check((batch, cin * group, h, w), (cout * group, cin, *kernel), epilogue, bias, group, strides, dilations, pads)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_few_channels(data: st.DataObject) -> None:
    """At most four channels in pixels of their own: positions of the window fill the blocks of K."""

    def pair(low: int, high: int) -> Pair:
        return data.draw(st.tuples(st.integers(low, high), st.integers(low, high)))

    cin, cout = data.draw(st.integers(1, 4), "cin"), data.draw(st.sampled_from([1, 7, 16, 40, 96]), "cout")
    kernel, strides, dilations = pair(1, 7), pair(1, 4), pair(1, 3)
    reach = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
    pads = tuple(data.draw(st.integers(0, reach[i % 2]), "pad") for i in range(4))
    h, w = pair(1, 20)
    assume(h + pads[0] + pads[2] > reach[0] and w + pads[1] + pads[3] > reach[1])
    bias, batch = data.draw(st.sampled_from(["", "f32", "f16"])), data.draw(st.sampled_from([1, 2, 9]), "batch")
    name = data.draw(
        st.sampled_from(["Ascend310", "Ascend310P3", "Ascend910A", "Ascend310B1", "Ascend910B3", "Ascend950PR_9599"])
    )
    soc = load_soc(name)
    epilogues = ["plain", "relu"] if soc.has("split") else sorted(EPILOGUES)
    epilogue = data.draw(st.sampled_from(epilogues))
    check((batch, cin, h, w), (cout, cin, *kernel), epilogue, bias, 1, strides, dilations, pads, soc, small=True)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_channels_stream_through_a_small_l1(data: st.DataObject) -> None:
    """What a convolution of 2048 channels meets on a chip, with 80 to 200 and an L1 of 16 KiB."""
    soc = replace(SOC, buffers={**SOC.buffers, "l1": 1 << 14})
    cin, cout = data.draw(st.integers(80, 200), "cin"), data.draw(st.sampled_from([7, 16, 33, 100]), "cout")
    kernel = data.draw(st.sampled_from([(3, 3), (2, 3), (3, 1)]), "kernel")
    pads = tuple(data.draw(st.integers(0, kernel[i % 2] - 1), "pad") for i in range(4))
    strides = data.draw(st.sampled_from([(1, 1), (2, 1)]))
    plane = data.draw(st.tuples(st.integers(3, 9), st.integers(3, 9)), "plane")
    epilogue, bias = data.draw(st.sampled_from(sorted(EPILOGUES))), data.draw(st.sampled_from(["", "f32"]))
    check((1, cin, *plane), (cout, cin, *kernel), epilogue, bias, 1, strides, (1, 1), pads, soc)


@pytest.mark.parametrize("name", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize(("channels", "outputs", "dilation"), [(2048, 512, 1), (960, 256, 12)])
def test_many_channels_have_a_kernel(name: str, channels: int, outputs: int, dilation: int) -> None:
    """Layers of FCN and DeepLab, whose input channels do not fit L1: the work of the Cube bounds them, not their loads."""
    soc = load_soc(name)
    shape = ConvShape(
        1, 1, channels // 16, 28, 28, outputs // 16, 28, 28, (3, 3), (1, 1), (dilation,) * 2, (dilation,) * 4, False
    )
    tiling = choose_conv_tiling(shape, Epilogue(), soc)
    assert tiling.c1 < shape.c1
    assert tiling.cycles < 2.5 * 28 * 28 * channels * outputs * 9 / 16**3 / soc.cores.aic


@pytest.mark.parametrize("epilogue", sorted(EPILOGUES))
@pytest.mark.parametrize("channels", [32, 40])
def test_depthwise(channels: int, epilogue: str) -> None:
    check((2, channels, 9, 11), (channels, 1, 3, 3), epilogue, "f32", channels, (2, 1), (1, 1), (1, 1, 1, 1))


@pytest.mark.parametrize(
    ("x", "w", "group", "strides", "pads"),
    [
        ((1, 64, 20, 20), (96, 64, 3, 3), 1, (1, 1), (1, 1, 1, 1)),
        ((1, 64, 17, 17), (64, 16, 3, 3), 4, (2, 2), (1, 1, 1, 1)),
        ((1, 3, 65, 50), (24, 3, 7, 7), 1, (2, 2), (3, 3, 3, 3)),
        ((1, 512, 7, 7), (130, 512, 1, 1), 1, (1, 1), (0, 0, 0, 0)),
        ((1, 16, 70, 70), (16, 16, 5, 1), 1, (1, 3), (2, 0, 2, 0)),
        ((4, 48, 7, 7), (48, 24, 3, 3), 2, (1, 1), (1, 1, 1, 1)),
        ((1, 20, 6, 200), (33, 20, 3, 3), 1, (3, 1), (0, 2, 1, 0)),
        # Two groups fill whole blocks of channels, an odd number of groups leaves half a block in the end.
        ((2, 168, 9, 9), (168, 24, 3, 3), 7, (2, 2), (1, 1, 1, 1)),
        ((1, 600, 14, 14), (600, 40, 3, 3), 15, (1, 1), (1, 1, 1, 1)),
        ((1, 264, 20, 20), (55, 24, 1, 1), 11, (1, 1), (0, 0, 0, 0)),
        ((1, 99, 8, 8), (792, 3, 1, 1), 33, (1, 1), (0, 0, 0, 0)),
    ],
)
def test_larger(x: tuple[int, ...], w: tuple[int, ...], group: int, strides: Pair, pads: tuple[int, ...]) -> None:
    check(x, w, "residual", "f32", group, strides, (1, 1), pads)


def test_operand_that_does_not_broadcast_in_the_epilogue() -> None:
    types = [
        value((1, 16, 8, 8), "f16", MAP),
        value((16, 16, 1, 1), "f16", fractal_z()),
        value((1, 16, 1, 8), "f16", MAP),
    ]
    op = fused(types, lambda x, w, s: [encode(c := Conv2dOp(x, w), MAP), ge.AddOp(c.results[0], s)], "ge.conv2d", MAP)
    with pytest.raises(NoKernel, match="does not broadcast"):
        select(op)
