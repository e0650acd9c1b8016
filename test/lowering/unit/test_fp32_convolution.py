"""Convolutions in fp32, in checking mode, against numpy in fp64: chips whose Cube multiplies fp32, blocks of 8 channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, encode, fused, kernel_of, run_stored, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.dialects.layout import TransDataOp, fractal_z, fractal_z_3d, nc1hwc0, ndc1hwc0, pack, unpack
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import tensor
from graph_engine.target_ascend.soc.soc import load_soc

Array = np.ndarray[Any, Any]


def check(
    chip: str, x_shape: tuple[int, ...], filters: tuple[int, ...], *, group: int = 1, behind: str = "", bias: bool = True,
    volumes: bool = False, **window: Any,
) -> None:  # fmt: skip
    """Runs one convolution and compares all of its result.

    A sum of K rounded products in fp32 and a bias is off by (K + 2) 2^-24 of the magnitudes added, whatever the order; what
    follows rounds once more for each operator.
    """
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in (x_shape, filters))
    arrays, kind, blocks = [x, w], Conv3dOp if volumes else Conv2dOp, ndc1hwc0(8) if volumes else nc1hwc0(8)
    stored = fractal_z_3d(16, 8, group) if volumes else fractal_z(16, 8, group)
    operands = [value(x.shape, "f32", blocks), value(w.shape, "f32", stored)]
    if bias:
        arrays.append(rng.standard_normal(filters[0]).astype(np.float32))
        operands.append(ConstantOp(constant_attr(arrays[2], "bias")).results[0])

    def convolution(*values: Any) -> Any:
        return kind(*values[: 2 + bias], group=group, **window)

    wide = [array.astype(np.float64) for array in arrays]
    want: Array = evaluate_op(convolution(*operands), wide)[0]
    magnitude: Array = evaluate_op(convolution(*operands), [abs(array) for array in wide])[0]
    slack: Any = magnitude * 2.0**-24 * (int(np.prod(filters[1:])) + 2)
    if behind == "add relu":
        side = rng.standard_normal(want.shape).astype(np.float32)
        arrays.append(side)
        operands.append(value(side.shape, "f32", blocks))
        want, slack = np.maximum(want + side, 0), slack + np.spacing(abs(want + side).astype(np.float32))
        op = fused(
            operands,
            lambda *v: [c := convolution(*v), t := ge.AddOp(c.results[0], v[-1]), ge.ReluOp(t.result)],
            kind.name,
            blocks,
        )
    elif behind == "relu":
        want = np.maximum(want, 0)
        op = fused(operands, lambda *v: [c := convolution(*v), ge.ReluOp(c.results[0])], kind.name, blocks)
    else:
        op = encode(convolution(*operands), blocks)
    got = unpack(run_stored(op, arrays, soc=load_soc(chip)), tensor(op.results[0]))
    assert got.dtype == np.float32
    assert_close(got, want, 1, slack)


@pytest.mark.parametrize("chip", ["Ascend910B3", "Ascend310B1", "Ascend950PR"])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_convolution(chip: str, data: st.DataObject) -> None:
    """Channels that end in the first or the second half of a block of 16, or in neither; groups; what a team finishes."""
    group = data.draw(st.sampled_from([1, 1, 2, 3, 24]), "group")
    most = 40 if group < 4 else 2
    cin, cout = (group * data.draw(st.integers(1, max(1, most // group)), name) for name in ("c", "o"))
    kernel = data.draw(st.sampled_from([(1, 1), (3, 3), (2, 3), (5, 1)]), "kernel")
    size = data.draw(st.tuples(st.integers(5, 20), st.integers(5, 20)), "size")
    pads = data.draw(st.sampled_from([(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 1, 0)]), "pads")
    strides = data.draw(st.sampled_from([(1, 1), (2, 2), (1, 2)]), "strides")
    check(
        chip,
        (data.draw(st.integers(1, 3), "n"), cin, *size),
        (cout, cin // group, *kernel),
        group=group,
        behind=data.draw(st.sampled_from(["", "relu", "add relu"]), "behind"),
        bias=data.draw(st.booleans(), "bias"),
        pads=pads,
        strides=strides,
    )


@pytest.mark.parametrize("chip", ["Ascend910B3", "Ascend310B1"])
@pytest.mark.parametrize(
    ("channels", "size", "outputs", "kernel"),
    [(3, 56, 24, 3), (512, 7, 200, 3), (1280, 1, 1000, 1), (96, 28, 24, 1)],
)
def test_sizes_of_networks(chip: str, channels: int, size: int, outputs: int, kernel: int) -> None:
    """Many tiles, K in parts, a last block of half a tile on a core of its own."""
    filters = (outputs, channels, kernel, kernel)
    check(chip, (1, channels, size, size), filters, behind="add relu", pads=[kernel // 2] * 4)


def test_volumes() -> None:
    check(
        "Ascend910B3", (2, 5, 4, 9, 8), (24, 5, 3, 3, 3), volumes=True, behind="relu", pads=[1] * 6, strides=[1, 2, 1]
    )


def test_a_row_of_channels_that_ends_within_a_block() -> None:
    operands = [value((1, 8, 8, 8), "f32", nc1hwc0(8)), value((24, 8, 1, 1), "f32", fractal_z(16, 8))]
    operands.append(value((1, 24, 1, 1), "f32", nc1hwc0(8)))
    op = fused(operands, lambda x, w, s: [c := Conv2dOp(x, w), ge.MulOp(c.result, s)], "ge.conv2d", nc1hwc0(8))
    with pytest.raises(NoKernel, match="ends within a block of 16"):
        kernel_of(op, load_soc("Ascend910B3"))


@pytest.mark.parametrize("chip", ["Ascend910B3", "Ascend310P3", "Ascend910A"])
@pytest.mark.parametrize("shape", [(2, 3, 17, 13), (1, 24, 56, 56), (1, 700, 3, 5)])
def test_blocks_of_eight_channels(chip: str, shape: tuple[int, ...]) -> None:
    """To blocks and back, turned around in UB where the chip turns words, else number by number: bits stay."""
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    plain, blocks = value(shape, "f32"), value(shape, "f32", nc1hwc0(8))
    there = TransDataOp(plain, tensor(blocks))
    stored = run_stored(there, [x], soc=load_soc(chip))
    assert (unpack(stored, tensor(blocks)) == x).all()
    back = TransDataOp(blocks, tensor(plain))
    assert (run_stored(back, [x], soc=load_soc(chip)) == x).all()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_between_blocks_of_eight_and_of_sixteen(data: st.DataObject) -> None:
    """Where a kept operator stands among those of fp16: rounded once, no bits lost on the way back, zeros behind the last channel."""
    shape = (
        1,
        data.draw(st.integers(1, 70), "c"),
        *data.draw(st.tuples(st.integers(1, 30), st.integers(1, 30)), "size"),
    )
    shape = (data.draw(st.integers(1, 2), "n"), *shape[1:])
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    wide, narrow = value(shape, "f32", nc1hwc0(8)), value(shape, "f16", nc1hwc0(16))
    chip = load_soc(data.draw(st.sampled_from(["Ascend910B3", "Ascend310B1"]), "chip"))
    rounded = pack(x.astype(np.float16), tensor(narrow))
    assert (run_stored(TransDataOp(wide, tensor(narrow)), [x], soc=chip) == rounded).all()
    exact = pack(x.astype(np.float16).astype(np.float32), tensor(wide))
    assert (run_stored(TransDataOp(narrow, tensor(wide)), [x.astype(np.float16)], soc=chip) == exact).all()


def test_many_pixels_between_blocks() -> None:
    """More than the unified buffer holds of both types at a time."""
    shape = (1, 24, 200, 300)
    x = np.random.default_rng(9).standard_normal(shape).astype(np.float32)
    wide, narrow = value(shape, "f32", nc1hwc0(8)), value(shape, "f16", nc1hwc0(16))
    got = run_stored(TransDataOp(wide, tensor(narrow)), [x], soc=load_soc("Ascend910B3"))
    assert (got == pack(x.astype(np.float16), tensor(narrow))).all()
