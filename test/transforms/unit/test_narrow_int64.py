"""Integers in int32 are those of onnxruntime in int64, whichever operator; and what is not proven stays, with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from harness.judge import onnxruntime_outputs
from models.small import GraphBuilder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.pipelines.verification import verify
from graph_engine.transforms.narrow_int64 import OPERATORS, NarrowInt64
from graph_engine.transforms.remarks import Kind, Remark, listening


def narrowed(model: onnx.ModelProto) -> tuple[ModuleOp, set[str]]:
    """The module after the pass, and the operators that compute in int32."""
    module = import_onnx(model)
    NarrowInt64().apply(Context(), module)
    verify(module)
    narrow = {
        op.name
        for op in module.walk()
        if isinstance(op, GeOp)
        and not isinstance(op, CastOp)
        and op.name != "ge.constant"
        and any(element_name(element_of(value)) == "i32" for value in op.operands)
    }
    return module, narrow


def arithmetic(b: GraphBuilder, i: str) -> str:
    """Signed numbers up to some thousands, by every operator of the sort."""
    n = b.constant("n", np.array([-3, 5, 7], np.int64))
    y = b.node("Sub", [b.node("Mul", [i, n]), b.node("Neg", [i])])
    y = b.node("Max", [b.node("Min", [y, b.constant("high", np.int64(900))]), b.constant("low", np.int64(-50))])
    y = b.node("Add", [b.node("Abs", [y]), b.node("Mod", [y, b.constant("m", np.int64(11))])])
    return b.node("Where", [b.node("Greater", [y, i]), b.node("Div", [y, b.constant("d", np.int64(4))]), i])


def movement(b: GraphBuilder, i: str) -> str:
    """Places in other places."""
    y = b.node("Concat", [i, b.node("Add", [i, i])], axis=0)
    y = b.node("Transpose", [y], perm=[1, 0])
    y = b.node("Reshape", [y, b.constant("shape", np.array([2, 12], np.int64))])
    y = b.node(
        "Slice",
        [
            y,
            b.constant("from", np.array([1], np.int64)),
            b.constant("to", np.array([11], np.int64)),
            b.constant("ax", np.array([1], np.int64)),
        ],
    )
    return b.node("Gather", [y, b.node("Mod", [i, b.constant("two", np.int64(2))])], axis=0)


def sums(b: GraphBuilder, i: str) -> str:
    """Sums and extremes along axes."""
    y = b.node("CumSum", [b.node("Add", [i, i]), b.constant("ax", np.int64(1))])
    total = b.node("ReduceSum", [y, b.constant("axes", np.array([1], np.int64))], keepdims=1)
    return b.node("Sub", [total, b.node("ReduceMax", [y], axes=[1], keepdims=1)])


CASES: dict[Callable[[GraphBuilder, str], str], set[str]] = {
    arithmetic: {"add", "sub", "mul", "abs", "mod", "minimum", "maximum", "div", "compare", "select", "neg"},
    movement: {"add", "concat", "transpose", "reshape", "slice", "gather", "mod"},
    sums: {"add", "cum_sum", "reduce_sum", "reduce_max", "sub"},
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_as_in_onnxruntime(case: Callable[[GraphBuilder, str], str]) -> None:
    model = places(case)
    module, narrow = narrowed(model)
    x = np.random.default_rng(1).standard_normal((4, 100)).astype(np.float32)
    (expected,) = onnxruntime_outputs(model, {"x": x})
    (found,) = ReferenceGraph(module, "model").run([x])
    assert found.dtype == expected.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
    assert {name.removeprefix("ge.") for name in narrow} == CASES[case]
    assert narrow <= OPERATORS


def places(case: Callable[[GraphBuilder, str], str]) -> onnx.ModelProto:
    """`case` on int64[4, 3] between 0 and 99: places of the three largest of 100 numbers."""
    b = GraphBuilder()
    b.input("x", (4, 100))
    b.constant("k", np.array([3], np.int64))
    model = b.model(case(b, "i"))
    model.graph.node.insert(0, onnx.helper.make_node("TopK", ["x", "k"], ["values", "i"], name="top"))
    return model


def test_the_operators_exist() -> None:
    from graph_engine.dialects.ge.dialect import GE

    assert {op.name for op in GE.operations} >= OPERATORS


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (np.array([2**40, 3], np.int64), "from -9.22337e+18 to 9.22337e+18"),
        (np.array([np.nan, 3], np.float32), "made of floats, of which one may be NaN"),
    ],
)
def test_what_is_not_proven_stays_and_says_why(x: np.ndarray[Any, Any], reason: str) -> None:
    b = GraphBuilder()
    source = b.input("x", x.shape, onnx.helper.np_dtype_to_tensor_dtype(x.dtype))
    if x.dtype == np.float32:
        source = b.node(
            "Cast", [b.node("Clip", [source, b.constant("l", np.float32(0)), b.constant("h", np.float32(9))])], to=7
        )
    b.node("Add", [source, b.constant("one", np.int64(1))], "y")
    said: list[Remark] = []
    with listening(said.append, frozenset({Kind.MISSED})):
        _, narrow = narrowed(b.model("y"))
    assert not narrow
    (remark,) = [remark for remark in said if remark.op == "ge.add"]
    assert remark.message == f"stays int64: it reads numbers {reason}"
