"""Gathers on the chip, in checking mode, against numpy: rows by addresses from registers, elements by look-up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import kernel_of, run_operator, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import indexing as ge
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.errors import GraphEngineError
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.table import select
from graph_engine.target_ascend.isa.model import DType, Opcode, Walker

RNG = np.random.default_rng(2)


def some(shape: tuple[int, ...], dtype: str) -> Any:
    return RNG.integers(-100, 100, shape).astype(DType.from_mlir(dtype).numpy)


def indices(extent: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Of all places, from the front and from the end."""
    return RNG.integers(-extent, extent, shape).astype(DType.from_mlir(dtype).numpy)


def check(op: Any, *inputs: Any) -> None:
    np.testing.assert_array_equal(run_operator(op, list(inputs)), evaluate_op(op, list(inputs))[0])


@pytest.mark.parametrize("index_dtype", ["i32", "i64"])
@pytest.mark.parametrize(
    ("shape", "places", "axis", "dtype"),
    [
        ((1000, 768), (2, 37), 0, "f16"),  # an embedding
        ((50, 7), (13,), 0, "f16"),  # rows of less than a block
        ((6, 40, 24), (5,), 1, "f32"),
        ((3, 4, 100), (3, 11), 2, "f16"),  # elements of the last axis
        ((5000,), (3000,), 0, "f32"),  # more indices than a tile
        ((4, 9), (1,), -1, "i64"),
        ((7, 33), (4,), 0, "i1"),
        ((3, 70000), (2,), 0, "f32"),  # a row in pieces
        ((5, 3), (), 0, "f16"),
    ],
    ids=str,
)
def test_gather(shape: Any, places: Any, axis: int, dtype: str, index_dtype: str) -> None:
    x, index = some(shape, dtype), indices(shape[axis], places, index_dtype)
    check(ge.GatherOp(value(shape, dtype), value(places, index_dtype), axis=axis), x, index)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_gather_of_any_shape(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=4)))
    places = tuple(data.draw(st.lists(st.integers(1, 9), max_size=2)))
    axis = data.draw(st.integers(0, len(shape) - 1))
    dtype, index_dtype = (
        data.draw(st.sampled_from(["f16", "f32", "i32", "ui8"])),
        data.draw(st.sampled_from(["i32", "i64"])),
    )
    x, index = some(shape, dtype), indices(shape[axis], places, index_dtype)
    check(ge.GatherOp(value(shape, dtype), value(places, index_dtype), axis=axis), x, index)


@pytest.mark.parametrize(
    ("shape", "places", "batch"),
    [((5, 6, 40), (7, 2), 0), ((5, 6, 40), (3, 2, 3), 0), ((4, 6, 5, 3), (4, 9, 2), 1), ((3, 50), (3, 8, 1), 1)],
    ids=str,
)
def test_coordinates(shape: Any, places: Any, batch: int) -> None:
    x = some(shape, "f16")
    named = [indices(shape[batch + d], places[:-1], "i64") for d in range(places[-1])]
    op = ge.GatherNdOp(value(shape), value(places, "i64"), batch_dims=batch)
    check(op, x, np.stack(named, -1))


def test_elements_of_the_last_axis() -> None:
    x, index = some((6, 90), "f16"), indices(90, (6, 35), "i32")
    check(ge.GatherElementsOp(value(x.shape), value(index.shape, "i32"), axis=-1), x, index)
    with pytest.raises(NoKernel, match="along the last axis"):
        select(ge.GatherElementsOp(value((6, 9)), value((3, 9), "i32"), axis=0))


def test_rows_are_dealt_to_all_cores_and_loaded_once_each() -> None:
    _, kernel = kernel_of(ge.GatherOp(value((30522, 768)), value((1, 128), "i32"), axis=0))
    assert kernel.block_dim == 8
    loads = [i for block in range(8) for i in Walker(kernel, block) if i[0].opcode is Opcode.LOAD_SCALAR]
    assert len(loads) == 128


def test_an_index_outside_the_axis_is_an_error() -> None:
    for shape in ((5, 64), (5,)):
        op = ge.GatherOp(value(shape), value((2,), "i32"), axis=0)
        with pytest.raises(GraphEngineError, match="is outside 5 entries"):
            run_operator(op, [some(shape, "f16"), np.array([1, 5], np.int32)])
