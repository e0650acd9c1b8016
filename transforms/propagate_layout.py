"""Choose how every tensor is stored and insert `layout.transdata` where producer and consumer differ.

    %y = ge.conv2d %x, %w : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x54x54xf16>
    // becomes
    %0 = layout.transdata %x : tensor<1x64x56x56xf16> -> tensor<1x64x56x56xf16, #layout.nc1hwc0<...>>
    %w = ge.constant #ge.fold<"layout.transdata", [...]> : tensor<64x64x3x3xf16, #layout.fractal_z<...>>
    %1 = ge.conv2d %0, %w : ... -> tensor<1x64x54x54xf16, #layout.nc1hwc0<...>>
    %y = layout.transdata %1 : ... -> tensor<1x64x54x54xf16>

Heavy operators and pools ask for the Cube's formats; elementwise operators and channel concats follow their producers,
and a lone consumer where that cannot add a conversion; everything else, and the model's inputs and outputs, stays ND.
Constants are packed by recipe. A cast next to a conversion is done by the conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.layout import TransDataOp, is_plain, with_encoding
from graph_engine.transforms.driver import CountedRewriter, Pattern, RewriteContext, apply_patterns
from graph_engine.transforms.formats import (
    Family,
    Format,
    FormatRules,
    follows,
    format_of,
    own_family,
    tensor,
)
from graph_engine.transforms.fusion import graphs, single_user
from graph_engine.transforms.pass_base import GePass
from graph_engine.transforms.recipes import computed, known
from graph_engine.transforms.retyping import rebuilt


def choose_families(block: Block, rules: FormatRules) -> dict[Operation, Family]:
    """The family of every operator that does not stay ND. Two sweeps, linear."""
    chosen: dict[Operation, Family] = {}
    ops = [op for op in block.ops if isinstance(op, GeOp | FusedOp) and not isinstance(op, ConstantOp)]
    ops = [op for op in ops if all(is_plain(value.type) for value in (*op.operands, *op.results))]
    for op in ops:
        family = own_family(op)
        if family is not None and rules.of(op, family, (None,) * len(op.operands)) is not None:
            chosen[op] = family
            continue
        owners = [value.owner for value in op.operands if not isinstance(value.owner, ConstantOp)]
        leading = [chosen[owner] for owner in owners if isinstance(owner, Operation) and owner in chosen]
        # As many conversions are saved as are added, or more.
        if leading and 2 * len(leading) >= len(owners) and follows(op, leading[0], rules):
            chosen[op] = leading[0]
    for op in reversed(ops):
        user = single_user(op.results[0]) if len(op.results) == 1 else None
        if op in chosen or user is None or user not in chosen:
            continue
        arriving = [value for value in op.operands if not isinstance(value.owner, ConstantOp)]
        if len(arriving) <= 1 and follows(op, chosen[user], rules):
            chosen[op] = chosen[user]
    return chosen


class _Stored:
    """Values in other formats, each conversion made once, in front of its first user."""

    def __init__(self) -> None:
        self.made: dict[tuple[SSAValue, Format], SSAValue] = {}

    def given(self, value: SSAValue) -> Format:
        """The format that a value is there in already: before the conversion to ND that hides it."""
        owner = value.owner
        return format_of(owner.x) if isinstance(owner, TransDataOp) and is_plain(value.type) else format_of(value)

    def of(self, value: SSAValue, wanted: Format, user: Operation, rewriter: CountedRewriter) -> SSAValue:
        """`value` stored as `wanted`, for `user`, in front of which the rewriter stands."""
        if format_of(value) == wanted:
            return value
        owner = value.owner
        source = owner.x if isinstance(owner, TransDataOp) else value
        target = with_encoding(tensor(value), wanted)
        if source.type == target:
            return source
        key = (value, wanted)
        if key not in self.made:
            constant = known(value)
            if constant is not None:
                new: Operation = computed("layout.transdata", [constant], target).op()
            else:
                new = TransDataOp(source, target)
            new.location = user.location
            self.made[key] = rewriter.insert(new).results[0]
        return self.made[key]


def lay_out(op: Operation, family: Family, rules: FormatRules, stored: _Stored, rewriter: CountedRewriter) -> None:
    """Puts a copy of `op` in the formats of `family` between conversions; those that meet vanish as the walk goes on."""
    formats = rules.of(op, family, [stored.given(value) for value in op.operands])
    assert formats is not None
    operands = [
        stored.of(value, wanted, op, rewriter) for value, wanted in zip(op.operands, formats.operands, strict=True)
    ]

    def result_types(inner: Operation, values: Sequence[SSAValue]) -> Sequence[Attribute]:
        inside = rules.of(inner, family, [format_of(value) for value in values])
        if inside is None:  # ge.yield
            return ()
        return [with_encoding(tensor(inner.results[0]), inside.result)]

    copy = rebuilt(op, operands, result_types)
    rewriter.insert(copy)
    back = TransDataOp(copy.results[0], tensor(op.results[0]))
    back.location = op.location
    rewriter.replace(op, back)


class MergeCastIntoTransdata(Pattern):
    """transdata(cast(x)) with no other user of the cast, and cast(transdata(x)) likewise -> one transdata of x."""

    name = "merge-cast-into-transdata"
    root: ClassVar[tuple[type[Operation], ...]] = (TransDataOp, CastOp)

    def rewrite(self, op: Operation, rewriter: CountedRewriter) -> bool:
        inner = op.operands[0].owner
        pair = {type(op), type(inner)}
        if isinstance(inner, Operation) and pair == {TransDataOp, CastOp} and single_user(inner.results[0]) is op:
            names = [element_name(element_of(value)) for value in (inner.operands[0], op.results[0])]
            if set(names) <= {"f16", "f32"} and not isinstance(inner.operands[0].owner, ConstantOp):
                rewriter.replace(op, TransDataOp(inner.operands[0], tensor(op.results[0])))
                return True
        return False


@dataclass(frozen=True)
class PropagateLayout(GePass):
    """Chooses formats by two sweeps, then rebuilds each operator; the graph is valid after each."""

    name = "propagate-layout"

    soc: str = field(default="Ascend310P3", metadata={"help": "chip that gives C0 per element type"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        rules = FormatRules.for_soc(self.soc)
        for block in graphs(op):
            stored = _Stored()
            chosen = choose_families(block, rules)
            for inner in tuple(block.ops):
                if inner in chosen:
                    with context.rewrite("lay-out", [inner]) as rewriter:
                        lay_out(inner, chosen[inner], rules, stored, rewriter)
        apply_patterns(op, [MergeCastIntoTransdata()])
