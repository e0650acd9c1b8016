"""Recognise how exporters cut a matrix into attention heads and join them: a reshape and a transpose become one operator.

    %r = ge.reshape %x {shape = [1, 128, 12, 64]} : (tensor<1x128x768xf32>) -> ...
    %h = ge.transpose %r {perm = [0, 2, 1, 3]} : ...
    // becomes
    %h = ge.split_heads %x {heads = 12} : (tensor<1x128x768xf32>) -> tensor<1x12x128x64xf32>

Where both are stored as FRACTAL_NZ the operator moves nothing (see `ge.split_heads`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.heads import MergeHeadsOp, SplitHeadsOp
from graph_engine.dialects.ge.normalization import LayerNormOp, RmsNormOp
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp, TransposeOp
from graph_engine.transforms.cuts_and_joins import part_of
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.stored_values import FRACTAL_COLUMNS

Roots = tuple[type[Operation], ...]


def _exchanges_rows_and_heads(op: TransposeOp) -> bool:
    """Whether a transpose exchanges the second and third axis from the back, and nothing else."""
    perm = op.ints("perm")
    rank = len(perm)
    return rank >= 3 and perm == (*range(rank - 3), rank - 2, rank - 3, rank - 1)


def _reshaped(x: SSAValue, shape: tuple[int, ...]) -> tuple[list[Operation], SSAValue]:
    """`x` in `shape`, and the operator that it takes."""
    if shape_of(x) == shape:
        return [], x
    reshape = ReshapeOp(x, shape=shape)
    return [reshape], reshape.result


class FuseSplitHeads(Pattern):
    """transpose(reshape(x)) -> split_heads(x), where the reshape cuts the columns in two and keeps the rows."""

    name = "fuse-split-heads"
    root: ClassVar[Roots] = (TransposeOp,)

    def rewrite(self, op: TransposeOp, rewriter: CountedRewriter) -> bool:
        reshape = op.x.owner
        if not isinstance(reshape, ReshapeOp) or not _exchanges_rows_and_heads(op):
            return False
        source, (*batch, rows, heads, columns) = shape_of(reshape.x), shape_of(op.x)
        whole = (*batch, rows, heads * columns)
        if DYNAMIC in (*source, *shape_of(op.x)) or 1 in (heads, rows) or not source or source[-1] != whole[-1]:
            return False
        made, x = _reshaped(reshape.x, whole)
        rewriter.replace(op, [*made, SplitHeadsOp(x, heads=heads)])
        return True


class FuseMergeHeads(Pattern):
    """reshape(transpose(x)) -> merge_heads(x), where the reshape joins what the transpose put side by side."""

    name = "fuse-merge-heads"
    root: ClassVar[Roots] = (ReshapeOp,)

    def rewrite(self, op: ReshapeOp, rewriter: CountedRewriter) -> bool:
        transpose = op.x.owner
        if not isinstance(transpose, TransposeOp) or not _exchanges_rows_and_heads(transpose):
            return False
        result, (*batch, rows, heads, columns) = shape_of(op.result), shape_of(op.x)
        whole = (*batch, rows, heads * columns)
        if DYNAMIC in (*result, *shape_of(op.x)) or 1 in (heads, rows) or not result or result[-1] != whole[-1]:
            return False
        if single_user(transpose.result) is not op:
            return False
        merge = MergeHeadsOp(transpose.x)
        made, _ = _reshaped(merge.result, result)
        rewriter.replace(op, [merge, *made])
        return True


class FuseSplitParts(Pattern):
    """transpose(reshape(x))[i] -> split_heads(x)[heads of part i], where queries, keys and values are cut at once.

    [B, S, 3 * H * D] as [3, B, H, S, D]: in FRACTAL_NZ all heads lie one behind the other in each matrix.
    """

    name = "fuse-split-parts"
    root: ClassVar[Roots] = (SliceOp,)

    def rewrite(self, op: SliceOp, rewriter: CountedRewriter) -> bool:
        transpose, part = op.x.owner, part_of(op.result, 0)
        if not isinstance(transpose, TransposeOp) or transpose.ints("perm") != (2, 0, 3, 1, 4) or part is None:
            return False
        reshape, (batch, rows, parts, heads, columns) = transpose.x.owner, shape_of(transpose.x)
        if not isinstance(reshape, ReshapeOp) or len(part[1]) != 1 or columns % FRACTAL_COLUMNS:
            return False
        if shape_of(reshape.x)[-2:] != (rows, parts * heads * columns):
            return False
        made, x = _reshaped(reshape.x, (batch, rows, parts * heads * columns))
        split = SplitHeadsOp(x, heads=parts * heads)
        first = part[1].start * heads
        own = SliceOp(split.result, starts=[first], ends=[first + heads], axes=[1])
        rewriter.replace(op, [*made, split, own, ReshapeOp(own.result, shape=shape_of(op.result))])
        return True


class NormBehindHeads(Pattern):
    """transpose(norm(reshape(x))) -> norm(transpose(reshape(x))) for a norm of each head's columns, as Qwen has it."""

    name = "norm-behind-heads"
    root: ClassVar[Roots] = (TransposeOp,)

    def rewrite(self, op: TransposeOp, rewriter: CountedRewriter) -> bool:
        norm = op.x.owner
        if not isinstance(norm, RmsNormOp | LayerNormOp) or single_user(op.x) is not op:
            return False
        last = len(shape_of(op.x)) - 1
        if not _exchanges_rows_and_heads(op) or not isinstance(norm.x.owner, ReshapeOp) or norm.axis.value.data != last:
            return False
        transpose = TransposeOp(norm.x, perm=op.ints("perm"))
        operands = [transpose.result, *norm.operands[1:]]
        moved = type(norm).create(operands=operands, result_types=[op.result.type], properties=norm.properties)
        rewriter.replace(op, [transpose, moved])
        return True


PATTERNS = (FuseSplitHeads, FuseMergeHeads, FuseSplitParts, NormBehindHeads)


@dataclass(frozen=True)
class FuseHeads(GePass):
    """All patterns in one walk."""

    name = "fuse-heads"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [pattern() for pattern in PATTERNS])
