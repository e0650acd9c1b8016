"""Shapes that are numbers of the graph: sizes and bounds computed at run time, for models whose inputs keep `?`.

Result extents that nobody knows yet are `?`; what the importer knows of them stands in the declared result type. These
operators run on the host. With known input shapes none of them is left: the importer folds shape arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from graph_engine.dialects.ge.core import DYNAMIC, TENSOR, GeOp, Tensor, Trait, element_of, shape_of, shape_text, typed
from graph_engine.dialects.ge.interning import bool_attr, element_name, int_attr, ints_attr, string_attr, tensor_type
from graph_engine.dialects.ge.properties import bool_prop, int_prop, ints_prop, string_prop

PAD_MODES = ("constant", "edge", "reflect", "wrap")
FAR = 2**63 - 1
"""`end` of a shape that is taken to its end."""


class RuntimeShapeOp(GeOp):
    """An operator that reads sizes or bounds from integer vectors."""

    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT, Trait.HOST})
    VECTOR_OPS: ClassVar[int] = 0

    def vector_length(self, value: SSAValue, what: str) -> int:
        """The length of an integer vector, which must be known: it gives ranks."""
        shape = shape_of(value)
        if element_name(element_of(value)) not in ("i32", "i64") or len(shape) != 1 or shape[0] == DYNAMIC:
            raise self.fail(f"{what} must be an integer vector of known length, got {value.type}")
        return shape[0]


@irdl_op_definition
class ShapeOfOp(RuntimeShapeOp):
    """The extents of x from axis `start` up to axis `end` as i64 (ONNX Shape)."""

    name = "ge.shape_of"

    x = operand_def(TENSOR)
    start = int_prop(0)
    end = int_prop(FAR)

    def __init__(self, x: SSAValue | Operation, *, start: int = 0, end: int = FAR, result_type: Tensor | None = None):
        self.init((x,), {"start": int_attr(start), "end": int_attr(end)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        axes = range(len(shape_of(self.x)))[self.start.value.data : self.end.value.data]
        return (tensor_type((len(axes),), "i64"),)


@irdl_op_definition
class ReshapeToOp(RuntimeShapeOp):
    """x in the shape that the vector `shape` gives: -1 follows from the rest, 0 copies the extent of x unless `allow_zero`."""

    name = "ge.reshape_to"

    x = operand_def(TENSOR)
    shape = operand_def(TENSOR)
    allow_zero = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        shape: SSAValue | Operation,
        *,
        allow_zero: bool = False,
        result_type: Tensor | None = None,
    ):
        self.init((x, shape), {"allow_zero": bool_attr(allow_zero)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        return typed([DYNAMIC] * self.vector_length(self.shape, "shape"), self.x)


@irdl_op_definition
class ExpandToOp(RuntimeShapeOp):
    """x broadcast with the shape that the vector `shape` gives (ONNX Expand)."""

    name = "ge.expand_to"

    x = operand_def(TENSOR)
    shape = operand_def(TENSOR)

    def __init__(self, x: SSAValue | Operation, shape: SSAValue | Operation, *, result_type: Tensor | None = None):
        self.init((x, shape), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        source, rank = shape_of(self.x), self.vector_length(self.shape, "shape")
        source = (1,) * (rank - len(source)) + source
        lead = len(source) - rank
        return typed([n if n > 1 or i < lead else DYNAMIC for i, n in enumerate(source)], self.x)


@irdl_op_definition
class TileByOp(RuntimeShapeOp):
    """x `repeats`[i] times one after another along axis i."""

    name = "ge.tile_by"

    x = operand_def(TENSOR)
    repeats = operand_def(TENSOR)

    def __init__(self, x: SSAValue | Operation, repeats: SSAValue | Operation, *, result_type: Tensor | None = None):
        self.init((x, repeats), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        rank = len(shape_of(self.x))
        if self.vector_length(self.repeats, "repeats") != rank:
            raise self.fail(f"repeats must be one an axis of {shape_text(shape_of(self.x))}")
        return typed([DYNAMIC] * rank, self.x)


@irdl_op_definition
class SliceAtOp(RuntimeShapeOp):
    """x[start:end:step] along each of `axes`, with numpy's rules; the vectors hold one number an axis, steps 1 if absent."""

    name = "ge.slice_at"

    x = operand_def(TENSOR)
    starts = operand_def(TENSOR)
    ends = operand_def(TENSOR)
    steps = opt_operand_def(TENSOR)
    axes = ints_prop()

    def __init__(
        self,
        x: SSAValue | Operation,
        starts: SSAValue | Operation,
        ends: SSAValue | Operation,
        steps: SSAValue | Operation | None = None,
        *,
        axes: Sequence[int],
        result_type: Tensor | None = None,
    ):
        self.init((x, starts, ends, steps), {"axes": ints_attr(axes)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape, axes = list(shape_of(self.x)), self.ints("axes")
        if any(self.vector_length(value, "bounds") != len(axes) for value in self.operands[1:]):
            raise self.fail(f"bounds must be one an axis of {list(axes)}, got {self.operand_shapes()}")
        for axis in axes:
            shape[self.axis_in(axis, len(shape))] = DYNAMIC
        return typed(shape, self.x)


@irdl_op_definition
class PadByOp(RuntimeShapeOp):
    """x with a border: `pads` gives begins, then ends, of `axes`; negative ones cut. `value` (one element, 0 if absent)
    fills in mode "constant"."""

    name = "ge.pad_by"

    x = operand_def(TENSOR)
    pads = operand_def(TENSOR)
    value = opt_operand_def(TENSOR)
    axes = ints_prop()
    mode = string_prop("constant")

    def __init__(
        self,
        x: SSAValue | Operation,
        pads: SSAValue | Operation,
        value: SSAValue | Operation | None = None,
        *,
        axes: Sequence[int],
        mode: str = "constant",
        result_type: Tensor | None = None,
    ):
        self.init((x, pads, value), {"axes": ints_attr(axes), "mode": string_attr(mode)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape, axes = list(shape_of(self.x)), self.ints("axes")
        if self.mode.data not in PAD_MODES:
            raise self.fail(f"mode must be one of {', '.join(PAD_MODES)}, got {self.mode.data}")
        if self.vector_length(self.pads, "pads") != 2 * len(axes):
            raise self.fail(f"pads must be two an axis of {list(axes)}, got {self.operand_shapes()}")
        for axis in axes:
            shape[self.axis_in(axis, len(shape))] = DYNAMIC
        return typed(shape, self.x)


@irdl_op_definition
class RangeOp(RuntimeShapeOp):
    """start, start + delta, ... up to `limit`, which is left out; three operands of one element."""

    name = "ge.range"

    start = operand_def(TENSOR)
    limit = operand_def(TENSOR)
    delta = operand_def(TENSOR)

    def __init__(self, start: SSAValue | Operation, limit: SSAValue | Operation, delta: SSAValue | Operation):
        self.init((start, limit, delta), {}, None)

    def keeps_type(self, index: int) -> bool:
        return True

    def infer(self) -> tuple[Tensor, ...]:
        return (tensor_type((DYNAMIC,), self.require_same_element()),)


@irdl_op_definition
class FillOp(RuntimeShapeOp):
    """`value` (one element) everywhere in the shape that the vector `shape` gives (ONNX ConstantOfShape)."""

    name = "ge.fill"

    shape = operand_def(TENSOR)
    value = operand_def(TENSOR)

    def __init__(self, shape: SSAValue | Operation, value: SSAValue | Operation, *, result_type: Tensor | None = None):
        self.init((shape, value), {}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        return typed([DYNAMIC] * self.vector_length(self.shape, "shape"), self.value)


RUNTIME_SHAPE = [ShapeOfOp, ReshapeToOp, ExpandToOp, TileByOp, SliceAtOp, PadByOp, RangeOp, FillOp]
