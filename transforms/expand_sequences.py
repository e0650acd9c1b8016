"""Sequences that begin or end where the data says, as rows that indices name: caches written on, sequences turned round.

%y = ge.tensor_scatter %x, %updates, %starts {axis = 2} : (tensor<2x4x64x32xf16>, tensor<2x4x1x32xf16>, tensor<2xi64>) -> ...
// becomes, with batch, head and place in an index,
%y = ge.scatter_nd %x, %index, %updates : (tensor<2x4x64x32xf16>, tensor<2x4x1x3xi32>, tensor<2x4x1x32xf16>) -> ...

%y = ge.reverse_sequence %x, %lengths : (tensor<9x2x16xf32>, tensor<2xi64>) -> tensor<9x2x16xf32>
// becomes, with place and batch in an index,
%y = ge.gather_nd %x, %index : (tensor<9x2x16xf32>, tensor<9x2x2xi32>) -> tensor<9x2x16xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, SubOp
from graph_engine.dialects.ge.indexing import GatherNdOp, ReverseSequenceOp, ScatterNdOp, TensorScatterOp
from graph_engine.dialects.ge.logic import CompareOp, ModOp, SelectOp
from graph_engine.dialects.ge.repetition import ExpandOp
from graph_engine.dialects.ge.shape import TransposeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made
from graph_engine.transforms.pass_base import EXACT, GePass


def _open(op: GeOp) -> bool:
    """Whether a size is not known, or nothing is there to move."""
    return any(DYNAMIC in shape_of(v) or 0 in shape_of(v) for v in (*op.operands, *op.results))


def _counter(made: Made, shape: Sequence[int], axis: int) -> SSAValue:
    """0, 1, 2, ... along an axis, the same along all others."""
    along = np.arange(shape[axis], dtype=np.int32).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return made.numbers(np.ascontiguousarray(np.broadcast_to(along, shape)), "counter")


class ExpandTensorScatter(Pattern):
    """tensor_scatter -> scatter_nd of the rows behind the axis; without starts a concat."""

    name = "expand-tensor-scatter"
    root: ClassVar[tuple[type[Operation], ...]] = (TensorScatterOp,)

    def rewrite(self, op: TensorScatterOp, rewriter: CountedRewriter) -> bool:
        if _open(op):
            return False
        shape, made = shape_of(op.x), Made()
        axis = op.axis.value.data % len(shape)
        count = shape_of(op.updates)[axis]
        if op.starts is None:
            rest = [made.part(op.x, axis, count, shape[axis] - count)] if count < shape[axis] else []
            result = made.joined([op.updates, *rest], axis)
            rewriter.replace(op, made.made, [result])
            return True
        rows = shape_of(op.updates)[: axis + 1]
        starts = made.shaped(made.as_element(op.starts, i32), (rows[0], *(1 for _ in rows[1:])))
        places = made.put(AddOp(_counter(made, rows, axis), starts))
        if op.circular.value.data:
            places = made.put(ModOp(places, made.number(shape[axis], places)))
        coordinates = [*(_counter(made, rows, i) for i in range(axis)), places]
        index = made.joined([made.shaped(one, (*rows, 1)) for one in coordinates], axis + 1)
        result = made.put(ScatterNdOp(op.x, index, op.updates))
        rewriter.replace(op, made.needed([result]), [result])
        return True


class ExpandReverseSequence(Pattern):
    """reverse_sequence -> gather_nd of the rows behind time and batch, which are brought to the front."""

    name = "expand-reverse-sequence"
    root: ClassVar[tuple[type[Operation], ...]] = (ReverseSequenceOp,)

    def rewrite(self, op: ReverseSequenceOp, rewriter: CountedRewriter) -> bool:
        if _open(op):
            return False
        shape, made = shape_of(op.x), Made()
        front = [axis.value.data % len(shape) for axis in (op.time_axis, op.batch_axis)]
        perm = [*front, *(i for i in range(len(shape)) if i not in front)]
        time, batch = (shape[axis] for axis in front)
        lengths = made.shaped(made.as_element(op.lengths, i32), (1, batch))
        steps = made.numbers(np.arange(time, dtype=np.int32)[:, None], "steps")
        next_steps = made.numbers(np.arange(1, time + 1, dtype=np.int32)[:, None], "next_steps")
        inside = made.put(CompareOp(steps, lengths, predicate="lt"))
        places = made.put(SelectOp(inside, made.put(SubOp(lengths, next_steps)), steps))
        if shape_of(places) != (time, batch):
            places = made.put(ExpandOp(places, shape=(time, batch)))
        coordinates = (places, _counter(made, (time, batch), 1))
        index = made.joined([made.shaped(one, (time, batch, 1)) for one in coordinates], 2)
        turned = perm != sorted(perm)
        x = made.put(TransposeOp(op.x, perm=perm)) if turned else op.x
        result = made.put(GatherNdOp(x, index))
        if turned:
            result = made.put(TransposeOp(result, perm=[perm.index(i) for i in range(len(perm))]))
        rewriter.replace(op, made.needed([result]), [result])
        return True


@dataclass(frozen=True)
class ExpandSequences(GePass):
    """Applies the patterns above."""

    name = "expand-sequences"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandTensorScatter(), ExpandReverseSequence()])
