"""Recognise rotary position embedding: columns turned by half, products with cosines and sines, a sum.

    %r = ge.slice %x {starts = [32], ends = [64], axes = [3], steps = [1]} : (tensor<1x8x64x64xf32>) -> ...
    %l = ge.slice %x {starts = [0], ends = [32], axes = [3], steps = [1]} : ...
    %n = ge.neg %r : ...
    %t = ge.concat %n, %l {axis = 3} : ...
    %0 = ge.mul %x, %cos : ...
    %1 = ge.mul %t, %sin : ...
    %y = ge.add %0, %1 : ...
    // becomes
    %y = ge.rotary_mul %x, %cos, %sin : (tensor<1x8x64x64xf32>, tensor<1x1x64x64xf32>, ...) -> tensor<1x8x64x64xf32>

Seven operators, two of which move every element, become one task. Where halves of the columns are whole blocks of 16,
and one matrix of cosines and sines serves all heads: that is what the kernel takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MulOp, NegOp
from graph_engine.dialects.ge.heads import RotaryMulOp
from graph_engine.dialects.ge.shape import ConcatOp, ReshapeOp
from graph_engine.transforms.cuts_and_joins import concat_axis, part_of
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.stored_values import FRACTAL_COLUMNS


class FuseRotaryMul(Pattern):
    """x * cos + concat(-x[..., d:], x[..., :d]) * sin -> rotary_mul(x, cos, sin)."""

    name = "fuse-rotary-mul"
    root: ClassVar[tuple[type[Operation], ...]] = (AddOp,)

    def rewrite(self, op: AddOp, rewriter: CountedRewriter) -> bool:
        for here, there in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            straight, crossed = here.owner, there.owner
            if not isinstance(straight, MulOp) or not isinstance(crossed, MulOp):
                return False
            if single_user(here) is not op or single_user(there) is not op:
                return False
            for turned, sin in ((crossed.lhs, crossed.rhs), (crossed.rhs, crossed.lhs)):
                source = turned_by_half(turned)
                if source is None or single_user(turned) is not crossed:
                    continue
                for x, cos in ((straight.lhs, straight.rhs), (straight.rhs, straight.lhs)):
                    if behind_reshapes(x) is source and x.type == op.result.type and fits(x, cos, sin):
                        rewriter.replace(op, RotaryMulOp(x, cos, sin))
                        return True
        return False


def turned_by_half(value: SSAValue) -> SSAValue | None:
    """The value whose right half of the columns, with its sign changed, and left half `value` joins."""
    concat = value.owner
    if not isinstance(concat, ConcatOp) or len(concat.xs) != 2 or concat_axis(concat) != len(shape_of(value)) - 1:
        return None
    right, left = (behind_reshapes(half) for half in concat.xs)
    if not isinstance(right.owner, NegOp):
        return None
    right = behind_reshapes(right.owner.x)
    parts = [part_of(half, len(shape_of(half)) - 1) for half in (left, right)]
    if parts[0] is None or parts[1] is None:
        return None
    (source, first), (other, second) = parts[0], parts[1]
    width = shape_of(value)[-1]
    if behind_reshapes(source) is not behind_reshapes(other) or shape_of(source)[-1] != width:
        return None
    halves = (range(width // 2), range(width // 2, width))
    return behind_reshapes(source) if (first, second) == halves else None


def behind_reshapes(value: SSAValue) -> SSAValue:
    """What is reshaped to `value`, or `value`, where the last axis stays."""
    while isinstance(value.owner, ReshapeOp) and shape_of(value.owner.x)[-1:] == shape_of(value)[-1:]:
        value = value.owner.x
    return value


def fits(x: SSAValue, cos: SSAValue, sin: SSAValue) -> bool:
    """Whether the kernel serves: whole blocks in each half, one matrix of cosines and one of sines."""
    matrix = shape_of(x)[-2:]
    sides = [shape_of(side) for side in (cos, sin)]
    if DYNAMIC in shape_of(x) or len(matrix) < 2 or matrix[-1] % (2 * FRACTAL_COLUMNS):
        return False
    return all(side[-2:] == matrix and len(side) <= len(shape_of(x)) and prod(side[:-2]) == 1 for side in sides)


@dataclass(frozen=True)
class FuseRotaryMulPass(GePass):
    """One pattern, from the sum on."""

    name = "fuse-rotary-mul"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FuseRotaryMul()])
