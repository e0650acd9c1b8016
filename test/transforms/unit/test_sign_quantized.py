"""Unsigned numbers taken as signed ones stand for the same, to the last bit, in random networks of both quantised forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.small import GraphBuilder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from graph_engine.dialects.ge.core import element_of
from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.dialects.ge.interning import element_name
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.transforms.remarks import Kind, Remark, listening
from graph_engine.transforms.sign_quantized import SignQuantized
from graph_engine.transforms.simplify_quantized import SimplifyQuantized

SIGN = SignQuantized(soc="Ascend910B3")


class Unsigned(GraphBuilder):
    """Networks on unsigned tensors, each with its scale and zero point."""

    def numbers(self, scale: float, zero: int) -> tuple[str, str]:
        count = len(self._weights)
        return self.constant(f"s{count}", np.float32(scale)), self.constant(f"z{count}", np.uint8(zero))

    def weights(self, *shape: int) -> tuple[str, str, str]:
        q = self._rng.integers(0, 256, shape).astype(np.uint8)
        return self.constant(f"w{len(self._weights)}", q), *self.numbers(0.01, 120)


@st.composite
def networks(draw: st.DrawFn) -> onnx.ModelProto:
    """Convolutions, sums, pools, joins and cuts of tensors [1, 8, 6, 6]; some leave the model as they are, some as floats."""
    b = Unsigned(draw(st.integers(0, 9)))
    zero = st.integers(0, 255)
    first = b.numbers(0.05, draw(zero))
    values = [(b.node("QuantizeLinear", [b.input("x", (1, 8, 6, 6)), *first]), first)]
    for _ in range(draw(st.integers(1, 6))):
        x, held = draw(st.sampled_from(values[-3:]))
        kind = draw(st.sampled_from(["qlinear", "qdq", "pool", "concat", "add", "slice"]))
        own = b.numbers(draw(st.sampled_from([0.05, 0.3])), draw(zero))
        if kind == "qlinear":
            y, held = b.node("QLinearConv", [x, *held, *b.weights(8, 8, 3, 3), *own], pads=[1] * 4), own
        elif kind == "qdq":
            w = b.node("DequantizeLinear", list(b.weights(8, 8, 1, 1)))
            y = b.node("Relu", [b.node("Conv", [b.node("DequantizeLinear", [x, *held]), w])])
            y, held = b.node("QuantizeLinear", [y, *own]), own
        elif kind == "pool":
            y = b.node("MaxPool", [x], kernel_shape=[3, 3], pads=[1] * 4)
        elif kind == "add":
            z, other = draw(st.sampled_from(values))
            both = [b.node("DequantizeLinear", [x, *held]), b.node("DequantizeLinear", [z, *other])]
            y, held = b.node("QuantizeLinear", [b.node("Add", both), *own]), own
        else:
            axis = b.constant(f"a{len(b._weights)}", np.array([1], np.int64))
            ends = [b.constant(f"e{len(b._weights)}", np.array([n], np.int64)) for n in (4, 12)]
            y = b.node("Slice", [b.node("Concat", [x, x], axis=1), *ends, axis])
        values.append((y, held))
    leaving = [b.node("DequantizeLinear", [values[-1][0], *values[-1][1]])]
    leaving += [value for value, _ in draw(st.lists(st.sampled_from(values[1:]), max_size=1))]
    return b.model(*leaving)


def outputs(module: ModuleOp, x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    return evaluate_block(function.body.block, [x])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(networks())
def test_no_bit_changes(model: onnx.ModelProto) -> None:
    module = import_onnx(model)
    SimplifyQuantized().apply(Context(), module)
    x = np.random.default_rng(2).normal(size=(1, 8, 6, 6)).astype(np.float32) * 4
    before = outputs(module, x)
    SIGN.apply(Context(), module)
    module.verify()
    for old, new in zip(before, outputs(module, x), strict=True):
        assert old.dtype == new.dtype
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("leaves", [False, True])
def test_one_tensor_moves_or_says_why_not(leaves: bool) -> None:
    b = Unsigned(1)
    own = b.numbers(0.05, 100)
    q = b.node("QuantizeLinear", [b.input("x", (1, 8, 6, 6)), *own])
    y = b.node("QLinearConv", [q, *own, *b.weights(8, 8, 1, 1), *own])
    f = b.node("DequantizeLinear", [y, *own])
    module = import_onnx(b.model(f, q) if leaves else b.model(f))
    heard: list[Remark] = []
    with listening(heard.append, frozenset({Kind.MISSED})):
        SIGN.apply(Context(), module)
    (conv,) = [op for op in module.walk() if op.name == "ge.conv2d_integer"]
    assert element_name(element_of(conv.operands[0])) == ("ui8" if leaves else "i8")
    assert [remark.message for remark in heard] == leaves * [
        "Ascend910B3 has no product of unsigned numbers, and a tensor stays so: it leaves the model unsigned"
    ]


def test_chips_that_multiply_unsigned_numbers_keep_them() -> None:
    b = Unsigned(1)
    own = b.numbers(0.05, 100)
    module = import_onnx(b.model(b.node("QuantizeLinear", [b.input("x", (1, 8, 6, 6)), *own])))
    before = str(module)
    SignQuantized(soc="Ascend310P3").apply(Context(), module)
    assert str(module) == before
