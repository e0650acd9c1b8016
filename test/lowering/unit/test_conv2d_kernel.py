"""Convolution kernels on the chip against the operator's reference in fp32, over shapes that divide nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from harness.kernels import SOC, compile_kernel, run_kernel
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.kernel import LoopOp
from graph_engine.dialects.ascend.memory import AllocOp
from graph_engine.lowering.double_buffer import double_buffer
from graph_engine.lowering.kernels.conv2d import build_conv2d
from graph_engine.lowering.kernels.conv_shape import ConvShape
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueInput
from graph_engine.lowering.kernels.loops import enclosing_loops, version_index
from graph_engine.lowering.kernels.step import Step
from graph_engine.target_ascend.soc.soc import Soc, load_soc

CASES = {
    # name: (batch, cin, h, w, cout, kernel, strides, dilations, pads, bias)
    "1x1": (1, 64, 14, 14, 32, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), True),
    "3x3": (1, 32, 13, 17, 48, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), True),
    "3x3 stride 2": (2, 16, 15, 14, 16, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), False),
    "7x7 stride 2, 3 channels": (1, 3, 37, 41, 20, (7, 7), (2, 2), (1, 1), (3, 3, 3, 3), True),
    "asymmetric": (1, 30, 11, 9, 17, (2, 3), (1, 2), (2, 1), (0, 2, 1, 0), True),
    "one pixel": (3, 96, 1, 1, 100, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), True),
    "wide": (1, 256, 7, 7, 512, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), True),
    "tall": (1, 16, 112, 30, 64, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), True),
    "1x1 stride 2": (1, 64, 28, 28, 128, (1, 1), (2, 2), (1, 1), (0, 0, 0, 0), True),
    "row": (2, 80, 1, 300, 48, (1, 3), (1, 2), (1, 1), (0, 1, 0, 1), True),
    "row in pieces": (1, 384, 1, 1000, 16, (1, 5), (1, 2), (1, 3), (0, 4, 0, 6), True),
    "wide rows": (1, 64, 3, 6000, 16, (3, 3), (1, 3), (2, 1), (2, 1, 0, 1), False),
    "batch": (5, 32, 8, 8, 32, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), True),
}


def pack(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """NCHW -> NC1HWC0, written out here on its own."""
    n, c, h, w = x.shape
    c1 = -(-c // 16)
    padded = np.zeros((n, c1 * 16, h, w), x.dtype)
    padded[:, :c] = x
    return padded.reshape(n, c1, 16, h, w).transpose(0, 1, 3, 4, 2)


def pack_weights(w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """OIHW -> FRACTAL_Z, written out here on its own."""
    n, c, h, k = w.shape
    n1, c1 = -(-n // 16), -(-c // 16)
    padded = np.zeros((n1 * 16, c1 * 16, h, k), w.dtype)
    padded[:n, :c] = w
    return padded.reshape(n1, 16, c1, 16, h, k).transpose(2, 4, 5, 0, 1, 3)


def pack_small(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """NCHW of at most four channels -> NC1HWC0_C04, written out here on its own."""
    n, c, h, w = x.shape
    padded = np.zeros((n, 1, h, w, 4), x.dtype)
    padded[:, 0, :, :, :c] = x.transpose(0, 2, 3, 1)
    return padded


def pack_small_weights(w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """OIHW of at most four channels -> FRACTAL_Z_C04, written out here on its own."""
    n, c, h, k = w.shape
    n1, k1 = -(-n // 16), -(-h * k // 4)
    padded = np.zeros((n1 * 16, k1 * 4, 4), w.dtype)
    padded[:n, : h * k, :c] = w.transpose(0, 2, 3, 1).reshape(n, h * k, c)
    return padded.reshape(n1, 16, k1, 16).transpose(2, 0, 1, 3)


def direct_conv(x: Any, w: Any, strides: Any, dilations: Any, pads: Any) -> np.ndarray[Any, Any]:
    """Convolution in float64, one kernel position at a time."""
    n, c, h, wd = x.shape
    o, _, kh, kw = w.shape
    xp = np.zeros((n, c, h + pads[0] + pads[2], wd + pads[1] + pads[3]))
    xp[:, :, pads[0] : pads[0] + h, pads[1] : pads[1] + wd] = x
    ho = (xp.shape[2] - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    wo = (xp.shape[3] - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    y = np.zeros((n, o, ho, wo))
    for i in range(kh):
        for j in range(kw):
            part = xp[:, :, i * dilations[0] :, j * dilations[1] :]
            part = part[:, :, : (ho - 1) * strides[0] + 1 : strides[0], : (wo - 1) * strides[1] + 1 : strides[1]]
            y += np.einsum("nchw,oc->nohw", part, w[:, :, i, j].astype(float))
    return y


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("residual", "soc"),
    [(False, SOC), (True, SOC), (True, load_soc("Ascend910B3"))],
    ids=["plain", "residual", "residual on a team of cores"],
)
def test_convolution(name: str, residual: bool, soc: Soc) -> None:
    batch, cin, h, w, cout, kernel, strides, dilations, pads, bias = CASES[name]
    rng = np.random.default_rng(7)
    x = rng.standard_normal((batch, cin, h, w)).astype(np.float16)
    f = (rng.standard_normal((cout, cin, *kernel)) / np.sqrt(cin * kernel[0] * kernel[1])).astype(np.float16)
    b = rng.standard_normal(cout).astype(np.float32)
    want = direct_conv(x.astype(float), f, strides, dilations, pads)
    ho, wo = want.shape[2:]
    side = rng.standard_normal(want.shape).astype(np.float16)
    if bias:
        want += b[None, :, None, None]
    epilogue = Epilogue()
    inputs = [pack(x), pack_weights(f)] + ([np.pad(b, (0, -cout % 16))] if bias else [])
    if residual:
        epilogue = Epilogue((Step("ge.add", (0, 1)), Step("ge.relu", (2,))), (EpilogueInput("tile"),))
        want = np.maximum(want + side.astype(float), 0)
        inputs.append(pack(side))
    n1 = -(-cout // 16)
    shape = ConvShape(batch, 1, -(-cin // 16), h, w, n1, ho, wo, kernel, strides, dilations, pads, bias)
    compiled = compile_kernel(build_conv2d("k", shape, epilogue, soc), soc)
    got = run_kernel(compiled, inputs, (batch, n1, ho, wo, 16), np.float16, soc)
    logical = got.transpose(0, 1, 4, 2, 3).reshape(batch, n1 * 16, ho, wo)
    assert np.abs(logical[:, :cout] - want).max() <= 2e-3 * np.abs(want).max()
    assert not logical[:, cout:].any()


SMALL_CASES = {
    # name: (batch, cin, h, w, cout, kernel, strides, dilations, pads, bias)
    "7x7 stride 2": (1, 3, 37, 41, 20, (7, 7), (2, 2), (1, 1), (3, 3, 3, 3), True),
    "3x3, 4 channels": (3, 4, 30, 34, 64, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), True),
    "1x1, 1 channel": (1, 1, 16, 16, 16, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), False),
    "asymmetric": (2, 2, 11, 9, 17, (2, 3), (1, 2), (2, 1), (0, 2, 1, 0), True),
    "row in pieces": (1, 1, 1, 5000, 16, (1, 81), (1, 2), (1, 3), (0, 4, 0, 6), True),
    "many weights": (1, 3, 20, 20, 400, (16, 16), (4, 4), (1, 1), (0, 0, 0, 0), True),
}


@pytest.mark.parametrize("soc", [SOC, load_soc("Ascend910B3")], ids=lambda soc: soc.name)
@pytest.mark.parametrize("name", SMALL_CASES)
def test_convolution_of_few_channels(name: str, soc: Soc) -> None:
    batch, cin, h, w, cout, kernel, strides, dilations, pads, bias = SMALL_CASES[name]
    rng = np.random.default_rng(7)
    x = rng.standard_normal((batch, cin, h, w)).astype(np.float16)
    f = (rng.standard_normal((cout, cin, *kernel)) / np.sqrt(cin * kernel[0] * kernel[1])).astype(np.float16)
    b = rng.standard_normal(cout).astype(np.float32)
    want = direct_conv(x.astype(float), f, strides, dilations, pads)
    ho, wo = want.shape[2:]
    if bias:
        want += b[None, :, None, None]
    n1 = -(-cout // 16)
    shape = ConvShape(batch, 1, 1, h, w, n1, ho, wo, kernel, strides, dilations, pads, bias, small=4)
    assert shape.k1 == -(-kernel[0] * kernel[1] // 4)
    compiled = compile_kernel(build_conv2d("k", shape, Epilogue(), soc), soc)
    inputs = [pack_small(x), pack_small_weights(f)] + ([np.pad(b, (0, -cout % 16))] if bias else [])
    for real_bytes in (False, True):
        got = run_kernel(compiled, inputs, (batch, n1, ho, wo, 16), np.float16, soc, real_bytes=real_bytes)
        logical = got.transpose(0, 1, 4, 2, 3).reshape(batch, n1 * 16, ho, wo)
        assert np.abs(logical[:, :cout] - want).max() <= 2e-3 * np.abs(want).max()
        assert not logical[:, cout:].any()


def versions(ops: Iterable[Operation], slot: str, at: dict[SSAValue, int]) -> Iterator[int]:
    """The versions of a slot in the order in which the program fills them."""
    for op in ops:
        if isinstance(op, LoopOp):
            for i in range(op.trip.value.data):
                yield from versions(op.body.block.ops, slot, {**at, op.body.block.args[0]: i})
        elif isinstance(op, AllocOp) and op.slot.data == slot:
            index = version_index(op)
            yield (index.const + sum(coef * at[counter] for counter, coef in index.terms.items())) % op.version_count


def test_versions_of_l0_alternate_across_parts_of_weights() -> None:
    shape = ConvShape(1, 1, 16, 28, 28, 16, 28, 28, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), False)
    kernel = build_conv2d("conv", shape, Epilogue(), SOC)
    double_buffer(kernel, SOC)
    for region in kernel.body.block.ops:
        filled = list(versions(region.regions[0].block.ops, "l0a", {}))
        assert all(a != b for a, b in zip(filled, filled[1:], strict=False))


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize(("channels", "once"), [(2, True), (16, False)])
def test_weights_that_fit_l0b_go_there_once(channels: int, once: bool, soc: str) -> None:
    """3 x 3: 2 x 2 blocks of channels are 36 fractals of 512 bytes, 16 x 16 are 2304, and L0B has room for 128."""
    chip = load_soc(soc)
    shape = ConvShape(1, 1, channels, 112, 112, channels, 112, 112, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), False)
    kernel = build_conv2d("conv", shape, Epilogue(), chip)
    double_buffer(kernel, chip)
    held = [op for op in kernel.walk() if isinstance(op, AllocOp) and op.slot.data == "l0b"]
    assert all((not enclosing_loops(op) and op.version_count == 1) is once for op in held)
    for region in kernel.body.block.ops if once else ():
        assert sum(op in region.walk() for op in held) == 1


@pytest.mark.parametrize(("size", "by_load3d"), [(16, False), (7, True)])
def test_whole_fractals_are_no_images(size: int, by_load3d: bool) -> None:
    shape = ConvShape(1, 1, 4, size, size, 4, size, size, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), False)
    kernel = build_conv2d("conv", shape, Epilogue(), SOC)
    assert ("load3d" in str(kernel)) is by_load3d
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (1, 4, size, size, 16)).astype(np.float16)
    w = rng.uniform(-1, 1, (1, 4, 4, 16, 16)).astype(np.float16)
    y = run_kernel(compile_kernel(kernel), [x, w], x.shape, np.float16)
    wide = np.einsum("bkhwc,gknmc->bnhwm", x.astype(np.float64), w.astype(np.float64))
    np.testing.assert_allclose(y.astype(np.float64), wide, atol=4e-3, rtol=1e-3)
