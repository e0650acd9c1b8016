"""Remove conversions of format that cancel, repeat, or convert nothing.

    %1 = layout.transdata %0 : tensor<1x2048x1x1xf16, #layout.nc1hwc0<...>> -> tensor<1x2048x1x1xf16>
    %2 = ge.reshape %1 {shape = [1, 2048]} : ...
    %3 = layout.transdata %2 : tensor<1x2048xf16> -> tensor<1x2048xf16, #layout.fractal_nz<...>>
    // becomes: one pixel of 2048 channels lies in memory as a row of a matrix does
    %2 = ge.reshape %0 {shape = [1, 2048]} : ...
    %3 = layout.transdata %2 : tensor<1x2048xf16> -> tensor<1x2048xf16, #layout.fractal_nz<...>>

The rules follow GE's TransOpSymmetryElimination, TransOpBreadthFusion and ReshapeRemove. Remarks tell why each of the
conversions that are left is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from graph_engine.dialects.encodings import NC1HWC0, Declared, Encoding
from graph_engine.dialects.ge.core import element_of, shape_of
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.dialects.layout import TransDataOp, encoding_of, is_plain, with_encoding
from graph_engine.transforms import border_transposes, pixel_rows
from graph_engine.transforms.driver import CountedRewriter, Pattern, RewriteContext, apply_patterns
from graph_engine.transforms.explain_transdata import explain
from graph_engine.transforms.formats import FormatRules
from graph_engine.transforms.fusion import graphs, single_user
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.remarks import Kind, wanted
from graph_engine.transforms.stored_values import is_view, tensor

Roots = tuple[type[Operation], ...]

EXACT_OR_BETTER = {"f16", "f32"}
"""Dropping a cast between these and back leaves the result equal or closer (GE: all pairs but those into bool)."""


class CancelInverse(Pattern):
    """transdata(transdata(x)) back to the type of x -> x."""

    name = "cancel-inverse-transdata"
    root: ClassVar[Roots] = (TransDataOp,)

    def rewrite(self, op: TransDataOp, rewriter: CountedRewriter) -> bool:
        inner = op.x.owner
        if not isinstance(inner, TransDataOp) or inner.x.type != op.y.type or not _harmless(inner.x, op.x):
            return False
        rewriter.replace(op, (), [inner.x])
        return True


class ComposeTransdata(Pattern):
    """transdata(transdata(x)) -> one transdata, where the first has no other user and one task can do both."""

    name = "compose-transdata"
    root: ClassVar[Roots] = (TransDataOp,)

    def rewrite(self, op: TransDataOp, rewriter: CountedRewriter) -> bool:
        inner = op.x.owner
        if not isinstance(inner, TransDataOp) or single_user(inner.y) is not op or not _harmless(inner.x, op.x):
            return False
        source, target = tensor(inner.x), tensor(op.y)
        kinds = {_kind(encoding_of(stored)) for stored in (source, target) if not is_plain(stored)}
        if source == target or len(kinds) > 1:
            return False
        rewriter.replace(op, TransDataOp(inner.x, target))
        return True


def _kind(encoding: Encoding) -> object:
    """What one task converts from and to: a family of formats, or one that the text declares."""
    return encoding.map if isinstance(encoding, Declared) else type(encoding)


class TransdataToView(Pattern):
    """A conversion that leaves every byte in its place is a view."""

    name = "transdata-to-view"
    root: ClassVar[Roots] = (TransDataOp,)

    def rewrite(self, op: TransDataOp, rewriter: CountedRewriter) -> bool:
        if op.x.type == op.y.type:
            rewriter.replace(op, (), [op.x])
            return True
        if not is_view(tensor(op.x), tensor(op.y)):
            return False
        rewriter.replace(op, ReshapeOp(op.x, shape=shape_of(op.y), result_type=tensor(op.y)))
        return True


class MergeViews(Pattern):
    """reshape(reshape(x)) -> reshape(x), or x itself, where x can be read directly."""

    name = "merge-views"
    root: ClassVar[Roots] = (ReshapeOp,)

    def rewrite(self, op: ReshapeOp, rewriter: CountedRewriter) -> bool:
        inner = op.x.owner
        if op.x.type == op.result.type:
            rewriter.replace(op, (), [op.x])
            return True
        if not isinstance(inner, ReshapeOp) or not is_view(tensor(inner.x), op.result.type):
            return False
        rewriter.replace(op, ReshapeOp(inner.x, shape=op.ints("shape"), result_type=op.result.type))
        return True


class TransdataThroughReshape(Pattern):
    """transdata(reshape(transdata(x))) for x[N, C, 1, 1] in NC1HWC0 and a matrix [N, C] -> transdata(reshape(x))."""

    name = "transdata-through-reshape"
    root: ClassVar[Roots] = (TransDataOp,)

    def rewrite(self, op: TransDataOp, rewriter: CountedRewriter) -> bool:
        reshape = op.x.owner
        if not isinstance(reshape, ReshapeOp) or not is_plain(op.x.type) or single_user(op.x) is not op:
            return False
        first = reshape.x.owner
        if not isinstance(first, TransDataOp) or single_user(first.y) is not reshape or not _harmless(first.x, op.x):
            return False
        source = tensor(first.x)
        if not isinstance(encoding_of(source), NC1HWC0):
            return False
        matrix = with_encoding(tensor(op.x), encoding_of(source))
        matrix = type(matrix)(source.element_type, matrix.shape.data, matrix.encoding)
        if not is_view(source, matrix):
            return False
        view = ReshapeOp(first.x, shape=shape_of(op.x), result_type=matrix)
        rewriter.replace(op, [view, TransDataOp(view.result, tensor(op.y))])
        return True


def _harmless(source: SSAValue, middle: SSAValue) -> bool:
    """Whether skipping `middle` loses no rounding that matters."""
    names = {element_name(element_of(source)), element_name(element_of(middle))}
    return len(names) == 1 or names <= EXACT_OR_BETTER


def share_conversions(block: Block, context: RewriteContext) -> None:
    """Equal conversions of one value become one: the first. Linear."""
    seen: dict[tuple[SSAValue, Attribute], SSAValue] = {}
    for op in tuple(block.ops):
        if isinstance(op, TransDataOp):
            first = seen.setdefault((op.x, op.y.type), op.y)
            if first is not op.y:
                with context.rewrite("share-transdata", [op]) as rewriter:
                    rewriter.replace(op, (), [first])


PATTERNS = (
    CancelInverse,
    ComposeTransdata,
    TransdataToView,
    MergeViews,
    TransdataThroughReshape,
    *pixel_rows.PATTERNS,
    *border_transposes.PATTERNS,
)


@dataclass(frozen=True)
class EliminateTransdata(GePass):
    """Shares equal conversions, then applies the patterns above until none matches."""

    name = "eliminate-transdata"

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose formats the remarks speak of"})
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            share_conversions(block, context)
        for patterns in (pixel_rows.PATTERNS, PATTERNS):  # transposes between two conversions before those beside one
            apply_patterns(op, [pattern() for pattern in patterns])
        if wanted(Kind.ANALYSIS):
            rules = FormatRules.for_soc(self.soc)
            for block in graphs(op):
                explain(block, rules)
