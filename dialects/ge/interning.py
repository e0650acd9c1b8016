"""Cached types and attributes: xDSL does not unique them and each costs 30-50 us to build.

Shapes are tuples of integers with -1 for an unknown (`?`) dimension. Element types go by their MLIR names
(`f16`, `i64`, ...), numpy types by numpy's (`float16`, `int64`, ...).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BFloat16Type,
    ComplexType,
    DenseArrayBase,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    StringAttr,
    TensorType,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute

if TYPE_CHECKING:
    import numpy as np

TensorTypeAny: TypeAlias = TensorType[Attribute]

NO_ENCODING = NoneAttr()

_ELEMENTS: dict[str, Attribute] = {
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f32": Float32Type(),
    "f64": Float64Type(),
    "i1": i1,
    "i8": IntegerType(8),
    "i16": IntegerType(16),
    "i32": IntegerType(32),
    "i64": i64,
    "ui8": IntegerType(8, Signedness.UNSIGNED),
    "ui16": IntegerType(16, Signedness.UNSIGNED),
    "ui32": IntegerType(32, Signedness.UNSIGNED),
    "ui64": IntegerType(64, Signedness.UNSIGNED),
    "f8E4M3FN": Float8E4M3FNType(),
    "f8E4M3FNUZ": Float8E4M3FNUZType(),
    "f8E5M2": Float8E5M2Type(),
    "f8E5M2FNUZ": Float8E5M2FNUZType(),
    "f8E8M0FNU": Float8E8M0FNUType(),
    "f4E2M1FN": Float4E2M1FNType(),
    "f6E2M3FN": Float6E2M3FNType(),
    "f6E3M2FN": Float6E3M2FNType(),
    "i4": IntegerType(4),
    "ui4": IntegerType(4, Signedness.UNSIGNED),
    "i2": IntegerType(2),
    "ui2": IntegerType(2, Signedness.UNSIGNED),
    "complex<f32>": ComplexType(f32),
    "complex<f64>": ComplexType(f64),
}
_NAMES: dict[Attribute, str] = {attribute: name for name, attribute in _ELEMENTS.items()}
_WIDTH = re.compile(r"(complex<)?[a-z]+([0-9]+)")


def element_type(name: str) -> Attribute:
    """The element type called `name` in MLIR, e.g. `f16`. Raises KeyError for a name that `ge` does not know."""
    return _ELEMENTS[name]


def element_name(element: Attribute) -> str:
    """The MLIR name of an element type: the inverse of `element_type`."""
    return _NAMES.get(element) or str(element)


def element_bits(element: Attribute | str) -> int:
    """Bits of one element as stored without an encoding; `i1`, `i4` and the like take a whole byte."""
    return _bits(element if isinstance(element, str) else element_name(element))


@cache
def _bits(name: str) -> int:
    found = _WIDTH.match(name)
    assert found is not None
    return max(8, int(found[2])) * (2 if found[1] else 1)


def numpy_dtype(element: Attribute | str) -> np.dtype[Any]:
    """The numpy type of an element type (from ml_dtypes where numpy lacks it)."""
    from graph_engine.dialects.ge.reference.element_types import numpy_dtype

    return numpy_dtype(element if isinstance(element, str) else element_name(element))


def element_of_numpy(dtype: np.dtype[Any] | str) -> Attribute:
    """The element type of a numpy type: the inverse of `numpy_dtype`."""
    return _ELEMENTS[_elements_of_numpy()[str(dtype)]]


@cache
def _elements_of_numpy() -> dict[str, str]:
    from graph_engine.dialects.ge.reference.element_types import NUMPY_NAMES

    return {numpy_name: name for name, numpy_name in NUMPY_NAMES.items()}


_tensor_types: dict[tuple[tuple[int, ...], Attribute, Attribute], TensorTypeAny] = {}
_at_hand: dict[tuple[object, int, int], TensorTypeAny] = {}
"""The same by identities of an element type and an encoding that a cached type holds, which are then never others':
hashing an attribute costs more than all else."""
_shapes: dict[int, tuple[int, ...]] = {}
"""Shape by identity of a cached type, which lives as long as the process."""


_Type = TypeVar("_Type", bound=Attribute)


def valid(kind: type[_Type], **parts: object) -> _Type:
    """An attribute that is valid by construction: xDSL would spend most of its time on verifying it."""
    made = object.__new__(kind)
    for name, part in parts.items():
        object.__setattr__(made, name, part)
    return made


def array_attr(items: Iterable[Attribute]) -> ArrayAttr[Attribute]:
    """`[items]`."""
    return valid(ArrayAttr, data=tuple(items))


_Answer = TypeVar("_Answer")


def once_a_type(question: Callable[[_Type], _Answer]) -> Callable[[_Type], _Answer]:
    """Remembers what is found of a cached type: hashing a type costs more than most questions about it."""
    answers: dict[int, _Answer] = {}

    @wraps(question)
    def ask(type: _Type) -> _Answer:
        identity = id(type)
        if identity in answers:
            return answers[identity]
        answer = question(type)
        if identity in _shapes:
            answers[identity] = answer
        return answer

    return ask


DYNAMIC = -1
"""An unknown extent in our shapes. xDSL's types hold DYNAMIC_INDEX instead; `tensor_type` and `shape_of_type` convert."""


