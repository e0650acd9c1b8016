"""Matrix products of any size on the chip, in checking mode, against numpy in fp64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import SOC, assert_close, encode, fused, kernel_of, run_stored, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.dialects.layout import fractal_nz, fractal_z, fractal_z_kn, unpack
from graph_engine.lowering.kernels.epilogue import Epilogue
from graph_engine.lowering.kernels.matmul import MatmulShape, choose_matmul_tiling
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import tensor
from graph_engine.lowering.selection.table import select
from graph_engine.target_ascend.soc.soc import Soc, load_soc

MATRIX = fractal_nz()
EPILOGUES: dict[str, tuple[bool, Any, Any]] = {
    # name: (with a side operand of the result's shape, operators behind the product, their meaning)
    "plain": (False, lambda y: [], lambda y: y),
    "relu": (False, lambda y: [ge.ReluOp(y)], lambda y: np.maximum(y, 0)),
    "add": (True, lambda y, s: [ge.AddOp(s, y)], lambda y, s: y + s),
    "add relu": (True, lambda y, s: [t := ge.AddOp(y, s), ge.ReluOp(t)], lambda y, s: np.maximum(y + s, 0)),
    "wide": (False, lambda y: [ge.CastOp(y, "f32")], lambda y: y),
}


def check(
    batch: tuple[int, ...], m: int, k: int, n: int, *, bias: bool = False, transposed: bool = False,
    epilogue: str = "plain", soc: Soc = SOC,
) -> None:  # fmt: skip
    """Runs one product and compares all of its result."""
    rng = np.random.default_rng(23)
    a = rng.standard_normal((*batch, m, k)).astype(np.float16)
    b = (rng.standard_normal((n, k) if transposed else (k, n)) / np.sqrt(k)).astype(np.float16)
    wide = b.T.astype(float) if transposed else b.astype(float)
    sums, magnitudes = a.astype(float) @ wide, abs(a.astype(float)) @ abs(wide)
    operands = [value(a.shape, "f16", MATRIX), value(b.shape, "f16", fractal_z() if transposed else fractal_z_kn())]
    arrays = [a, b]
    if bias:
        vector = rng.standard_normal(n).astype(np.float16)
        sums += vector.astype(float)
        operands.append(ConstantOp(constant_attr(vector, "bias")).results[0])
        arrays.append(vector)
    with_side, operators, meaning = EPILOGUES[epilogue]
    sides: list[Any] = []
    if with_side:
        side = rng.standard_normal(sums.shape).astype(np.float16)
        operands.append(value(side.shape, "f16", MATRIX))
        arrays.append(side)
        sides.append(side.astype(float))

    def body(*values: Any) -> Any:
        inputs = values[: len(values) - len(sides)]
        product = MatmulOp(*inputs, transpose_b=transposed)
        encode(product, MATRIX)
        return [product, *operators(product.results[0], *values[len(inputs) :])]

    op = fused(operands, body, "ge.matmul", MATRIX) if epilogue != "plain" else body(*operands)[0]
    got = unpack(run_stored(op, arrays, soc=soc), tensor(op.results[0]))
    # One rounding of the sum to fp16, one of the result; fp32 sums err by at most 2^-24 of what they add, a product each.
    slack = magnitudes * 2.0**-24 * k + np.spacing(abs(sums.astype(np.float16)))
    assert_close(got, meaning(sums.astype(np.float16).astype(float), *sides), 1, slack)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_any_size(data: st.DataObject) -> None:
    m, k, n = (
        data.draw(st.sampled_from([1, 2, 7, 15, 16, 17, 33, 64, 100]) | st.integers(1, 200), name) for name in "mkn"
    )
    check(
        data.draw(st.sampled_from([(), (), (1,), (3,), (2, 2), (9,)]), "batch"), m, k, n,
        bias=data.draw(st.booleans(), "bias"), transposed=data.draw(st.booleans(), "transposed"),
        epilogue=data.draw(st.sampled_from(sorted(EPILOGUES)), "epilogue"),
    )  # fmt: skip


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_any_epilogue_on_a_team_of_cores(data: st.DataObject) -> None:
    """Where the Cube core has no Vector, two Vector cores finish what it leaves in global memory."""
    m, k, n = (data.draw(st.sampled_from([1, 15, 16, 17, 100, 300]) | st.integers(1, 400), name) for name in "mkn")
    check(
        data.draw(st.sampled_from([(), (1,), (3,)]), "batch"), m, k, n,
        bias=data.draw(st.booleans(), "bias"), epilogue=data.draw(st.sampled_from(["add", "add relu"]), "epilogue"),
        soc=load_soc("Ascend910B3"),
    )  # fmt: skip


BATCHES = [
    ((3,), (3,)),
    ((2, 5), (2, 5)),
    ((2, 12), (1, 12)),
    ((2, 1), (2, 4)),
    ((1,), (4,)),
    ((4, 1), (1, 3)),
    ((), (3, 2)),
    ((2, 2), ()),
    ((17,), (17,)),
]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_two_batches(data: st.DataObject) -> None:
    """Both sides are tensors of the graph, in FRACTAL_NZ: any transposition, batches that broadcast as in numpy."""
    m, k, n = (data.draw(st.sampled_from([1, 7, 16, 17, 33, 64]) | st.integers(1, 100), name) for name in "mkn")
    left, right = data.draw(st.sampled_from(BATCHES), "batches")
    transpose_a, transpose_b = data.draw(st.booleans(), "transpose_a"), data.draw(st.booleans(), "transpose_b")
    rng = np.random.default_rng(24)
    a = rng.standard_normal((*left, *((k, m) if transpose_a else (m, k)))).astype(np.float16)
    b = (rng.standard_normal((*right, *((n, k) if transpose_b else (k, n)))) / np.sqrt(k)).astype(np.float16)
    wide_a = (a.swapaxes(-1, -2) if transpose_a else a).astype(float)
    wide_b = (b.swapaxes(-1, -2) if transpose_b else b).astype(float)
    op = MatmulOp(
        value(a.shape, "f16", MATRIX), value(b.shape, "f16", MATRIX), transpose_a=transpose_a, transpose_b=transpose_b
    )
    encode(op, MATRIX)
    got = unpack(run_stored(op, [a, b]), tensor(op.results[0]))
    sums = wide_a @ wide_b
    assert_close(got, sums, 1, (abs(wide_a) @ abs(wide_b)) * 2.0**-24 * k + np.spacing(abs(sums.astype(np.float16))))


@pytest.mark.parametrize(("heads", "blocks"), [(1, 8), (3, 8), (12, 8), (16, 8)])
def test_heads_are_shared_out(heads: int, blocks: int) -> None:
    """All 8 cores work, whatever the number of heads: where it does not deal out evenly, rows or columns are shared as well."""
    op = encode(MatmulOp(value((heads, 128, 64), "f16", MATRIX), value((heads, 64, 128), "f16", MATRIX)), MATRIX)
    assert kernel_of(op)[1].block_dim == blocks


def test_a_bias_that_only_a_share_has_room_for() -> None:
    """80000 biases in fp32 do not fit the unified buffer, those of an eighth do: the shares that do not fit are passed over."""
    shape = MatmulShape(1, 2, 5000, bias=True)
    assert choose_matmul_tiling(shape, Epilogue(), load_soc("Ascend310P3")).n_share <= 4000


@pytest.mark.parametrize(
    ("batch", "m", "k", "n"),
    [
        ((), 1, 2048, 1000),
        ((), 16, 1500, 40),
        ((), 300, 70, 500),
        ((12,), 40, 64, 96),
        ((), 1, 9216, 65),
        ((), 513, 16, 1),
        ((2,), 1, 1, 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("transposed", [False, True], ids=["kn", "nk"])
def test_sizes_of_networks(batch: tuple[int, ...], m: int, k: int, n: int, transposed: bool) -> None:
    check(batch, m, k, n, bias=True, transposed=transposed, epilogue="add relu")


def operands(a: tuple[int, ...], b: tuple[int, ...], right: Any = None) -> list[Any]:
    return [value(a, "f16", MATRIX), value(b, "f16", fractal_z_kn() if right is None else right)]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: MatmulOp(*operands((16, 32), (32, 16), fractal_z())), "stored neither as FRACTAL_Z nor"),
        (lambda: MatmulOp(value((16, 32)), value((32, 16), "f16", fractal_z_kn())), "stored as ND"),
        (lambda: MatmulOp(value((16, 32), "i32", MATRIX), value((32, 16), "i32", fractal_z_kn())), "multiplies fp16"),
        (lambda: MatmulOp(*operands((16, -1), (-1, 16))), "not known"),
    ],
)  # fmt: skip
def test_refused_with_a_reason(make: Any, reason: str) -> None:
    with pytest.raises(NoKernel, match=reason):
        select(encode(make(), MATRIX))
