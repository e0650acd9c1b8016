"""Why a conversion of format is left: the operators on its two sides, and what would remove it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.dialects.layout import NHWC, TransDataOp, encoding_of, is_plain
from graph_engine.transforms.conversions import stored_bytes
from graph_engine.transforms.formats import FormatRules
from graph_engine.transforms.remarks import analysis
from graph_engine.transforms.stored_values import Family, family_of, format_of, is_transposed_view, tensor


def explain(block: Block, rules: FormatRules) -> None:
    """One remark for every `layout.transdata` of a graph."""
    for op in block.ops:
        if isinstance(op, TransDataOp):
            _explain(op, rules)


def _explain(op: TransDataOp, rules: FormatRules) -> None:
    family = family_of((format_of(op.x), format_of(op.y)))
    if family is None:  # a matter of the model's own formats
        return
    readers = [use.operation for use in op.y.uses]
    if len(readers) == 1 and is_transposed_view(readers[0]):
        readers = [use.operation for use in readers[0].results[0].uses]
    if _is_model_order(op.x):
        ends: Sequence[Operation | None] = [_maker(op.x)]
        other = readers
    elif _is_model_order(op.y):
        ends, other = readers, [_maker(op.x)]
    else:
        ends, other = [], [_maker(op.x), *readers]
    reasons = list(dict.fromkeys(_reason(end, family, rules) for end in ends)) or [_RESTORED]
    why, remedy = min(reasons, key=lambda reason: reason[2])[:2]
    moved = stored_bytes(tensor(op.x)) + stored_bytes(tensor(op.y))
    nodes = [name_of(end) for end in (*ends, *other)]
    analysis(
        "TransData", op, f"{name_of(_maker(op.x))} -> {', '.join(map(name_of, readers))} needs a conversion of {moved} "
        f"bytes: {why}; {remedy}", family=family.value, bytes=moved, producer=name_of(_maker(op.x)),
        readers=list(map(name_of, readers)), forced_by=nodes[0], reason=why, remedy=remedy,
    )  # fmt: skip


_RESTORED = (
    "the padding lanes are not zero and are summed over",
    "a channel count that fills the blocks, or an operator that keeps zeros, would remove it",
    0,
)


def _reason(op: Operation | None, family: Family, rules: FormatRules) -> tuple[str, str, int]:
    """Why an operator works in ND, what would change that, and how little there is to do about it."""
    if op is None:
        return "the model's inputs are ND", "it is a border of the model", 0
    if isinstance(op, ReturnOp):
        return "the model's outputs are ND", "it is a border of the model", 0
    what = f"{op.anchor.data} (fused)" if isinstance(op, FusedOp) else op.name
    if rules.has_form(op, family):
        return (
            f"{what} works in {family.value} as well, but fewer bytes are converted here",
            "nothing removes it without moving more bytes",
            2,
        )
    return f"{what} has no {family.value} form for these shapes", f"a {family.value} form of {what} would remove it", 1


def _is_model_order(value: SSAValue) -> bool:
    """Whether a value is stored as models have it: row-major, channels first or last."""
    return is_plain(value.type) or isinstance(encoding_of(value.type), NHWC)


def _maker(value: SSAValue) -> Operation | None:
    """What makes a value, None for an input; a transpose that is a view makes nothing."""
    if isinstance(value.owner, Operation) and is_transposed_view(value.owner):
        return _maker(value.owner.operands[0])
    return value.owner if isinstance(value.owner, Operation) else None


def name_of(op: Operation | None) -> str:
    """What a reader of the model knows an operator by: the last node it does the work of."""
    if op is None:
        return "the model's input"
    if isinstance(op, ReturnOp):
        return "the model's output"
    nodes = list(source_nodes(op.location))
    return f"'{nodes[-1].name}' ({nodes[-1].op_type})" if nodes else op.name
