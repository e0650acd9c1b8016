"""Choose how every tensor is stored and insert `layout.transdata` where producer and consumer differ.

    %y = ge.conv2d %x, %w : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x54x54xf16>
    // becomes
    %0 = layout.transdata %x : tensor<1x64x56x56xf16> -> tensor<1x64x56x56xf16, #layout.nc1hwc0<...>>
    %w = ge.constant #ge.fold<"layout.transdata", [...]> : tensor<64x64x3x3xf16, #layout.fractal_z<...>>
    %1 = ge.conv2d %0, %w : ... -> tensor<1x64x54x54xf16, #layout.nc1hwc0<...>>
    %y = layout.transdata %1 : ... -> tensor<1x64x54x54xf16>

Heavy operators and pools ask for the Cube's formats; what works in ND as well follows where that saves conversions;
everything else, and the model's inputs and outputs, stays ND. Constants are packed by recipe. A cast next to a conversion
is done by the conversion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.layout import NC1HWC0, TransDataOp, is_plain, with_encoding
from graph_engine.transforms.border_formats import Borders, borders_of
from graph_engine.transforms.conversions import Choice, conversions
from graph_engine.transforms.driver import CountedRewriter, Pattern, RewriteContext, apply_patterns
from graph_engine.transforms.formats import FormatRules
from graph_engine.transforms.fusion import graphs, single_user
from graph_engine.transforms.heavy_spread import around, heavy_spread
from graph_engine.transforms.layout_assignment import Assignment, assign_layouts
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.recipes import computed, known
from graph_engine.transforms.remarks import Kind, analysis, wanted
from graph_engine.transforms.remembered_formats import RememberedRules
from graph_engine.transforms.retyping import retype
from graph_engine.transforms.stored_values import Family, Format, family_of, format_of, tensor


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
        if wanted is not None and type(format_of(source)) not in (type(wanted), type(None)):
            source = value  # no task converts one family's format into another's: by way of ND
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


def lay_out(op: Operation, family: Family, rules: RememberedRules, stored: _Stored, rewriter: CountedRewriter) -> None:
    """Puts `op` in the formats of `family` between conversions; those that meet vanish as the walk goes on."""
    formats = rules.of(op, family, [stored.given(value) for value in op.operands])
    assert formats is not None
    operands = [
        stored.of(value, wanted, op, rewriter) for value, wanted in zip(op.operands, formats.operands, strict=True)
    ]

    given = [format_of(value) for value in operands]
    if isinstance(op, FusedOp):
        inner_formats = dict(zip(op.block.ops, rules.inside(op, family, given), strict=False))  # the yield gives none
    else:
        inside = rules.of(op, family, given)
        inner_formats = {op: None if inside is None else inside.result}

    def result_types(inner: Operation, _: Sequence[SSAValue]) -> Sequence[Attribute]:
        return [with_encoding(tensor(result), inner_formats[inner]) for result in inner.results]

    before = tensor(op.results[0])
    retype(op, operands, result_types)
    rules.forget(op)
    back = TransDataOp(op.results[0], before)
    back.location = op.location
    rewriter.retyped(op, [back])


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


def report(
    function: Operation, block: Block, choice: Choice, rules: FormatRules, borders: Borders, strategy: str, proof: Assignment | None
) -> None:  # fmt: skip
    """The remark on a choice: its cost, what is proved, and the conversions of each family."""
    steps = list(conversions(block, choice, rules, borders))
    cost = sum(step.bytes for step in steps)
    bound = (proof or assign_layouts(block, rules, borders)).lower_bound
    families = Counter(family.value for step in steps if (family := family_of((step.source, step.target))))
    proved = "no choice moves fewer" if cost == bound else f"no choice moves fewer than {bound}"
    counts = ", ".join(f"{count} {family}" for family, count in sorted(families.items())) or "none"
    message = f"{strategy}: conversions move {cost} bytes, {proved}; conversions: {counts}"
    analysis(
        "LayoutAssignment", function, message, strategy=strategy, cost=cost, lower_bound=bound,
        proved_optimal=cost == bound, conversions=dict(families),
    )  # fmt: skip


@dataclass(frozen=True)
class PropagateLayout(GePass):
    """Chooses formats, then retypes each operator; the graph is valid after each."""

    name = "propagate-layout"
    numerics = EXACT

    soc: str = field(
        default="Ascend310P3", metadata={"help": "chip that gives C0 per element type and the heavy operators"}
    )
    strategy: Literal["min-cut", "heavy-spread", "around"] = field(
        default="min-cut",
        metadata={"help": "fewest bytes converted, with a proof; as GE spreads formats; or around each heavy operator"},
    )

    inputs: str = field(default="", metadata={"help": "formats that adjust-borders will give inputs: its option"})
    outputs: str = field(default="", metadata={"help": "the same for the outputs"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        chip = RememberedRules.for_soc(self.soc)
        for block in graphs(op):
            stored = _Stored()
            borders = borders_of(block, self.inputs, self.outputs, chip.c0["f16"])
            in_blocks = any(isinstance(encoding, NC1HWC0) for encoding in borders.made.values())
            rules = chip.without_pixels() if in_blocks else chip
            chosen = self.chosen(block, rules, borders)
            for inner in tuple(block.ops):
                if inner in chosen:
                    with context.rewrite("lay-out", [inner]) as rewriter:
                        lay_out(inner, chosen[inner], rules, stored, rewriter)
        apply_patterns(op, [MergeCastIntoTransdata()])

    def chosen(self, block: Block, rules: FormatRules, borders: Borders) -> Choice:
        """The family of every operator that does not stay ND, with a remark on what that costs."""
        assignment = assign_layouts(block, rules, borders) if self.strategy == "min-cut" else None
        spread = around if self.strategy == "around" else heavy_spread
        choice = spread(block, rules) if assignment is None else assignment.choice
        function = block.parent_op()
        if function is not None and wanted(Kind.ANALYSIS):
            report(function, block, choice, rules, borders, self.strategy, assignment)
        return choice
