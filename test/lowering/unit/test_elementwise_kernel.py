"""Elementwise kernels on the chip, in checking mode, against numpy in fp64."""

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
    run_results,
    typed,
    value,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.dialects.layout import fractal_nz, nc1hwc0
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.table import select
from graph_engine.lowering.selection.vector import elementwise_of

MAP, MATRIX = nc1hwc0(), fractal_nz()
DTYPES = {"f16": np.float16, "f32": np.float32}
SHAPES: dict[str, tuple[tuple[int, ...], Any]] = {
    "vector": ((7,), None),
    "no multiple of anything": ((3, 5, 11), None),
    "many tiles": ((129, 1031), None),
    "feature map": ((2, 20, 7, 9), MAP),
    "matrix": ((33, 50), MATRIX),
}
UNARY: dict[str, tuple[Any, Any, tuple[float, float]]] = {
    "relu": (ge.ReluOp, lambda x: np.maximum(x, 0), (-4, 4)),
    "abs": (ge.AbsOp, np.abs, (-4, 4)),
    "neg": (ge.NegOp, np.negative, (-4, 4)),
    "exp": (ge.ExpOp, np.exp, (-8, 8)),
    "log": (ge.LogOp, np.log, (0.01, 50)),
    "sqrt": (ge.SqrtOp, np.sqrt, (0.01, 50)),
    "reciprocal": (ge.ReciprocalOp, lambda x: 1 / x, (0.1, 9)),
    "sigmoid": (ge.SigmoidOp, lambda x: 1 / (1 + np.exp(-x)), (-8, 8)),
    "tanh": (ge.TanhOp, np.tanh, (-4, 4)),
    "leaky_relu": (lambda x: ge.LeakyReluOp(x, alpha=0.125), lambda x: np.where(x >= 0, x, x * 0.125), (-4, 4)),
    "clip": (lambda x: ge.ClipOp(x, min=-0.5, max=1.5), lambda x: np.clip(x, -0.5, 1.5), (-4, 4)),
}
BINARY: dict[str, tuple[Any, Any]] = {
    "add": (ge.AddOp, np.add),
    "sub": (ge.SubOp, np.subtract),
    "mul": (ge.MulOp, np.multiply),
    "div": (ge.DivOp, np.divide),
    "maximum": (ge.MaximumOp, np.maximum),
    "minimum": (ge.MinimumOp, np.minimum),
}


def random(shape: tuple[int, ...], dtype: str = "f16", low: float = 0.25, high: float = 4.0, seed: int = 3) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str) -> None:
    make, function, domain = UNARY[name]
    x = random((5, 37), dtype, *domain)
    got = run_operator(make(value(x.shape, dtype)), [x])
    # Sigmoid, tanh, exp of fp32 have a few roundings; tanh loses what 2 / (1 + e) - 1 cancels.
    assert_close(got, function(x.astype(float)), 1 if dtype == "f16" else 8, 2.5e-7 if name == "tanh" else 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtype: str) -> None:
    make, function = BINARY[name]
    a, b = random((6, 50), dtype), random((6, 50), dtype, seed=4)
    got = run_operator(make(value(a.shape, dtype), value(b.shape, dtype)), [a, b])
    assert_close(got, function(a.astype(float), b.astype(float)))


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_formats(name: str) -> None:
    shape, encoding = SHAPES[name]
    a, b = random(shape, low=-4), random(shape, low=-4, seed=4)
    operands = [value(shape, "f16", encoding), value(shape, "f16", encoding)]
    op = fused(operands, lambda x, y: [t := ge.AddOp(x, y), ge.ReluOp(t)], "ge.relu", encoding)
    assert_close(run_operator(op, [a, b]), np.maximum(a.astype(float) + b, 0))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_broadcasting(data: st.DataObject) -> None:
    extents = st.sampled_from([1, 2, 3, 5, 16, 17, 40])
    shape = tuple(data.draw(st.lists(extents, min_size=1, max_size=4), "shape"))
    operands: list[tuple[int, ...]] = []
    for name in "ab":
        kept = tuple(n if data.draw(st.booleans()) else 1 for n in shape)
        operands.append(kept[data.draw(st.integers(0, len(shape)), f"rank {name}") :])
    a, b = (random(s, low=-4, seed=i) for i, s in enumerate(operands))
    c = random(shape, low=-4, seed=9)
    types = [value(s) for s in (*operands, shape)]
    op = fused(types, lambda x, y, z: [t := ge.AddOp(z, x), ge.MaximumOp(t, y)], "ge.maximum")
    assert_close(run_operator(op, [a, b, c]), np.maximum(c.astype(float) + a, b))


