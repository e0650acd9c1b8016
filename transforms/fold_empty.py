"""Take tensors without elements out of the graph: they are constants, and parts of nothing.

    %e = ge.slice %x {starts = [3], ends = [3], axes = [1], steps = [1]} : (tensor<2x6xf32>) -> tensor<2x0xf32>
    %y = ge.concat %e, %b {axis = 1} : (tensor<2x0xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // becomes
    %b

A reduction over nothing is a constant then too, which fold-constants computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Tensor
from graph_engine.dialects.ge.indexing import ScatterElementsOp, ScatterNdOp
from graph_engine.dialects.ge.interning import element_name, numpy_dtype, shape_of_type
from graph_engine.dialects.ge.shape import ConcatOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import EXACT, GePass

Roots = tuple[type[Operation], ...]


def is_empty(type_: Attribute) -> bool:
    """Whether a tensor of known sizes has no elements, of a type that numpy has."""
    shape = shape_of_type(type_)
    return 0 in shape and DYNAMIC not in shape and element_name(cast(Tensor, type_).element_type) in _NUMBERS


_NUMBERS = ("f16", "f32", "f64", "i1", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64")


def nothing(type_: Attribute) -> ConstantOp:
    """The constant."""
    ty = cast(Tensor, type_)
    numbers = np.zeros(shape_of_type(ty), numpy_dtype(element_name(ty.element_type)))
    return ConstantOp(constant_attr(numbers, "nothing"), result_type=ty)


class FillEmptyResult(Pattern):
    """An operator whose result has no elements -> a constant."""

    name = "fill-empty-result"
    root: ClassVar[Roots] = (GeOp,)

    def rewrite(self, op: GeOp, rewriter: CountedRewriter) -> bool:
        if isinstance(op, ConstantOp) or len(op.results) != 1 or op.regions or not is_empty(op.results[0].type):
            return False
        rewriter.replace(op, nothing(op.results[0].type))
        return True


class JoinParts(Pattern):
    """concat -> of its parts that have elements."""

    name = "join-parts"
    root: ClassVar[Roots] = (ConcatOp,)

    def rewrite(self, op: ConcatOp, rewriter: CountedRewriter) -> bool:
        parts = [value for value in op.operands if not is_empty(value.type)]
        if not parts or len(parts) == len(op.operands):
            return False
        if len(parts) == 1 and parts[0].type == op.result.type:
            rewriter.replace(op, (), parts)
        else:
            rewriter.replace(op, ConcatOp(parts, axis=op.axis.value.data, result_type=op.result.type))
        return True


class ScatterNothing(Pattern):
    """A scatter of no updates -> what it would write to."""

    name = "scatter-nothing"
    root: ClassVar[Roots] = (ScatterNdOp, ScatterElementsOp)

    def rewrite(self, op: ScatterNdOp | ScatterElementsOp, rewriter: CountedRewriter) -> bool:
        if not is_empty(op.updates.type) or op.x.type != op.result.type:
            return False
        rewriter.replace(op, (), [op.x])
        return True


class ReadNothing(Pattern):
    """An operand without elements that comes from outside -> a constant."""

    name = "read-nothing"
    root: ClassVar[Roots] = (GeOp,)

    def rewrite(self, op: GeOp, rewriter: CountedRewriter) -> bool:
        empty = [v for v in op.operands if is_empty(v.type) and not isinstance(v.owner, ConstantOp)]
        if not empty or op.regions:
            return False
        constants = {value: nothing(value.type) for value in empty}
        operands: list[SSAValue] = [constants[v].result if v in constants else v for v in op.operands]
        fresh = type(op).create(
            operands=operands,
            result_types=list(op.result_types),
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        rewriter.replace(op, [*constants.values(), fresh], list(fresh.results))
        return True


@dataclass(frozen=True)
class FoldEmpty(GePass):
    """Applies the patterns above."""

    name = "fold-empty"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FillEmptyResult(), JoinParts(), ScatterNothing(), ReadNothing()])
