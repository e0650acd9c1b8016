"""Remove operators that change nothing, merge runs of shape operators and of casts, drop dead code.

%0 = ge.reshape %x {shape = [2, 12]} : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
%1 = ge.reshape %0 {shape = [24]} : (tensor<2x12xf32>) -> tensor<24xf32>
// becomes
%1 = ge.reshape %x {shape = [24]} : (tensor<2x3x4xf32>) -> tensor<24xf32>
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Trait, element_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, BinaryOp, UnaryOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.reduction import ReduceOp
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.transforms.cuts_and_joins import CUTS_AND_JOINS
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns, select_patterns
from graph_engine.transforms.fold_pads import FOLD_PADS
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.lift_slice import LiftSliceOverReshape
from graph_engine.transforms.no_ops import NO_OPS
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.recipes import known, per_channel, reshaped, spread
from graph_engine.transforms.transposes import TRANSPOSES

Roots = tuple[type[Operation], ...]


class MergeReshapes(Pattern):
    """reshape(reshape(x)) -> reshape(x): the target has no copied extents, so only the last one counts."""

    name = "merge-reshapes"
    root: ClassVar[Roots] = (ReshapeOp,)

    def rewrite(self, op: ReshapeOp, rewriter: CountedRewriter) -> bool:
        inner = op.x.owner
        if not isinstance(inner, ReshapeOp):
            return False
        rewriter.replace(op, ReshapeOp(inner.x, shape=op.ints("shape"), result_type=op.result.type))
        return True


class MergeTransposes(Pattern):
    """transpose(transpose(x)) -> one transpose by the composed permutation."""

    name = "merge-transposes"
    root: ClassVar[Roots] = (TransposeOp,)

    def rewrite(self, op: TransposeOp, rewriter: CountedRewriter) -> bool:
        inner = op.x.owner
        if not isinstance(inner, TransposeOp):
            return False
        first = inner.ints("perm")
        perm = [first[axis] for axis in op.ints("perm")]
        rewriter.replace(op, TransposeOp(inner.x, perm=perm, result_type=op.result.type))
        return True


class TransposeToReshape(Pattern):
    """A transpose that only moves axes of extent 1 leaves the order of the elements: a view."""

    name = "transpose-to-reshape"
    root: ClassVar[Roots] = (TransposeOp,)

    def rewrite(self, op: TransposeOp, rewriter: CountedRewriter) -> bool:
        shape, perm = shape_of(op.x), op.ints("perm")
        moved = [axis for axis in perm if shape[axis] != 1]
        if DYNAMIC in shape or moved != sorted(moved) or list(perm) == sorted(perm):
            return False
        rewriter.replace(op, ReshapeOp(op.x, shape=shape_of(op.result), result_type=op.result.type))
        return True


class LiftElementwiseOverReshape(Pattern):
    """reshape(f(reshape(x))) -> reshape(reshape(f(x))) for an elementwise f, likewise in front of a transpose.

    The other operands of f are single numbers, or rows where the reshape keeps the columns. Only where reshapes or
    transposes read the result and nothing else reads the inner reshape: they merge then.
    """

    name = "lift-elementwise-over-reshape"
    root: ClassVar[Roots] = (UnaryOp, BinaryOp)

    def rewrite(self, op: UnaryOp | BinaryOp, rewriter: CountedRewriter) -> bool:
        users = [use.operation for use in op.result.uses]
        if (
            Trait.ELEMENTWISE not in op.traits_ge
            or not users
            or not all(isinstance(u, ReshapeOp | TransposeOp) for u in users)
        ):
            return False
        for index, value in enumerate(op.operands):
            inner = value.owner
            if not isinstance(inner, ReshapeOp) or single_user(value) is not op:
                continue
            others = [shape_of(other) for other in (*op.operands[:index], *op.operands[index + 1 :])]
            ends = shape_of(inner.x), shape_of(op.result)
            if value.type != op.result.type or not all(_repeats_alike(shape, *ends) for shape in others):
                continue
            operands = [*op.operands[:index], inner.x, *op.operands[index + 1 :]]
            lifted = type(op).create(operands=operands, result_types=[inner.x.type], properties=op.properties)
            shape = ReshapeOp(lifted.results[0], shape=inner.ints("shape"), result_type=op.result.type)
            rewriter.replace(op, [lifted, shape])
            return True
        return False


def _repeats_alike(shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether an operand of `shape` is one number, or one row of the columns that `source` and `target` share."""
    if len(shape) > len(source) or DYNAMIC in shape:
        return False
    return prod(shape) == 1 or (prod(shape) == shape[-1] and source[-1:] == target[-1:] == shape[-1:])


