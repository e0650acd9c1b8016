"""Choose formats as GE does: heavy operators push theirs to the neighbours, first come, first served.

With a guard that GE lacks: an operator follows its producers only if that saves as many conversions as it adds, and
follows a lone reader only if it has one operand itself. No choice is revised, so the result is good, not optimal.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.transforms.formats import FormatRules
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.stored_values import Family


def heavy_spread(block: Block, rules: FormatRules) -> dict[Operation, Family]:
    """The family of every operator that does not stay ND. Two sweeps, linear."""
    chosen: dict[Operation, Family] = {}
    ops = [op for op in block.ops if rules.can_move(op)]
    for op in ops:
        family = rules.own_family(op)
        if family is not None and rules.has_form(op, family):
            chosen[op] = family
            continue
        owners = [value.owner for value in op.operands if not isinstance(value.owner, ConstantOp)]
        leading = [chosen[owner] for owner in owners if isinstance(owner, Operation) and owner in chosen]
        # As many conversions are saved as are added, or more.
        if leading and 2 * len(leading) >= len(owners) and _follows(op, leading[0], rules):
            chosen[op] = leading[0]
    for op in reversed(ops):
        user = single_user(op.results[0]) if len(op.results) == 1 else None
        if op in chosen or user is None or user not in chosen:
            continue
        arriving = [value for value in op.operands if not isinstance(value.owner, ConstantOp)]
        if len(arriving) <= 1 and _follows(op, chosen[user], rules):
            chosen[op] = chosen[user]
    return chosen


def around(block: Block, rules: FormatRules) -> dict[Operation, Family]:
    """The family of every heavy operator; nothing else leaves ND, so conversions stand around each."""
    families = {op: rules.own_family(op) for op in block.ops if rules.can_move(op)}
    return {op: family for op, family in families.items() if family is not None and rules.has_form(op, family)}


def _follows(op: Operation, family: Family, rules: FormatRules) -> bool:
    """Whether an operator without a wish of its own can take part in `family`."""
    return rules.own_family(op) is None and rules.has_form(op, family)
