"""Maxima of windows with their places, tap by tap: a maximum so far, and the place of the tap that raised it last.

    %y, %p = ge.max_pool_indices %x {kernel = [2, 2], strides = [2, 2], ...} : (tensor<1x8x6x6xf32>) -> (..., tensor<1x8x3x3xi64>)
    // becomes, for each tap behind the first, with %t what it sees of x and %c the constant places of that,
    %0 = ge.compare %t, %best {predicate = "gt"}
    %place = ge.select %0, %c, %place;  %best = ge.maximum %t, %best

Places are int32 within a channel; where its elements begin is added at the end. Taps in the border see the lowest number,
and stand where the first tap inside does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod
from typing import Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.core import DYNAMIC, element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MaximumOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.pooling import MaxPoolIndicesOp
from graph_engine.dialects.ge.shape import PadOp, SliceOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made
from graph_engine.transforms.pass_base import EXACT, GePass

MOST_TAPS = 32
"""Elements of a window."""


class ExpandPoolPlaces(Pattern):
    """max_pool_indices -> comparisons and choices, tap by tap."""

    name = "expand-pool-places"
    root: ClassVar[tuple[type[Operation], ...]] = (MaxPoolIndicesOp,)

    def rewrite(self, op: MaxPoolIndicesOp, rewriter: CountedRewriter) -> bool:
        shape, result = shape_of(op.x), shape_of(op.result)
        if DYNAMIC in shape or 0 in (*shape, *result) or element_name(element_of(op.x)) not in ("f16", "f32"):
            return False
        if prod(op.ints("kernel")) > MOST_TAPS or elements_of(op.x) >= 1 << 31:
            return False
        rank, made = len(shape) - 2, Made()
        strides, dilations, pads = (op.ints(name) for name in ("strides", "dilations", "pads"))
        kernel, counts = op.ints("kernel"), result[2:]
        reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(counts, strides, kernel, dilations, strict=True)]
        behind = [max(0, r - n - p) for r, n, p in zip(reach, shape[2:], pads, strict=False)]
        border = [0, 0, *pads[:rank], 0, 0, *behind]
        x = made.put(PadOp(op.x, pads=border, value=-inf)) if any(border) else op.x
        best: SSAValue | None = None
        place: SSAValue | None = None
        for tap, places in zip(product(*map(range, kernel)), tap_places(op), strict=True):
            starts = [t * d for t, d in zip(tap, dilations, strict=True)]
            ends = [b + (n - 1) * s + 1 for b, n, s in zip(starts, counts, strides, strict=True)]
            axes = list(range(2, rank + 2))
            seen = made.put(SliceOp(x, starts=starts, ends=ends, axes=axes, steps=list(strides)))
            here = made.numbers(places[None, None], "places")
            if best is None or place is None:
                best, place = seen, here
                continue
            better = made.put(CompareOp(seen, best, predicate="gt"))
            place = made.put(SelectOp(better, here, place))
            best = made.put(MaximumOp(seen, best))
        assert best is not None and place is not None
        channels = np.arange(prod(shape[:2]), dtype=np.int32).reshape(*shape[:2], *(1 for _ in counts))
        place = made.put(AddOp(place, made.numbers(channels * prod(shape[2:]), "channels")))
        results = [best, made.as_element(place, i64)]
        rewriter.replace(op, made.needed(results), results)
        return True


def tap_places(op: MaxPoolIndicesOp) -> Sequence[Any]:
    """For each tap of the window its place within a channel for each result, as int32."""
    spatial, rank = shape_of(op.x)[2:], len(shape_of(op.x)) - 2
    steps = row_major(spatial) if not op.column_major.value.data else row_major(spatial[::-1])[::-1]
    grid = np.indices(shape_of(op.result)[2:])
    found: list[Any] = []
    inside: list[Any] = []
    for tap in product(*map(range, op.ints("kernel"))):
        rows = [
            grid[i] * op.ints("strides")[i] + tap[i] * op.ints("dilations")[i] - op.ints("pads")[i] for i in range(rank)
        ]
        found.append(sum(row * step for row, step in zip(rows, steps, strict=True)))
        inside.append(np.all([(row >= 0) & (row < n) for row, n in zip(rows, spatial, strict=True)], axis=0))
    first = np.take_along_axis(np.stack(found), np.argmax(inside, axis=0)[None], 0)[0]
    return [np.where(there, places, first).astype(np.int32) for there, places in zip(inside, found, strict=True)]


@dataclass(frozen=True)
class ExpandPoolPlacesPass(GePass):
    """Applies the pattern above."""

    name = "expand-pool-places"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandPoolPlaces()])
