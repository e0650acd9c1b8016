"""Reductions along given axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import (
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    Trait,
    bool_prop,
    bytes_of,
    elements_of,
    ints_prop,
    shape_of,
    typed,
)
from graph_engine.dialects.ge.interning import bool_attr, ints_attr


class ReduceOp(GeOp):
    """Combines all elements along `axes` (negative ones count from the back), which stay as extent 1 if `keepdims`."""

    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.REDUCTION})

    x = operand_def(TENSOR)
    axes = ints_prop()
    keepdims = bool_prop(True)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        axes: Sequence[int],
        keepdims: bool = True,
        result_type: Tensor | None = None,
    ):
        self.init((x,), {"axes": ints_attr(axes), "keepdims": bool_attr(keepdims)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = shape_of(self.x)
        axes = [self.axis_in(axis, len(shape)) for axis in self.ints("axes")]
        if len(set(axes)) != len(axes):
            raise self.fail(f"axes {list(self.ints('axes'))} name one axis twice ({self.operand_shapes()})")
        kept = (1,) if self.keepdims.value.data else ()
        return typed([d for i, dim in enumerate(shape) for d in (kept if i in axes else (dim,))], self.x)

    def cost(self) -> Cost:
        return Cost(0, elements_of(self.x), bytes_of(self.x), bytes_of(self.result))


@irdl_op_definition
class ReduceMeanOp(ReduceOp):
    """Arithmetic mean."""

    name = "ge.reduce_mean"


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """Sum."""

    name = "ge.reduce_sum"


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """Largest element."""

    name = "ge.reduce_max"


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """Smallest element."""

    name = "ge.reduce_min"


REDUCTION = [ReduceMeanOp, ReduceSumOp, ReduceMaxOp, ReduceMinOp]
