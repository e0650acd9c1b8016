"""The form of an operator: what decides alone whether one that is `VerifiedByForm` is valid, with all that it holds.

The layers of a network are alike, so that what was found out of one operator holds for all others of its form.
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import ErasedSSAValue, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from graph_engine.dialects.operator_class import Operator, operands_of
from graph_engine.dialects.traits import VerifiedByForm


class Form:
    """Class, operand types, result types and properties of an operator and of what it holds: parts by their identities.

    Equal keys are equal forms while the parts are held, so that their identities last.
    """

    def __init__(self) -> None:
        self.key: list[object] = []
        self.parts: list[object] = []

    def add(self, op: Operation) -> bool:
        """Add `op`; False if its form does not decide."""
        operands = operands_of(op)
        if not _by_form(type(op)) or ErasedSSAValue in map(type, operands) or not isinstance(op, Operator):
            return False
        parts = [*[value.type for value in operands], *[value.type for value in op.results], *op.form()]
        self.key += (type(op), len(operands), len(op.results), *op.properties, *map(id, parts))
        self.parts += parts
        return not op.regions or (_is_isolated(type(op)) and all(map(self._add_content, op.regions)))

    def _add_content(self, region: Region) -> bool:
        """Add a region that sees nothing from outside: values by the order in which they are defined."""
        if len(region.blocks) != 1:
            return False
        block = region.block
        numbers: dict[SSAValue, int] = {argument: number for number, argument in enumerate(block.args)}
        self.key += (len(numbers), *map(id, block.arg_types))
        self.parts += block.arg_types
        for op in block.ops:
            read = [numbers.get(value) for value in operands_of(op)]
            if None in read or not self.add(op):
                return False
            self.key += read
            for result in op.results:
                numbers[result] = len(numbers)
        return True


@cache
def _is_isolated(kind: type[Operation]) -> bool:
    return kind.has_trait(IsolatedFromAbove, value_if_unregistered=False)


@cache
def _by_form(kind: type[Operation]) -> bool:
    return kind.has_trait(VerifiedByForm, value_if_unregistered=False)