@pytest.mark.parametrize("small", [(1, 40, 1, 1), (2, 40, 1, 1), (1, 40, 6, 7), (2, 40, 6, 1), (2, 40, 1, 7)], ids=str)
def test_broadcasting_of_feature_maps(small: tuple[int, ...]) -> None:
    x, s = random((2, 40, 6, 7)), random(small, seed=4)
    op = encode(ge.MulOp(value(x.shape, "f16", MAP), value(small, "f16", MAP)), MAP)
    assert_close(run_operator(op, [x, s]), x.astype(float) * s)


@pytest.mark.parametrize("small", [(1, 50), (33, 1), (2, 1, 50), (1, 33, 50), (50,)], ids=str)
def test_broadcasting_of_matrices(small: tuple[int, ...]) -> None:
    x, s = random((2, 33, 50)), random(small, seed=4)
    op = encode(ge.AddOp(value(x.shape, "f16", MATRIX), value(small, "f16", MATRIX)), MATRIX)
    assert_close(run_operator(op, [x, s]), x.astype(float) + s)


@pytest.mark.parametrize("scalar", [(), (1,)], ids=str)
@pytest.mark.parametrize(("shape", "encoding"), [((1, 24, 5, 5), MAP), ((1, 33, 50), MATRIX), ((9, 9), None)])
def test_plain_scalar_beside_any_format(shape: tuple[int, ...], encoding: Any, scalar: tuple[int, ...]) -> None:
    x, s = random(shape), random(scalar, seed=4)
    op = encode(ge.MulOp(value(scalar), value(shape, "f16", encoding)), encoding)
    assert_close(run_operator(op, [s, x]), x.astype(float) * s.astype(float))


def test_group_of_scale_shift_and_swish() -> None:
    x, factor, shift = random((1, 48, 14, 14), low=-4), random((1, 48, 1, 1)), random((1, 48, 1, 1), seed=4)
    operands = [value(a.shape, "f16", MAP) for a in (x, factor, shift)]

    def body(x: Any, factor: Any, shift: Any) -> list[Any]:
        scaled = ge.MulOp(x, factor)
        shifted = ge.AddOp(scaled, shift)
        gate = ge.SigmoidOp(shifted)
        return [scaled, shifted, gate, ge.MulOp(shifted, gate)]

    got = run_operator(fused(operands, body, "ge.mul", MAP), [x, factor, shift])
    y = x.astype(float) * factor + shift
    assert_close(got, y / (1 + np.exp(-y)), 4, 2e-2)


def test_casts() -> None:
    x = random((13, 21), "f32", -70, 70)
    assert_close(run_operator(ge.CastOp(value(x.shape, "f32"), "f16"), [x]), x.astype(float), 0)
    half = x.astype(np.float16)
    assert_close(run_operator(ge.CastOp(value(x.shape), "f32"), [half]), half.astype(float), 0)
    op = fused([value(x.shape, "f32")], lambda v: [t := ge.CastOp(v, "f16"), ge.ReluOp(t)], "ge.relu")
    assert_close(run_operator(op, [x]), np.maximum(half.astype(float), 0), 0)


@pytest.mark.parametrize("shape", [(3, 70001), (70001, 3), (40, 8, 1, 999), (8, 300, 300)], ids=str)
def test_large_operands_with_a_row_and_a_column(shape: tuple[int, ...]) -> None:
    row, column = (1,) * (len(shape) - 1) + shape[-1:], (*shape[:-1], 1)
    x, r, c = random(shape), random(row, seed=4), random(column, seed=5)
    op = fused([value(a.shape) for a in (x, r, c)], lambda x, r, c: [t := ge.AddOp(x, r), ge.MulOp(t, c)], "ge.mul")
    assert_close(run_operator(op, [x, r, c]), (x.astype(np.float32) + r).astype(np.float16).astype(float) * c)


def test_result_in_the_place_of_an_operand() -> None:
    a, b = random((70, 1031), low=-4), random((1031,), low=-4, seed=4)
    op = ge.AddOp(value(a.shape), value(b.shape))
    assert select(op).in_place == (0,)
    assert_close(run_operator(op, [a, b], in_place=0), a.astype(float) + b)


def test_residual_of_a_stage_takes_few_instructions() -> None:
    operands = [value((1, 256, 56, 56), "f16", MAP)] * 2
    choice, kernel = kernel_of(fused(operands, lambda x, y: [t := ge.AddOp(x, y), ge.ReluOp(t)], "ge.relu", MAP))
    assert kernel.block_dim == 8
    assert instructions(kernel) <= 8 * 5 * 6  # blocks x (two loads, add, relu, store) x tiles
    assert choice.type == "Elementwise"


def test_profile_names() -> None:
    assert select(ge.LeakyReluOp(value((4, 4)))).type == "LeakyRelu"
    assert select(ge.CastOp(value((4, 4)), "f32")).type == "Cast"


