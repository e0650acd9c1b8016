"""Check that every operator has formats that it takes; after this point no heavy operator is left in ND.

Checked: operators that ask for the Cube's formats have them; operands and results of every operator agree with its
rule, padding included; views are views; the model's inputs and outputs are ND, or in a format that the text declares. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from graph_engine.dialects.encodings import NHWC, Declared, Pad
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, shape_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.dialects.layout import format_name, is_plain
from graph_engine.transforms.formats import FormatRules
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.pass_base import EXACT, GePass, OperatorError
from graph_engine.transforms.remembered_formats import RememberedRules
from graph_engine.transforms.stored_values import Format, family_of, format_of, is_transposed_view, is_view, tensor


def fault(op: Operation, rules: FormatRules) -> str | None:
    """What is wrong with the formats of `op`; None if nothing is."""
    if not isinstance(op, GeOp | FusedOp) or isinstance(op, ConstantOp):
        return None
    given = [format_of(value) for value in op.operands]
    result = format_of(op.results[0])
    family = family_of([result, *given])
    if isinstance(op, ReshapeOp):
        fits = is_view(tensor(op.x), op.result.type)
        return None if fits else f"the bytes of {tensor(op.x)} are not those of {op.result.type}"
    if isinstance(op, TransposeOp) and is_transposed_view(op):
        return None
    if any(isinstance(format, NHWC) for format in (result, *given)):
        return "does not work in NHWC"
    if family is None:
        wanted = rules.own_family(op)
        static = all(DYNAMIC not in shape_of(value) for value in (*op.operands, *op.results))
        if wanted is not None and static and rules.of(op, wanted, given) is not None:
            return f"wants {wanted.value}, found ND"
        return None
    formats = rules.of(op, family, given)
    if formats is None:
        return f"does not work in {family.value}"
    for index, (found, wanted) in enumerate(zip(given, formats.operands, strict=True)):
        if found != wanted:
            return f"operand {index} must be {_text(wanted)}, found {_text(found)}"
    if result is None or result.with_pad("zero") != (formats.result and formats.result.with_pad("zero")):
        return f"the result must be {_text(formats.result)}, found {_text(result)}"
    for pad in (Pad.zero, Pad.finite):
        if formats.result is not None and result.promises(pad) and not formats.result.promises(pad):
            return f"the result is declared pad = {pad}, but its padding lanes are not {pad}"
    return None


def _text(format: Format) -> str:
    return "ND" if format is None else str(format)


def faults(block: Block, rules: FormatRules) -> Iterator[tuple[Operation, str]]:
    """All faults of a graph, each with its operator; a border that is not ND is the function's or the return's."""
    for op in block.ops:
        message = fault(op, rules)
        if message is not None:
            nodes = ", ".join(node.name for node in source_nodes(op.location))
            yield op, f"{op.name}{f' ({nodes})' if nodes else ''}: {message}"
    function, last = block.parent_op(), block.last_op
    assert function is not None and last is not None
    for what, op, values in (("input", function, block.args), ("output", last, last.operands)):
        for value in values:
            if not is_plain(value.type) and not isinstance(format_of(value), Declared):
                yield op, f"a model {what} must be ND, found {format_name(value.type)}"


@dataclass(frozen=True)
class VerifyLayout(GePass):
    """Raises OperatorError with the first fault and the number of further ones."""

    name = "verify-layout"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip that gives C0 per element type"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = RememberedRules.for_soc(self.soc)
        found = [fault for block in graphs(op) for fault in faults(block, rules)]
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            raise OperatorError(found[0][0], found[0][1] + more)
