"""Movement kernels on the chip against numpy: every pair of formats, permutations, concat, slice, pad."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import compile_kernel, every_instruction, run_stored
from harness.operators import run_operator, value
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge.channels import DepthToSpaceOp
from graph_engine.dialects.ge.heads import MergeHeadsOp, SplitHeadsOp
from graph_engine.dialects.ge.interning import element_type, tensor_type
from graph_engine.dialects.ge.repetition import ExpandOp, TileOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp, TransposeOp
from graph_engine.dialects.layout import (
    TransDataOp,
    fractal_nz,
    fractal_z,
    fractal_z_3d,
    fractal_z_kn,
    nc1hwc0,
    nc1hwc0_c04,
    with_encoding,
)
from graph_engine.lowering.kernels.movement import Dim, Movement, Part, build_movement
from graph_engine.target_ascend.isa.model import DType, Opcode, Space
from graph_engine.target_ascend.soc.soc import load_soc

F16, F32 = element_type("f16"), element_type("f32")


def numbers(shape: tuple[int, ...], dtype: Any = np.float16) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).integers(-500, 500, shape).astype(dtype)


def ty(shape: tuple[int, ...], element: Any = F16, encoding: Any = None) -> Any:
    return with_encoding(tensor_type(shape, element), encoding)


def convert(shape: tuple[int, ...], source: Any, target: Any, elements: tuple[Any, Any] = (F16, F16)) -> None:
    x = numbers(shape, np.float16 if elements[0] == F16 else np.float32)
    op = TransDataOp(value(ty(shape, elements[0], source)), ty(shape, elements[1], target))
    got = run_operator(op, [x])
    assert got.dtype == (np.float16 if elements[1] == F16 else np.float32)
    np.testing.assert_array_equal(got, x)
    stored = run_operator.stored  # type: ignore[attr-defined]
    assert np.abs(stored.astype(float)).sum() == np.abs(x.astype(float)).sum(), "padding lanes must be zero"


@pytest.mark.parametrize("shape", [(1, 3, 224, 224), (2, 16, 7, 5), (1, 40, 3, 3), (3, 64, 1, 1), (1, 17, 33, 2)])
@pytest.mark.parametrize("elements", [(F16, F16), (F32, F16)], ids=["f16", "f32-f16"])
def test_to_nc1hwc0(shape: tuple[int, ...], elements: tuple[Any, Any]) -> None:
    convert(shape, None, nc1hwc0(), elements)


ROWS = (Dim(65536, 65536, 3, 16), Dim(3, 16, 1, 1))
PLANES = (Dim(3, 16, 65536, 1), Dim(65536, 65536, 1, 16))


@pytest.mark.parametrize("dims", [ROWS, PLANES], ids=["pixels in a row", "planes that turn"])
def test_the_next_load_waits_for_no_filling(dims: tuple[Dim, ...]) -> None:
    """A buffer that the Vector fills up is not the one that is loaded: its turn comes behind the tile before."""
    soc = load_soc("Ascend310P3")
    sizes = tuple(dim.read for dim in dims), tuple(dim.write for dim in dims)
    movement = Movement(((sizes[0], DType.F32),), sizes[1], DType.F16, (Part(0, 0, 0, dims),))
    kernel = compile_kernel(build_movement("image", movement, soc), soc)
    steps = list(every_instruction(kernel.body))
    filled = {instr.operands[0].buffer for instr in steps if instr.opcode is Opcode.VDUP}
    copies = [instr.operands for instr in steps if instr.opcode is Opcode.COPY]
    loaded = {into.buffer for into, out_of in copies if kernel.buffers[out_of.buffer].space is Space.GM}
    assert filled
    assert loaded
    assert not filled & loaded


@given(
    st.tuples(st.integers(1, 20), st.integers(1, 4), st.integers(1, 70), st.integers(1, 70)),
    st.sampled_from([(F16, F16), (F32, F16)]),
    st.sampled_from(["Ascend310P3", "Ascend910B3"]),
)
@example((1, 3, 224, 224), (F32, F16), "Ascend310P3")
@example((8, 4, 149, 151), (F32, F16), "Ascend310P3")
@example((33, 1, 16, 16), (F16, F16), "Ascend310P3")
@settings(max_examples=40, deadline=None, derandomize=True)
def test_to_pixels_of_four_channels(shape: tuple[int, ...], elements: tuple[Any, Any], name: str) -> None:
    n, c, h, w = shape
    source, target = ty(shape, elements[0]), ty(shape, elements[1], nc1hwc0_c04())
    x = numbers(shape, np.float32 if elements[0] is F32 else np.float16)
    got = run_stored(TransDataOp(value(source), target), [x], soc=load_soc(name))
    want = np.zeros((n, 1, h, w, 4), np.float16)
    want[:, 0, ..., :c] = x.transpose(0, 2, 3, 1)
    assert np.array_equal(got, want)


@pytest.mark.parametrize("shape", [(1, 3, 30, 31), (2, 16, 7, 5), (1, 40, 3, 3), (3, 64, 1, 1), (1, 1000, 1, 1)])
@pytest.mark.parametrize("elements", [(F16, F16), (F16, F32)], ids=["f16", "f16-f32"])
def test_from_nc1hwc0(shape: tuple[int, ...], elements: tuple[Any, Any]) -> None:
    convert(shape, nc1hwc0(), None, elements)


@pytest.mark.parametrize(
    "shape", [(1, 1000), (20, 33), (16, 16), (5, 3), (2, 7, 40), (2250, 2), (8401, 4), (2, 3001, 17)]
)
def test_fractal_nz_both_ways(shape: tuple[int, ...]) -> None:
    convert(shape, None, fractal_nz())
    convert(shape, fractal_nz(), None)
    convert(shape, fractal_nz(), None, (F16, F32))


@pytest.mark.parametrize("shape", [(1, 1, 3, 3), (17, 20, 3, 3), (64, 3, 7, 7), (100, 70, 5, 5), (16, 48, 1, 2)])
@pytest.mark.parametrize("elements", [(F16, F16), (F32, F16)], ids=["f16", "f32-f16"])
def test_filters_that_are_no_constants(shape: tuple[int, ...], elements: tuple[Any, Any]) -> None:
    convert(shape, None, fractal_z(), elements)
    convert((*shape[:2], 3, *shape[2:]), None, fractal_z_3d(), elements)


def test_matrix_formats() -> None:
    convert((4, 100), nc1hwc0(), fractal_nz())
    convert((30, 50), None, fractal_z_kn())


@given(st.permutations(range(4)), st.lists(st.integers(1, 20), min_size=4, max_size=4))
@settings(max_examples=25, deadline=None)
def test_transpose(perm: list[int], shape: list[int]) -> None:
    x = numbers(tuple(shape))
    op = TransposeOp(value(ty(tuple(shape))), perm=perm)
    np.testing.assert_array_equal(run_operator(op, [x]), x.transpose(perm))


def test_channel_shuffle() -> None:
    x = numbers((1, 4, 34, 28, 28))
    op = TransposeOp(value(ty(x.shape)), perm=[0, 2, 1, 3, 4])
    np.testing.assert_array_equal(run_operator(op, [x]), x.transpose(0, 2, 1, 3, 4))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("shape", [(2, 3, 5, 2, 7, 3), (1, 1, 30, 4, 20, 1)])
def test_depth_to_space(mode: str, shape: tuple[int, ...]) -> None:
    n, c, h, rows, w, columns = shape
    right = numbers((n, c, h * rows, w * columns))
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    x = np.ascontiguousarray(right.reshape(shape).transpose(order)).reshape(n, -1, h, w)
    op = DepthToSpaceOp(value(ty(x.shape)), blocks=(rows, columns), mode=mode)
    np.testing.assert_array_equal(run_operator(op, [x]), right)


@pytest.mark.parametrize("encoding", [None, nc1hwc0()], ids=["nd", "nc1hwc0"])
@pytest.mark.parametrize("channels", [(16, 32, 16), (64, 5), (32, 17)])
def test_concat_channels(encoding: Any, channels: tuple[int, ...]) -> None:
    parts = [numbers((2, c, 5, 6)) for c in channels]
    op = ConcatOp([value(ty(p.shape, F16, encoding)) for p in parts], axis=1,
                  result_type=ty((2, sum(channels), 5, 6), F16, encoding))  # fmt: skip
    np.testing.assert_array_equal(run_operator(op, parts), np.concatenate(parts, 1))


@pytest.mark.parametrize("axis", [0, 2, 3])
def test_concat_other_axes(axis: int) -> None:
    parts = [numbers((2, 18, 4, 3)), numbers((2, 18, 4, 3))]
    shape = list(parts[0].shape)
    shape[axis] *= 2
    for encoding in (None, nc1hwc0()):
        op = ConcatOp([value(ty(p.shape, F16, encoding)) for p in parts], axis=axis,
                      result_type=ty(tuple(shape), F16, encoding))  # fmt: skip
        np.testing.assert_array_equal(run_operator(op, parts), np.concatenate(parts, axis))


def test_parts_share_the_unified_buffer() -> None:
    """Blocks and pieces of blocks, whose tiles fill two fifths of it each."""
    parts = [numbers((1, 24, 160, 160)) for _ in range(2)]
    values = [value(ty(part.shape, F16, nc1hwc0())) for part in parts]
    op = ConcatOp(values, axis=1, result_type=ty((1, 48, 160, 160), F16, nc1hwc0()))
    np.testing.assert_array_equal(run_operator(op, parts), np.concatenate(parts, 1))


@pytest.mark.parametrize("encoding", [None, nc1hwc0()], ids=["nd", "nc1hwc0"])
def test_pad_and_slice(encoding: Any) -> None:
    x = numbers((2, 20, 7, 9))
    pads = [0, 0, 1, 2, 0, 0, 3, 0]
    op = PadOp(value(ty(x.shape, F16, encoding)), pads=pads, value=2.5,
               result_type=ty((2, 20, 11, 11), F16, encoding))  # fmt: skip
    want = np.pad(x, ((0, 0), (0, 0), (1, 3), (2, 0)), constant_values=2.5)
    np.testing.assert_array_equal(run_operator(op, [x]), want)
    op2 = SliceOp(value(ty(x.shape, F16, encoding)), starts=[1, -8], ends=[100, -1], axes=[2, 3], steps=[2, 3],
                  result_type=ty((2, 20, 3, 3), F16, encoding))  # fmt: skip
    np.testing.assert_array_equal(run_operator(op2, [x]), x[:, :, 1::2, -8:-1:3])


@pytest.mark.parametrize("repeats", [[1, 1, 2, 3], [2, 1, 1, 1], [1, 3, 1, 2]])
def test_tile(repeats: list[int]) -> None:
    x = numbers((2, 3, 5, 20))
    np.testing.assert_array_equal(run_operator(TileOp(value(ty(x.shape)), repeats=repeats), [x]), np.tile(x, repeats))


def test_elements_repeated_twice_in_a_row() -> None:
    x = numbers((1, 3, 6, 1, 7, 1))
    op = TileOp(value(ty(x.shape)), repeats=[1, 1, 1, 2, 1, 2])
    np.testing.assert_array_equal(run_operator(op, [x]), np.tile(x, (1, 1, 1, 2, 1, 2)))


def test_expand() -> None:
    x = numbers((3, 1, 40))
    op = ExpandOp(value(ty(x.shape)), shape=[2, 3, 4, 40])
    np.testing.assert_array_equal(run_operator(op, [x]), np.broadcast_to(x, (2, 3, 4, 40)))


@pytest.mark.parametrize(
    ("shape", "heads"), [((1, 128, 768), 12), ((2, 5, 24), 3), ((7, 64), 4), ((3, 1, 32), 2)], ids=str
)
def test_heads(shape: tuple[int, ...], heads: int) -> None:
    x = numbers(shape)
    cut = np.swapaxes(x.reshape(*shape[:-1], heads, -1), -2, -3)
    np.testing.assert_array_equal(run_operator(SplitHeadsOp(value(ty(shape)), heads=heads), [x]), cut)
    np.testing.assert_array_equal(run_operator(MergeHeadsOp(value(ty(cut.shape))), [np.ascontiguousarray(cut)]), x)


def test_both_sides_too_long_to_turn_whole() -> None:
    x = numbers((1400, 1376))
    op = TransposeOp(value(ty(x.shape)), perm=[1, 0])
    np.testing.assert_array_equal(run_operator(op, [x]), x.T)
