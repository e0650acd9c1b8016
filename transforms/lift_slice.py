"""Slices in front of reshapes instead of behind them, part of `ge-canonicalize`: a slice of whole matrices moves nothing.

%0 = ge.reshape %x {shape = [3, 197, 1, 768]} : (tensor<3x197x768xf32>) -> ...
%1 = ge.slice %0 {starts = [1], ends = [2], axes = [0], steps = [1]} : ...
// becomes
%0 = ge.slice %x {starts = [1], ends = [2], axes = [0], steps = [1]} : ...
%1 = ge.reshape %0 {shape = [1, 197, 1, 768]} : ...
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.ir import Operation

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp
from graph_engine.transforms.driver import CountedRewriter, Pattern


class LiftSliceOverReshape(Pattern):
    """slice(reshape(x)) -> reshape(slice(x)) for one axis that the reshape leaves as it is."""

    name = "lift-slice-over-reshape"
    root: ClassVar[tuple[type[Operation], ...]] = (SliceOp,)

    def rewrite(self, op: SliceOp, rewriter: CountedRewriter) -> bool:
        reshape = op.x.owner
        if not isinstance(reshape, ReshapeOp) or len(op.ints("axes")) != 1:
            return False
        source, target = shape_of(reshape.x), shape_of(op.x)
        axis = op.ints("axes")[0] % len(target)
        if DYNAMIC in (*source, *target, *shape_of(op.result)):
            return False
        outer, extent = prod(target[:axis]), target[axis]
        same = [a for a, n in enumerate(source) if n == extent and prod(source[:a]) == outer]
        if not same or 0 in source:
            return False
        starts, ends, steps = (op.ints(key) for key in ("starts", "ends", "steps"))
        part = SliceOp(reshape.x, starts=starts, ends=ends, axes=same[-1:], steps=steps)
        rewriter.replace(op, [part, ReshapeOp(part.result, shape=shape_of(op.result))])
        return True
