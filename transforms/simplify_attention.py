"""Bring attention as exporters write it to the form that `fuse-attention` takes: product, scale, mask, softmax, product.

    %q1 = ge.mul %q, %c : ...                              // a scale on queries and keys
    %s = ge.matmul %q1, %k {transpose_b = true} : ...
    %0 = ge.softmax %s : ...
    %1 = ge.compare %0, %0 {predicate = "ne"} : ...        // a guard against rows without any key
    %2 = ge.select %1, %zero, %0 : ...
    %y = ge.matmul %2, %v : ...
    // becomes
    %s = ge.matmul %q, %k {transpose_b = true} : ...
    %0 = ge.mul %s, %c : ...
    %1 = ge.softmax %0 : ...
    %y = ge.matmul %1, %v : ...

Also masks that choose between a score and a number, keys and values that are repeated for a group of heads, and
reshapes of the batch between the products, around which windows add their masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, BinaryOp, DivOp, MulOp
from graph_engine.dialects.ge.heads import SplitHeadsOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.ge.repetition import ExpandOp
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.dialects.ge.upsampling import repetitions
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fuse_attention import STEPS
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.ge_canonicalize import MergeReshapes
from graph_engine.transforms.masks import ABSORBING
from graph_engine.transforms.no_ops import RemoveSameShapeReshape
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import Known, cast_to, computed, elementwise, filled, in_shape, known, reshaped
from graph_engine.transforms.remarks import missed

Roots = tuple[type[Operation], ...]


class DropNanGuard(Pattern):
    """select(p != p, 0, p) -> p for a softmax p, in each of whose rows some key is not masked by -inf.

    Finite scores make nan of a row that is -inf throughout, and of no other.
    """

    name = "drop-nan-guard"
    root: ClassVar[Roots] = (SelectOp,)

    def rewrite(self, op: SelectOp, rewriter: CountedRewriter) -> bool:
        softmax, test, zero = op.y.owner, op.condition.owner, known(op.x)
        if isinstance(softmax, ReshapeOp):
            softmax = softmax.x.owner
        if not isinstance(softmax, SoftmaxOp) or not isinstance(test, CompareOp) or op.result.type != op.y.type:
            return False
        if test.predicate.data != "ne" or any(value is not op.y for value in test.operands):
            return False
        if zero is None or zero.elements != 1 or zero.numbers().item() != 0:
            return False
        sides = sides_behind(softmax.x, softmax)
        if sides is None:
            return False
        infinite = [value for value in sides if not finite_somewhere(value, everywhere=True)]
        if len(infinite) > 1 or not all(map(finite_somewhere, infinite)):
            missed("Attention", op, "the guard against nan stays: a mask may be -inf for all keys of a row")
            return False
        rewriter.replace(op, [], [op.y])
        return True


MOST_BETWEEN = 12
"""Operators looked at between two that belong together: graphs may have chains of thousands."""


def sides_behind(value: SSAValue, user: Operation, left: int = MOST_BETWEEN) -> list[SSAValue] | None:
    """What elementwise operators do to scores on their way from the product to `user`: their other operands.

    Reshapes may stand in between. None if `value` does not come from a product, for `user` alone.
    """
    op = value.owner
    if single_user(value) is not user or not isinstance(op, Operation) or not left:
        return None
    if isinstance(op, MatmulOp):
        return []
    if isinstance(op, ReshapeOp):
        return sides_behind(op.x, op, left - 1)
    if isinstance(op, STEPS):
        for operand in op.operands:
            if operand.type == value.type and (before := sides_behind(operand, op, left - 1)) is not None:
                return [*before, *(other for other in op.operands if other is not operand)]
    return None


def finite_somewhere(mask: SSAValue, *, everywhere: bool = False) -> bool:
    """Whether a mask is known to be finite for some key of every row, or for all keys."""
    import numpy as np

    owner = mask.owner
    if isinstance(owner, ExpandOp | ReshapeOp):
        rows_stay = shape_of(owner.x)[-1:] == shape_of(mask)[-1:]
        return finite_somewhere(owner.x, everywhere=everywhere or not rows_stay)
    if isinstance(owner, SelectOp):
        return finite_somewhere(owner.x, everywhere=True) and finite_somewhere(owner.y, everywhere=True)
    constant = known(mask)
    if constant is None:
        return False
    finite = np.isfinite(np.atleast_1d(constant.numbers()))
    return bool(finite.all() if everywhere else finite.any(axis=-1).all())


class MaskOfSelect(Pattern):
    """select(m, s, c) -> add(s, select(m, 0, c)) for scores s and a number c that no score is seen beside.

    The new mask is as large as m, often smaller than the scores, and the same for all layers.
    """

    name = "mask-of-select"
    root: ClassVar[Roots] = (SelectOp,)

    def rewrite(self, op: SelectOp, rewriter: CountedRewriter) -> bool:
        if not feeds_softmax(op.result):
            return False
        for scores, number in ((op.x, op.y), (op.y, op.x)):
            low = known(number)
            if scores.type != op.result.type or low is None or low.elements != 1 or sides_behind(scores, op) is None:
                continue
            if low.numbers().item() > -ABSORBING:
                return False
            made = _mask(op.condition, reshaped(low, ()), keep=scores is op.x)
            rewriter.replace(op, [*made, AddOp(scores, made[-1].results[0], result_type=op.result.type)])
            return True
        return False


def _mask(condition: SSAValue, low: Known, *, keep: bool) -> list[Operation]:
    """0 where the condition is `keep`, else `low`: a constant if the condition is one."""
    zero = cast_to(filled(0.0, ()), low.type.element_type)
    chosen, constant = ((zero, low) if keep else (low, zero)), known(condition)
    if constant is not None:
        mask_type = tensor_type(constant.shape, low.type.element_type)
        return [computed("ge.select", [constant, *chosen], mask_type).op()]
    numbers = [number.op() for number in chosen]
    return [*numbers, SelectOp(condition, *(number.result for number in numbers))]


def feeds_softmax(value: SSAValue) -> bool:
    """Whether nothing but elementwise operators, choices and reshapes stands between a value and a softmax."""
    user = single_user(value)
    for _ in range(MOST_BETWEEN):
        if not isinstance(user, (*STEPS, SelectOp, ReshapeOp)):
            break
        user = single_user(user.results[0])
    return isinstance(user, SoftmaxOp)


class ScaleBehindScores(Pattern):
    """matmul(q * c, k * d) -> matmul(q, k) * (c * d) for numbers c and d: two tasks less.

    Where the scale can go into the weights that make q or k it is left to do so.
    """

    name = "scale-behind-scores"
    root: ClassVar[Roots] = (MatmulOp,)

    def rewrite(self, op: MatmulOp, rewriter: CountedRewriter) -> bool:
        if op.bias is not None or not feeds_softmax(op.result):
            return False
        scales = [found for side in (op.a, op.b) if (found := scale_behind(side, op)) is not None]
        if not scales:
            return False
        factor = reshaped(scales[0][1], ())
        for _, number in scales[1:]:
            factor = elementwise("ge.mul", factor, reshaped(number, ()))
        constant = factor.op()
        product = MatmulOp.create(operands=list(op.operands), result_types=op.result_types, properties=op.properties)
        rewriter.replace(op, [constant, product, MulOp(product.result, constant.result, result_type=op.result.type)])
        for scale, _ in scales:
            rewriter.replace(scale, [], [scaled_operand(scale)])
        return True


def scale_behind(value: SSAValue, user: Operation) -> tuple[BinaryOp, Known] | None:
    """The operator that multiplies `value` by a number for `user` alone, and the number; views may stand behind it."""
    op = value.owner
    if single_user(value) is not user:
        return None
    if isinstance(op, ReshapeOp | SplitHeadsOp | TransposeOp):
        return scale_behind(op.x, op)
    if not isinstance(op, MulOp | DivOp):
        return None
    scaled = scaled_operand(op)
    number = known(op.other(scaled))
    if number is None or number.elements != 1 or scaled.type != value.type or joins_weights(scaled, op):
        return None
    return op, number if isinstance(op, MulOp) else elementwise("ge.div", one_like(number), number)


def scaled_operand(op: BinaryOp) -> SSAValue:
    """The operand that is as large as the result."""
    return op.lhs if isinstance(op, DivOp) or op.lhs.type == op.result.type else op.rhs


def one_like(number: Known) -> Known:
    """1 in the type of `number`."""
    return cast_to(filled(1.0, number.shape), number.type.element_type)


def joins_weights(value: SSAValue, user: Operation, left: int = MOST_BETWEEN) -> bool:
    """Whether `value` is a product with constant weights, perhaps with a bias, for `user` alone: a scale joins them."""
    op = value.owner
    if single_user(value) is not user or not left:
        return False
    if isinstance(op, MatmulOp):
        return known(op.b) is not None
    if isinstance(op, ReshapeOp):
        return joins_weights(op.x, op, left - 1)
    return isinstance(op, AddOp) and any(joins_weights(side, op, left - 1) for side in op.operands)


class ShareHeads(Pattern):
    """matmul(q, repeat(k)) -> reshape(matmul(reshape(q), k)): a group of query heads reads one head of keys or values."""

    name = "share-heads"
    root: ClassVar[Roots] = (MatmulOp,)

    def rewrite(self, op: MatmulOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.result)
        found = repeated_heads(op.b)
        if found is None or op.bias is not None or shape_of(op.a)[:-2] != shape[:-2] or DYNAMIC in shape:
            return False
        source, own, batch = found
        heads = ReshapeOp(source, shape=(*own, *shape_of(op.b)[-2:]))
        queries = ReshapeOp(op.a, shape=(*batch, *shape_of(op.a)[-2:]))
        product = MatmulOp(
            queries.result,
            heads.result,
            transpose_a=bool(op.transpose_a.value.data),
            transpose_b=bool(op.transpose_b.value.data),
        )
        rewriter.replace(op, [heads, queries, product, ReshapeOp(product.result, shape=shape)])
        return True


def repeated_heads(value: SSAValue) -> tuple[SSAValue, tuple[int, ...], tuple[int, ...]] | None:
    """What is repeated along the last batch axis, batch axes to read it with, and the same behind the repetition."""
    matrix = shape_of(value)[-2:]
    op = value.owner
    while isinstance(op, ReshapeOp):
        op = op.x.owner
    if isinstance(op, ResizeOp) and (times := repetitions(op)) is not None:
        *batch, heads = shape_of(op.x)[:-2]
        if times[-3] == 1 or prod(times) != times[-3]:
            return None
        own, batch = (*batch, heads, 1), (*batch, heads, times[-3])
    elif isinstance(op, ExpandOp) and len(shape_of(op.x)) == len(shape_of(op.result)) > 2:
        own, batch = shape_of(op.x)[:-2], shape_of(op.result)[:-2]
        if own[:-1] != batch[:-1] or own[-1] != 1:
            return None
    else:
        return None
    return (op.x, own, batch) if shape_of(op.result)[-2:] == matrix == shape_of(op.x)[-2:] else None


class SinkBatchReshape(Pattern):
    """f(reshape(s), mask) -> reshape(f(s, reshape(mask))) for scores s whose matrices the reshape keeps."""

    name = "sink-batch-reshape"
    root: ClassVar[Roots] = (*STEPS, SoftmaxOp)

    def rewrite(self, op: BinaryOp | SoftmaxOp, rewriter: CountedRewriter) -> bool:
        for value in op.operands:
            reshape = value.owner
            if (
                not isinstance(reshape, ReshapeOp)
                or sides_behind(value, op) is None
                or value.type != op.results[0].type
            ):
                continue
            source, target = shape_of(reshape.x), shape_of(value)
            if DYNAMIC in (*source, *target) or len(source) < 3 or source[-2:] != target[-2:]:
                continue
            if not isinstance(op, SoftmaxOp) and not feeds_softmax(op.result):
                continue
            made: list[Operation] = []
            operands: list[SSAValue] = []
            for other in op.operands:
                if other is value:
                    operands.append(reshape.x)
                elif prod(shape_of(other)) == 1:
                    operands.append(other)
                else:
                    shape = (1,) * (len(target) - len(shape_of(other))) + shape_of(other)
                    batch = regrouped(shape[:-2], target[:-2], source[:-2])
                    if batch is None:
                        return False
                    made.append(in_shape(other, (*batch, *shape[-2:])))
                    operands.append(made[-1].results[0])
            if isinstance(op, SoftmaxOp):
                if op.axis.value.data % len(target) != len(target) - 1:
                    return False
                moved: Operation = SoftmaxOp(reshape.x, axis=len(source) - 1)
            else:
                moved = type(op).create(operands=operands, result_types=[reshape.x.type], properties=op.properties)
            rewriter.replace(op, [*made, moved, ReshapeOp(moved.results[0], shape=target)])
            return True
        return False


def regrouped(side: tuple[int, ...], target: tuple[int, ...], source: tuple[int, ...]) -> tuple[int, ...] | None:
    """The batch `side`, which broadcasts onto `target`, as one that broadcasts onto `source` (as many matrices)."""
    result: list[int] = []
    t = s = 0
    while t < len(target) or s < len(source):
        t_end, s_end = min(t + 1, len(target)), min(s + 1, len(source))
        while (left := prod(target[t:t_end])) != (right := prod(source[s:s_end])):
            if left < right:
                t_end += 1
            else:
                s_end += 1
        if prod(side[t:t_end]) == 1:
            result += [1] * (s_end - s)
        elif side[t:t_end] == target[t:t_end]:
            result += source[s:s_end]
        else:
            return None
        t, s = t_end, s_end
    return tuple(result)


class SinkBatchReshapeThroughProduct(Pattern):
    """matmul(reshape(p), v) -> reshape(matmul(p, reshape(v))) for weights p whose matrices the reshape keeps."""

    name = "sink-batch-reshape-through-product"
    root: ClassVar[Roots] = (MatmulOp,)

    def rewrite(self, op: MatmulOp, rewriter: CountedRewriter) -> bool:
        reshape = op.a.owner
        if not isinstance(reshape, ReshapeOp) or op.bias is not None or single_user(op.a) is not op:
            return False
        source, target, values = shape_of(reshape.x), shape_of(op.a), shape_of(op.b)
        if not isinstance(reshape.x.owner, SoftmaxOp) or source[-2:] != target[-2:] or DYNAMIC in (*source, *values):
            return False
        if shape_of(op.result)[:-2] != target[:-2] or single_user(reshape.x) is not reshape:
            return False
        batch = regrouped((1,) * (len(target) - len(values)) + values[:-2], target[:-2], source[:-2])
        if batch is None:
            return False
        heads = ReshapeOp(op.b, shape=(*batch, *values[-2:]))
        flags = [bool(flag.value.data) for flag in (op.transpose_a, op.transpose_b)]
        product = MatmulOp(reshape.x, heads.result, transpose_a=flags[0], transpose_b=flags[1])
        rewriter.replace(op, [heads, product, ReshapeOp(product.result, shape=shape_of(op.result))])
        return True


PATTERNS = (
    RemoveSameShapeReshape,
    MergeReshapes,
    DropNanGuard,
    MaskOfSelect,
    ScaleBehindScores,
    ShareHeads,
    SinkBatchReshape,
    SinkBatchReshapeThroughProduct,
)


@dataclass(frozen=True)
class SimplifyAttention(GePass):
    """All patterns until none applies, in front of `fuse-attention`."""

    name = "simplify-attention"
    numerics = ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [pattern() for pattern in PATTERNS])
