"""Convolutions of several groups whose filter is known when the graph runs: a filter of one group, or products by tap.

    %y = ge.conv2d %x, %w {group = 2} : (tensor<1x8x9x9xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x7x7xf32>
    // becomes, with zeros where an output does not see a channel,
    %0 = ge.select %diagonal, %w, %zero : (tensor<6x2x1xi1>, tensor<6x1x36xf32>, tensor<1xf32>) -> tensor<6x2x36xf32>
    %y = ge.conv2d %x, %0 : (tensor<1x8x9x9xf32>, tensor<6x8x3x3xf32>) -> tensor<1x6x7x7xf32>

A depthwise filter of many channels would be zeros for the most part: the places of x that a tap sees, times the tap, are
added up on the Vector unit instead, in fp32. Constant filters are packed by blocks of groups when the model is compiled and stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp, ConvOp
from graph_engine.dialects.ge.core import DYNAMIC, element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MulOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.logic import SelectOp
from graph_engine.dialects.ge.shape import PadOp, SliceOp
from graph_engine.dialects.layout import is_plain
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made, MadeInFp32
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import known

LARGEST_FILTER = 1 << 18
"""Elements of a filter of one group; a larger one of a depthwise convolution costs more than its taps one by one."""
MOST_TAPS = 32
"""Taps that are added up one by one."""


class ExpandGroupedFilter(Pattern):
    """A convolution of groups by a run-time filter -> of one group, or a sum of products."""

    name = "expand-grouped-filter"
    root: ClassVar[tuple[type[Operation], ...]] = (Conv2dOp, Conv3dOp)

    def rewrite(self, op: ConvOp, rewriter: CountedRewriter) -> bool:
        group = int(op.attribute_values()["group"])
        if group == 1 or known(op.w) is not None or element_name(element_of(op.x)) not in ("f16", "f32"):
            return False
        if not is_plain(op.w.type):  # packed by blocks of groups when the formats were chosen
            return False
        if any(DYNAMIC in shape_of(value) or 0 in shape_of(value) for value in (*op.operands, *op.results)):
            return False
        taps = prod(shape_of(op.w)[2:])
        dense = elements_of(op.w) * group
        if shape_of(op.w)[1] == 1 and dense > LARGEST_FILTER and taps <= MOST_TAPS:
            made, result = _by_taps(op)
        else:
            made, result = _of_one_group(op, group)
        rewriter.replace(op, made.needed([result]), [result])
        return True


def _of_one_group(op: ConvOp, group: int) -> tuple[Made, SSAValue]:
    """The convolution by a filter that has zeros for the channels of other groups."""
    made = Made()
    operands = [op.x, filter_of_one_group(made, op.w, group), *([op.b] if op.b is not None else [])]
    attributes = op.attribute_values() | {"group": 1}
    return made, made.put(type(op)(*operands, **attributes, result_type=op.result.type))


def filter_of_one_group(made: Made, w: SSAValue, group: int) -> SSAValue:
    """w (outputs, channels of a group, ...) with zeros for the channels of other groups: (outputs, channels, ...)."""
    outputs, channels, *window = shape_of(w)
    own = np.arange(outputs)[:, None] // (outputs // group) == np.arange(group)
    rows = made.shaped(w, (outputs, 1, channels * prod(window)))
    diagonal = made.numbers(own[:, :, None], "diagonal")
    filled = made.put(SelectOp(diagonal, rows, made.number(0.0, w)))
    return made.shaped(filled, (outputs, group * channels, *window))


def _by_taps(op: ConvOp) -> tuple[Made, SSAValue]:
    """The sum over the taps of a depthwise filter of what each sees, times the tap."""
    batch, channels, *_ = shape_of(op.x)
    outputs, _, *window = shape_of(op.w)
    extents, each, rank = shape_of(op.result)[2:], outputs // channels, len(window)
    strides, pads, dilations = (op.ints(name) for name in ("strides", "pads", "dilations"))
    made = Made()
    exact = MadeInFp32(made.made, made.constants)
    border = [0, 0, *pads[:rank], 0, 0, *pads[rank:]]
    x = made.put(PadOp(op.x, pads=border)) if any(pads) else op.x
    w = made.shaped(op.w, (1, channels, each, prod(window)))
    total: SSAValue | None = None
    for tap, place in enumerate(product(*map(range, window))):
        starts = [at * dilation for at, dilation in zip(place, dilations, strict=True)]
        ends = [s + (n - 1) * step + 1 for s, n, step in zip(starts, extents, strides, strict=True)]
        axes = range(2, rank + 2)
        seen = made.put(SliceOp(x, starts=starts, ends=ends, axes=list(axes), steps=list(strides)))
        seen = made.shaped(seen, (batch, channels, 1, prod(extents)))
        term = exact.put(MulOp(*(exact.as_element(value, f32) for value in (seen, made.part(w, 3, tap)))))
        total = term if total is None else exact.put(AddOp(total, term))
    assert total is not None
    if op.b is not None:
        bias = made.shaped(op.b, (1, channels, each, 1))
        total = exact.put(AddOp(total, exact.as_element(bias, f32)))
    return made, made.shaped(exact.as_element(total, element_of(op.result)), shape_of(op.result))


@dataclass(frozen=True)
class ExpandGroupedFilters(GePass):
    """Applies the pattern above."""

    name = "expand-grouped-filters"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandGroupedFilter()])
