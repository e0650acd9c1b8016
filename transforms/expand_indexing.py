"""Bring operators on places into the forms that have kernels: one_hot and trilu as choices, others along the last axis.

    %y = ge.one_hot %i, %values {depth = 10} : (tensor<4xi64>, tensor<2xf32>) -> tensor<4x10xf32>
    // becomes, between reshapes and beside the same for negative indices,
    %0 = ge.compare %i, %counter {predicate = "eq"} : (tensor<4x1xi64>, tensor<1x10xi64>) -> tensor<4x10xi1>
    %y = ge.select %0, %on, %off : (tensor<4x10xi1>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x10xf32>

gather_elements, scatter_elements and top_k along another axis than the last stand between transpositions. A top_k of a long
row begins with parts of it. Elements that are scattered into several rows at once, some of them or combined, go to a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, i32, i64
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MulOp
from graph_engine.dialects.ge.indexing import GatherElementsOp, OneHotOp, ScatterElementsOp, ScatterNdOp
from graph_engine.dialects.ge.interning import element_name, numpy_dtype
from graph_engine.dialects.ge.logic import AndOp, CompareOp, OrOp, SelectOp
from graph_engine.dialects.ge.reduction import ReduceMaxOp, ReduceSumOp
from graph_engine.dialects.ge.repetition import ExpandOp
from graph_engine.dialects.ge.selection import TopKOp
from graph_engine.dialects.ge.shape import TransposeOp, TriluOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made
from graph_engine.transforms.pass_base import EXACT, GePass

LARGEST_EXACT = {"f16": 1 << 11, "f32": 1 << 11, "i32": 1 << 31, "i64": 1 << 31}
"""Numbers that an element type of indices counts exactly; fp32 may become fp16."""


TRIANGLES = (*LARGEST_EXACT, "i8", "ui8", "i16", "ui16", "ui32", "ui64", "i1")
"""Element types of matrices of which triangles are taken."""
RANKED, MOST_RANKED = ("i32", "ui32", "i64", "ui64"), 512
"""Element types of rows in which each element is compared with each other, and elements of such a row at most."""
PARTS, LONGEST_PART = 8, 2048
"""Parts of a row from which the largest elements are taken side by side, and elements of a part at most."""


class ExpandOneHot(Pattern):
    """one_hot -> a comparison with 0, 1, 2, ... along the new axis, and a choice."""

    name = "expand-one-hot"
    root: ClassVar[tuple[type[Operation], ...]] = (OneHotOp,)

    def rewrite(self, op: OneHotOp, rewriter: CountedRewriter) -> bool:
        shape, depth, dtype = shape_of(op.result), op.depth.value.data, element_name(element_of(op.indices))
        if DYNAMIC in shape or 0 in shape or depth > LARGEST_EXACT.get(dtype, 0):
            return False
        axis = op.axis.value.data % len(shape)
        made = Made()
        indices = made.shaped(op.indices, [1 if i == axis else n for i, n in enumerate(shape)])

        def equal(first: int) -> SSAValue:
            numbers = np.arange(first, first + depth).astype(numpy_dtype(dtype))
            counter = numbers.reshape([depth if i == axis else 1 for i in range(len(shape))])
            return made.put(CompareOp(indices, made.numbers(counter, "counter"), predicate="eq"))

        here = made.put(OrOp(equal(0), equal(-depth)))
        off, on = (made.part(op.values, 0, i) for i in range(2))
        result = made.put(SelectOp(here, on, off, result_type=op.result.type))
        rewriter.replace(op, made.needed([result]), [result])
        return True


class SelectTriangle(Pattern):
    """trilu -> a choice between x and zero, by a constant mask or by how far each place is from the diagonal."""

    name = "select-triangle"
    root: ClassVar[tuple[type[Operation], ...]] = (TriluOp,)

    def rewrite(self, op: TriluOp, rewriter: CountedRewriter) -> bool:
        shape, k, upper = shape_of(op.x), op.k.value.data, bool(op.upper.value.data)
        if DYNAMIC in shape or 0 in shape or element_name(element_of(op.x)) not in TRIANGLES:
            return False
        made = Made()
        if op.diagonal is None:
            mask = made.numbers((np.triu if upper else np.tril)(np.ones(shape[-2:], np.bool_), k), "triangle")
        else:
            right = np.arange(shape[-1])[None, :] - np.arange(shape[-2])[:, None] - k
            diagonal = made.shaped(op.diagonal, (1, 1))
            distance = made.numbers(right.astype(np.int64), "distance")
            mask = made.put(CompareOp(distance, diagonal, predicate="ge" if upper else "le"))
        result = made.put(SelectOp(mask, op.x, made.number(0, op.x), result_type=op.result.type))
        rewriter.replace(op, made.needed([result]), [result])
        return True


class ScatterRows(Pattern):
    """scatter_elements whose indices are one vector, repeated over the other axes -> scatter_nd of whole slices."""

    name = "scatter-rows"
    root: ClassVar[tuple[type[Operation], ...]] = (ScatterElementsOp,)

    def rewrite(self, op: ScatterElementsOp, rewriter: CountedRewriter) -> bool:
        shape, places = shape_of(op.x), shape_of(op.indices)
        if DYNAMIC in (*shape, *places) or 0 in (*shape, *places) or not shape:
            return False
        axis, expand = op.axis.value.data % len(shape), op.indices.owner
        if not isinstance(expand, ExpandOp) or any(
            p != n for a, (n, p) in enumerate(zip(shape, places, strict=True)) if a != axis
        ):
            return False
        given = shape_of(expand.x)
        given = (1,) * (len(places) - len(given)) + given
        if any(n != (places[axis] if a == axis else 1) for a, n in enumerate(given)):
            return False
        made = Made()
        perm = [axis, *(a for a in range(len(shape)) if a != axis)]
        back = [perm.index(a) for a in range(len(perm))]

        def turned(value: SSAValue, order: Sequence[int]) -> SSAValue:
            return made.put(TransposeOp(value, perm=order)) if axis else value

        index = made.shaped(expand.x, (places[axis], 1))
        rows = ScatterNdOp(turned(op.x, perm), index, turned(op.updates, perm), reduction=op.reduction.data)
        result = turned(made.put(rows), back)
        rewriter.replace(op, made.made, [result])
        return True


class FlattenScatter(Pattern):
    """scatter_elements into some of the entries of other axes, or combined in several rows -> scatter_nd into a vector."""

    name = "flatten-scatter"
    root: ClassVar[tuple[type[Operation], ...]] = (ScatterElementsOp,)

    def rewrite(self, op: ScatterElementsOp, rewriter: CountedRewriter) -> bool:
        shape, places = shape_of(op.x), shape_of(op.indices)
        if DYNAMIC in (*shape, *places) or 0 in (*shape, *places) or not shape or prod(shape) >= LARGEST_EXACT["i32"]:
            return False
        axis = op.axis.value.data % len(shape)
        others = [(n, p) for a, (n, p) in enumerate(zip(shape, places, strict=True)) if a != axis]
        rows = prod(n for n, _ in others)
        if all(n == p for n, p in others) and (op.reduction.data == "none" or rows == 1):
            return False
        made, strides = Made(), row_major(shape)
        index = made.as_element(op.indices, i32)
        front = made.put(AddOp(index, made.number(shape[axis], index)))
        behind = made.put(CompareOp(index, made.number(0, index), predicate="lt"))
        index = made.put(SelectOp(behind, front, index))
        index = made.put(MulOp(index, made.number(strides[axis], index))) if strides[axis] > 1 else index
        grid = np.indices(places)
        starts = sum(grid[a] * strides[a] for a in range(len(shape)) if a != axis)
        if len(shape) > 1:
            index = made.put(AddOp(index, made.numbers(np.asarray(starts, np.int32), "starts")))
        count = prod(places)
        flat = ScatterNdOp(
            made.shaped(op.x, (prod(shape),)),
            made.shaped(index, (count, 1)),
            made.shaped(op.updates, (count,)),
            reduction=op.reduction.data,
        )
        result = made.shaped(made.put(flat), shape)
        rewriter.replace(op, made.needed([result]), [result])
        return True


def _last(rank: int, axis: int) -> list[int]:
    """The permutation that brings an axis to the end."""
    return [*(i for i in range(rank) if i != axis), axis]


class IndexLastAxis(Pattern):
    """gather_elements, scatter_elements, top_k along an axis -> along the last one, between transpositions.

    A gather reads no more of the other axes than it has indices for: the rest is cut off.
    """

    name = "index-last-axis"
    root: ClassVar[tuple[type[Operation], ...]] = (GatherElementsOp, ScatterElementsOp, TopKOp)

    def rewrite(self, op: GatherElementsOp | ScatterElementsOp | TopKOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        places = shape_of(op.x if isinstance(op, TopKOp) else op.indices)
        if any(DYNAMIC in shape_of(v) or 0 in shape_of(v) for v in (*op.operands, *op.results)) or not shape:
            return False
        axis = op.axis.value.data % len(shape)
        cut = [a for a, (n, p) in enumerate(zip(shape, places, strict=True)) if a != axis and p < n]
        cut = cut if isinstance(op, GatherElementsOp) else []
        if axis == len(shape) - 1 and not cut:
            return False
        if isinstance(op, TopKOp) and op.count is not None:
            return False
        made = Made()
        x: SSAValue = op.x
        for a in cut:
            x = made.part(x, a, 0, places[a])
        operands = [x, *op.operands[1:]]
        perm = _last(len(shape), axis)
        back = [perm.index(i) for i in range(len(perm))]
        turned = axis != len(shape) - 1
        if turned:
            operands = [made.put(TransposeOp(value, perm=perm)) for value in operands]
        inner = made.put_all(_along_last(op, operands))
        results = [made.put(TransposeOp(value, perm=back)) if turned else value for value in inner]
        rewriter.replace(op, made.made, results)
        return True


class SplitTopK(Pattern):
    """top_k of a long row -> of its parts, which the cores share, and of what they give.

    Parts keep the order of places, so that of equal elements the first one still comes first.
    """

    name = "split-top-k"
    root: ClassVar[tuple[type[Operation], ...]] = (TopKOp,)

    def rewrite(self, op: TopKOp, rewriter: CountedRewriter) -> bool:
        shape, k = shape_of(op.x), op.k.value.data
        if DYNAMIC in shape or 0 in shape or op.axis.value.data % len(shape) != len(shape) - 1 or op.count is not None:
            return False
        *lead, row = shape
        parts = max(PARTS, -(-row // LONGEST_PART))
        each = row // parts
        taken, rest = min(k, each), row - parts * each
        if parts * taken + rest > row // 4 and not (row > LONGEST_PART and parts * taken + rest < row):
            return False
        made, largest = Made(), bool(op.largest.value.data)
        cut = made.shaped(made.part(op.x, len(lead), 0, parts * each), (*lead, parts, each))
        values, places = made.put_all(TopKOp(cut, k=taken, largest=largest))
        starts = made.numbers(np.arange(parts, dtype=np.int64)[:, None] * each, "starts")
        places = made.put(AddOp(places, starts))
        values, places = (made.shaped(value, (*lead, parts * taken)) for value in (values, places))
        if rest:
            behind = np.broadcast_to(np.arange(parts * each, row), (*lead, rest))
            values = made.joined([values, made.part(op.x, len(lead), parts * each, rest)], len(lead))
            places = made.joined([places, made.numbers(np.ascontiguousarray(behind), "places")], len(lead))
        best, where = made.put_all(TopKOp(values, k=k, largest=largest))
        results = [best, made.put(GatherElementsOp(places, where, axis=-1))]
        rewriter.replace(op, made.needed(results), results)
        return True


class RankIntegers(Pattern):
    """top_k of integers -> for each element how many come before it, and for each of these numbers whose it is."""

    name = "rank-integers"
    root: ClassVar[tuple[type[Operation], ...]] = (TopKOp,)

    def rewrite(self, op: TopKOp, rewriter: CountedRewriter) -> bool:
        shape, k = shape_of(op.x), op.k.value.data
        if DYNAMIC in shape or 0 in shape or op.axis.value.data % len(shape) != len(shape) - 1 or op.count is not None:
            return False
        *lead, row = shape
        if element_name(element_of(op.x)) not in RANKED or row > MOST_RANKED or k < 1:
            return False
        made = Made()
        mine, other = made.shaped(op.x, (*lead, row, 1)), made.shaped(op.x, (*lead, 1, row))
        before = made.put(CompareOp(other, mine, predicate="gt" if op.largest.value.data else "lt"))
        equal = made.put(CompareOp(other, mine, predicate="eq"))
        earlier = made.numbers(np.tri(row, k=-1, dtype=np.bool_), "earlier")
        first = made.put(OrOp(before, made.put(AndOp(equal, earlier))))
        rank = made.put(ReduceSumOp(made.as_element(first, f16), axes=[len(shape)], keepdims=False))
        slots = made.numbers(np.arange(k, dtype=np.float16)[:, None], "slots")
        found = made.put(CompareOp(made.shaped(rank, (*lead, 1, row)), slots, predicate="eq"))
        counter = made.numbers(np.arange(row, dtype=np.float16), "counter")
        nowhere = made.numbers(np.zeros(1, np.float16), "nowhere")
        places = made.put(ReduceMaxOp(made.put(SelectOp(found, counter, nowhere)), axes=[len(shape)], keepdims=False))
        places = made.as_element(places, i64)
        results = [made.put(GatherElementsOp(op.x, places, axis=-1)), places]
        rewriter.replace(op, made.needed(results), results)
        return True


def _along_last(op: GeOp, operands: Sequence[SSAValue]) -> GeOp:
    """The operator on other operands, along the last axis."""
    build: Callable[..., GeOp] = type(op)  # pyright: ignore[reportAssignmentType]
    return build(*operands, **(op.attribute_values() | {"axis": -1}))


@dataclass(frozen=True)
class ExpandIndexingPass(GePass):
    """Applies the patterns above."""

    name = "expand-indexing"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(
            op,
            [
                ExpandOneHot(),
                SelectTriangle(),
                ScatterRows(),
                FlattenScatter(),
                IndexLastAxis(),
                RankIntegers(),
                SplitTopK(),
            ],
        )
