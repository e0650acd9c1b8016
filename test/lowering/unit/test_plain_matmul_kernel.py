"""Products of plain matrices on chips with FixPipe, in checking mode, against numpy in fp64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.checked_operators import assert_close, fused, kernel_of, run_stored, value
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.dialects.layout import format_name
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.target_ascend.isa.model import CoreKind
from graph_engine.target_ascend.soc.soc import Soc, load_soc

SPLIT = load_soc("Ascend910B3")
BATCHES = [((), ()), ((3,), ()), ((), (3, 2)), ((2, 5), (2, 5)), ((2, 1), (2, 4)), ((4, 1), (1, 3)), ((27,), (27,))]


def check(
    m: int, k: int, n: int, batches: Any = ((), ()), *, transpose_a: bool = False, transpose_b: bool = False,
    bias: bool = False, relu: bool = False, weight: bool = False, dtype: type[Any] = np.float16, soc: Soc = SPLIT,
) -> None:  # fmt: skip
    """Runs one product, of a constant `weight` perhaps, and compares all of its result.

    A sum of K products in fp32 is off by K 2^-24 of the magnitudes added, if products are exact; those of fp32 are rounded
    first, which makes it K + 1, and a bias makes one addition more.
    """
    rng, element = np.random.default_rng(29), "f16" if dtype is np.float16 else "f32"
    a = rng.standard_normal((*batches[0], *((k, m) if transpose_a else (m, k)))).astype(dtype)
    b = (rng.standard_normal((*batches[1], *((n, k) if transpose_b else (k, n)))) / np.sqrt(k)).astype(dtype)
    wide_a = (a.swapaxes(-1, -2) if transpose_a else a).astype(float)
    wide_b = (b.swapaxes(-1, -2) if transpose_b else b).astype(float)
    sums, slack = wide_a @ wide_b, (abs(wide_a) @ abs(wide_b)) * 2.0**-24 * (k + (dtype is np.float32))
    right = ConstantOp(constant_attr(b, "weight")).results[0] if weight else value(b.shape, element)
    operands, arrays = [value(a.shape, element), right], [a, b]
    if bias:
        vector = rng.standard_normal(n).astype(dtype)
        sums = sums + vector.astype(float)
        slack = slack + (dtype is np.float32) * 2.0**-24 * (k + 1) * abs(vector.astype(float))
        operands.append(ConstantOp(constant_attr(vector, "bias")).results[0])
        arrays.append(vector)

    def body(*values: Any) -> Any:
        product = MatmulOp(*values, transpose_a=transpose_a, transpose_b=transpose_b)
        return [product, *([ge.ReluOp(product.results[0])] if relu else [])]

    op = fused(operands, body, "ge.matmul") if relu else body(*operands)[0]
    got = run_stored(op, arrays, soc=soc)
    assert got.dtype == dtype
    rounding = np.spacing(abs(sums.astype(dtype))).astype(float)
    assert_close(got, np.maximum(sums, 0) if relu else sums, dtype is np.float16, slack + rounding)


BEHIND: dict[str, tuple[Any, Any, Any]] = {
    # name: (shape of a side operand of an (m, n) result, operators behind the product, their meaning in fp64)
    "add relu": (
        lambda m, n: (m, n),
        lambda y, s: [t := ge.AddOp(y, s), ge.ReluOp(t)],
        lambda y, s: np.maximum(y + s, 0),
    ),
    "column": (lambda m, n: (n,), lambda y, s: [ge.AddOp(y, s)], lambda y, s: y + s),
    "halved": (lambda m, n: (1,), lambda y, s: [ge.MulOp(y, s)], lambda y, s: y * s),
    "wide": (None, lambda y: [ge.CastOp(y, "f32")], lambda y: y),
}


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.data())
def test_a_team_of_cores_finishes_any_product(data: st.DataObject) -> None:
    """Torn blocks, halves of odd rows, side operands of all kinds: two Vector cores do what FixPipe cannot."""
    m, k, n = (data.draw(st.sampled_from([1, 7, 16, 33, 300]) | st.integers(1, 400), name) for name in "mkn")
    side_shape, operators, meaning = BEHIND[data.draw(st.sampled_from(sorted(BEHIND)), "behind")]
    bias = data.draw(st.booleans(), "bias")
    rng = np.random.default_rng(31)
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = (rng.standard_normal((k, n)) / np.sqrt(k)).astype(np.float16)
    sums, slack = a.astype(float) @ b.astype(float), (abs(a.astype(float)) @ abs(b.astype(float))) * 2.0**-24 * k
    operands, arrays, sides = [value(a.shape), value(b.shape)], [a, b], list[Any]()
    if bias:
        vector = rng.standard_normal(n).astype(np.float16)
        sums = sums + vector.astype(float)
        operands.append(ConstantOp(constant_attr(vector, "bias")).results[0])
        arrays.append(vector)
    if side_shape is not None:
        side = rng.standard_normal(side_shape(m, n)).astype(np.float16)
        operands.append(value(side.shape))
        arrays.append(side)
        sides.append(side.astype(float))

    def body(*values: Any) -> Any:
        product = MatmulOp(*values[: len(values) - len(sides)])
        return [product, *operators(product.results[0], *values[len(values) - len(sides) :])]

    op = fused(operands, body, "ge.matmul")
    assert kernel_of(op, SPLIT)[1].core_kind is CoreKind.MIXED
    got = run_stored(op, arrays, soc=SPLIT)
    rounded = sums.astype(np.float16).astype(float)
    assert_close(
        got, meaning(rounded, *sides), 1, 2 * slack + 2 * np.spacing(abs(sums.astype(np.float16))).astype(float)
    )


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.data())
def test_any_size(data: st.DataObject) -> None:
    """Blocks torn in every dimension, both orders of both sides, batches that broadcast as in numpy."""
    m, k, n = (data.draw(st.sampled_from([1, 7, 16, 17, 33, 64]) | st.integers(1, 100), name) for name in "mkn")
    names = ("transpose_a", "transpose_b", "bias", "relu", "weight")
    flags: dict[str, Any] = {name: data.draw(st.booleans(), name) for name in names}
    check(m, k, n, data.draw(st.sampled_from(BATCHES), "batches"), **flags)


@pytest.mark.parametrize("chip", ["Ascend910B3", "Ascend950PR", "Ascend310B1"])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_size_in_fp32(chip: str, data: st.DataObject) -> None:
    """Fractals of 16 x 8, of which a block of 16 has two: K may end in the first of them, transposed ones are squares."""
    sizes = st.sampled_from([1, 7, 8, 9, 16, 17, 33, 64]) | st.integers(1, 100)
    m, k, n = (data.draw(sizes, name) for name in "mkn")
    names = ("transpose_a", "transpose_b", "bias", "relu", "weight")
    flags: dict[str, Any] = {name: data.draw(st.booleans(), name) for name in names}
    batches = data.draw(st.sampled_from(BATCHES[:5]), "batches")
    check(m, k, n, batches, **flags, dtype=np.float32, soc=load_soc(chip))


def test_fp32_where_the_cube_has_none() -> None:
    with pytest.raises(NoKernel, match="Ascend910A does not multiply f32"):
        kernel_of(MatmulOp(value((16, 32), "f32"), value((32, 16), "f32")), load_soc("Ascend910A"))


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 2048, 1000), (197, 197, 64), (405, 70, 500), (1, 4000, 65), (513, 16, 1), (49, 1203, 384)]
)
@pytest.mark.parametrize("transpose_b", [False, True], ids=["kn", "nk"])
@pytest.mark.parametrize("weight", [False, True], ids=["plain", "weight"])
def test_sizes_of_networks(m: int, k: int, n: int, transpose_b: bool, weight: bool) -> None:
    """Many tiles and chunks of K, of which the last ones are torn."""
    check(m, k, n, transpose_b=transpose_b, bias=True, relu=True, weight=weight)


def test_weights_come_in_whole_lines() -> None:
    """A constant matrix is stored as FRACTAL_NZ when it is compiled, unless something else than products reads it."""
    b = np.zeros((96, 160), np.float16)
    for readers, format in [(0, "FRACTAL_NZ"), (1, "ND")]:
        weight = ConstantOp(constant_attr(b, "weight")).results[0]
        _keep = [ge.ReluOp(weight) for _ in range(readers)]
        choice, _ = kernel_of(MatmulOp(value((32, 96)), weight), SPLIT)
        assert format_name(choice.inputs[1].type) == format


def test_only_by_fixpipe() -> None:
    """Without FixPipe the result leaves L0C in fractals, whatever is asked for."""
    with pytest.raises(NoKernel, match="only FixPipe"):
        kernel_of(MatmulOp(value((16, 32)), value((32, 16))))


def test_one_core_has_nothing_but_relu_behind_it() -> None:
    op = fused(
        [value((16, 32)), value((32, 16))], lambda a, b: [m := MatmulOp(a, b), ge.SigmoidOp(m.result)], "ge.matmul"
    )
    with pytest.raises(NoKernel, match="only FixPipe stores a product row by row"):
        kernel_of(op, load_soc("Ascend310B1"))
