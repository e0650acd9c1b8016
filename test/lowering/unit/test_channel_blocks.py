"""Movements inside NC1HWC0 on the checked chip against numpy: channels at any offset, lanes that change places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from harness.checked_operators import Array, instructions, kernel_of, run_stored, typed, value
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation

from graph_engine.dialects.ge.channels import ChannelShuffleOp, DepthToSpaceOp
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp
from graph_engine.dialects.layout import Encoding, nc1hwc0, unpack
from graph_engine.lowering.selection.choice import tensor

BLOCKS = nc1hwc0()


def numbers(shape: Sequence[int]) -> Array:
    return np.random.default_rng(3).integers(-500, 500, shape).astype(np.float16)


def check(op: Operation, inputs: list[Array], right: Array) -> None:
    """The numbers, zeros in the padding lanes, and no two cores in one granule."""
    stored = run_stored(op, inputs)
    np.testing.assert_array_equal(unpack(stored, tensor(op.results[0])), right)
    assert np.abs(stored.astype(float)).sum() == np.abs(right.astype(float)).sum(), "padding lanes must be zero"


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.sampled_from([(1, 1, 1), (1, 1, 5), (2, 7, 3), (1, 30, 40)]),
)
def test_concat_of_any_channels(channels: list[int], place: tuple[int, int, int]) -> None:
    batch, *pixels = place
    parts = [numbers((batch, c, *pixels)) for c in channels]
    op = ConcatOp(
        [value(p.shape, encoding=BLOCKS) for p in parts],
        axis=1,
        result_type=typed((batch, sum(channels), *pixels), encoding=BLOCKS),
    )
    check(op, parts, np.concatenate(parts, 1))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.one_of(st.integers(1, 40), st.sampled_from([16, 32, 48])),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.sampled_from([(1, 1, 1), (2, 5, 4), (1, 1, 9), (1, 20, 33)]),
)
def test_depth_to_space_of_any_channels(channels: int, blocks: tuple[int, int], place: tuple[int, int, int]) -> None:
    (batch, h, w), (rows, columns) = place, blocks
    right = numbers((batch, channels, h * rows, w * columns))
    x = right.reshape(batch, channels, h, rows, w, columns).transpose(0, 3, 5, 1, 2, 4)
    x = np.ascontiguousarray(x).reshape(batch, rows * columns * channels, h, w)
    op = DepthToSpaceOp(value(x.shape, encoding=BLOCKS), blocks=blocks, result_type=typed(right.shape, encoding=BLOCKS))
    check(op, [x], right)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 40), st.integers(1, 40), st.integers(0, 20), st.sampled_from([(1, 1, 1), (2, 5, 4), (1, 20, 33)]))
def test_slice_of_any_channels(start: int, count: int, behind: int, place: tuple[int, int, int]) -> None:
    batch, *pixels = place
    x = numbers((batch, start + count + behind, *pixels))
    op = SliceOp(value(x.shape, encoding=BLOCKS), starts=[start], ends=[start + count], axes=[1], steps=[1],
                 result_type=typed((batch, count, *pixels), encoding=BLOCKS))  # fmt: skip
    check(op, [x], x[:, start : start + count])


def test_slice_of_channels_and_pixels() -> None:
    x = numbers((2, 40, 9, 10))
    op = SliceOp(value(x.shape, encoding=BLOCKS), starts=[7, 1, 2], ends=[30, 9, 10], axes=[1, 2, 3], steps=[1, 3, 2],
                 result_type=typed((2, 23, 3, 4), encoding=BLOCKS))  # fmt: skip
    check(op, [x], x[:, 7:30, 1:9:3, 2::2])


@pytest.mark.parametrize("shape", [(1, 24, 10, 10), (2, 16, 3, 5), (1, 5, 1, 1)])
@pytest.mark.parametrize("times", [(2, 2), (8, 8), (3, 1)])
@pytest.mark.parametrize("encoding", [None, nc1hwc0()], ids=["nd", "nc1hwc0"])
def test_pixels_repeated(shape: tuple[int, ...], times: tuple[int, int], encoding: Any) -> None:
    if encoding is None and times == (8, 8):
        return
    x = numbers(shape)
    sizes = [shape[2] * times[0], shape[3] * times[1]]
    result = typed((*shape[:2], *sizes), encoding=encoding)
    op = ResizeOp(value(shape, encoding=encoding), axes=[2, 3], sizes=sizes,
                  coordinates="asymmetric", nearest="floor", result_type=result)  # fmt: skip
    check(op, [x], x.repeat(times[0], 2).repeat(times[1], 3))


@pytest.mark.parametrize(("shape", "groups"), [((1, 116, 28, 28), 2), ((2, 60, 5, 7), 3), ((1, 240, 1, 1), 3), ((1, 32, 9, 2), 1),
                                               ((1, 960, 7, 7), 3)])  # fmt: skip
@pytest.mark.parametrize("encoding", [None, BLOCKS], ids=["nd", "nc1hwc0"])
def test_channels_dealt_in_turn(shape: tuple[int, ...], groups: int, encoding: Encoding | None) -> None:
    x = numbers(shape)
    op = ChannelShuffleOp(value(shape, encoding=encoding), groups=groups, result_type=typed(shape, encoding=encoding))
    split = x.reshape(shape[0], groups, shape[1] // groups, *shape[2:])
    check(op, [x], split.transpose(0, 2, 1, 3, 4).reshape(shape))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    st.integers(1, 40),
    st.tuples(*[st.integers(0, 3)] * 4),
    st.sampled_from([(1, 1, 1), (2, 5, 4), (1, 20, 33)]),
)
def test_borders_of_the_plane(channels: int, pads: tuple[int, int, int, int], place: tuple[int, int, int]) -> None:
    batch, *pixels = place
    top, left, bottom, right = pads
    x = numbers((batch, channels, *pixels))
    wanted = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    op = PadOp(
        value(x.shape, encoding=BLOCKS),
        pads=[0, 0, top, left, 0, 0, bottom, right],
        result_type=typed(wanted.shape, encoding=BLOCKS),
    )
    check(op, [x], wanted)


def test_borders_move_rows_of_pixels() -> None:
    """165 rows of six blocks, each read and written whole: not lane by lane, which took 63,552 instructions."""
    ty = typed((1, 96, 166, 166), encoding=BLOCKS)
    op = PadOp(value((1, 96, 165, 165), encoding=BLOCKS), pads=[0, 0, 0, 0, 0, 0, 1, 1], result_type=ty)
    assert instructions(kernel_of(op)[1]) <= 6 * 165
