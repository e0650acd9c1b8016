"""What is known of unknown extents: their values at two sample points, so that equal ones are recognised.

Every symbol of the model's inputs, and every extent that depends on data, gets two large random numbers: what it would be
at two points. Shape arithmetic and the operators' own type inference are run at both. Two extents are the same if they
are equal at both points, and an extent is known if it is one number at both (N - N, 4N / N): two different expressions
of small coefficients do not agree at random points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from zlib import crc32

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.core import DYNAMIC, GeOp
from graph_engine.dialects.ge.interning import shape_of_type, tensor_type
from graph_engine.dialects.ge.shape import ReshapeOp

if TYPE_CHECKING:
    import numpy as np

POINTS = range(2)


@dataclass(frozen=True, slots=True)
class UnknownExtent:
    """An extent that is not known, by its values at the sample points."""

    at: tuple[int, ...]


Extent: TypeAlias = int | UnknownExtent
"""An extent, known or not."""


def extent_at(extent: Extent, point: int) -> int:
    """An extent at a sample point."""
    return extent.at[point] if isinstance(extent, UnknownExtent) else extent


def combined(function: Callable[..., Any], *items: Any) -> Any:
    """`function` of numbers of which some are unknown extents: a number if it is the same at all points."""
    found = [function(*(extent_at(item, point) for item in items)) for point in POINTS]
    return found[0] if found.count(found[0]) == len(found) else UnknownExtent(tuple(found))


def opaque(what: str, *items: Any) -> UnknownExtent:
    """An unknown extent that depends on `items` in a way that sample points do not show, such as a minimum of two."""
    return UnknownExtent(tuple((1 << 24) + crc32(f"{what} {items} {point}".encode()) % (1 << 24) for point in POINTS))


def largest(*items: Any) -> Any:
    """The maximum of numbers of which some are unknown extents."""
    return _extreme("max", max, items)


def smallest(*items: Any) -> Any:
    """The minimum of numbers of which some are unknown extents."""
    return _extreme("min", min, items)


def _extreme(what: str, function: Callable[..., Any], items: Sequence[Any]) -> Any:
    found = items[0]
    for item in items[1:]:
        apart = combined(lambda a, b: a - b, found, item)
        if not isinstance(apart, UnknownExtent):  # the same at all points, so it is at all others
            found = found if function(apart, 0) == apart else item
        elif min((x for x in (found, item) if not isinstance(x, UnknownExtent)), default=2) <= 1:
            unknown, number = (found, item) if isinstance(found, UnknownExtent) else (item, found)
            found = unknown if what == "max" else number  # extents are 1 or more
        else:
            found = opaque(what, found, item)
    return found


def elements(extents: Sequence[Extent]) -> Extent:
    """The product of extents."""
    return combined(lambda *values: prod(values), *extents)


def has_unknown(value: np.ndarray[Any, Any]) -> bool:
    """Whether a folded integer chain holds extents that are not known."""
    return value.dtype == object and any(isinstance(v, UnknownExtent) for v in value.reshape(-1).tolist())


def static(extents: Sequence[Extent]) -> list[int]:
    """Extents as a shape, -1 for those that are not known."""
    return [DYNAMIC if isinstance(extent, UnknownExtent) else extent for extent in extents]


class Extents:
    """The extents of the values of a graph."""

    def __init__(self) -> None:
        self._of: dict[SSAValue, tuple[Extent, ...]] = {}
        self._symbols: dict[str, UnknownExtent] = {}
        self._random = Random(1)

    def fresh(self) -> UnknownExtent:
        """An extent that is equal to no other one."""
        return UnknownExtent(tuple(self._random.randrange(1 << 24, 1 << 25) for _ in POINTS))

    def symbol(self, name: str) -> UnknownExtent:
        """The extent that the model calls `name`; nameless ones differ from each other."""
        if not name:
            return self.fresh()
        return self._symbols.setdefault(name, self.fresh())

    def of(self, value: SSAValue) -> tuple[Extent, ...]:
        """The shape of a value."""
        shape = shape_of_type(value.type)
        if DYNAMIC not in shape:
            return shape
        if value not in self._of:
            self._of[value] = tuple(self.fresh() if extent == DYNAMIC else extent for extent in shape)
        return self._of[value]

    def state(self, value: SSAValue, extents: Sequence[Extent]) -> None:
        """Says what the unknown extents of a value are; -1 says nothing."""
        shape = shape_of_type(value.type)
        self._of[value] = tuple(
            own if own != DYNAMIC else self.fresh() if given == DYNAMIC else given
            for own, given in zip(shape, extents, strict=True)
        )

    def follow(self, op: GeOp) -> None:
        """Works out the extents of the results by the operator's own inference at every sample point."""
        inferred = [self._inferred(op, point) for point in POINTS]
        for number, result in enumerate(op.results):
            if DYNAMIC not in shape_of_type(result.type):
                continue
            shapes = [None if types is None else shape_of_type(types[number]) for types in inferred]
            if any(shape is None or len(shape) != len(shape_of_type(result.type)) for shape in shapes):
                continue
            columns = zip(*cast("list[tuple[int, ...]]", shapes), strict=True)
            extents = [DYNAMIC if DYNAMIC in column else combined(_itself, UnknownExtent(column)) for column in columns]
            if not isinstance(op, ReshapeOp):  # what is one number at large extents may be cut by small ones
                extents = [extent if isinstance(extent, UnknownExtent) else DYNAMIC for extent in extents]
            self.state(result, extents)

    def _inferred(self, op: GeOp, point: int) -> Sequence[Attribute] | None:
        """The result types at a sample point; None if the operator does not fit there (a remainder, a region)."""
        if op.regions:
            return None
        types = [
            tensor_type([extent_at(extent, point) for extent in self.of(value)], _element(value))
            for value in op.operands
        ]
        probe = type(op).create(
            operands=Block(arg_types=types).args, properties=op.properties, result_types=op.result_types
        )
        try:
            return probe.infer()
        except VerifyException:
            return None


def _itself(value: int) -> int:
    return value


def _element(value: SSAValue) -> Attribute:
    return cast("TensorType[Attribute]", value.type).element_type
