"""Make one grouped convolution of a split, convolutions of the parts and a concat: GE's SplitConvConcat fusion.

%0 = ge.slice %x {starts = [0], ends = [16], axes = [1], steps = [1]} : ...
%1 = ge.slice %x {starts = [16], ends = [32], axes = [1], steps = [1]} : ...
%2 = ge.conv2d %0, %w0 : (tensor<1x16x8x8xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x8x8xf32>
%3 = ge.conv2d %1, %w1 : (tensor<1x16x8x8xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x8x8xf32>
%4 = ge.concat %2, %3 {axis = 1} : ...
// becomes
%w = ge.constant #ge.fold<"ge.concat", [%w0, %w1], {axis = 0}, tensor<48x16x1x1xf32>>
%4 = ge.conv2d %x, %w {group = 2} : (tensor<1x32x8x8xf32>, tensor<48x16x1x1xf32>) -> tensor<1x48x8x8xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.interning import int_attr
from graph_engine.dialects.ge.shape import ConcatOp
from graph_engine.transforms.cuts_and_joins import concat_axis, part_of
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import Known, joined, known


class GroupConvolutions(Pattern):
    """concat(conv(x[:, :c], w0), conv(x[:, c:], w1)) -> conv(x, [w0, w1]) in groups, for equal parts and attributes."""

    name = "group-convolutions"
    root: ClassVar[tuple[type[Operation], ...]] = (ConcatOp,)

    def rewrite(self, op: ConcatOp, rewriter: CountedRewriter) -> bool:
        convs = [value.owner for value in op.xs if isinstance(value.owner, Conv2dOp) and single_user(value) is op]
        if len(convs) < 2 or len(convs) != len(op.xs) or concat_axis(op) != 1 or (x := _whole(convs)) is None:
            return False
        first = convs[0]
        weights, biases = _joined([conv.w for conv in convs]), None
        if weights is None or any(
            conv.properties != first.properties or shape_of(conv.w) != shape_of(first.w) for conv in convs
        ):
            return False
        if any(conv.b is not None for conv in convs):
            biases = _joined([conv.b for conv in convs])
            if biases is None:
                return False
        constants = [constant.op() for constant in (weights, biases) if constant is not None]
        rewriter.sources(*convs)
        properties = {**first.properties, "group": int_attr(len(convs) * first.group.value.data)}
        operands = [x, *(constant.result for constant in constants)]
        grouped = Conv2dOp.create(operands=operands, result_types=op.result_types, properties=properties)
        rewriter.replace(op, [*constants, grouped])
        return True


def _whole(convs: Sequence[Conv2dOp]) -> SSAValue | None:
    """The value whose channels the convolutions read in equal parts, one after another and all of them."""
    parts = [part_of(conv.x, 1) for conv in convs]
    whole, end = None, 0
    for part in parts:
        if part is None or part[1].start != end or (whole is not None and part[0] is not whole):
            return None
        whole, end = part[0], part[1].stop
    return whole if whole is not None and shape_of(whole)[1] == end else None


def _joined(values: Sequence[SSAValue | None]) -> Known | None:
    """Constants of one element type, one after another along the outputs."""
    constants = [constant for value in values if (constant := known(value)) is not None]
    if len(constants) < len(values) or len({constant.type.element_type for constant in constants}) != 1:
        return None
    return joined(constants, axis=0)


@dataclass(frozen=True)
class FuseSplitConvConcat(GePass):
    """One pattern, in front of the fusions that take what follows a convolution along."""

    name = "fuse-split-conv-concat"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [GroupConvolutions()])
