"""Merges cuts and joins along equal axes, part of `ge-canonicalize`: fewer copies of the same elements.

%0 = ge.slice %x {starts = [2], ends = [8], axes = [1], steps = [1]} : (tensor<1x9x4xf32>) -> tensor<1x6x4xf32>
%1 = ge.slice %0 {starts = [1], ends = [3], axes = [1], steps = [1]} : (tensor<1x6x4xf32>) -> tensor<1x2x4xf32>
// becomes
%1 = ge.slice %x {starts = [3], ends = [5], axes = [1], steps = [1]} : (tensor<1x9x4xf32>) -> tensor<1x2x4xf32>
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.shape import ConcatOp, SliceOp
from graph_engine.transforms.driver import CountedRewriter, Pattern
from graph_engine.transforms.fusion import single_user

Roots = tuple[type[Operation], ...]


class MergeConcats(Pattern):
    """concat(a, concat(b, c)) -> concat(a, b, c) on one axis, where nobody else reads the inner one."""

    name = "merge-concats"
    root: ClassVar[Roots] = (ConcatOp,)

    def rewrite(self, op: ConcatOp, rewriter: CountedRewriter) -> bool:
        parts: list[SSAValue] = []
        for value in op.xs:
            inner = value.owner
            if isinstance(inner, ConcatOp) and single_user(value) is op and concat_axis(inner) == concat_axis(op):
                parts += inner.xs
            else:
                parts.append(value)
        if len(parts) == len(op.xs):
            return False
        rewriter.replace(op, ConcatOp(parts, axis=concat_axis(op), result_type=op.result.type))
        return True


class MergeSlices(Pattern):
    """slice(slice(x)) -> slice(x) on one and the same axis, of known extent."""

    name = "merge-slices"
    root: ClassVar[Roots] = (SliceOp,)

    def rewrite(self, op: SliceOp, rewriter: CountedRewriter) -> bool:
        inner = op.x.owner
        if not isinstance(inner, SliceOp):
            return False
        first, second = _cut(inner), _cut(op)
        if first is None or second is None or first[0] != second[0]:
            return False
        axis, taken = first
        rewriter.replace(op, _slice(inner.x, axis, taken[second[1].start : _end(second[1]) : second[1].step], op))
        return True


class SliceOfConcat(Pattern):
    """slice(concat(a, b)) -> slice(b), where all that it takes lies in b."""

    name = "slice-of-concat"
    root: ClassVar[Roots] = (SliceOp,)

    def rewrite(self, op: SliceOp, rewriter: CountedRewriter) -> bool:
        concat, cut = op.x.owner, _cut(op)
        if not isinstance(concat, ConcatOp) or cut is None or cut[0] != concat_axis(concat):
            return False
        axis, taken = cut
        begin, ends = 0, (taken[0], taken[-1])
        for part in concat.xs:
            end = begin + shape_of(part)[axis]
            if begin <= min(ends) and max(ends) < end:
                rewriter.replace(op, _slice(part, axis, range(taken.start - begin, taken.stop - begin, taken.step), op))
                return True
            begin = end
        return False


class JoinSlices(Pattern):
    """concat(x[0:2], x[2:5], y) -> concat(x[0:5], y), where nobody else reads the slices or they are all of x."""

    name = "join-slices"
    root: ClassVar[Roots] = (ConcatOp,)

    def rewrite(self, op: ConcatOp, rewriter: CountedRewriter) -> bool:
        axis = concat_axis(op)
        for first in range(len(op.xs) - 1):
            last, run = first, part_of(op.xs[first], axis)
            while run is not None and last + 1 < len(op.xs):
                x, taken = run
                following = part_of(op.xs[last + 1], axis)
                if following is None or following[0] is not x or following[1].start != taken.stop:
                    break
                last, run = last + 1, (x, range(taken.start, following[1].stop))
            if run is None or last == first:
                continue
            x, taken = run
            members = op.xs[first : last + 1]
            if len(taken) != shape_of(x)[axis] and any(single_user(value) is not op for value in members):
                continue
            joined = SliceOp(x, starts=[taken.start], ends=[taken.stop], axes=[axis])
            parts = [*op.xs[:first], joined.result, *op.xs[last + 1 :]]
            rewriter.replace(op, [joined, ConcatOp(parts, axis=axis, result_type=op.result.type)])
            return True
        return False


def concat_axis(op: ConcatOp) -> int:
    """The axis, counted from the front."""
    return op.axis.value.data % len(shape_of(op.result))


def _cut(op: SliceOp) -> tuple[int, range] | None:
    """The one axis that a slice cuts and what it takes of it; None if there are several, or nothing is known or left."""
    shape = shape_of(op.x)
    bounds = zip(*(op.ints(name) for name in ("axes", "starts", "ends", "steps")), strict=True)
    cuts: list[tuple[int, range]] = []
    for axis, start, end, step in bounds:
        extent = shape[axis]
        if extent == DYNAMIC:
            return None
        taken = range(*slice(start, end, step).indices(extent))
        if taken != range(extent):
            cuts.append((axis % len(shape), taken))
    return cuts[0] if len(cuts) == 1 and len(cuts[0][1]) else None


def part_of(value: SSAValue, axis: int) -> tuple[SSAValue, range] | None:
    """What `value` is a slice of and which consecutive places of `axis` it holds; None if it is something else."""
    if not isinstance(value.owner, SliceOp) or (cut := _cut(value.owner)) is None:
        return None
    return (value.owner.x, cut[1]) if cut[0] == axis and cut[1].step == 1 else None


def _end(taken: range) -> int | None:
    """The end of a slice that takes `taken`: numpy would count -1 from the back."""
    return taken.stop if taken.stop >= 0 else None


def _slice(x: SSAValue, axis: int, taken: range, like: SliceOp) -> SliceOp:
    """x[taken] along one axis."""
    end = taken.stop if taken.stop >= 0 else -shape_of(x)[axis] - 1
    bounds = {"starts": [taken.start], "ends": [end], "axes": [axis], "steps": [taken.step]}
    return SliceOp(x, **bounds, result_type=like.result.type)


CUTS_AND_JOINS = (MergeConcats, MergeSlices, SliceOfConcat, JoinSlices)
