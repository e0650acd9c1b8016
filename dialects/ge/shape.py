"""Shapes and places: no arithmetic, elements keep their values."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, var_operand_def

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
    typed,
)
from graph_engine.dialects.ge.interning import (
    bool_attr,
    element_bits,
    element_name,
    float_attr,
    int_attr,
    ints_attr,
    tensor_type,
)
from graph_engine.dialects.ge.properties import bool_prop, float_prop, int_prop, ints_prop

_MOVEMENT = frozenset({Trait.MOVEMENT})


@irdl_op_definition
class ReshapeOp(GeOp):
    """The same elements in row-major order in another shape; one extent may be -1 and follows from the rest.

    Unlike ONNX, an extent 0 means an empty axis; the importer replaces ONNX's copied extents.
    """

    name = "ge.reshape"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.VIEW})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    shape = ints_prop()

    def __init__(self, x: SSAValue | Operation, *, shape: Sequence[int], result_type: Tensor | None = None):
        self.init((x,), {"shape": ints_attr(shape)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        source, target = shape_of(self.x), list(self.ints("shape"))
        if target.count(DYNAMIC) > 1 or min(target, default=0) < DYNAMIC:
            raise self.fail(f"shape {target} may hold one -1 and no other negative extent")
        if DYNAMIC not in source:
            elements, known = prod(source), prod(d for d in target if d != DYNAMIC)
            if DYNAMIC in target and known and elements % known == 0:
                target[target.index(DYNAMIC)] = elements // known
            elif elements != known or DYNAMIC in target:
                raise self.fail(f"{shape_text(source)} has {elements} elements, which do not fill shape {target}")
        return typed(target, self.x)


@irdl_op_definition
class TransposeOp(GeOp):
    """Axis i of the result is axis `perm`[i] of x."""

    name = "ge.transpose"
    TRAITS: ClassVar[frozenset[Trait]] = _MOVEMENT
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    perm = ints_prop()

    def __init__(self, x: SSAValue | Operation, *, perm: Sequence[int], result_type: Tensor | None = None):
        self.init((x,), {"perm": ints_attr(perm)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape, perm = shape_of(self.x), self.ints("perm")
        if sorted(perm) != list(range(len(shape))):
            raise self.fail(f"perm {list(perm)} is no permutation of the axes of {shape_text(shape)}")
        return typed([shape[axis] for axis in perm], self.x)


@irdl_op_definition
class ConcatOp(GeOp):
    """The operands one after another along `axis`."""

    name = "ge.concat"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT, Trait.KEEPS_ZERO_PAD})
    VECTOR_OPS: ClassVar[int] = 0

    xs = var_operand_def(TENSOR)
    axis = int_prop()

    def __init__(self, xs: Sequence[SSAValue | Operation], *, axis: int, result_type: Tensor | None = None):
        self.init(xs, {"axis": int_attr(axis)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        if not self.xs:
            raise self.fail("at least one operand is needed")
        self.require_same_element()
        result = list(shape_of(self.xs[0]))
        axis = self.axis_in(self.axis.value.data, len(result))
        for value in self.xs[1:]:
            shape = shape_of(value)
            if len(shape) != len(result):
                raise self.fail(f"operands {self.operand_shapes()} differ in rank")
            for i, extent in enumerate(shape):
                if i == axis:
                    result[i] = DYNAMIC if DYNAMIC in (extent, result[i]) else result[i] + extent
                elif not dims_agree(extent, result[i]):
                    raise self.fail(f"operands {self.operand_shapes()} differ outside axis {axis}")
                else:
                    result[i] = max(extent, result[i])
        return typed(result, self.xs[0])


@irdl_op_definition
class PadOp(GeOp):
    """Puts `value` around x; `pads` = [begin of every axis, end of every axis] (ONNX order, constant mode)."""

    name = "ge.pad"
    TRAITS: ClassVar[frozenset[Trait]] = _MOVEMENT
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    pads = ints_prop()
    value = float_prop(0.0)

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        pads: Sequence[int],
        value: float = 0.0,
        result_type: Tensor | None = None,
    ):
        self.init((x,), {"pads": ints_attr(pads), "value": float_attr(value)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = shape_of(self.x)
        pads = self.require_length("pads", 2 * len(shape))
        if min(pads, default=0) < 0:
            raise self.fail(f"pads {list(pads)} must not be negative")
        return typed(
            [d if d == DYNAMIC else d + pads[i] + pads[i + len(shape)] for i, d in enumerate(shape)],
            self.x,
        )

    def keeps_zero_pad(self) -> bool:
        return self.value.value.data == 0


@irdl_op_definition
class SliceOp(GeOp):
    """x[start:end:step] along each of `axes`, numpy's rules for negative and too large indices (ONNX Slice)."""

    name = "ge.slice"
    TRAITS: ClassVar[frozenset[Trait]] = _MOVEMENT
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    starts = ints_prop()
    ends = ints_prop()
    axes = ints_prop()
    steps = ints_prop()

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        starts: Sequence[int],
        ends: Sequence[int],
        axes: Sequence[int],
        steps: Sequence[int] | None = None,
        result_type: Tensor | None = None,
    ):
        properties = {
            "starts": ints_attr(starts),
            "ends": ints_attr(ends),
            "axes": ints_attr(axes),
            "steps": ints_attr([1] * len(axes) if steps is None else steps),
        }
        self.init((x,), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape, axes = list(shape_of(self.x)), self.ints("axes")
        starts, ends, steps = (self.require_length(name, len(axes)) for name in ("starts", "ends", "steps"))
        if 0 in steps:
            raise self.fail("steps must not be 0")
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
            axis = self.axis_in(axis, len(shape))
            if shape[axis] != DYNAMIC:
                shape[axis] = len(range(*slice(start, end, step).indices(shape[axis])))
        return typed(shape, self.x)

    def cost(self) -> Cost:
        return Cost(bytes_read=bytes_of(self.result), bytes_written=bytes_of(self.result))


@irdl_op_definition
class TriluOp(GeOp):
    """The upper (or lower) triangle of the matrices in the last two axes, zero elsewhere.

    Diagonal `k` is the last one kept: 0 the main one, positive ones above it. An operand `diagonal` (one i64) is added.
    """

    name = "ge.trilu"
    TRAITS: ClassVar[frozenset[Trait]] = _MOVEMENT
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    diagonal = opt_operand_def(TENSOR)
    upper = bool_prop(True)
    k = int_prop(0)

    def __init__(
        self,
        x: SSAValue | Operation,
        diagonal: SSAValue | Operation | None = None,
        *,
        upper: bool = True,
        k: int = 0,
        result_type: Tensor | None = None,
    ):
        self.init((x, diagonal), {"upper": bool_attr(upper), "k": int_attr(k)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape = shape_of(self.x)
        if len(shape) < 2:
            raise self.fail(f"x must be matrices, got {shape_text(shape)}")
        if self.diagonal is not None and elements_of(self.diagonal) != 1:
            raise self.fail(f"diagonal must hold one element, got {shape_text(shape_of(self.diagonal))}")
        return typed(shape, self.x)


@irdl_op_definition
class BitcastOp(GeOp):
    """The same bits read as another element type of the same width."""

    name = "ge.bitcast"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.VIEW})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)

    def __init__(self, x: SSAValue | Operation, to: str | None = None, *, result_type: Tensor | None = None):
        value = x if isinstance(x, SSAValue) else SSAValue.get(x)
        self.init((value,), {}, result_type or tensor_type(shape_of(value), to or "i32"))

    def infer(self) -> tuple[Tensor, ...]:
        source, target = element_of(self.x), element_of(self.result)
        if element_bits(source) != element_bits(target):
            raise self.fail(f"{source} and {target} differ in width")
        return (tensor_type(shape_of(self.x), target),)

    def keeps_type(self, index: int) -> bool:
        return True

    def attribute_values(self) -> dict[str, Any]:
        return {"to": element_name(element_of(self.result))}


SHAPE = [ReshapeOp, TransposeOp, ConcatOp, PadOp, SliceOp, TriluOp, BitcastOp]
