"""Rotate queries and keys in one task, where they are neighbouring columns of one product.

    %q = ge.slice %y {starts = [0], ends = [512], ...}      %k = ge.slice %y {starts = [512], ends = [768], ...}
    %0 = ge.split_heads %q {heads = 8}                      %1 = ge.split_heads %k {heads = 4}
    %2 = ge.rotary_mul %0, %cos, %sin                       %3 = ge.rotary_mul %1, %cos, %sin
    // becomes
    %0 = ge.slice %y {starts = [0], ends = [768], ...}
    %1 = ge.split_heads %0 {heads = 12}
    %r = ge.rotary_mul %1, %cos, %sin
    %2 = ge.slice %r {starts = [0], ends = [8], ...}        %3 = ge.slice %r {starts = [8], ends = [12], ...}

Heads of one matrix lie one behind the other, so both slices are views.
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
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp
from graph_engine.transforms.cuts_and_joins import part_of
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.remarks import passed


def columns_of(op: RotaryMulOp) -> tuple[SSAValue, range] | None:
    """The one matrix and its columns that are the heads of an operator; None if they are anything else."""
    value, cut = op.x, 0
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
            shape = shape_of(op.x)
            found.setdefault((part[0], op.cos, op.sin, len(shape), shape[-1]), []).append((op, part[1]))
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
    rotated = RotaryMulOp(ranked.result, ops[0].cos, ops[0].sin)
    made: list[Operation] = [sliced, flat, split, ranked, rotated]
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


@dataclass(frozen=True)
class FuseParallelRotary(GePass):
    """One walk, behind `fuse-parallel-matmuls`, which puts queries and keys side by side."""

    name = "fuse-parallel-rotary"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            for group in groups(block):
                join(group, context)
