"""Why a conversion of format is left: the operators on its two sides, and what would remove it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.dialects.ge.shape import ReshapeOp
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
    maker, reshape = _maker(op.x)
    found = list(dict.fromkeys(_readers(op.y)))
    readers = list(dict.fromkeys(reader for reader, _ in found))
    if _is_model_order(op.x):
        ends: Sequence[tuple[Operation | None, ReshapeOp | None]] = [(maker, reshape)]
        other: Sequence[Operation | None] = readers
    elif _is_model_order(op.y):
        ends, other = found, [maker]
    else:
        ends, other = [], [maker, *readers]
    reasons = list(dict.fromkeys(_reason(*end, family, rules) for end in ends)) or [_RESTORED]
    why, remedy = min(reasons, key=lambda reason: reason[2])[:2]
    moved = stored_bytes(tensor(op.x)) + stored_bytes(tensor(op.y))
    nodes = [name_of(end) for end in (*(end for end, _ in ends), *other)]
    analysis(
        "TransData", op, f"{name_of(maker)} -> {', '.join(map(name_of, readers))} needs a conversion of {moved} "
        f"bytes: {why}; {remedy}", family=family.value, bytes=moved, producer=name_of(maker),
        readers=list(map(name_of, readers)), forced_by=nodes[0], reason=why, remedy=remedy,
    )  # fmt: skip


_RESTORED = (
    "the padding lanes are not zero and are summed over",
    "a channel count that fills the blocks, or an operator that keeps zeros, would remove it",
    0,
)


def _reason(
    op: Operation | None, between: ReshapeOp | None, family: Family, rules: FormatRules
) -> tuple[str, str, int]:
    """Why an operator works in ND, or what is reshaped between it and the conversion does, what would change that, and how
    little there is to do about it."""
    if op is None:
        return "the model's inputs are ND", "it is a border of the model", 0
    if isinstance(op, ReturnOp):
        return "the model's outputs are ND", "it is a border of the model", 0
    if between is not None and isinstance(op, GeOp | FusedOp) and rules.has_form(op, family):
        op = between  # the operator itself could work in the family, what reshapes its values cannot
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


def _maker(value: SSAValue) -> tuple[Operation | None, ReshapeOp | None]:
    """What makes a value, None for an input, and what reshapes it in ND on the way; what stands between makes nothing."""
    reshape: ReshapeOp | None = None
    while isinstance(value.owner, Operation) and _stands_between(value.owner):
        reshape = value.owner if isinstance(value.owner, ReshapeOp) and is_plain(value.type) else reshape
        value = value.owner.operands[0]
    return value.owner if isinstance(value.owner, Operation) else None, reshape


def _readers(value: SSAValue, between: ReshapeOp | None = None) -> Iterator[tuple[Operation, ReshapeOp | None]]:
    """What reads a value, and what reshapes it in ND on the way; what stands between reads nothing."""
    for use in value.uses:
        op = use.operation
        if _stands_between(op):
            first = op if between is None and isinstance(op, ReshapeOp) and is_plain(op.result.type) else between
            yield from _readers(op.results[0], first)
        else:
            yield op, between


def _stands_between(op: Operation) -> bool:
    """Whether an operator only stands between: views, and the conversion on the other side of ND."""
    return isinstance(op, ReshapeOp | TransDataOp) or is_transposed_view(op)


def name_of(op: Operation | None) -> str:
    """What a reader of the model knows an operator by: the last node it does the work of."""
    if op is None:
        return "the model's input"
    if isinstance(op, ReturnOp):
        return "the model's output"
    nodes = list(source_nodes(op.location))
    return f"'{nodes[-1].name}' ({nodes[-1].op_type})" if nodes else op.name
