"""An operator on operands of other types, anew or in place: what changes of precision and of layout have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from graph_engine.dialects.operator_class import set_type

ResultTypes: TypeAlias = Callable[[Operation, Sequence[SSAValue]], Sequence[Attribute]]
"""Result types of an operator, given its new operands."""


def rebuilt(op: Operation, operands: Sequence[SSAValue], result_types: ResultTypes) -> Operation:
    """A copy of `op` on `operands`, with its location, name hints, properties and retyped regions.

    The operators inside a region (`ge.fused`) are rebuilt on the block arguments, which take the operands' types.
    """
    regions = [_rebuilt_region(region, operands, result_types) for region in op.regions]
    types = [value.type for value in _yielded(regions[0])] if regions else result_types(op, operands)
    copy = type(op).create(
        operands=operands,
        result_types=types,
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
        location=op.location,
    )
    for new, old in zip(copy.results, op.results, strict=True):
        new.name_hint = old.name_hint
    return copy


def retype(op: Operation, operands: Sequence[SSAValue], result_types: ResultTypes) -> None:
    """What `rebuilt` makes, in place: a fraction of the cost. The graph is not valid until the readers are served."""
    op.operands = operands
    _retype_results(op, result_types)


def _retype_results(op: Operation, result_types: ResultTypes) -> None:
    types = [] if op.regions else result_types(op, op.operands)
    for region in op.regions:
        for argument, value in zip(region.block.args, op.operands, strict=True):
            set_type(argument, value.type)
        for inner in region.block.ops:
            _retype_results(inner, result_types)
        types = [value.type for value in _yielded(region)]
    for result, type_ in zip(op.results, types, strict=True):
        set_type(result, type_)


def _rebuilt_region(region: Region, operands: Sequence[SSAValue], result_types: ResultTypes) -> Region:
    block = Block(arg_types=[value.type for value in operands])
    values: dict[SSAValue, SSAValue] = dict(zip(region.block.args, block.args, strict=True))
    for op in region.block.ops:
        copy = rebuilt(op, [values[value] for value in op.operands], result_types)
        values.update(zip(op.results, copy.results, strict=True))
        block.add_op(copy)
    return Region(block)


def _yielded(region: Region) -> Sequence[SSAValue]:
    terminator = region.block.last_op
    assert terminator is not None
    return terminator.operands
