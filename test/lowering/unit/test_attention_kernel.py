"""Attention on the chip, in checking mode, against numpy in fp64: any sizes, masks, grouped heads, tiles of keys; by one core
that has all in fractals, and by a team of cores on plain matrices.

Of a team the rings of scores, weights and sums go wrong where loops in loops fill them, so chips of small memories make many
tiles; and orders of cores and pipes that the flags allow must give the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, fused, kernel_of, run_stored, value
from harness.kernels import SOC, exchanged
from harness.mutation import tight_chip
from harness.schedules import SCHEDULES, Schedule, launch_in_order
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.ge.weights import materialize
from graph_engine.dialects.layout import fractal_nz, unpack
from graph_engine.lowering.selection.choice import ConstantArgument
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.model import CoreKind
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.target_ascend.soc.soc import Soc, load_soc

MATRIX, UNDEFINED = fractal_nz(), fractal_nz(pad="undef")
SPLIT = [load_soc(name) for name in ("Ascend910B3", "Ascend950PR_9599")]
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Soc:
    """A split chip with memories of a few kilobytes."""
    folder: Path = tmp_path_factory.mktemp("chips")
    return load_soc(tight_chip("Ascend910B3", folder))


def attention(q: Any, k: Any, v: Any, scale: Any = None, mask: Any = None) -> Any:
    """softmax(q k^T * scale + mask) v as one operator."""
    operands = [operand for operand in (q, k, scale, mask, v) if operand is not None]

    def body(q: Any, k: Any, *rest: Any) -> Any:
        *sides, v = rest
        ops: list[Any] = [MatmulOp(q, k, transpose_b=True)]
        if scale is not None:
            ops.append(ge.MulOp(ops[-1].results[0], sides[0]))
        if mask is not None:
            ops.append(ge.AddOp(ops[-1].results[0], sides[-1]))
        ops.append(SoftmaxOp(ops[-1].results[0], axis=-1))
        return [*ops, MatmulOp(ops[-1].results[0], v)]

    encodings = [operand.type.encoding for operand in (q, k, v)]
    zeros = all(encoding == MATRIX for encoding in encodings) and q.type.get_shape()[-2] % 16 == 0
    return fused(
        operands,
        body,
        "ge.matmul",
        (MATRIX if zeros else UNDEFINED) if MATRIX in encodings or UNDEFINED in encodings else None,
    )


def stored(d: int, e: int, soc: Soc = SOC) -> list[Any]:
    """How q, k and v lie: plain for a team; in fractals what is behind their rows may be anything, behind columns zeros."""
    if soc.has("split"):
        return [None] * 3
    return [UNDEFINED if columns % 16 == 0 else MATRIX for columns in (d, d, e)]


def expected(q: Array, k: Array, v: Array, scale: float = 1, mask: Array | float = 0) -> tuple[Array, Any]:
    """The result in fp64 and how far fp16 may be from it."""
    wide = [x.astype(float) for x in (q, k, v)]
    scores = wide[0] @ wide[1].swapaxes(-1, -2) * scale
    sums = scores + np.maximum(mask, -65504)
    weights = np.exp(sums - sums.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    # Three roundings of a score that counts, each of half a unit, change its weight by that share.
    share = 2.0**-11 * (3 * abs(scores).max(-1, keepdims=True) + 2) + 2.0**-10
    return weights @ wide[2], share * (weights @ abs(wide[2])) + 1e-6


def check(
    batch: Any, kv_batch: Any, m: int, n: int, d: int, e: int, mask: Any = None, scaled: bool = True, soc: Soc = SOC
) -> None:
    """Runs one attention; `mask` is the shape of a mask that hides about a third of the keys."""
    rng = np.random.default_rng(31)
    q = rng.standard_normal((*batch, m, d)).astype(np.float16)
    k = rng.standard_normal((*kv_batch, n, d)).astype(np.float16)
    v = rng.standard_normal((*kv_batch, n, e)).astype(np.float16)
    operands = [value(x.shape, "f16", lies) for x, lies in zip((q, k, v), stored(d, e, soc), strict=True)]
    arrays = [q, k]
    scale, hidden = d**-0.5, None
    sides: dict[str, Any] = {}
    if scaled:
        sides["scale"] = value((), "f16")
        arrays.append(np.array(scale, np.float16))
    if mask is not None:
        hidden = np.where(rng.random(mask) < 0.3, -65504, rng.standard_normal(mask)).astype(np.float16)
        hidden[..., 0] = 0
        matrix = len(mask) > 1 and mask[-2:] == (m, n)
        sides["mask"] = value(mask, "f16", MATRIX if matrix and not soc.has("split") else None)
        arrays.append(hidden)
    op = attention(*operands, **sides)
    assert kernel_of(op, soc)[1].core_kind is (CoreKind.MIXED if soc.has("split") else CoreKind.AI_CORE)
    got = unpack(run_stored(op, [*arrays, v], soc=soc), op.results[0].type)
    want, slack = expected(
        q, k, v, float(np.float16(scale)) if scaled else 1, 0 if hidden is None else hidden.astype(float)
    )
    assert_close(got, want, 1, slack)


def drawn(data: st.DataObject, largest: int, widths: list[int]) -> tuple[Any, ...]:
    """Arguments of `check`."""
    m, n = (data.draw(st.sampled_from([1, 16, 17, 49, 128]) | st.integers(1, largest), name) for name in "mn")
    d, e = (data.draw(st.sampled_from(widths), name) for name in "de")
    batch, kv_batch = data.draw(st.sampled_from(BATCHES), "batch")
    masks = [None, (n,), (1, n), (m, n), (*(1 for _ in batch), m, n), (*batch, m, n), (*batch, 1, n)]
    mask, scaled = data.draw(st.sampled_from(masks), "mask"), data.draw(st.booleans(), "scaled")
    return batch, kv_batch, m, n, d, e, mask, scaled


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_any_size(data: st.DataObject) -> None:
    check(*drawn(data, 300, [16, 32, 64, 128, 5, 36]))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.data())
def test_any_size_by_a_team(data: st.DataObject) -> None:
    check(*drawn(data, 150, [16, 64, 5, 36]), soc=data.draw(st.sampled_from(SPLIT), "soc"))


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.data())
def test_tiles_of_a_block_by_a_team(tight: Soc, data: st.DataObject) -> None:
    check(*drawn(data, 90, [16, 20]), soc=tight)


BATCHES: list[Any] = [((), ()), ((1, 2), (1, 2)), ((3,), (3,)), ((2, 3, 2), (2, 3, 1)), ((9,), (1,)), ((2, 2), (1, 2))]


@pytest.mark.parametrize(
    ("batch", "m", "n", "d", "mask"),
    [
        ((1, 2), 128, 128, 64, (1, 1, 128, 128)),
        ((1, 3), 197, 197, 64, None),
        ((1, 1), 1500, 1500, 64, None),
        ((4, 3), 49, 49, 32, (4, 1, 49, 49)),
        ((2, 2), 1, 1000, 128, (2, 1, 1, 1000)),
        ((1,), 33, 600, 256, (1, 33, 600)),
        ((4, 4), 256, 256, 36, None),
        ((4, 4), 16, 16, 60, None),
    ],
    ids=str,
)
def test_sizes_of_networks(batch: Any, m: int, n: int, d: int, mask: Any) -> None:
    check(batch, batch, m, n, d, d, mask)
    check(batch, batch, m, n, d, d, mask, soc=SPLIT[0])


@pytest.mark.parametrize("soc", [SOC, SPLIT[0]], ids=["one core", "a team"])
@pytest.mark.parametrize("keys", [40, 700], ids=["one tile", "many tiles"])
def test_rows_without_keys_get_the_mean(keys: int, soc: Soc) -> None:
    """Beside -65504 fp16 sees no score below 16: all keys of a row that is masked wholly count the same."""
    rng = np.random.default_rng(32)
    q, k, v = ((rng.standard_normal((n, 32)) / 2).astype(np.float16) for n in (20, keys, keys))
    mask = np.zeros((20, keys), np.float16)
    mask[3:7] = -65504
    fractals = not soc.has("split")
    operands = tuple(value(x.shape, "f16", UNDEFINED if fractals else None) for x in (q, k, v))
    op = attention(*operands, mask=value(mask.shape, "f16", MATRIX if fractals else None))
    got = unpack(run_stored(op, [q, k, mask, v], soc=soc), op.results[0].type)
    assert_close(got[3:7], np.tile(v.astype(float).mean(0), (4, 1)), 1, 2.0**-11)


def test_columns_of_padding_stay_zeros() -> None:
    """Behind 36 columns of values the result has zeros, as its format promises."""
    rng = np.random.default_rng(33)
    q, k, v = (rng.standard_normal((2, rows, 36)).astype(np.float16) for rows in (32, 40, 40))
    op = attention(*(value(x.shape, "f16", MATRIX) for x in (q, k, v)))
    got = run_stored(op, [q, k, v])
    assert got.shape == (2, 3, 2, 16, 16)
    assert not got[:, 2, :, :, 4:].any() and got[:, 2, :, :, :4].any()


@pytest.mark.parametrize(
    ("m", "keys", "mask"),
    [(16, 16, None), (33, 75, (33, 75)), (16, 80, None), (48, 40, (40,)), (1, 100, None)],
    ids=str,
)
def test_orders_of_a_team(tight: Soc, m: int, keys: int, mask: Any) -> None:
    """Whatever order of cores and pipes its flags allow gives the same bytes."""
    rng = np.random.default_rng(34)
    shapes = [(2, m, 16), (2, keys, 16), (2, keys, 16)]
    operands: tuple[Any, Any, Any] = value(shapes[0]), value(shapes[1]), value(shapes[2])
    op = attention(*operands, mask=None if mask is None else value(mask))
    choice, kernel = kernel_of(op, tight)
    arrays = [
        materialize(v.value, v.type)
        if isinstance(v, ConstantArgument)
        else rng.standard_normal(v.type.get_shape()).astype(np.float16)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        for v in choice.inputs
    ]
    arrays.append(np.zeros((2, m, 16), np.float16))

    def launch(schedule: Schedule) -> bytes:
        gm = GlobalMemory()
        for number, array in enumerate(arrays):
            gm.add(Segment.INPUT, number, array.copy())
        places = [Location(Segment.INPUT, number, 0) for number in range(len(arrays))]
        launch_in_order(FunctionalEngine(tight, gm), kernel, (*places, *exchanged(kernel, gm)), schedule)
        return gm.read(places[-1], arrays[-1].nbytes).tobytes()

    expected = launch(Schedule())
    for schedule in SCHEDULES:
        assert launch(schedule) == expected, f"a race in {schedule}"
