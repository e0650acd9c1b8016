"""Operators with several and with optional results: assembly, verification, folding, and as a task of the AI CPU."""

from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Dialect, Region, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_result_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge import reference
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import TENSOR, GeOp, Tensor, element_of, shape_of
from graph_engine.dialects.ge.elementwise import ReluOp
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.interning import bool_attr, tensor_type
from graph_engine.dialects.ge.properties import bool_prop, floats_prop
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.runtime.device import run


@irdl_op_definition
class LargestOp(GeOp):
    """The largest element of each row and, if asked for, where it is."""

    name = "ge.largest"

    x = operand_def(TENSOR)
    result = result_def(TENSOR)
    where = opt_result_def(TENSOR)
    with_place = bool_prop(False)
    scales = floats_prop([1.0])

    def __init__(self, x: SSAValue, *, with_place: bool = False):
        self.init([x], {"with_place": bool_attr(with_place)}, None)

    def infer(self) -> tuple[Tensor, ...]:
        rows = shape_of(self.x)[:1]
        types = (tensor_type(rows, element_of(self.x)), tensor_type(rows, "i64"))
        return types if self.with_place.value.data else types[:1]


def largest(x: np.ndarray[Any, Any], with_place: bool, scales: list[float] | None = None) -> list[np.ndarray[Any, Any]]:
    del with_place, scales
    return [x.max(1), x.argmax(1)]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(reference.FUNCTIONS, "ge.largest", ("probe", "largest"))
    monkeypatch.setitem(sys.modules, "graph_engine.dialects.ge.reference.probe", sys.modules[__name__])


def graph(*, constant: bool = False) -> ModuleOp:
    block = Block(arg_types=[] if constant else [tensor_type((2, 3), "f32")])
    if constant:
        block.add_op(ConstantOp(constant_attr(np.array([[1, 5, 2], [7, 0, 3]], np.float32), "x")))
    x = block.first_op.results[0] if block.first_op else block.args[0]
    op = LargestOp(x, with_place=True)
    relu = ReluOp(op.result)
    block.add_ops([op, relu, ReturnOp(relu.result, op.results[1])])
    types = ([a.type for a in block.args], [relu.result.type, op.results[1].type])
    return ModuleOp([FuncOp("main", types, Region(block))])


def test_text_comes_back_as_the_same_operator() -> None:
    context = make_context()
    context.load_dialect(Dialect("probe", [LargestOp]))
    text = str(graph())
    assert "%1, %2 = ge.largest %0 {with_place = true} : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>)" in text
    parsed = Parser(context, text).parse_module()
    parsed.verify()
    assert str(parsed) == text


def test_lists_of_floats_are_bare() -> None:
    context = make_context()
    context.load_dialect(Dialect("probe", [LargestOp]))
    text = """func.func @f(%0: tensor<2x3xf32>) {
      %1 = ge.largest %0 {scales = [1.5, 0x7F800000]} : (tensor<2x3xf32>) -> tensor<2xf32>
      func.return
    }"""
    module = Parser(context, text).parse_module()
    out = StringIO()
    Printer(out).print_op(module)
    assert "{scales = [1.5, 0x7F800000]}" in out.getvalue().replace("1.500000e+00", "1.5")


def test_a_missing_result_is_refused() -> None:
    op = LargestOp(graph().body.block.first_op.body.block.args[0])  # type: ignore[union-attr]
    op.properties["with_place"] = bool_attr(True)
    with pytest.raises(VerifyException, match="ge.largest: 2 results are inferred, 1 are declared"):
        op.verify()


def test_results_that_nobody_asked_for_are_dropped() -> None:
    op = LargestOp(graph().body.block.first_op.body.block.args[0])  # type: ignore[union-attr]
    assert len(evaluate_op(op, [np.array([[1, 5, 2], [7, 0, 3]], np.float32)])) == 1


def test_folding_gives_one_constant_a_result() -> None:
    module = graph(constant=True)
    compile_module(module)
    outputs = run(emit_program(module), [], mode="functional").outputs
    assert [o.tolist() for o in outputs] == [[5, 7], [1, 0]]


def test_the_ai_cpu_writes_every_result() -> None:
    module = graph()
    compile_module(module)
    outputs = run(emit_program(module), [np.array([[1, 5, 2], [7, 0, 3]], np.float32)], mode="functional").outputs
    assert [o.tolist() for o in outputs] == [[5, 7], [1, 0]]