def sum_and_difference(x: Any, y: Any) -> list[Any]:
    return [total := ge.AddOp(x, y), gate := ge.SigmoidOp(total), ge.MulOp(gate, x), ge.SubOp(x, y)]


@pytest.mark.parametrize("in_place", [{}, {0: 0}, {2: 1}, {0: 1, 1: 0}], ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_several_results(name: str, in_place: dict[int, int]) -> None:
    """A sum that is read inside as well, what becomes of it, and a difference that has nothing to do with it."""
    shape, encoding = SHAPES[name]
    a, b = random(shape, low=-4), random(shape, low=-4, seed=4)
    op = fused([value(shape, "f16", encoding) for _ in "ab"], sum_and_difference, "ge.sub", encoding, (0, 2, 3))
    total, gated, difference = run_results(op, [a, b], in_place=in_place)
    x, y, rounded = a.astype(float), b.astype(float), (a + b).astype(float)
    assert_close(total, x + y)
    assert_close(gated, x / (1 + np.exp(-rounded)), 3)
    assert_close(difference, x - y)


def test_several_results_of_small_operands() -> None:
    x, r = random((40, 300), low=-4), random((1, 300), seed=4)
    op = fused([value(x.shape), value(r.shape)], lambda x, r: [ge.MulOp(x, r), ge.AddOp(x, r)], "ge.add", None, (0, 1))
    assert select(op).in_place == (0,)
    product, total = run_results(op, [x, r])
    assert_close(product, x.astype(float) * r)
    assert_close(total, x.astype(float) + r)


def test_a_result_lies_over_no_operand_that_another_one_does_not_read() -> None:
    """It would be written without waiting for that operand's reading."""
    apart = fused([value((4, 4)), value((4, 4))], lambda x, y: [ge.AbsOp(x), ge.NegOp(y)], "ge.neg", None, (0, 1))
    assert select(apart).in_place == ()
    sides = [value((4, 4)), value((4, 4))]
    shared = fused(sides, lambda x, y: [t := ge.AbsOp(x), ge.AddOp(t, y)], "ge.add", None, (0, 1))
    assert select(shared).in_place == (0,)


def test_a_power_in_a_group_sees_the_constant_outside() -> None:
    exponent = ConstantOp(constant_attr(np.array(3, np.float16), "e"), result_type=typed(()))
    op = fused([value((4, 4)), exponent.result], lambda x, e: [t := ge.PowOp(x, e), ge.NegOp(t)], "ge.neg")
    group, _ = elementwise_of([op], op.results)
    assert group.steps[0].attributes == (("exponent", 3.0),)


def group(body: Any, results: tuple[int, ...]) -> FusedOp:
    return fused([value((4, 4)), value((1, 4))], body, "ge.neg", None, results)


REFUSED: dict[str, tuple[Any, str]] = {
    "unknown size": (lambda: ge.ReluOp(value((-1, 4))), "not known"),
    "doubles": (lambda: ge.MulOp(value((4,), "f64"), value((4,), "f64")), "ge.mul of f64"),
    "no elements": (lambda: ge.ReluOp(value((0, 4))), "no elements"),
    "no instruction": (
        lambda: fused([value((4,), "f64")], lambda x: [t := ge.NegOp(x), ge.ReluOp(t)], "ge.relu"), "no instruction sequence",
    ),
    "two formats": (
        lambda: encode(ge.AddOp(value((1, 20, 4, 4), "f16", MAP), value((1, 20, 1, 1))), MAP), "padded blocks",
    ),
    "the last one stays inside": (lambda: group(lambda x, y: [ge.AbsOp(x), ge.NegOp(x)], (0,)), "last operator"),
    "results in another order": (
        lambda: group(lambda x, y: [ge.AbsOp(x), ge.ExpOp(x), ge.NegOp(x)], (1, 0, 2)), "in their order",
    ),
    "one result twice": (lambda: group(lambda x, y: [ge.AbsOp(x), ge.NegOp(x)], (0, 0, 1)), "in their order"),
    "results of two shapes": (lambda: group(lambda x, y: [ge.AbsOp(y), ge.NegOp(x)], (0, 1)), "one shape"),
    "results of two types": (lambda: group(lambda x, y: [ge.CastOp(x, "f32"), ge.NegOp(x)], (0, 1)), "one shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_reason(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(NoKernel, match=reason):
        select(make())


@pytest.mark.parametrize(
    ("shape", "other"), [((2, 32, 3, 5), (32, 1, 1)), ((2, 32, 3, 5), (1, 32, 3, 1)), ((1, 16, 4, 4), (4, 4))], ids=str
)
def test_plain_operand_beside_whole_blocks(shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    x, y = random(shape), random(other)
    got = run_operator(encode(ge.AddOp(value(shape, "f16", MAP), value(other)), MAP), [x, y])
    assert_close(got, x.astype(float) + y.astype(float))