class AlignConstantRank(Pattern):
    """A constant of lower rank in a broadcast gets leading ones, so that its axes are those of the feature map."""

    name = "align-constant-rank"
    root: ClassVar[Roots] = (BinaryOp,)

    def rewrite(self, op: BinaryOp, rewriter: CountedRewriter) -> bool:
        rank = len(shape_of(op.result))
        for index, value in enumerate(op.operands):
            constant = known(value)
            if constant is None or rank != 4 or len(constant.shape) == rank or constant.elements == 1:
                continue
            aligned = reshaped(constant, (1,) * (rank - len(constant.shape)) + constant.shape).op()
            operands = list(op.operands)
            operands[index] = aligned.result
            new = type(op).create(operands=operands, result_types=op.result_types, properties=op.properties)
            rewriter.replace(op, [aligned, new])
            return True
        return False


class MatmulBiasToVector(Pattern):
    """A constant bias that varies along the columns only becomes a vector [N], which the Cube's kernel adds."""

    name = "matmul-bias-to-vector"
    root: ClassVar[Roots] = (MatmulOp,)

    def rewrite(self, op: MatmulOp, rewriter: CountedRewriter) -> bool:
        columns = shape_of(op.result)[-1:]
        vector = per_channel(known(op.bias), op.result, axis=len(shape_of(op.result)) - 1)
        if vector is None or op.bias is None or shape_of(op.bias) == columns:
            return False
        constant = spread(vector, columns).op()
        operands = [op.a, op.b, constant.result]
        new = MatmulOp.create(operands=operands, result_types=op.result_types, properties=op.properties)
        rewriter.replace(op, [constant, new])
        return True


class SplitMatmulBias(Pattern):
    """matmul(a, b, c) -> add(matmul(a, b), c) where c is no vector [N]: the Cube's kernel has no place for it."""

    name = "split-matmul-bias"
    root: ClassVar[Roots] = (MatmulOp,)

    def rewrite(self, op: MatmulOp, rewriter: CountedRewriter) -> bool:
        if op.bias is None or len(shape_of(op.bias)) == 1 or element_of(op.bias) != element_of(op.a):
            return False
        plain = MatmulOp.create(operands=[op.a, op.b], result_types=op.result_types, properties=op.properties)
        rewriter.replace(op, [plain, AddOp(plain, op.bias, result_type=op.result.type)])
        return True


class RemoveDead(Pattern):
    """An operator without effects whose results nobody uses."""

    name = "remove-dead"
    root: ClassVar[Roots] = (GeOp, FusedOp)

    def rewrite(self, op: Operation, rewriter: CountedRewriter) -> bool:
        if not is_trivially_dead(op):
            return False
        rewriter.erase(op)
        return True


class KeepReducedPixels(Pattern):
    """A reduction of the last two of four axes keeps them as one pixel, in front of a view that drops it."""

    name = "keep-reduced-pixels"
    root: ClassVar[Roots] = (ReduceOp,)

    def rewrite(self, op: ReduceOp, rewriter: CountedRewriter) -> bool:
        shape = shape_of(op.x)
        if op.keepdims.value.data or len(shape) != 4 or sorted(axis % 4 for axis in op.ints("axes")) != [2, 3]:
            return False
        if DYNAMIC in shape[:2]:
            return False
        pixel = type(op)(op.x, axes=op.ints("axes"))
        rewriter.replace(op, [pixel, ReshapeOp(pixel, shape=shape[:2], result_type=op.result.type)])
        return True


PATTERNS = (
    RemoveDead,
    *NO_OPS,
    MergeReshapes,
    MergeTransposes,
    TransposeToReshape,
    *TRANSPOSES,
    LiftElementwiseOverReshape,
    LiftSliceOverReshape,
    *CUTS_AND_JOINS,
    *FOLD_PADS,
    AlignConstantRank,
    MatmulBiasToVector,
    SplitMatmulBias,
    KeepReducedPixels,
)


@dataclass(frozen=True)
class GeCanonicalize(GePass):
    """Applies the patterns in one shared walk until none matches."""

    name = "ge-canonicalize"
    numerics = EXACT

    only: tuple[str, ...] = field(
        default=(), metadata={"help": "apply no patterns but these, e.g. only=remove-zero-pad"}
    )
    skip: tuple[str, ...] = field(default=(), metadata={"help": "leave these patterns out"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, select_patterns(PATTERNS, self.only, self.skip))
