"""What passes do most often, made cheap: asking for an operator's class, reading its operands.

Both go through several Python calls in xDSL. Half of what a pass costs is such questions.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterable
from typing import Any

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.operations import BeforeVariadicSingleAccessor, VarIRConstruct


def operands_of(op: Operation) -> tuple[SSAValue, ...]:
    """The operands as they are now; `op.operands` is a view that can be written to, and costs an object each time."""
    return op._operands  # pyright: ignore[reportPrivateUsage]


def _operand(index: int) -> Callable[[Operation], SSAValue]:
    return lambda op: op._operands[index]  # pyright: ignore[reportPrivateUsage]


def _result(index: int) -> Callable[[Operation], SSAValue]:
    return lambda op: tuple.__getitem__(op.results, index)


_GETTERS = {VarIRConstruct.OPERAND: _operand, VarIRConstruct.RESULT: _result}


class OperatorClass(ABCMeta):
    """The class of operator classes: nothing registers as a virtual subclass of an operator, and names are indices."""

    __instancecheck__ = type.__instancecheck__

    def __setattr__(cls, name: str, value: Any) -> None:
        if isinstance(value, BeforeVariadicSingleAccessor) and value.construct in _GETTERS:
            value = property(_GETTERS[value.construct](value.idx))
        super().__setattr__(name, value)


class Operator(IRDLOperation, metaclass=OperatorClass):
    """What our operators derive from."""

    def form(self) -> Iterable[object]:
        """What decides, beside operand types and result types, whether an operator `VerifiedByForm` is valid.

        Compared by identity, so that attributes should be interned. Where little of a property counts, less is given.
        """
        return self.properties.values()
