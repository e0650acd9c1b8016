"""Let a matrix product read its sides transposed instead of transposing them: GE's TransposeBatchMatMul fusions.

    %t = ge.transpose %b {perm = [0, 1, 3, 2]} : ...
    %y = ge.matmul %a, %t : ...
    // becomes
    %y = ge.matmul %a, %b {transpose_b = true} : ...

A permutation that also moves other axes is split: what is left moves whole rows, as it does where heads are cut apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.heads import SplitHeadsOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import in_shape


def _swapped(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation without the exchange of the last two axes of its result."""
    return (*perm[:-2], perm[-1], perm[-2])


def _keeps_matrices(op: ReshapeOp) -> bool:
    """Whether only the batch gets another shape."""
    return DYNAMIC not in shape_of(op.result) and shape_of(op.x)[-2:] == shape_of(op.result)[-2:]


def _transposed_heads(value: SSAValue) -> list[Operation] | None:
    """For value[..., D, S] = reshape(transpose(x[S, H * D])): the operators that make [..., S, D] of x instead."""
    reshape = value.owner
    transpose = reshape.x.owner if isinstance(reshape, ReshapeOp) else None
    if not isinstance(transpose, TransposeOp) or transpose.ints("perm") != (1, 0):
        return None
    (rows, columns), (*batch, each, last) = shape_of(transpose.x), shape_of(value)
    if DYNAMIC in (rows, columns, *batch, each) or last != rows or prod(batch) * each != columns or prod(batch) < 2:
        return None
    split = SplitHeadsOp(transpose.x, heads=prod(batch))
    split.location = transpose.location
    shaped = ReshapeOp(split.result, shape=(*batch, rows, each))
    shaped.location = transpose.location
    return [split, shaped]


class FuseTransposeMatmul(Pattern):
    """matmul(a, transpose(b)) -> matmul(a, b) with the side's flag turned, where the transpose ends with the columns."""

    name = "fuse-transpose-matmul"
    root: ClassVar[tuple[type[Operation], ...]] = (MatmulOp,)

    def rewrite(self, op: MatmulOp, rewriter: CountedRewriter) -> bool:
        flags = [bool(op.transpose_a.value.data), bool(op.transpose_b.value.data)]
        sides: list[SSAValue] = [op.a, op.b]
        made: list[Operation] = []
        for number, value in enumerate(sides):
            transpose = value.owner
            heads = _transposed_heads(value)
            if heads is not None:
                made += heads
                sides[number], flags[number] = heads[-1].results[0], not flags[number]
                continue
            if isinstance(transpose, ReshapeOp) and _keeps_matrices(transpose):
                transpose = transpose.x.owner
            if not isinstance(transpose, TransposeOp):
                continue
            perm = transpose.ints("perm")
            rank = len(perm)
            if rank < 2 or perm[-2] != rank - 1:  # its rows are the operand's columns
                continue
            rest = _swapped(perm)
            sides[number] = transpose.x
            moved = [axis for axis in rest if shape_of(transpose.x)[axis] != 1]
            if moved != sorted(moved):  # axes of one element move by a reshape
                made.append(TransposeOp(transpose.x, perm=rest))
                made[-1].location = transpose.location
                sides[number] = made[-1].results[0]
            *batch, rows, columns = shape_of(value)
            if shape_of(sides[number]) != (*batch, columns, rows):
                made.append(in_shape(sides[number], (*batch, columns, rows)))
                made[-1].location = transpose.location
                sides[number] = made[-1].results[0]
            flags[number] = not flags[number]
        if sides == [op.a, op.b]:
            return False
        product = MatmulOp(
            sides[0], sides[1], op.bias, transpose_a=flags[0], transpose_b=flags[1], result_type=op.result.type
        )
        rewriter.replace(op, [*made, product])
        return True


@dataclass(frozen=True)
class FuseTransposeMatmulPass(GePass):
    """One pattern, on either side."""

    name = "fuse-transpose-matmul"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FuseTransposeMatmul()])
