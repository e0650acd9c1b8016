"""Multiply all rows of a batch by one matrix at once, where each matrix of the batch has few rows.

    %y = ge.matmul %x, %w : (tensor<197x1x768xf32>, tensor<768x2304xf32>) -> tensor<197x1x2304xf32>
    // becomes
    %0 = ge.reshape %x {shape = [197, 768]} : ...
    %1 = ge.matmul %0, %w : (tensor<197x768xf32>, tensor<768x2304xf32>) -> tensor<197x2304xf32>
    %y = ge.reshape %1 {shape = [197, 1, 2304]} : ...

The Cube works on 16 rows at a time: a matrix of one row would leave 15 sixteenths of it idle, and be 16 times as large
in FRACTAL_NZ. Where the rows of each matrix are a multiple of 16 nothing is lost, and nothing is done.

Windows of attention (64 of 49 rows in Swin) stay apart where that is cheaper: heads are cut out of each window, and what
was multiplied as one matrix would be repacked on the way to attention and back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, MulOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp, TransposeOp
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.stored_values import FRACTAL_ROWS
from graph_engine.transforms.task_time import copy_us, product_us

STEPS_TO_HEADS = 4
"""Operators between a product and the transposition of its heads at most."""


class FlattenMatmulRows(Pattern):
    """matmul(x, w) of a batch x and one matrix w -> one product of all rows."""

    name = "flatten-matmul-rows"
    root: ClassVar[tuple[type[Operation], ...]] = (MatmulOp,)

    def __init__(self, soc: Soc):
        self.soc = soc

    def rewrite(self, op: MatmulOp, rewriter: CountedRewriter) -> bool:
        left, right, result = shape_of(op.a), shape_of(op.b), shape_of(op.result)
        bias = () if op.bias is None else shape_of(op.bias)
        if len(right) != 2 or len(bias) > 1 or DYNAMIC in (*left, *result) or op.transpose_a.value.data:
            return False
        if prod(left[:-2]) == 1 or left[-2] % FRACTAL_ROWS == 0 or stays_apart(op, self.soc):
            return False
        flat = ReshapeOp(op.a, shape=(prod(left[:-1]), left[-1]))
        product = MatmulOp(flat.result, op.b, op.bias, transpose_b=bool(op.transpose_b.value.data))
        rewriter.replace(op, [flat, product, ReshapeOp(product.result, shape=result)])
        return True


def stays_apart(op: MatmulOp, soc: Soc) -> bool:
    """Whether repacking around attention is expected to take longer than the Cube's work on rows of padding."""
    *batch, rows, k = shape_of(op.a)
    windows, columns = prod(batch), shape_of(op.result)[-1]
    padded = product_us(soc, windows * -(-rows // FRACTAL_ROWS) * FRACTAL_ROWS, k, columns)
    repacked = 0.0
    if _reaches_heads(op.result, windows, rows):
        repacked += 2 * copy_us(soc, windows * rows * columns)
    joined = op.a.owner.x if isinstance(op.a.owner, ReshapeOp) else None
    if joined is not None and isinstance(joined.owner, TransposeOp) and _cuts_windows(shape_of(joined), windows, rows):
        repacked += 2 * copy_us(soc, windows * rows * k)
    return padded - product_us(soc, windows * rows, k, columns) < repacked


def _reaches_heads(value: SSAValue, windows: int, rows: int) -> bool:
    """Whether the columns of each window are cut and transposed, behind biases, scales and slices."""
    reached = [value]
    for _ in range(STEPS_TO_HEADS):
        users = [use.operation for value in reached for use in value.uses]
        if any(isinstance(user, TransposeOp) and _cuts_windows(shape_of(user.x), windows, rows) for user in users):
            return True
        reached = [user.results[0] for user in users if isinstance(user, AddOp | MulOp | ReshapeOp | SliceOp)]
    return False


def _cuts_windows(shape: tuple[int, ...], windows: int, rows: int) -> bool:
    """Whether a shape is that of windows, several rows, and columns in two axes or more."""
    return rows > 1 and any(prod(shape[:i]) == windows and shape[i] == rows for i in range(1, len(shape) - 2))


@dataclass(frozen=True)
class FlattenMatmulRowsPass(GePass):
    """One pattern."""

    name = "flatten-matmul-rows"
    numerics = ROUNDING

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose rates and overheads decide"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FlattenMatmulRows(load_soc(self.soc))])
