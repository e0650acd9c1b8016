"""Operators that repeat elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import DYNAMIC, TENSOR, GeOp, Tensor, Trait, shape_of, shape_text, typed
from graph_engine.dialects.ge.elementwise import broadcast_shapes
from graph_engine.dialects.ge.interning import ints_attr
from graph_engine.dialects.ge.properties import ints_prop


@irdl_op_definition
class ExpandOp(GeOp):
    """x broadcast, as numpy does, with a tensor of `shape` (ONNX Expand): an extent of 1 there keeps the one of x."""

    name = "ge.expand"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    shape = ints_prop()

    def __init__(self, x: SSAValue | Operation, *, shape: Sequence[int], result_type: Tensor | None = None):
        self.init((x,), {"shape": ints_attr(shape)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = broadcast_shapes(shape_of(self.x), self.ints("shape"))
        if shape is None or min(self.ints("shape"), default=0) < 0:
            raise self.fail(f"{shape_text(shape_of(self.x))} does not broadcast with shape {list(self.ints('shape'))}")
        return typed(shape, self.x)


@irdl_op_definition
class TileOp(GeOp):
    """x `repeats`[i] times one after another along axis i (ONNX Tile)."""

    name = "ge.tile"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    repeats = ints_prop()

    def __init__(self, x: SSAValue | Operation, *, repeats: Sequence[int], result_type: Tensor | None = None):
        self.init((x,), {"repeats": ints_attr(repeats)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = shape_of(self.x)
        repeats = self.require_length("repeats", len(shape))
        if min(repeats, default=0) < 0:
            raise self.fail(f"repeats {list(repeats)} must not be negative")
        return typed([DYNAMIC if d == DYNAMIC else d * n for d, n in zip(shape, repeats, strict=True)], self.x)


REPETITION = [ExpandOp, TileOp]
