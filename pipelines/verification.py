"""Verification that says which operator fails, and the SSA dominance check that xDSL does not make."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.utils.exceptions import VerifyException


class InvalidOperation(Exception):
    """An operator that breaks a rule: the operator and the rule, so that a tool can print where it stands."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


def verify(module: ModuleOp) -> None:
    """Verify every operator and SSA dominance; linear. Raises InvalidOperation for the first that fails."""
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            raise InvalidOperation(op, str(error)) from None
        except ValueError as error:  # xDSL: an operand whose definition was erased
            raise InvalidOperation(op, str(error)) from None
        for region in op.regions:
            for block in region.blocks:
                if block.is_empty and len(region.blocks) > 1:
                    raise InvalidOperation(op, "a block of a region with several blocks has no terminator")
    verify_dominance(module)


def verify_dominance(top: Operation) -> None:
    """Every operand is defined before its user on every path. Raises InvalidOperation for the first that is not."""
    position: dict[Operation, int] = {}
    for index, op in enumerate(top.walk()):
        position[op] = index
    dominators: dict[Region, DominanceInfo] = {}
    for user in position:
        for number, operand in enumerate(user.operands):
            if not _dominates(operand, user, position, dominators):
                name = f" '%{operand.name_hint}'" if operand.name_hint else ""
                raise InvalidOperation(user, f"operand #{number}{name} does not dominate this use")


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
