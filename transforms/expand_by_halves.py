"""Reduce and sum along what no reduction instruction takes, integers and products, by halves: a logarithm of steps.

    %y = ge.reduce_max %x {axes = [1]} : (tensor<4x8xi32>) -> tensor<4x1xi32>
    // becomes, with parts of 4, 2 and 1 columns,
    %1 = ge.maximum %x[:, :4], %x[:, 4:];  %2 = ge.maximum %1[:, :2], %1[:, 2:];  %y = ge.maximum %2[:, :1], %2[:, 1:]

A running sum of integers adds to every element the one 1, 2, 4, ... places before it; a running product alike. The place
of the largest integer is the smallest of those that hold it. Integers up to 16 bits are compared as floats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, BinaryOp, MaximumOp, MinimumOp, MulOp
from graph_engine.dialects.ge.interning import element_name, numpy_dtype
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.precision import FP32, set_precision
from graph_engine.dialects.ge.reduction import (
    ArgMaxOp,
    ArgMinOp,
    ArgReduceOp,
    CumProdOp,
    CumSumOp,
    ReduceMaxOp,
    ReduceMinOp,
    ReduceOp,
    ReduceProdOp,
    ReduceSumOp,
    ReduceSumSquareOp,
)
from graph_engine.dialects.ge.selection import TopKOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made, MadeInFp32
from graph_engine.transforms.pass_base import ROUNDING, GePass

INTEGERS = ("i32", "i64")
COMBINED: dict[type[ReduceOp], tuple[type[BinaryOp], tuple[str, ...]]] = {
    ReduceSumOp: (AddOp, INTEGERS),
    ReduceMaxOp: (MaximumOp, INTEGERS),
    ReduceMinOp: (MinimumOp, INTEGERS),
    ReduceProdOp: (MulOp, ("f16", "f32", *INTEGERS)),
}
"""What combines two elements, and the element types that it is used for."""
SHORT = {"i1": f16, "i8": f16, "ui8": f16, "i16": f32, "ui16": f32}
"""Element types, and the floats that hold all of their numbers."""


def _is_open(*values: SSAValue) -> bool:
    return any(extent in (0, DYNAMIC) for value in values for extent in shape_of(value))


class ReduceByHalves(Pattern):
    """A reduction -> its halves combined, axis by axis."""

    name = "reduce-by-halves"
    root: ClassVar[tuple[type[Operation], ...]] = tuple(COMBINED)

    def rewrite(self, op: ReduceOp, rewriter: CountedRewriter) -> bool:
        combine, types = COMBINED[type(op)]
        if element_name(element_of(op.x)) not in types or _is_open(op.x) or not op.ints("axes"):
            return False
        made = Made()
        x: SSAValue = op.x
        for axis in sorted(axis % len(shape_of(op.x)) for axis in op.ints("axes")):
            while (extent := shape_of(x)[axis]) > 1:
                half = extent // 2
                both = made.put(combine(made.part(x, axis, 0, half), made.part(x, axis, half, half)))
                rest = [made.part(x, axis, 2 * half)] if extent % 2 else []
                x = made.joined([both, *rest], axis)
        result = made.shaped(x, shape_of(op.result))
        rewriter.replace(op, made.needed([result]), [result])
        return True


class ExtremeOfShortIntegers(Pattern):
    """Extremes of booleans and of integers up to 16 bits, and their places -> those of floats, which hold each of them."""

    name = "extreme-of-short-integers"
    root: ClassVar[tuple[type[Operation], ...]] = (ReduceMaxOp, ReduceMinOp, ArgMaxOp, ArgMinOp, TopKOp)

    def rewrite(self, op: ReduceOp | ArgReduceOp | TopKOp, rewriter: CountedRewriter) -> bool:
        dtype = element_name(element_of(op.x))
        if dtype not in SHORT or _is_open(op.x) or len(op.operands) > 1:
            return False
        made = MadeInFp32() if SHORT[dtype] == f32 else Made()
        build: Callable[..., GeOp] = type(op)  # pyright: ignore[reportAssignmentType]
        new = build(made.as_element(op.x, SHORT[dtype]), **op.attribute_values())
        results = made.put_all(new)
        if isinstance(made, MadeInFp32):
            set_precision(new, FP32)
        if not isinstance(op, ArgReduceOp):
            results = [made.as_element(results[0], element_of(op.x)), *results[1:]]
        rewriter.replace(op, made.made, list(results))
        return True


class SquareAndSum(Pattern):
    """reduce_sum_square of integers -> a sum of products."""

    name = "square-and-sum"
    root: ClassVar[tuple[type[Operation], ...]] = (ReduceSumSquareOp,)

    def rewrite(self, op: ReduceSumSquareOp, rewriter: CountedRewriter) -> bool:
        if element_name(element_of(op.x)) not in INTEGERS or _is_open(op.x):
            return False
        square = MulOp(op.x, op.x)
        rewriter.replace(op, [square, ReduceSumOp(square.result, **op.attribute_values())])
        return True


class PlaceByHalves(Pattern):
    """arg_max, arg_min of integers -> the first (or last) place of those that hold the extreme."""

    name = "place-by-halves"
    root: ClassVar[tuple[type[Operation], ...]] = (ArgMaxOp, ArgMinOp)

    def rewrite(self, op: ArgMaxOp | ArgMinOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        if element_name(element_of(op.x)) not in INTEGERS or _is_open(op.x) or not shape:
            return False
        axis, last, made = op.axis.value.data % len(shape), bool(op.select_last.value.data), Made()
        best = made.put((ReduceMaxOp if isinstance(op, ArgMaxOp) else ReduceMinOp)(op.x, axes=[axis]))
        counter = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        here = made.put(CompareOp(op.x, best, predicate="eq"))
        places = made.put(
            SelectOp(
                here, made.numbers(counter, "counter"), made.numbers(np.array([-1 if last else shape[axis]]), "nowhere")
            )
        )
        first = made.put((ReduceMaxOp if last else ReduceMinOp)(places, axes=[axis]))
        result = made.shaped(first, shape_of(op.result))
        rewriter.replace(op, made.made, [result])
        return True


class RunByDoubling(Pattern):
    """cum_sum of integers, cum_prod -> combined with what stands 1, 2, 4, ... places before; zeros or ones at the begin."""

    name = "run-by-doubling"
    root: ClassVar[tuple[type[Operation], ...]] = (CumSumOp, CumProdOp)

    def rewrite(self, op: CumSumOp | CumProdOp, rewriter: CountedRewriter) -> bool:
        shape, dtype = shape_of(op.x), element_name(element_of(op.x))
        combine, neutral, types = (
            (AddOp, 0, INTEGERS) if isinstance(op, CumSumOp) else (MulOp, 1, ("f16", "f32", *INTEGERS))
        )
        if dtype not in types or not shape or _is_open(op.x):
            return False
        axis, made = op.axis.value.data % len(shape), Made()
        reverse = bool(op.reverse.value.data)

        def moved(x: SSAValue, places: int) -> SSAValue:
            """x that many places later, or earlier if the sum runs backwards."""
            kept = made.part(x, axis, places if reverse else 0, shape[axis] - places)
            extents = [places if i == axis else n for i, n in enumerate(shape)]
            filled = made.numbers(np.full(extents, neutral, numpy_dtype(dtype)), "neutral")
            return made.joined([kept, filled] if reverse else [filled, kept], axis)

        x: SSAValue = op.x
        if op.exclusive.value.data:
            x = moved(x, 1) if shape[axis] > 1 else made.numbers(np.full(shape, neutral, numpy_dtype(dtype)), "neutral")
        places = 1
        while places < shape[axis]:
            x = made.put(combine(x, moved(x, places)))
            places *= 2
        rewriter.replace(op, made.needed([x]), [x])
        return True


@dataclass(frozen=True)
class ExpandByHalves(GePass):
    """Applies the patterns above."""

    name = "expand-by-halves"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(
            op, [ExtremeOfShortIntegers(), SquareAndSum(), PlaceByHalves(), ReduceByHalves(), RunByDoubling()]
        )
