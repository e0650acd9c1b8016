"""Inference against the reference: the inferred type is the type of what the reference computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects import test as xdsl_test
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge import convolution, elementwise, matmul, normalization, pooling, reduction, shape
from graph_engine.dialects.ge.core import Cost, GeOp, Trait
from graph_engine.dialects.ge.dialect import GE
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.interning import element_name, element_of_numpy, shape_of_type, tensor_type


def value(*extents: int, element: str = "f32") -> SSAValue:
    """A fresh value of a tensor type."""
    return xdsl_test.TestOp(result_types=[tensor_type(extents, element)]).results[0]


def check(build: Callable[..., GeOp], *shapes: tuple[int, ...], element: str = "f32") -> GeOp:
    """Builds an operator on values of `shapes`, runs its reference and compares types; then with unknown extents."""
    op = build(*(value(*s, element=element) for s in shapes))
    op.verify()
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.1, 1, s).astype(np.float32) for s in shapes]
    arrays = [a.astype(np.float16) if element == "f16" else a for a in arrays]
    [got] = evaluate_op(op, arrays)
    assert shape_of_type(op.result.type) == got.shape
    assert op.result.type.element_type == element_of_numpy(got.dtype)
    return op


extent = st.integers(1, 9)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_conv2d(data: st.DataObject) -> None:
    group = data.draw(st.sampled_from([1, 2, 3]))
    channels, outputs = group * data.draw(st.integers(1, 2)), group * data.draw(st.integers(1, 2))
    kernel = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    keywords: dict[str, Any] = {
        "strides": data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3))),
        "pads": data.draw(st.tuples(*[st.integers(0, 2)] * 4)),
        "dilations": data.draw(st.tuples(st.integers(1, 2), st.integers(1, 2))),
        "group": group,
    }
    x = (1, channels, data.draw(st.integers(5, 9)), data.draw(st.integers(5, 9)))
    w = (outputs, channels // group, *kernel)
    op = check(lambda a, b: convolution.Conv2dOp(a, b, **keywords), x, w)
    unknown = convolution.Conv2dOp(value(-1, channels, -1, x[3]), value(*w), **keywords)
    n, o, h, v = shape_of_type(op.result.type)
    assert shape_of_type(unknown.result.type) == (-1, o, -1, v)
    assert op.cost().macs == n * o * h * v * channels // group * kernel[0] * kernel[1]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_pools(data: st.DataObject) -> None:
    kernel = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    keywords: dict[str, Any] = {
        "kernel": kernel,
        "strides": data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4))),
        "pads": data.draw(st.tuples(*(st.integers(0, kernel[i % 2] - 1) for i in range(4)))),
        "ceil_mode": data.draw(st.booleans()),
    }
    x = (2, 3, data.draw(st.integers(4, 11)), data.draw(st.integers(4, 11)))
    check(lambda a: pooling.MaxPoolOp(a, **keywords), x)
    include = data.draw(st.booleans())
    check(lambda a: pooling.AvgPoolOp(a, count_include_pad=include, **keywords), x)


@settings(max_examples=80, deadline=None)
@given(st.lists(extent, max_size=3), st.lists(extent, max_size=3))
def test_broadcasting_is_numpys(a: list[int], b: list[int]) -> None:
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(VerifyException, match="do not broadcast"):
            elementwise.AddOp(value(*a), value(*b))
    else:
        assert shape_of_type(elementwise.AddOp(value(*a), value(*b)).result.type) == expected


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_slice(data: st.DataObject) -> None:
    source = tuple(data.draw(st.lists(st.integers(2, 6), min_size=1, max_size=3)))
    axes = data.draw(st.lists(st.integers(0, len(source) - 1), unique=True, min_size=1))
    index = st.lists(st.integers(-9, 9), min_size=len(axes), max_size=len(axes))
    steps = data.draw(st.lists(st.sampled_from([-2, -1, 1, 3]), min_size=len(axes), max_size=len(axes)))
    starts, ends = data.draw(index), data.draw(index)
    check(lambda a: shape.SliceOp(a, starts=starts, ends=ends, axes=axes, steps=steps), source)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_reduction(data: st.DataObject) -> None:
    source = tuple(data.draw(st.lists(extent, min_size=1, max_size=4)))
    axes = data.draw(st.lists(st.integers(0, len(source) - 1), unique=True))
    assume(axes)
    keep = data.draw(st.booleans())
    check(lambda a: reduction.ReduceMeanOp(a, axes=axes, keepdims=keep), source, element="f16")


def test_the_rest() -> None:
    check(lambda a, b: matmul.MatmulOp(a, b, transpose_b=True), (2, 1, 3, 4), (5, 6, 4), element="f16")
    check(lambda a, b, c: matmul.MatmulOp(a, b, c), (3, 4), (4, 5), (5,))
    check(normalization.BatchNormOp, (2, 3, 4), (3,), (3,), (3,), (3,))
    check(lambda a: normalization.LrnOp(a, size=3), (2, 3, 4, 4), element="f16")
    check(lambda a: normalization.SoftmaxOp(a, axis=1), (2, 3, 4), element="f16")
    check(pooling.GlobalAvgPoolOp, (2, 3, 4, 5), element="f16")
    check(lambda a: shape.ReshapeOp(a, shape=[3, -1]), (2, 3, 4))
    check(lambda a: shape.TransposeOp(a, perm=[2, 0, 1]), (2, 3, 4))
    check(lambda a, b: shape.ConcatOp([a, b], axis=-1), (2, 3), (2, 4))
    check(lambda a: shape.PadOp(a, pads=[0, 1, 2, 3]), (2, 3), element="f16")
    for name in ("f16", "i32", "i64", "i1", "ui8"):
        op = check(lambda a, to=name: elementwise.CastOp(a, to), (2, 3))
        assert op.attribute_values() == {"to": name}


def test_unknown_extents_pass_through() -> None:
    assert shape_of_type(elementwise.AddOp(value(-1, 3), value(1, 3)).result.type) == (-1, 3)
    assert shape_of_type(elementwise.AddOp(value(-1, 3), value(4, 1)).result.type) == (4, 3)
    assert shape_of_type(shape.ReshapeOp(value(-1, 3, 4), shape=[-1, 12]).result.type) == (-1, 12)
    assert shape_of_type(shape.ConcatOp([value(-1, 3), value(4, 3)], axis=0).result.type) == (-1, 3)
    assert shape_of_type(matmul.MatmulOp(value(-1, 4), value(4, 5)).result.type) == (-1, 5)


def test_costs_counted_by_hand() -> None:
    conv = convolution.Conv2dOp(value(1, 3, 224, 224), value(64, 3, 7, 7), strides=(2, 2), pads=(3, 3, 3, 3))
    assert conv.cost() == Cost(
        macs=112 * 112 * 64 * 147,
        bytes_read=4 * (3 * 224 * 224 + 64 * 147),
        bytes_written=4 * 64 * 112 * 112,
    )
    gemm = matmul.MatmulOp(value(8, 2048, element="f16"), value(2048, 1000, element="f16"), value(1000, element="f16"))
    assert gemm.cost().macs == 8 * 2048 * 1000
    assert gemm.cost().vector_ops == 8 * 1000
    assert gemm.cost().bytes_read == 2 * (8 * 2048 + 2048 * 1000 + 1000)
    pool = pooling.MaxPoolOp(value(1, 64, 112, 112), kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
    assert pool.cost().vector_ops == 64 * 56 * 56 * 9
    assert shape.ReshapeOp(value(2, 3), shape=[6]).cost().vector_ops == 0
    rows = shape.SliceOp(value(1000, 64), starts=[10], ends=[14], axes=[0])
    assert rows.cost() == Cost(bytes_read=4 * 4 * 64, bytes_written=4 * 4 * 64)


def test_zero_padding_is_kept_only_where_zero_maps_to_zero() -> None:
    x, vector, scalar = value(1, 5, 4, 4), value(5, 1, 1), value()
    kept = [
        elementwise.ReluOp(x),
        elementwise.AddOp(x, x),
        elementwise.AddOp(x, vector),
        elementwise.MulOp(x, scalar),
        elementwise.ClipOp(x, min=0, max=6),
        pooling.MaxPoolOp(x, kernel=(2, 2)),
        shape.PadOp(x, pads=[0, 0, 1, 1, 0, 0, 1, 1]),
    ]
    lost = [
        elementwise.SigmoidOp(x),
        elementwise.ExpOp(x),
        elementwise.AddOp(x, scalar),
        elementwise.AddOp(x, value(4)),
        elementwise.DivOp(x, x),
        elementwise.ClipOp(x, min=1, max=6),
        shape.PadOp(x, pads=[0] * 8, value=1.0),
    ]
    assert all(op.keeps_zero_pad() for op in kept)
    assert not any(op.keeps_zero_pad() for op in lost)


def test_elementwise_operators_that_claim_to_keep_zeros_do() -> None:
    for cls in elementwise.ELEMENTWISE:
        zeros = [np.zeros((2, 2), np.float32)] * (2 if cls.has(Trait.BROADCAST) else 1)
        op = elementwise.CastOp(value(2, 2), "f16") if cls is elementwise.CastOp else cls(*(value(2, 2) for _ in zeros))
        [got] = evaluate_op(op, zeros)
        assert bool(np.all(got == 0)) == op.keeps_zero_pad() or op.name in ("ge.exp", "ge.pow", "ge.div", "ge.clip")


def test_all_operators_name_their_reference_and_are_documented() -> None:
    from graph_engine.dialects.ge.reference import FUNCTIONS

    for cls in GE.operations:
        assert cls.__doc__, cls.name
        if issubclass(cls, GeOp) and not cls.has(Trait.CONSTANT):
            assert cls.name in FUNCTIONS
    assert element_name(element_of_numpy("float16")) == "f16"


def test_attribute_values_are_the_keywords_of_the_reference() -> None:
    op = normalization.LrnOp(value(1, 4, 2, 2), size=5, alpha=0.5)
    assert op.attribute_values() == {"size": 5, "alpha": 0.5, "beta": 0.75, "bias": 1.0}
    pool = pooling.AvgPoolOp(value(1, 4, 4, 4), kernel=(2, 2))
    assert pool.attribute_values() == {
        "kernel": [2, 2],
        "strides": [1, 1],
        "pads": [0, 0, 0, 0],
        "ceil_mode": False,
        "count_include_pad": False,
    }
