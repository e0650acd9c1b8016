"""Memory spaces: where a buffer lies, as the memory space of a memref, and what else a memref type says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from graph_engine.target_ascend.isa.model import DType, Space


class SpaceAttr(ParametrizedAttribute):
    """Base of the memory-space attributes."""

    SPACE: ClassVar[Space]


@irdl_attr_definition
class GmAttr(SpaceAttr):
    """Global memory."""

    name = "ascend.gm"
    SPACE: ClassVar[Space] = Space.GM


@irdl_attr_definition
class L1Attr(SpaceAttr):
    """The L1 buffer, which feeds L0A and L0B."""

    name = "ascend.l1"
    SPACE: ClassVar[Space] = Space.L1


@irdl_attr_definition
class L0aAttr(SpaceAttr):
    """The Cube's left operand."""

    name = "ascend.l0a"
    SPACE: ClassVar[Space] = Space.L0A


@irdl_attr_definition
class L0bAttr(SpaceAttr):
    """The Cube's right operand."""

    name = "ascend.l0b"
    SPACE: ClassVar[Space] = Space.L0B


@irdl_attr_definition
class L0cAttr(SpaceAttr):
    """The Cube's accumulator."""

    name = "ascend.l0c"
    SPACE: ClassVar[Space] = Space.L0C


@irdl_attr_definition
class UbAttr(SpaceAttr):
    """The unified buffer of the Vector engine."""

    name = "ascend.ub"
    SPACE: ClassVar[Space] = Space.UB


@irdl_attr_definition
class BtAttr(SpaceAttr):
    """The bias table (families with FixPipe)."""

    name = "ascend.bt"
    SPACE: ClassVar[Space] = Space.BT


@irdl_attr_definition
class FbAttr(SpaceAttr):
    """The FixPipe buffer (families with FixPipe)."""

    name = "ascend.fb"
    SPACE: ClassVar[Space] = Space.FB


SPACE_ATTRS: dict[Space, SpaceAttr] = {
    cls.SPACE: cls() for cls in (GmAttr, L1Attr, L0aAttr, L0bAttr, L0cAttr, UbAttr, BtAttr, FbAttr)
}


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous array, in elements."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def space_of(value: SSAValue | Attribute) -> Space:
    """Memory space of a memref value or type. Raises VerifyException where it is not one of ours."""
    ty = value.type if isinstance(value, SSAValue) else value
    if not isinstance(ty, MemRefType) or not isinstance(ty.memory_space, SpaceAttr):
        raise VerifyException(f"expected a memref in an ascend memory space, got {ty}")
    return ty.memory_space.SPACE


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Shape of a memref value."""
    assert isinstance(value.type, MemRefType)
    return value.type.get_shape()


def strides_of(ty: Attribute) -> tuple[int, ...]:
    """Strides of a memref type in elements (row-major where the type names none)."""
    assert isinstance(ty, MemRefType)
    if isinstance(ty.layout, StridedLayoutAttr):
        return tuple(s.data for s in ty.layout.strides if not isinstance(s, NoneAttr))
    return row_major(ty.get_shape())


def dtype_of(ty: Attribute) -> DType:
    """Element type of a memref type. Raises VerifyException for one that no instruction takes."""
    assert isinstance(ty, MemRefType)
    return _dtype_of(ty.element_type)


@cache
def _dtype_of(element: Attribute) -> DType:
    try:
        return DType.from_mlir(str(element))
    except KeyError:
        raise VerifyException(f"element type {element} is unknown to the instruction set") from None


SPACES: list[type[Attribute]] = [GmAttr, L1Attr, L0aAttr, L0bAttr, L0cAttr, UbAttr, BtAttr, FbAttr]
