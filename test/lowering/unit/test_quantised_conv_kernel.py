"""Convolutions of 8-bit numbers on the chip, in checking mode, bit for bit against 64-bit integer sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import launch
from harness.kernels import SOC, compile_kernel

from graph_engine.lowering.kernels.conv2d import build_conv2d
from graph_engine.lowering.kernels.conv_shape import ConvShape
from graph_engine.lowering.kernels.requantise import Requantise
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.soc.soc import Soc, load_soc

Array = np.ndarray[Any, Any]


def sums(x: Array, w: Array, strides: tuple[int, int], pads: tuple[int, ...], zero: int) -> Array:
    """Of (x - zero) by w in 64 bits, one kernel position at a time; outside the image there is zero."""
    around = ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3]))
    padded = np.pad(x.astype(np.int64) - zero, around)
    ho, wo = ((padded.shape[2 + i] - w.shape[2 + i]) // strides[i] + 1 for i in (0, 1))
    y = np.zeros((x.shape[0], w.shape[0], ho, wo), np.int64)
    for i, j in np.ndindex(w.shape[2:]):
        part = padded[:, :, i : i + ho * strides[0] : strides[0], j : j + wo * strides[1] : strides[1]][..., :ho, :wo]
        y += np.einsum("nchw,oc->nohw", part, w[:, :, i, j].astype(np.int64))
    return y


def blocks(x: Array) -> Array:
    """NCHW -> NC1HWC0 with 32 channels in a block; what is behind the last channel holds anything."""
    n, c, h, w = x.shape
    padded = np.full((n, -(-c // 32) * 32, h, w), 77, x.dtype)
    padded[:, :c] = x
    return padded.reshape(n, -1, 32, h, w).transpose(0, 1, 3, 4, 2)


def filters(w: Array) -> Array:
    """OIHW -> (c1 h w, n1, 16, 32), an even number of n1, zeros behind the last."""
    o, c, h, k = w.shape
    padded = np.zeros((-(-o // 32) * 32, -(-c // 32) * 32, h, k), w.dtype)
    padded[:o, :c] = w
    split = padded.reshape(-1, 16, padded.shape[1] // 32, 32, h, k)
    return split.transpose(2, 4, 5, 0, 1, 3).reshape(-1, padded.shape[0] // 16, 16, 32)


CASES = {
    # name: (x, outputs, kernel, strides, pads, zero of x, zero of y, relu)
    "3x3": ((1, 32, 9, 8), 32, (3, 3), (1, 1), (1, 1, 1, 1), 0, 0, False),
    "first": ((2, 3, 17, 19), 20, (3, 3), (2, 2), (1, 0, 1, 2), 5, -3, False),
    "1x1": ((1, 70, 9, 9), 100, (1, 1), (1, 1), (0, 0, 0, 0), 100, 90, True),
    "1x1 stride": ((1, 40, 10, 10), 33, (1, 1), (2, 2), (0, 0, 0, 0), 7, 0, True),
    "deep": ((1, 800, 5, 5), 64, (3, 3), (1, 1), (1, 1, 1, 1), 3, 1, False),
    "tall": ((1, 32, 130, 20), 160, (1, 1), (1, 1), (0, 0, 0, 0), 0, 9, False),
}


def words(factor: Array, offset: int, out: DType) -> Array:
    """What FixPipe scales channels by, digit by digit: sign, offset of 9 bits, nothing, factor."""
    texts = [f"{int(out is DType.I8)}{offset & 511:09b}00000{f.view(np.uint32):032b}" for f in factor]
    return np.array([int(text, 2) for text in texts], np.uint64)


@pytest.mark.parametrize(
    ("dtype", "soc"),
    [(np.int8, SOC), (np.uint8, SOC), (np.int8, load_soc("Ascend310B4")), (np.int8, load_soc("Ascend910B3"))],
    ids=["int8", "uint8", "int8 behind FixPipe", "int8 on a team of cores"],
)
@pytest.mark.parametrize("name", CASES)
def test_integer_convolution(name: str, dtype: Any, soc: Soc) -> None:
    """The Vector scales."""
    check(name, dtype, DType.I8 if dtype is np.int8 else DType.U8, soc, short=False)


@pytest.mark.parametrize("soc", ["Ascend310B4", "Ascend910B3", "Ascend950PR"])
@pytest.mark.parametrize("out", [DType.I8, DType.U8])
@pytest.mark.parametrize("name", CASES)
def test_by_fixpipe(name: str, out: DType, soc: str) -> None:
    """The same numbers, for factors whose last 13 bits are zeros, and out of sums below 2^24."""
    check(name, np.int8, out, load_soc(soc), short=True)


def check(name: str, dtype: Any, out: DType, soc: Soc, *, short: bool) -> None:
    """A case on a chip, x and weights of `dtype`, bit for bit."""
    size, outputs, kernel, strides, pads, zero, target, relu = CASES[name]
    target = max(target, 0) if out is DType.U8 else target
    rng = np.random.default_rng(3)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max + 1, size).astype(dtype)
    w = rng.integers(-128, 128, (outputs, size[1], *kernel)).astype(np.int8)
    bias = rng.integers(-1000, 1000, outputs)
    total = sums(x, w, strides, pads, zero) + bias[None, :, None, None]
    factor = (rng.uniform(0.5, 1.5, outputs) * 40 / total.std()).astype(np.float32)
    if short:
        factor = (factor.view(np.uint32) & 0xFFFFE000).view(np.float32)
    real = np.rint(total.astype(np.float32) * factor[None, :, None, None]) + target
    limits = np.iinfo(out.numpy)
    want = np.clip(real, target if relu else limits.min, limits.max).astype(out.numpy)

    n1, (batch, _, h, wd), (ho, wo) = -(-outputs // 32) * 2, size, want.shape[2:]
    element = DType.I8 if dtype is np.int8 else DType.U8
    shape = ConvShape(
        batch, 1, -(-size[1] // 32), h, wd, n1, ho, wo, kernel, strides, (1, 1), (pads[0], pads[1], pads[2], pads[3]),
        False, element, zero,
    )  # fmt: skip
    compiled = compile_kernel(build_conv2d("k", shape, Requantise(target, relu, out, short=short), soc), soc)
    corrected = bias - zero * w.reshape(outputs, -1).sum(1, dtype=np.int64)
    behind = (0, n1 * 16 - outputs)
    scaling = np.pad(words(factor, target, out) if short else factor, behind)
    if short:
        scaling[outputs:] = words(np.zeros(1, np.float32), target, out)
    arrays = [blocks(x), filters(w), np.pad(corrected, behind).astype(np.int32), scaling]
    got = launch(compiled, arrays, (batch, n1 // 2, ho, wo, 32), want.dtype, soc=soc)
    stored = got.transpose(0, 1, 4, 2, 3).reshape(batch, -1, ho, wo)
    assert np.array_equal(stored[:, :outputs], want)
    assert (stored[:, outputs:] == target).all()
