"""Rotate queries and keys in one task, where they are neighbouring columns of one product.

    %q = ge.slice %y {starts = [0], ends = [512], ...}      %k = ge.slice %y {starts = [512], ends = [768], ...}
    %0 = ge.split_heads %q {heads = 8}                      %1 = ge.split_heads %k {heads = 4}
    %2 = ge.rotary_mul %0, %cos, %sin                       %3 = ge.rotary_mul %1, %cos, %sin
    // becomes
    %0 = ge.slice %y {starts = [0], ends = [768], ...}
    %1 = ge.split_heads %0 {heads = 12}
    %r = ge.rotary_mul %1, %cos, %sin
    %2 = ge.slice %r {starts = [0], ends = [8], ...}        %3 = ge.slice %r {starts = [8], ends = [12], ...}

Heads of one matrix lie one behind the other, so both slices are views. Norms of the heads in front of the rotation, as
Qwen3 has them, are joined too, with a row of the scale for each head; norm and rotation are one kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.heads import RotaryMulOp, SplitHeadsOp
from graph_engine.dialects.ge.normalization import RmsNormOp, rows_of_scale
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp
from graph_engine.transforms.cuts_and_joins import part_of
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import gather, graphs, single_user
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.recipes import Known, joined, known, reshaped
from graph_engine.transforms.remarks import passed


def norm_before(op: RotaryMulOp) -> RmsNormOp | None:
    """The norm of rows that an operator alone rotates, whose scale is a constant row; None if there is none."""
    norm = op.x.owner
    if not isinstance(norm, RmsNormOp) or single_user(op.x) is not op or known(norm.scale) is None:
        return None
    return norm if rows_of_scale(norm, norm.scale) == 1 else None


def bring_norms(block: Block, context: RewriteContext) -> None:
    """rotary_mul(reshape(norm(x))) -> rotary_mul(norm(reshape(x))), where the reshape keeps the rows."""
    for op in [op for op in block.ops if isinstance(op, RotaryMulOp)]:
        reshape = op.x.owner
        if not isinstance(reshape, ReshapeOp) or single_user(op.x) is not op:
            continue
        norm, shape = reshape.x.owner, shape_of(op.x)
        if (
            not isinstance(norm, RmsNormOp)
            or single_user(reshape.x) is not reshape
            or shape_of(norm.x)[-1] != shape[-1]
        ):
            continue
        if rows_of_scale(norm, norm.scale) == 1:
            flat = ReshapeOp(norm.x, shape=shape)
            moved = RmsNormOp(flat.result, norm.scale, axis=len(shape) - 1, epsilon=norm.epsilon.value.data)
            with context.rewrite("bring-norm", [reshape]) as rewriter:
                rewriter.replace(reshape, [flat, moved])


def columns_of(op: RotaryMulOp) -> tuple[SSAValue, range] | None:
    """The one matrix and its columns that are the heads of an operator; None if they are anything else."""
    norm = norm_before(op)
    value, cut = op.x if norm is None else norm.x, 0
    if DYNAMIC in shape_of(value):
        return None
    while isinstance(value.owner, ReshapeOp | SplitHeadsOp):
        cut += isinstance(value.owner, SplitHeadsOp)
        value = value.owner.x
    part = part_of(value, len(shape_of(value)) - 1)
    if part is None or cut > 1:
        return None
    *batch, rows, columns = shape_of(value)
    *outer, heads, own_rows, width = shape_of(op.x)
    same = (rows, columns) == (own_rows, heads * width) and prod(batch) == prod(outer) == 1
    return part if same and (cut == 1 or heads == 1) else None


def groups(block: Block) -> list[list[tuple[RotaryMulOp, range]]]:
    """Operators with the same angles whose heads are neighbouring columns of one matrix, two or more. Linear."""
    found: dict[tuple[object, ...], list[tuple[RotaryMulOp, range]]] = {}
    for op in block.ops:
        if isinstance(op, RotaryMulOp) and (part := columns_of(op)) is not None:
            shape, norm = shape_of(op.x), norm_before(op)
            epsilon = None if norm is None else norm.epsilon.value.data
            found.setdefault((part[0], op.cos, op.sin, len(shape), shape[-1], epsilon), []).append((op, part[1]))
    return [
        group
        for group in found.values()
        if len(group) > 1 and all(one[1].stop == next[1].start for one, next in pairwise(group))
    ]


def join(group: list[tuple[RotaryMulOp, range]], context: RewriteContext) -> None:
    """One rotation of all heads in the place of the first, and its parts."""
    ops, columns = [op for op, _ in group], range(group[0][1].start, group[-1][1].stop)
    part = columns_of(ops[0])
    assert part is not None
    matrix, (*_, rows, width), rank = part[0], shape_of(ops[0].x), len(shape_of(ops[0].x))
    heads = len(columns) // width
    sliced = SliceOp(matrix, starts=[columns.start], ends=[columns.stop], axes=[len(shape_of(matrix)) - 1])
    flat = ReshapeOp(sliced.result, shape=(rows, len(columns)))
    split = SplitHeadsOp(flat.result, heads=heads)
    ranked = ReshapeOp(split.result, shape=(*(1,) * (rank - 3), heads, rows, width))
    made: list[Operation] = [sliced, flat, split, ranked]
    if (norm := norm_before(ops[0])) is not None:
        made += joined_norm(ranked.result, ops, norm)
    rotated = RotaryMulOp(made[-1].results[0], ops[0].cos, ops[0].sin)
    made.append(rotated)
    at = 0
    for op in ops:
        count = shape_of(op.x)[-3]
        made.append(SliceOp(rotated.result, starts=[at], ends=[at + count], axes=[rank - 3]))
        made[-1].location = op.location
        at += count
    with context.rewrite("fuse-parallel-rotary", ops) as rewriter:
        rewriter.insert(made)
        for op, own in zip(ops, made[-len(ops) :], strict=True):
            rewriter.replace(op, [], [own.results[0]])
    passed("ParallelRotary", rotated, f"{len(ops)} groups of heads rotated at once")


def joined_norm(heads: SSAValue, ops: list[RotaryMulOp], first: RmsNormOp) -> list[Operation]:
    """The norm of all heads, with the scales of the norms in front of `ops`, and the scale before it."""
    rows: list[Known] = []
    for op in ops:
        norm = norm_before(op)
        scale = None if norm is None else known(norm.scale)
        assert scale is not None
        rows += [reshaped(scale, (1, 1, scale.elements))] * shape_of(op.x)[-3]
    scales = joined(rows, axis=0).op()
    axis = len(shape_of(heads)) - 1
    return [scales, RmsNormOp(heads, scales.result, axis=axis, epsilon=first.epsilon.value.data)]


def take_norms(block: Block, context: RewriteContext) -> None:
    """Makes one kernel of each rotation and the norm that it alone reads."""
    for op in [op for op in block.ops if isinstance(op, RotaryMulOp)]:
        norm = op.x.owner
        if isinstance(norm, RmsNormOp) and single_user(op.x) is op and rows_of_scale(norm, norm.scale) is not None:
            with context.rewrite("fuse-norm-rotary", [op]) as rewriter:
                gather(rewriter, [norm, op], op)


@dataclass(frozen=True)
class FuseParallelRotary(GePass):
    """Walks behind `fuse-parallel-matmuls`, which puts queries and keys side by side; then norms join their rotations."""

    name = "fuse-parallel-rotary"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            bring_norms(block, context)
            for group in groups(block):
                join(group, context)
            take_norms(block, context)
