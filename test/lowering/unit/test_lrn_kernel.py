"""Local response normalization on the chip, in checking mode, against its formula in fp64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import (
    assert_close,
    encode,
    fused,
    instructions,
    kernel_of,
    run_operator,
    run_stored,
    value,
)

from graph_engine.dialects.ge.elementwise import ReluOp
from graph_engine.dialects.ge.normalization import LrnOp
from graph_engine.dialects.layout import nc1hwc0, unpack
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import tensor
from graph_engine.lowering.selection.table import select

SHAPES = [(1, 96, 27, 27), (9, 20, 5, 7), (2, 3, 11, 13), (1, 1, 4, 4), (3, 7, 5), (1, 600, 9, 9)]


def lrn(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    """Channel by channel, as ONNX writes it."""
    x = x.astype(float)
    y = np.empty_like(x)
    for c in range(x.shape[1]):
        first, last = max(0, c - (size - 1) // 2), min(x.shape[1] - 1, c + -(-(size - 1) // 2))
        y[:, c] = x[:, c] / (bias + alpha / size * (x[:, first : last + 1] ** 2).sum(1)) ** beta
    return y


def random(shape: tuple[int, ...], dtype: Any = np.float16) -> Any:
    return (np.random.default_rng(2).standard_normal(shape) * 20).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_shapes(shape: tuple[int, ...], size: int) -> None:
    x = random(shape)
    assert_close(run_operator(LrnOp(value(shape), size=size), [x]), lrn(x, size))


def test_parameters_in_single_precision() -> None:
    x = random((2, 24, 6, 6), np.float32)
    parameters: dict[str, Any] = {"size": 4, "alpha": 0.25, "beta": 0.5, "bias": 2.0}
    # exp(-beta * ln s): the logarithm, up to 5, is rounded to 2^-24 of itself before exp multiplies the error.
    assert_close(run_operator(LrnOp(value(x.shape, "f32"), **parameters), [x]), lrn(x, **parameters), 8)


def test_in_place_and_steps_behind() -> None:
    x = random((1, 40, 30, 30))
    assert_close(run_operator(LrnOp(value(x.shape), size=5), [x], in_place=0), lrn(x, 5))
    op = fused([value(x.shape)], lambda x: [t := LrnOp(x, size=5), ReluOp(t)], "ge.lrn")
    assert_close(run_operator(op, [x]), np.maximum(lrn(x, 5), 0))


def test_few_instructions() -> None:
    choice, kernel = kernel_of(LrnOp(value((1, 96, 109, 109)), size=5))
    assert (choice.type, kernel.block_dim) == ("LRN", 8)
    assert instructions(kernel) <= 8 * 15 * 12  # blocks x instructions of a tile x tiles


def test_refused_with_a_reason() -> None:
    with pytest.raises(NoKernel, match="plain tensor"):
        select(encode(LrnOp(value((1, 16, 4, 4), "f32", nc1hwc0()), size=5), nc1hwc0()))
    with pytest.raises(NoKernel, match="do not fit the unified buffer"):
        kernel_of(LrnOp(value((1, 4000, 4, 4)), size=5))


@pytest.mark.parametrize(
    "shape", [(1, 96, 27, 27), (9, 20, 5, 7), (2, 3, 11, 13), (1, 1, 4, 4), (1, 600, 9, 9)], ids=str
)
@pytest.mark.parametrize("size", [1, 5])
def test_blocks_of_channels(shape: tuple[int, ...], size: int) -> None:
    """In NC1HWC0, with zeros in the lanes of padding."""
    x = random(shape)
    op = encode(LrnOp(value(shape, encoding=nc1hwc0()), size=size), nc1hwc0())
    stored = run_stored(op, [x])
    assert_close(unpack(stored, tensor(op.results[0])), lrn(x, size))
    lanes = stored.swapaxes(-1, 2).reshape(shape[0], -1, *shape[2:])[:, shape[1] :]
    assert not lanes.any()
