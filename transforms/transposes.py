"""Transposes in their plainest form, part of `ge-canonicalize`: exporters write them over axes that carry nothing.

%0 = ge.reshape %x {shape = [1, 197, 1, 3, 768]} : (tensor<197x2304xf32>) -> ...
%1 = ge.transpose %0 {perm = [3, 1, 2, 0, 4]} : ...
// becomes
%0 = ge.reshape %x {shape = [197, 3, 768]} : ...
%1 = ge.transpose %0 {perm = [1, 0, 2]} : ...
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.ir import Operation

from graph_engine.dialects.ge.core import DYNAMIC, Trait, shape_of
from graph_engine.dialects.ge.elementwise import BinaryOp, UnaryOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern
from graph_engine.transforms.fusion import single_user

Roots = tuple[type[Operation], ...]

IMAGES = ((0, 2, 3, 1), (0, 3, 1, 2))
"""NCHW to NHWC and back: later passes turn these into formats."""


class NormaliseTranspose(Pattern):
    """A transpose next to a reshape loses axes of extent 1, and axes that move together become one."""

    name = "normalise-transpose"
    root: ClassVar[Roots] = (TransposeOp,)

    def rewrite(self, op: TransposeOp, rewriter: CountedRewriter) -> bool:
        shape, perm = shape_of(op.x), op.ints("perm")
        reshaped = isinstance(op.x.owner, ReshapeOp) or all(isinstance(u.operation, ReshapeOp) for u in op.result.uses)
        if DYNAMIC in shape or not reshaped or perm in IMAGES:
            return False
        runs: list[list[int]] = []
        for axis in perm:
            if shape[axis] == 1:
                continue
            behind = runs and all(shape[a] == 1 for a in range(runs[-1][-1] + 1, axis)) and axis > runs[-1][-1]
            if behind:
                runs[-1].append(axis)
            else:
                runs.append([axis])
        if len(runs) == len(shape) or len(runs) < 2:
            return False
        order = sorted(range(len(runs)), key=lambda run: runs[run][0])
        plain = ReshapeOp(op.x, shape=[prod(shape[a] for a in runs[run]) for run in order])
        moved = TransposeOp(plain.result, perm=[order.index(run) for run in range(len(runs))])
        rewriter.replace(op, [plain, moved, ReshapeOp(moved.result, shape=shape_of(op.result))])
        return True


class LiftScalarOverTranspose(Pattern):
    """f(transpose(x)) -> transpose(f(x)) in front of a matrix product, which can then read its side transposed.

    f is elementwise and its other operands are single numbers; a reshape may stand between the two.
    """

    name = "lift-scalar-over-transpose"
    root: ClassVar[Roots] = (UnaryOp, BinaryOp)

    def rewrite(self, op: UnaryOp | BinaryOp, rewriter: CountedRewriter) -> bool:
        if Trait.ELEMENTWISE not in op.traits_ge or not isinstance(single_user(op.result), MatmulOp):
            return False
        for index, value in enumerate(op.operands):
            reshape, transpose = None, value.owner
            if isinstance(transpose, ReshapeOp):
                reshape, transpose = transpose, transpose.x.owner
            if not isinstance(transpose, TransposeOp) or value.type != op.result.type:
                continue
            alone = single_user(value) is op and (reshape is None or single_user(transpose.result) is reshape)
            others = [shape_of(other) for i, other in enumerate(op.operands) if i != index]
            if not alone or any(prod(shape) != 1 or len(shape) > len(shape_of(transpose.x)) for shape in others):
                continue
            operands = [transpose.x if i == index else other for i, other in enumerate(op.operands)]
            lifted = type(op).create(operands=operands, result_types=[transpose.x.type], properties=op.properties)
            made: list[Operation] = [lifted, TransposeOp(lifted.results[0], perm=transpose.ints("perm"))]
            if reshape is not None:
                made.append(ReshapeOp(made[-1].results[0], shape=reshape.ints("shape")))
            rewriter.replace(op, made)
            return True
        return False


TRANSPOSES = (NormaliseTranspose, LiftScalarOverTranspose)
