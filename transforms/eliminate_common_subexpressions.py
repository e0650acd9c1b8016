"""Compute once what several operators compute alike: one kind, the same operands, equal attributes and types.

%0 = ge.relu %x : (tensor<8xf32>) -> tensor<8xf32>
%1 = ge.relu %x : (tensor<8xf32>) -> tensor<8xf32>
%2 = ge.mul %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// becomes
%2 = ge.mul %0, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.pass_base import EXACT, GePass


def identity(op: Operation) -> Hashable | None:
    """What two operators must agree in to compute the same; None for one that is never taken for another."""
    if not isinstance(op, GeOp) or isinstance(op, ConstantOp) or op.regions or not is_side_effect_free(op):
        return None
    attributes = (frozenset(op.properties.items()), frozenset(op.attributes.items()))
    return type(op), tuple(op.operands), attributes, tuple(op.result_types)


def eliminate(module: ModuleOp) -> None:
    """Keep the first of equal operators; it takes over the source nodes of the others. Linear."""
    context = RewriteContext.current()
    for block in graphs(module):
        seen: dict[Hashable, Operation] = {}
        for op in tuple(block.ops):
            key = identity(op)
            if key is None:
                continue
            first = seen.setdefault(key, op)
            if first is not op:
                with context.rewrite("merge-equal", [op]) as rewriter:
                    rewriter.notify_op_modified(first)
                    rewriter.replace(op, (), first.results)


@dataclass(frozen=True)
class EliminateCommonSubexpressions(GePass):
    """Goes through each graph once, so equal chains merge from their heads on.

    Constants are the matter of `share-constants`, and operators with bodies stay.
    """

    name = "eliminate-common-subexpressions"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        eliminate(op)
