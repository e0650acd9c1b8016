"""Places named by index tensors: gathers, scatters and what is made of them. Elements keep their values.

Indices are i32 or i64; a negative one counts from the end of its axis. An index outside its axis is an error of the
model, which the reference reports.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    Trait,
    bytes_of,
    dims_agree,
    element_of,
    elements_of,
    shape_of,
    shape_text,
    shapes_agree,
    typed,
)
from graph_engine.dialects.ge.interning import bool_attr, element_name, int_attr, string_attr
from graph_engine.dialects.ge.properties import bool_prop, int_prop, string_prop

_MOVEMENT = frozenset({Trait.MOVEMENT})
REDUCTIONS = ("none", "add", "mul", "max", "min")
"""How a scatter combines an update with what is there; "none" replaces it."""


class IndexedOp(GeOp):
    """An operator that reads one operand at places that another operand names."""

    TRAITS: ClassVar[frozenset[Trait]] = _MOVEMENT
    VECTOR_OPS: ClassVar[int] = 0

    def require_integer(self, value: SSAValue, what: str = "indices") -> None:
        """Refuses indices of another type than i32 and i64."""
        if (name := element_name(element_of(value))) not in ("i32", "i64"):
            raise self.fail(f"{what} must be i32 or i64, got {name}")


class GatherLikeOp(IndexedOp):
    """A gather reads of its first operand what it writes, not all of it."""

    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)

    def cost(self) -> Cost:
        written = bytes_of(self.results[0])
        return Cost(bytes_read=written + bytes_of(self.operands[1]), bytes_written=written)


class AxisGatherOp(GatherLikeOp):
    """A gather along one axis of x."""

    axis = int_prop(0)

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        *,
        axis: int = 0,
        result_type: Tensor | None = None,
    ):
        self.init((x, indices), {"axis": int_attr(axis)}, result_type)


@irdl_op_definition
class GatherOp(AxisGatherOp):
    """Whole slices of x along `axis`: result[.., i, ..] = x[.., indices[i], ..]; the shape of `indices` replaces `axis`."""

    name = "ge.gather"

    def infer(self) -> tuple[Tensor, ...]:
        self.require_integer(self.indices)
        shape = shape_of(self.x)
        axis = self.axis_in(self.axis.value.data, len(shape))
        return typed([*shape[:axis], *shape_of(self.indices), *shape[axis + 1 :]], self.x)


@irdl_op_definition
class GatherElementsOp(AxisGatherOp):
    """Single elements: result[i, j, k] = x[i, indices[i, j, k], k] for `axis` 1; the result has the shape of `indices`."""

    name = "ge.gather_elements"

    def infer(self) -> tuple[Tensor, ...]:
        self.require_integer(self.indices)
        shape, places = shape_of(self.x), shape_of(self.indices)
        axis = self.axis_in(self.axis.value.data, len(shape))
        if len(shape) != len(places):
            raise self.fail(f"operands {self.operand_shapes()} differ in rank")
        if any(
            DYNAMIC not in (p, s) and p > s for i, (p, s) in enumerate(zip(places, shape, strict=True)) if i != axis
        ):
            raise self.fail(f"indices reach out of x outside axis {axis}: {self.operand_shapes()}")
        return typed(places, self.x)


@irdl_op_definition
class GatherNdOp(GatherLikeOp):
    """Slices at coordinates: the last axis of `indices` holds coordinates of the axes of x behind the first `batch_dims`.

    The first `batch_dims` axes of both operands run together. Result: the axes of `indices` but its last, then the axes
    of x that no coordinate names.
    """

    name = "ge.gather_nd"

    batch_dims = int_prop(0)

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        *,
        batch_dims: int = 0,
        result_type: Tensor | None = None,
    ):
        self.init((x, indices), {"batch_dims": int_attr(batch_dims)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_integer(self.indices)
        shape, places, batch = shape_of(self.x), shape_of(self.indices), self.batch_dims.value.data
        if not 0 <= batch < min(len(shape), len(places)) or not shapes_agree(shape[:batch], places[:batch]):
            raise self.fail(f"the first {batch} axes of {self.operand_shapes()} cannot run together")
        named = places[-1]
        if named == DYNAMIC or not 1 <= named <= len(shape) - batch:
            raise self.fail(f"coordinates of {shape_text(places)} do not fit x, {shape_text(shape)}")
        return typed([*places[:-1], *shape[batch + named :]], self.x)


class ScatterOp(IndexedOp):
    """A scatter: a copy of x in which `updates` are put at `indices`, combined with what is there by `reduction`.

    Of several updates for one place, "none" keeps the last one; the others combine all.
    """

    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    updates = operand_def(TENSOR)
    reduction = string_prop("none")

    def require_scatter(self) -> None:
        """Checks what all scatters have in common."""
        self.require_integer(self.indices)
        if self.reduction.data not in REDUCTIONS:
            raise self.fail(f"reduction must be one of {', '.join(REDUCTIONS)}, got {self.reduction.data}")
        if element_of(self.x) != element_of(self.updates):
            raise self.fail(f"x is {element_of(self.x)}, updates are {element_of(self.updates)}")

    def cost(self) -> Cost:
        work = 0 if self.reduction.data == "none" else elements_of(self.updates)
        read = sum(map(bytes_of, self.operands))
        return Cost(vector_ops=work, bytes_read=read, bytes_written=bytes_of(self.result) + bytes_of(self.updates))


@irdl_op_definition
class ScatterElementsOp(ScatterOp):
    """Single elements: result[i, indices[i, j, k], k] = updates[i, j, k] for `axis` 1."""

    name = "ge.scatter_elements"

    axis = int_prop(0)

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        updates: SSAValue | Operation,
        *,
        axis: int = 0,
        reduction: str = "none",
        result_type: Tensor | None = None,
    ):
        properties = {"axis": int_attr(axis), "reduction": string_attr(reduction)}
        self.init((x, indices, updates), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_scatter()
        shape, places = shape_of(self.x), shape_of(self.indices)
        self.axis_in(self.axis.value.data, len(shape))
        if len(shape) != len(places) or not shapes_agree(places, shape_of(self.updates)):
            raise self.fail(f"indices and updates must have one shape of x's rank: {self.operand_shapes()}")
        return typed(shape, self.x)


@irdl_op_definition
class ScatterNdOp(ScatterOp):
    """Slices at coordinates: result[indices[i, j]] = updates[i, j]; the last axis of `indices` holds coordinates."""

    name = "ge.scatter_nd"

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        updates: SSAValue | Operation,
        *,
        reduction: str = "none",
        result_type: Tensor | None = None,
    ):
        self.init((x, indices, updates), {"reduction": string_attr(reduction)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_scatter()
        shape, places = shape_of(self.x), shape_of(self.indices)
        named = places[-1] if places else DYNAMIC
        if named == DYNAMIC or named > len(shape):
            raise self.fail(f"coordinates of {shape_text(places)} do not fit x, {shape_text(shape)}")
        if not shapes_agree((*places[:-1], *shape[named:]), shape_of(self.updates)):
            raise self.fail(f"updates do not fit x and indices: {self.operand_shapes()}")
        return typed(shape, self.x)


@irdl_op_definition
class TensorScatterOp(IndexedOp):
    """A cache x with `updates` written along `axis` from position `starts`[batch] on (0 without `starts`).

    `circular`: positions run over the end of the axis to its begin. Axis 0 is the batch.
    """

    name = "ge.tensor_scatter"

    x = operand_def(TENSOR)
    updates = operand_def(TENSOR)
    starts = opt_operand_def(TENSOR)
    axis = int_prop(-2)
    circular = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        updates: SSAValue | Operation,
        starts: SSAValue | Operation | None = None,
        *,
        axis: int = -2,
        circular: bool = False,
        result_type: Tensor | None = None,
    ):
        properties = {"axis": int_attr(axis), "circular": bool_attr(circular)}
        self.init((x, updates, starts), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape, new = shape_of(self.x), shape_of(self.updates)
        axis = self.axis_in(self.axis.value.data, len(shape))
        if axis == 0:
            raise self.fail("axis 0 is the batch")
        if element_of(self.x) != element_of(self.updates):
            raise self.fail(f"x is {element_of(self.x)}, updates are {element_of(self.updates)}")
        same = len(shape) == len(new) and all(
            dims_agree(s, n) for i, (s, n) in enumerate(zip(shape, new, strict=True)) if i != axis
        )
        if not same or (DYNAMIC not in (shape[axis], new[axis]) and new[axis] > shape[axis]):
            raise self.fail(f"updates must fit x along axis {axis}: {self.operand_shapes()}")
        if self.starts is not None:
            self.require_integer(self.starts, "starts")
            if not shapes_agree(shape_of(self.starts), shape[:1]):
                raise self.fail(f"starts must have one value a batch entry: {self.operand_shapes()}")
        return typed(shape, self.x)


@irdl_op_definition
class OneHotOp(IndexedOp):
    """A new axis of extent `depth` at `axis`: `values`[1] where its index equals the element of `indices`, else `values`[0].

    A negative index counts from the end of the new axis; one outside it gives `values`[0] everywhere. `indices` may be of
    any numeric type; the result has the type of `values`.
    """

    name = "ge.one_hot"

    indices = operand_def(TENSOR)
    values = operand_def(TENSOR)
    depth = int_prop()
    axis = int_prop(-1)

    def __init__(
        self,
        indices: SSAValue | Operation,
        values: SSAValue | Operation,
        *,
        depth: int,
        axis: int = -1,
        result_type: Tensor | None = None,
    ):
        self.init((indices, values), {"depth": int_attr(depth), "axis": int_attr(axis)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if not shapes_agree(shape_of(self.values), (2,)):
            raise self.fail(f"values must be [off, on], got {shape_text(shape_of(self.values))}")
        shape = list(shape_of(self.indices))
        axis = self.axis_in(self.axis.value.data, len(shape) + 1)
        return typed([*shape[:axis], self.depth.value.data, *shape[axis:]], self.values)


@irdl_op_definition
class ReverseSequenceOp(IndexedOp):
    """Along `time_axis`, the first `lengths`[b] elements of entry b of `batch_axis` in reverse order, the rest as it is."""

    name = "ge.reverse_sequence"

    x = operand_def(TENSOR)
    lengths = operand_def(TENSOR)
    time_axis = int_prop(0)
    batch_axis = int_prop(1)

    def __init__(
        self,
        x: SSAValue | Operation,
        lengths: SSAValue | Operation,
        *,
        time_axis: int = 0,
        batch_axis: int = 1,
        result_type: Tensor | None = None,
    ):
        properties = {"time_axis": int_attr(time_axis), "batch_axis": int_attr(batch_axis)}
        self.init((x, lengths), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        self.require_integer(self.lengths, "lengths")
        shape = shape_of(self.x)
        time, batch = (self.axis_in(axis.value.data, len(shape)) for axis in (self.time_axis, self.batch_axis))
        if time == batch or not shapes_agree(shape_of(self.lengths), (shape[batch],)):
            raise self.fail(f"lengths must name one length an entry of axis {batch}: {self.operand_shapes()}")
        return typed(shape, self.x)


INDEXING = [
    GatherOp,
    GatherElementsOp,
    GatherNdOp,
    ScatterElementsOp,
    ScatterNdOp,
    TensorScatterOp,
    OneHotOp,
    ReverseSequenceOp,
]
