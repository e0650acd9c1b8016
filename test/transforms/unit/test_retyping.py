"""An operator retyped in place is the copy on operands of other types, and what reads it is served as before."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser

from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.pipelines.context import make_context
from graph_engine.transforms.retyping import rebuilt, retype

PLAIN = "%y = ge.add %x, %w : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>"
KERNEL = """%y = ge.fused ins(%x, %w : tensor<2x8xf32>, tensor<2x8xf32>) {anchor = "ge.add"} {
      ^bb0(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>):
        %s = ge.add %a, %b : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
        %r = ge.relu %s : (tensor<2x8xf32>) -> tensor<2x8xf32>
        ge.yield %r : tensor<2x8xf32>
    } -> tensor<2x8xf32>"""
GRAPH = """func.func @main(%x: tensor<2x8xf32>, %w: tensor<2x8xf32>, %p: tensor<2x8xf16>, %q: tensor<2x8xf16>) -> tensor<2x8xf32> {{
    {body}
    func.return %y : tensor<2x8xf32>
}}"""


def parsed(body: str) -> tuple[ModuleOp, Operation]:
    """The module, and its first operator."""
    module = Parser(make_context(), GRAPH.format(body=body)).parse_module()
    module.verify()
    function = module.body.block.first_op
    assert function is not None
    op = function.regions[0].block.first_op
    assert op is not None
    return module, op


@pytest.mark.parametrize("body", [PLAIN, KERNEL], ids=["plain", "kernel"])
def test_in_place_as_by_a_copy(body: str) -> None:
    _, op = parsed(body)
    block = op.parent
    assert block is not None
    halves = block.args[2:]

    def halved(inner: Operation, _: Sequence[SSAValue]) -> list[Attribute]:
        return [tensor_type(shape_of(result), "f16") for result in inner.results]

    copy = rebuilt(op, halves, halved)
    copy.verify()
    retype(op, halves, halved)
    op.verify()
    assert op.is_structurally_equivalent(copy)
    assert [result.name_hint for result in op.results] == [result.name_hint for result in copy.results] == ["y"]
    assert [value.has_one_use() for value in block.args[:2]] == [False, False]
    assert {use.operation for value in halves for use in value.uses} == {op, copy}


def test_an_operator_that_is_read_is_not_erased() -> None:
    _, op = parsed(PLAIN)
    op.detach()
    with pytest.raises(ValueError, match="still has uses"):
        op.erase()
