"""Verification that says which operator fails, and the SSA dominance check that xDSL does not make."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.operator_class import operands_of
from graph_engine.dialects.operator_form import Form


class InvalidOperation(Exception):
    """An operator that breaks a rule: the operator and the rule, so that a tool can print where it stands."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


class Verifier:
    """Verifies a module again and again, and skips what it knows to be valid.

    * Operators of equal form (see `VerifiedByForm`), with all that they hold: the layers of a network are alike, and a
      pass changes some of them.
    * Each isolated operator in which nothing changed in between: the kernels of a module are most of its operators, and
      the passes behind the kernels phase leave them alone. Comparing takes a twentieth of verifying.
    """

    def __init__(self) -> None:
        self._verified: dict[Operation, list[object]] = {}
        self._forms: dict[tuple[object, ...], list[object]] = {}
        """The parts of each valid form."""

    def verify(self, module: ModuleOp) -> None:
        """Verify every operator and SSA dominance; linear. Raises InvalidOperation for the first that fails."""
        _verify_alone(module)
        verified: dict[Operation, list[object]] = {}
        unchanged: set[Operation] = set()
        for top in module.ops:
            isolated = top.has_trait(IsolatedFromAbove, value_if_unregistered=False)
            content = content_of(top) if isolated else []
            if isolated and same_objects(self._verified.get(top), content):
                unchanged.add(top)
            else:
                self._verify_with_content(top, unchanged)
            if isolated:
                verified[top] = content
        verify_dominance(module, unchanged)
        self._verified = verified

    def _verify_with_content(self, op: Operation, unchanged: set[Operation]) -> None:
        """Verify `op` and all that it holds; isolated operators that are known as a whole are added to `unchanged`."""
        form = Form()
        known_by_form = op.next_op is not None and form.add(op)
        key = tuple(form.key)
        if known_by_form and key in self._forms:
            if op.regions:
                unchanged.add(op)
            return
        _verify_alone(op)
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    self._verify_with_content(inner, unchanged)
        if known_by_form:
            self._forms[key] = form.parts


def content_of(top: Operation) -> list[object]:
    """Everything that verifying `top` looks at; attributes never change, so that identity is enough to compare."""
    content: list[object] = []

    def add(op: Operation) -> None:
        content.append(op)
        content.extend(operands_of(op))
        content.extend([result.type for result in op.results])
        content.extend(op.properties.values())
        content.extend(op.properties)
        content.extend(op.attributes.values())
        for region in op.regions:
            for block in region.blocks:
                content.append(block)
                content.extend(block.arg_types)
                for inner in block.ops:
                    add(inner)
                if block.last_op is not None:
                    content.extend(block.last_op.successors)

    add(top)
    return content


def same_objects(old: list[object] | None, new: list[object]) -> bool:
    """Whether two contents are one: nothing changed in between."""
    return old is not None and len(old) == len(new) and all(map(operator.is_, old, new))


def verify(module: ModuleOp) -> None:
    """Verify every operator and SSA dominance; linear. Raises InvalidOperation for the first that fails."""
    Verifier().verify(module)


def _verify_alone(op: Operation) -> None:
    try:
        op.verify(verify_nested_ops=False)
    except (VerifyException, ValueError) as error:  # ValueError: an operand whose definition was erased
        raise InvalidOperation(op, str(error)) from None
    for region in op.regions:
        for block in region.blocks:
            if block.is_empty and len(region.blocks) > 1:
                raise InvalidOperation(op, "a block of a region with several blocks has no terminator")


def verify_dominance(top: Operation, skipped: Collection[Operation] = ()) -> None:
    """Every operand is defined before its user on every path; `skipped` operators below `top` are not entered.

    Raises InvalidOperation for the first operand that is not.
    """
    position: dict[Operation, int] = {}

    def number(op: Operation) -> None:
        position[op] = len(position)
        if op.regions and op not in skipped:
            for region in op.regions:
                for block in region.blocks:
                    for inner in block.ops:
                        number(inner)

    number(top)
    dominators: dict[Region, DominanceInfo] = {}
    for user, place in position.items():
        block = user.parent
        for index, operand in enumerate(operands_of(user)):
            owner = operand.owner
            if owner is block or (owner.parent is block and position.get(cast(Operation, owner), place) < place):
                continue
            if not _dominates(operand, user, position, dominators):
                name = f" '%{operand.name_hint}'" if operand.name_hint else ""
                raise InvalidOperation(user, f"operand #{index}{name} does not dominate this use")


def _dominates(
    value: SSAValue, user: Operation, position: dict[Operation, int], dominators: dict[Region, DominanceInfo]
) -> bool:
    owner = value.owner
    home = owner if isinstance(owner, Block) else owner.parent
    if home is None or home.parent is None:
        return False
    # The operator that holds `user` (or is it) in the region where the value lives.
    holder: Operation | None = user
    while holder is not None and holder.parent_region() is not home.parent:
        holder = holder.parent_op()
    if holder is None or holder.parent is None:
        return False
    if holder.parent is home:
        return isinstance(value, BlockArgument) or (isinstance(owner, Operation) and position[owner] < position[holder])
    region = home.parent
    if region not in dominators:
        dominators[region] = DominanceInfo(region)
    return dominators[region].strictly_dominates(home, holder.parent)