def shape_of_type(type: Attribute) -> tuple[int, ...]:
    """The logical shape of a tensor type, -1 for an unknown extent. Do not use `get_shape`, which differs there."""
    if (found := _shapes.get(id(type))) is not None:
        return found
    shape = cast(TensorTypeAny, type).get_shape()
    return tuple(DYNAMIC if d == DYNAMIC_INDEX else d for d in shape) if DYNAMIC_INDEX in shape else shape


def tensor_type(
    shape: Sequence[int], element: Attribute | str, encoding: Attribute | None = None
) -> TensorType[Attribute]:
    """The tensor type of logical `shape` (-1 = unknown), element type (or its name) and layout encoding."""
    if isinstance(element, str):
        element = _ELEMENTS[element]
    encoding = NO_ENCODING if encoding is None else encoding
    by_identity = (tuple(shape), id(element), id(encoding))
    if (known := _at_hand.get(by_identity)) is not None:
        return known
    if min(shape, default=0) < 0:
        shape = tuple(DYNAMIC_INDEX if d < 0 else d for d in shape)
    key = (tuple(shape), element, encoding)
    found = _tensor_types.get(key)
    if found is None:
        found = _tensor_types[key] = TensorType(element, key[0], key[2])
        _shapes[id(found)] = tuple(max(d, DYNAMIC) for d in key[0])
    if found.element_type is element and found.encoding is encoding:
        _at_hand[by_identity] = found
    return found


@cache
def _ints(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


def ints_attr(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """`array<i64: ...>`."""
    return _ints(tuple(values))


@cache
def int_attr(value: int) -> IntegerAttr[IntegerType]:
    """`value : i64`."""
    return IntegerAttr(value, i64)


@cache
def _float(value: float, sign: float) -> FloatAttr[Float32Type]:
    del sign  # part of the cache key: 0.0 == -0.0
    return FloatAttr(value, f32)


def float_attr(value: float) -> FloatAttr[Float32Type]:
    """`value : f32`, rounded to fp32: ONNX float attributes are fp32."""
    return _float(value, math.copysign(1.0, value))


_BOOLS: tuple[IntegerAttr[IntegerType], IntegerAttr[IntegerType]] = (IntegerAttr(0, i1), IntegerAttr(1, i1))


def bool_attr(value: bool) -> IntegerAttr[IntegerType]:
    """`true` or `false`."""
    return _BOOLS[bool(value)]


@cache
def string_attr(value: str) -> StringAttr:
    """A string attribute."""
    return StringAttr(value)
