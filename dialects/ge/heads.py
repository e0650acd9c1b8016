"""Matrices cut into the heads of attention and joined again, a transposition to the reader, none to the memory; and the
rotation of their columns by the place of each row.

FRACTAL_NZ stores a matrix in columns of blocks, so the heads of [S, H * D] lie one behind the other as those of
[H, S, D] do, where D is a multiple of the block. As reshape and transpose the pair would move every element.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    GeOp,
    Tensor,
    Trait,
    shape_of,
    shape_text,
    shapes_agree,
    typed,
)
from graph_engine.dialects.ge.elementwise import broadcast_shapes
from graph_engine.dialects.ge.interning import int_attr
from graph_engine.dialects.ge.properties import int_prop


@irdl_op_definition
class SplitHeadsOp(GeOp):
    """x[..., S, H * D] as [..., H, S, D]."""

    name = "ge.split_heads"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    heads = int_prop()

    def __init__(self, x: SSAValue | Operation, *, heads: int, result_type: Tensor | None = None):
        self.init((x,), {"heads": int_attr(heads)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape, heads = shape_of(self.x), self.heads.value.data
        if len(shape) < 2 or heads < 1 or (shape[-1] != DYNAMIC and shape[-1] % heads):
            raise self.fail(f"the columns of {shape_text(shape)} do not fall into {heads} heads")
        *batch, rows, columns = shape
        return typed([*batch, heads, rows, columns // heads if columns != DYNAMIC else DYNAMIC], self.x)


@irdl_op_definition
class MergeHeadsOp(GeOp):
    """x[..., H, S, D] as [..., S, H * D]."""

    name = "ge.merge_heads"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)

    def __init__(self, x: SSAValue | Operation, *, result_type: Tensor | None = None):
        self.init((x,), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if len(shape_of(self.x)) < 3:
            raise self.fail(f"{shape_text(shape_of(self.x))} has no axis of heads")
        *batch, heads, rows, columns = shape_of(self.x)
        joined = DYNAMIC if DYNAMIC in (heads, columns) else heads * columns
        return typed([*batch, rows, joined], self.x)


@irdl_op_definition
class RotaryMulOp(GeOp):
    """x * cos + turned(x) * sin, where turned(x) is the right half of the columns with its sign changed, then the left.

    x[..., S, D] with an even D; cos and sin broadcast onto it (rotary position embedding, GE's RotaryMul).
    """

    name = "ge.rotary_mul"
    VECTOR_OPS: ClassVar[int] = 4

    x = operand_def(TENSOR)
    cos = operand_def(TENSOR)
    sin = operand_def(TENSOR)

    def __init__(
        self,
        x: SSAValue | Operation,
        cos: SSAValue | Operation,
        sin: SSAValue | Operation,
        *,
        result_type: Tensor | None = None,
    ):
        self.init((x, cos, sin), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_same_element()
        shape = shape_of(self.x)
        if len(shape) < 2 or (shape[-1] != DYNAMIC and shape[-1] % 2):
            raise self.fail(f"the columns of {shape_text(shape)} do not fall into two halves")
        for side in (self.cos, self.sin):
            onto = broadcast_shapes(shape, shape_of(side))
            if onto is None or not shapes_agree(onto, shape):
                raise self.fail(f"{shape_text(shape_of(side))} does not broadcast onto {shape_text(shape)}")
        return typed(shape, self.x)


HEADS = [SplitHeadsOp, MergeHeadsOp, RotaryMulOp]
