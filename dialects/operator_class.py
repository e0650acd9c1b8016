"""What passes do most often, made cheap: asking for an operator's class, reading its operands, making operators.

All go through several Python calls in xDSL. Half of what a pass costs is that.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Self

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef
from xdsl.irdl.operations import (
    AfterVariadicSingleAccessor,
    BeforeVariadicSingleAccessor,
    UniqueVariadicAccessor,
    VarIRConstruct,
)


def operands_of(op: Operation) -> tuple[SSAValue, ...]:
    """The operands as they are now; `op.operands` is a view that can be written to, and costs an object each time."""
    return op._operands  # pyright: ignore[reportPrivateUsage]


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Gives a value another type; xDSL would make another value and hand it to each reader."""
    value._type = type_  # pyright: ignore[reportPrivateUsage]


def _operand(index: int) -> Callable[[Operation], SSAValue]:
    return lambda op: tuple.__getitem__(op._operands, index)  # pyright: ignore[reportPrivateUsage]


def _result(index: int) -> Callable[[Operation], SSAValue]:
    return lambda op: tuple.__getitem__(op.results, index)


def _operands(accessor: UniqueVariadicAccessor) -> Callable[[Operation], Sequence[SSAValue]]:
    return lambda op: accessor.index(op._operands)  # pyright: ignore[reportPrivateUsage]


_GETTERS = {VarIRConstruct.OPERAND: _operand, VarIRConstruct.RESULT: _result}


class OperatorClass(ABCMeta):
    """The class of operator classes: nothing registers as a virtual subclass of an operator, and names are indices."""

    __instancecheck__ = type.__instancecheck__

    def __setattr__(cls, name: str, value: Any) -> None:
        if isinstance(value, BeforeVariadicSingleAccessor) and value.construct in _GETTERS:
            value = property(_GETTERS[value.construct](value.idx))
        elif isinstance(value, AfterVariadicSingleAccessor) and value.construct in _GETTERS:
            value = property(_GETTERS[value.construct](value.idx - value.num_defs))
        elif isinstance(value, UniqueVariadicAccessor) and value.construct is VarIRConstruct.OPERAND:
            value = property(_operands(value))
        super().__setattr__(name, value)


@cache
def _defaults(kind: type[IRDLOperation]) -> tuple[tuple[str, Attribute], ...]:
    """The default values of an operator's properties."""
    definitions = kind.get_irdl_definition().properties.items()
    return tuple(
        (name, definition.default_value)
        for name, definition in definitions
        if definition.default_value is not None and not isinstance(definition, OptionalDef)
    )


class Operator(IRDLOperation, metaclass=OperatorClass):
    """What our operators derive from. They have no successors, and attributes have no defaults."""

    __hash__ = object.__hash__  # by identity as xDSL's, but not by way of Python

    def __post_init__(self) -> None:
        for name, value in _defaults(type(self)):
            if name not in self.properties:
                self.properties[name] = value

    def fill(
        self,
        operands: Sequence[SSAValue],
        *,
        result_types: Iterable[Attribute] = (),
        properties: Mapping[str, Attribute] = MappingProxyType({}),
        attributes: Mapping[str, Attribute] = MappingProxyType({}),
        location: LocationAttr | None = None,
        regions: Iterable[Region] = (),
    ) -> None:
        """`Operation.__init__`, twice as fast."""
        uses = tuple([Use(self, index) for index in range(len(operands))])
        for value, use in zip(operands, uses, strict=True):
            value.add_use(use)
        self._operands, self._operand_uses = SSAValues(operands), uses
        self._successors = self._successor_uses = ()
        self.results = SSAValues([OpResult(type_, self, index) for index, type_ in enumerate(result_types)])
        self.properties, self.attributes = dict(properties), dict(attributes)
        self.location = UNKNOWN_LOC if location is None else location
        self.regions = ()
        for region in regions:
            self.add_region(region)
        self.__post_init__()

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = MappingProxyType({}),
        attributes: Mapping[str, Attribute] = MappingProxyType({}),
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        """An operator with these parts."""
        assert not successors
        op = cls.__new__(cls)
        op.fill(
            operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
            location=location,
            regions=regions,
        )
        return op

    def erase(self, safe_erase: bool = True, drop_references: bool = True) -> None:
        """`Operation.erase`, three times as fast for an operator without readers: nothing is left to stand for it."""
        if any([result.first_use is not None for result in self.results]):
            super().erase(safe_erase, drop_references)
            return
        assert self.parent is None, "an operator is detached first"
        if drop_references:
            self.drop_all_references()

    def form(self) -> Iterable[object]:
        """What decides, beside operand types and result types, whether an operator `VerifiedByForm` is valid.

        Compared by identity, so that attributes should be interned. Where little of a property counts, less is given.
        """
        return self.properties.values()
