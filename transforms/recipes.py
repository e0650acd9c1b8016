"""Arithmetic on constants while compiling: small results are numbers at once, large ones become recipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import DYNAMIC, Tensor, shape_of
from graph_engine.dialects.ge.elementwise import broadcast_shapes
from graph_engine.dialects.ge.interning import NO_ENCODING, element_name, shape_of_type, tensor_type
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.dialects.ge.weights import constant_attr, fold_attr, materialize
from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Known:
    """The value of a constant (dense, weight handle or recipe) and its type."""

    value: Attribute
    type: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape."""
        return shape_of_type(self.type)

    @property
    def elements(self) -> int:
        """The number of elements; constants have no unknown dimensions."""
        return prod(self.shape)

    def numbers(self) -> np.ndarray[Any, Any]:
        """The tensor itself; reads weights and evaluates recipes."""
        return materialize(self.value, self.type)

    def op(self) -> ConstantOp:
        """An operator that yields this constant."""
        return ConstantOp(self.value, result_type=self.type)


def known(value: SSAValue | None) -> Known | None:
    """What is known of a value at compile time: everything if a constant defines it, else None."""
    owner = None if value is None else value.owner
    return Known(owner.value, owner.result.type) if isinstance(owner, ConstantOp) else None


def computed(op: str, operands: Sequence[Known], result_type: Tensor, result: int = 0, **attributes: Any) -> Known:
    """The constant that operator `op` with the reference's keywords `attributes` makes of `operands`.

    `result` is the number of the result, of an operator with several.
    """
    return Known(fold_attr(op, [x.value for x in operands], attributes, result_type, result), result_type)


def elementwise(op: str, lhs: Known, rhs: Known) -> Known:
    """A binary operator on two constants of one element type, with numpy's broadcasting."""
    shape = broadcast_shapes(lhs.shape, rhs.shape)
    assert shape is not None
    return computed(op, [lhs, rhs], tensor_type(shape, lhs.type.element_type))


def unary(op: str, x: Known) -> Known:
    """A unary operator on a constant."""
    return computed(op, [x], x.type)


def reshaped(x: Known, shape: Sequence[int]) -> Known:
    """The constant in another shape."""
    if tuple(shape) == x.shape:
        return x
    return computed("ge.reshape", [x], tensor_type(shape, x.type.element_type), shape=list(shape))


def in_shape(value: SSAValue, shape: Sequence[int]) -> Operation:
    """An operator that yields `value` in another shape: a constant where it is one."""
    constant = known(value)
    return ReshapeOp(value, shape=shape) if constant is None else reshaped(constant, shape).op()


LARGEST_HALF = 65504.0


def beyond_half(x: Known) -> bool:
    """Whether a constant holds a finite number that fp16 does not reach. Reads it; one that no store has passes."""
    import numpy as np

    try:
        numbers = x.numbers()
    except GraphEngineError:
        return False
    if not numbers.size or (numbers.min() >= -LARGEST_HALF and numbers.max() <= LARGEST_HALF):
        return False
    return bool((np.abs(numbers[np.isfinite(numbers)]) > LARGEST_HALF).any())


def cast_to(x: Known, element: Attribute) -> Known:
    """The constant in another element type; fp32 numbers beyond fp16 become its largest, infinities alone stay."""
    if x.type.element_type == element:
        return x
    if element == f16 and x.type.element_type == f32 and beyond_half(x):
        x = computed("ge.clip", [x], x.type, min=-LARGEST_HALF, max=LARGEST_HALF)
    result = tensor_type(x.shape, element, None if x.type.encoding == NO_ENCODING else x.type.encoding)
    return computed("ge.cast", [x], result, to=element_name(element))


def filled(value: float, shape: Sequence[int] = (1,)) -> Known:
    """An fp32 constant with one number everywhere."""
    import numpy as np

    return Known(constant_attr(np.full(shape, value, np.float32), "fill"), tensor_type(shape, f32))


def joined(constants: Sequence[Known], axis: int) -> Known:
    """Constants of one element type, one behind the other along an axis."""
    shape = list(constants[0].shape)
    shape[axis] = sum(constant.shape[axis] for constant in constants)
    return computed("ge.concat", constants, tensor_type(shape, constants[0].type.element_type), axis=axis)


def spread(x: Known, shape: Sequence[int]) -> Known:
    """The constant, repeated where it broadcasts to `shape`; fp32 and fp16 only (it adds zeros)."""
    if tuple(shape) == x.shape:
        return x
    return elementwise("ge.add", cast_to(filled(0.0, shape), x.type.element_type), x)


def per_channel(constant: Known | None, like: SSAValue, axis: int = 1) -> Known | None:
    """`constant` as a vector [C] (or [1]) if broadcasting onto `like` varies it along the channel axis only."""
    if constant is None:
        return None
    shape = shape_of(like)
    padded = (1,) * (len(shape) - len(constant.shape)) + constant.shape
    channels = shape[axis]
    if len(padded) != len(shape) or channels == DYNAMIC:
        return None
    if any(extent != 1 for i, extent in enumerate(padded) if i != axis) or padded[axis] not in (1, channels):
        return None
    return reshaped(constant, (padded[axis],))
