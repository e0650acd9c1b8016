"""All steps of an LSTM or GRU in one kernel on the chip, in checking mode, against numpy in fp64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import kernel_of, launch_results, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.recurrent_steps import CELLS, RecurrentStepsOp
from graph_engine.dialects.ge.weights import constant_attr, materialize
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import ConstantArgument
from graph_engine.target_ascend.soc.soc import load_soc

FAMILIES = ["Ascend310P3", "Ascend310", "Ascend910A", "Ascend310B1"]
DIRECTIONS = ["forward", "reverse", "bidirectional"]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def steps_of(cell: str, x: Any, r: Any, states: Any, inner: Any) -> tuple[Any, Any]:
    """The steps of one direction: x (steps, batch, gates * units), r (gates * units, units), states (k, batch, units)."""
    h, *more = states
    found: list[Any] = []
    for row in x:
        product = h @ r.T
        if cell == "lstm":
            i, o, f, new = np.split(row + product, 4, axis=-1)
            more = [sigmoid(f) * more[0] + sigmoid(i) * np.tanh(new)]
            h = sigmoid(o) * np.tanh(more[0])
        else:
            (z, reset, new), (pz, pr, pn) = np.split(row, 3, axis=-1), np.split(product, 3, axis=-1)
            z = sigmoid(z + pz)
            h = (1 - z) * np.tanh(new + sigmoid(reset + pr) * (pn + inner)) + z * h
        found.append(h)
    return np.stack(found), np.stack([h, *more])


def check(cell: str, steps: int, batch: int, units: int, direction: str, soc: str = "Ascend310P3") -> int:
    """Runs the kernel and compares all of both results; the number of its blocks.

    The weights keep an error from growing: what is off is what fp16 rounds of h before each product, and of the results.
    """
    chip, (gates, count) = load_soc(soc), CELLS[cell]
    rng = np.random.default_rng(41)
    directions = 2 if direction == "bidirectional" else 1
    x = rng.standard_normal((steps, batch, directions * gates * units)).astype(np.float16)
    r = (rng.standard_normal((directions, gates * units, units)) / np.sqrt(units)).astype(np.float16)
    states = (rng.standard_normal((count, directions, batch, units)) / 2).astype(np.float16)
    inner = rng.standard_normal((directions, units)).astype(np.float16)
    more = [inner] if cell == "gru" else []
    weights = ConstantOp(constant_attr(r, "r"))
    op = RecurrentStepsOp(
        value(x.shape), weights, value(states.shape), *(value(a.shape) for a in more), cell=cell, direction=direction
    )
    choice, kernel = kernel_of(op, chip)
    packed = choice.inputs[1]
    assert isinstance(packed, ConstantArgument)
    arrays = [x, materialize(packed.value, packed.type), states, *more]
    shapes = [(steps, directions, batch, units), (count, directions, batch, units)]
    half = np.dtype(np.float16)
    y, last = launch_results(kernel, arrays, [(shape, half) for shape in shapes], {}, chip)
    for d in range(directions):
        there = x.reshape(steps, batch, directions, gates * units)[:, :, d].astype(float)
        backwards = direction == "reverse" or d == 1
        rows, ends = steps_of(
            cell,
            there[::-1] if backwards else there,
            r[d].astype(float),
            states[:, d].astype(float),
            inner[d].astype(float),
        )
        for got, right in (
            (y.reshape(shapes[0])[:, d], rows[::-1] if backwards else rows),
            (last.reshape(shapes[1])[:, d], ends),
        ):
            assert (abs(got.astype(float) - right) <= 2.0**-10 * (1 + abs(right))).all(), abs(got - right).max()
    return kernel.block_dim


@pytest.mark.parametrize("soc", FAMILIES)
@pytest.mark.parametrize("cell", CELLS)
def test_families(cell: str, soc: str) -> None:
    check(cell, 5, 3, 32, "bidirectional", soc)


@pytest.mark.parametrize(
    ("cell", "steps", "batch", "units", "direction", "blocks"),
    [
        ("lstm", 64, 1, 64, "bidirectional", 2),
        ("gru", 64, 1, 128, "reverse", 1),
        ("lstm", 4, 20, 256, "forward", 7),
        ("gru", 3, 130, 256, "bidirectional", 8),
        ("lstm", 1, 1, 16, "forward", 1),
    ],
)
def test_long_and_large(cell: str, steps: int, batch: int, units: int, direction: str, blocks: int) -> None:
    """Weights in L0B or in parts; rows dealt to the cores, more than one block of 16 of them each."""
    assert check(cell, steps, batch, units, direction) == blocks


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from(sorted(CELLS)), st.integers(1, 6), st.integers(1, 36), st.integers(1, 9), st.sampled_from(DIRECTIONS),
    st.sampled_from(FAMILIES),
)  # fmt: skip
def test_drawn(cell: str, steps: int, batch: int, blocks: int, direction: str, soc: str) -> None:
    check(cell, steps, batch, 16 * blocks, direction, soc)


@pytest.mark.parametrize(("units", "soc"), [(512, "Ascend310P3"), (64, "Ascend910B3"), (24, "Ascend310P3")])
def test_what_it_refuses(units: int, soc: str) -> None:
    """Weights beyond L1, a core without both units, units that fill no blocks."""
    with pytest.raises(NoKernel):
        check("lstm", 2, 1, units, "forward", soc)
