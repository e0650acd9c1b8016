"""Recognise attention and make one kernel of it, which keeps the scores on the chip.

    %s = ge.matmul %q, %k {transpose_b = true} : (tensor<1x12x128x64xf32>, tensor<1x12x128x64xf32>) -> ...
    %0 = ge.mul %s, %scale : ...
    %1 = ge.add %0, %mask : ...
    %p = ge.softmax %1 : ...
    %y = ge.matmul %p, %v : ...
    // becomes
    %y = ge.fused ins(%q, %k, %scale, %mask, %v : ...) {anchor = "ge.matmul"} { matmul, mul, add, softmax, matmul }

Between the products: elementwise operators whose other operands are numbers, rows of one value a key, or matrices like
the scores, of any batch that broadcasts. Heads that are no whole blocks of 16 columns are stored with zeros behind them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.attention import side_kind
from graph_engine.dialects.ge.core import DYNAMIC, element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, DivOp, MaximumOp, MinimumOp, MulOp, SubOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.ge.precision import DEVICE_FLOATS
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import gather, graphs, single_user
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.remarks import missed

STEPS = (AddOp, SubOp, MulOp, DivOp, MaximumOp, MinimumOp)
MOST_STEPS, MOST_COLUMNS = 4, 256
"""Operators between the products, columns of a head: with these, tiles of all operands fit the chip."""


def scores_behind(value: SSAValue, user: Operation, left: int = 2 * MOST_STEPS) -> list[Operation] | None:
    """The product that makes `value` for `user` alone, and the steps behind it; None if it is something else."""
    op = value.owner
    if single_user(value) is not user or not isinstance(op, Operation) or not left:
        return None
    if isinstance(op, MatmulOp):
        return [op]
    if not isinstance(op, STEPS):
        return None
    for operand in op.operands:
        if operand.type == value.type and (before := scores_behind(operand, op, left - 1)) is not None:
            return [*before, op]
    return None


def hindrance(scores: MatmulOp, steps: list[Operation], softmax: SoftmaxOp, result: MatmulOp) -> str | None:
    """Why the operators are not one kernel; None if they are."""
    shape, columns = shape_of(scores.result), (shape_of(scores.a)[-1], shape_of(result.result)[-1])
    values = [scores.a, scores.b, result.b]
    if any(DYNAMIC in shape_of(value) or not elements_of(value) for value in (*values, scores.result)):
        return "a size is not known, or 0"
    if element_name(element_of(scores.result)) not in DEVICE_FLOATS:
        return f"its elements are {element_name(element_of(scores.result))}"
    if softmax.axis.value.data % len(shape) != len(shape) - 1:
        return "the softmax is over another axis than the last"
    if scores.bias is not None or result.bias is not None:
        return "a product has a bias"
    flags = [bool(flag.value.data) for flag in (scores.transpose_a, scores.transpose_b)]
    if flags != [False, True] or result.transpose_a.value.data or result.transpose_b.value.data:
        return "keys or values are not stored row by row"
    if max(columns) > MOST_COLUMNS:
        return f"a head of {columns[0]} columns, {columns[1]} of values, is wider than {MOST_COLUMNS}"
    if shape_of(result.result)[:-2] != shape[:-2]:
        return "the values have a batch of their own"
    if len(steps) > MOST_STEPS:
        return f"{len(steps)} operators stand between the products"
    produced = {op.results[0] for op in (scores, *steps)}
    for op in steps:
        for value in op.operands:
            if value not in produced and side_kind(value, scores.result) is None:
                return f"a mask of shape {list(shape_of(value))} does not lie along rows or keys"
            if op.results[0].type != scores.result.type:
                return "a step changes the shape of the scores"
    return None


def fuse_block(block: Block, context: RewriteContext) -> None:
    """Every softmax between two products. Linear."""
    for softmax in [op for op in block.ops if isinstance(op, SoftmaxOp)]:
        result = single_user(softmax.result)
        before = scores_behind(softmax.x, softmax)
        if not isinstance(result, MatmulOp) or result.a is not softmax.result or before is None:
            continue
        scores, *steps = before
        assert isinstance(scores, MatmulOp)
        reason = hindrance(scores, steps, softmax, result)
        if reason is not None:
            missed("Attention", softmax, f"no attention kernel: {reason}")
            continue
        with context.rewrite("fuse-attention", [result]) as rewriter:
            gather(rewriter, [scores, *steps, softmax, result], scores)


@dataclass(frozen=True)
class FuseAttention(GePass):
    """One walk; operators keep their meaning and their order."""

    name = "fuse-attention"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            fuse_block(block, context)
