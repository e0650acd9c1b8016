"""Reductions along given axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import TENSOR, Cost, GeOp, Tensor, Trait, bytes_of, elements_of, shape_of, typed
from graph_engine.dialects.ge.interning import bool_attr, int_attr, ints_attr, tensor_type
from graph_engine.dialects.ge.properties import bool_prop, int_prop, ints_prop


class ReduceOp(GeOp):
    """Combines all elements along `axes` (negative ones count from the back), which stay as extent 1 if `keepdims`.

    No axes: every element by itself. Sums are kept in fp32 at least and rounded once.
    """

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
        return Cost(0, self.VECTOR_OPS * elements_of(self.x), bytes_of(self.x), bytes_of(self.result))


@irdl_op_definition
class ReduceMeanOp(ReduceOp):
    """Arithmetic mean; nan of nothing."""

    name = "ge.reduce_mean"


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """Sum; 0 of nothing."""

    name = "ge.reduce_sum"


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """Largest element; of nothing the smallest number (-inf)."""

    name = "ge.reduce_max"


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """Smallest element; of nothing the largest number (inf)."""

    name = "ge.reduce_min"


@irdl_op_definition
class ReduceProdOp(ReduceOp):
    """Product; 1 of nothing."""

    name = "ge.reduce_prod"


@irdl_op_definition
class ReduceSumSquareOp(ReduceOp):
    """Sum of squares, none of which is rounded to x's element type."""

    name = "ge.reduce_sum_square"
    VECTOR_OPS: ClassVar[int] = 2


@irdl_op_definition
class ReduceL2Op(ReduceOp):
    """Square root of the sum of squares, which is not rounded to x's element type."""

    name = "ge.reduce_l2"
    VECTOR_OPS: ClassVar[int] = 2


@irdl_op_definition
class ReduceLogSumExpOp(ReduceOp):
    """ln(sum of exp(x)), the maximum taken out first so that nothing overflows; -inf of nothing."""

    name = "ge.reduce_log_sum_exp"
    VECTOR_OPS: ClassVar[int] = 4


class ArgReduceOp(GeOp):
    """The place (i64) of an extreme element along `axis`: the first one, or the last one if `select_last`."""

    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.REDUCTION})

    x = operand_def(TENSOR)
    axis = int_prop(0)
    keepdims = bool_prop(True)
    select_last = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        axis: int = 0,
        keepdims: bool = True,
        select_last: bool = False,
        result_type: Tensor | None = None,
    ):
        properties = {
            "axis": int_attr(axis),
            "keepdims": bool_attr(keepdims),
            "select_last": bool_attr(select_last),
        }
        self.init((x,), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = shape_of(self.x)
        axis = self.axis_in(self.axis.value.data, len(shape))
        kept = (1,) if self.keepdims.value.data else ()
        return (tensor_type((*shape[:axis], *kept, *shape[axis + 1 :]), "i64"),)

    def cost(self) -> Cost:
        return Cost(0, elements_of(self.x), bytes_of(self.x), bytes_of(self.result))


@irdl_op_definition
class ArgMaxOp(ArgReduceOp):
    """The place of the largest element."""

    name = "ge.arg_max"


@irdl_op_definition
class ArgMinOp(ArgReduceOp):
    """The place of the smallest element."""

    name = "ge.arg_min"


class CumulativeOp(GeOp):
    """y[i] combines x[0..i] along `axis`; without x[i] if `exclusive`, from the end on if `reverse`."""

    x = operand_def(TENSOR)
    axis = int_prop()
    exclusive = bool_prop(False)
    reverse = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        axis: int,
        exclusive: bool = False,
        reverse: bool = False,
        result_type: Tensor | None = None,
    ):
        properties = {"axis": int_attr(axis), "exclusive": bool_attr(exclusive), "reverse": bool_attr(reverse)}
        self.init((x,), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.axis_in(self.axis.value.data, len(shape_of(self.x)))
        return typed(shape_of(self.x), self.x)


@irdl_op_definition
class CumSumOp(CumulativeOp):
    """Sums so far."""

    name = "ge.cum_sum"


@irdl_op_definition
class CumProdOp(CumulativeOp):
    """Products so far."""

    name = "ge.cum_prod"


REDUCTION = [
    ReduceMeanOp,
    ReduceSumOp,
    ReduceMaxOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumSquareOp,
    ReduceL2Op,
    ReduceLogSumExpOp,
    ArgMaxOp,
    ArgMinOp,
    CumSumOp,
    CumProdOp,
]
