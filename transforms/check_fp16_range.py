"""Warn of constants and operators whose numbers fp16 cannot hold, before `force-fp16` rounds them; changes nothing.

    %big = ge.constant dense<-1.0e9> : tensor<f32>
    %y = ge.add %x, %big : ...   // from node "mask/Add"
    // warning: node 'mask/Add' (Add): reads constant -1e+09, which is outside fp16's range and becomes -65504;
    //          --keep-dtype-nodes=mask/Add,softmax keep it in fp32

What can overflow is told by the bounds of values (`value_ranges`), but only on evidence: a bound that is finite, or an
operator that is known for it (`fp16_hazards`), such as the squares of a variance. All of one kind are one remark, at the
first of them; its arguments name all nodes. Operators that stay in fp32 (`mark-precision`) are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isinf

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.dialects.ge.precision import FP32, precision_of
from graph_engine.planning.bounds import Bounds
from graph_engine.transforms.force_fp16 import needs_halving, stays
from graph_engine.transforms.fp16_hazards import HALF, HAZARDS
from graph_engine.transforms.fp16_propagation import Propagation
from graph_engine.transforms.fp16_sample import losses, sample_inputs
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.masks import harmless_mask, keepers, only_limits
from graph_engine.transforms.pass_base import EXACT, FP16_SHARE, GePass
from graph_engine.transforms.remarks import analysis, warning
from graph_engine.transforms.value_ranges import Ranges

SHOWN = 4
"""Node names in a message; all are in the remark's arguments."""
MARGIN = 0.5
"""What part of the fp16 bound a cure may use up: it is measured on one sample."""


def halved_operators(block: Block) -> Iterator[GeOp]:
    """The plain operators that will compute in fp16, in program order, those inside kernels as well."""
    for op in block.ops:
        if needs_halving(op) and precision_of(op) != FP32:
            for inner in op.block.ops if isinstance(op, FusedOp) else (op,):
                if isinstance(inner, GeOp) and not isinstance(inner, ConstantOp):
                    yield inner


def node_names(ops: Iterable[Operation]) -> list[str]:
    """The names of the nodes that made operators, or of operators that no node made."""
    names = [[node.name for node in source_nodes(op.location)][-1:] or [op.name] for op in ops]
    return list(dict.fromkeys(name for some in names for name in some))


def keeping(ops: Iterable[Operation]) -> tuple[str, list[str]]:
    """The option that keeps operators in fp32, as text that names some of their nodes, and the names of all."""
    names = node_names(ops)
    more = f" and {len(names) - SHOWN} more, listed by --remarks=FILE," if len(names) > SHOWN else ""
    return (
        f"--keep-dtype-nodes={','.join(names[:SHOWN])}{more} {'keep' if len(names) > 1 else 'keeps'} it in fp32",
        names,
    )


def check_constants(ops: list[GeOp], ranges: Ranges) -> Iterator[Operation]:
    """One remark for each number of constants that fp16 does not have; gives the operators to keep in fp32.

    Constants with the same such number are one cause: the mask of every layer.
    """
    users: dict[SSAValue, list[GeOp]] = {}
    for op in ops:
        for index, value in enumerate(op.operands):
            origin = ranges.origin(value)
            if isinstance(origin.owner, ConstantOp) and element_of(origin) == f32 and not stays(op, index):
                users.setdefault(origin, []).append(op)
    causes: dict[float, list[GeOp]] = {}
    for constant, all_readers in users.items():
        bounds = ranges[constant]
        readers = [op for op in all_readers if not only_limits(op, constant, ranges)]
        if bounds.within(HALF) or bounds == Bounds() or not readers:  # nothing is known of a weight without store
            continue
        number = bounds.low if bounds.low < HALF.low else bounds.high
        if harmless_mask(constant, readers, ranges):
            text = f"reads the mask {number:g}, which fp16 does not have, but every softmax behind it gives the same"
            analysis("MaskSaturates", readers[0], text, value=number)
        else:
            causes.setdefault(number, []).extend(readers)
    for number, all_readers in causes.items():
        readers = list(dict.fromkeys(all_readers))
        rounded = f"becomes {HALF.low if number < 0 else HALF.high:g}"
        becomes = "stays infinite, or becomes 65504 on a chip that saturates" if isinf(number) else rounded
        also = f" (so do {len(readers) - 1} more)" if len(readers) > 1 else ""
        kept = keepers(readers, ranges)
        option, names = keeping(kept)
        text = f"reads{also} the constant {number:g}, which is outside fp16's range and {becomes}; {option}"
        warning("ConstantOutOfRange", readers[0], text, value=str(number), nodes=names)
        yield from kept


def check_operators(ops: list[GeOp], ranges: Ranges) -> Iterator[Operation]:
    """One remark for each hazard, at the first operator that has it; gives the operators to keep in fp32."""
    for hazard in HAZARDS:
        found = [op for op in ops if hazard.found(op, ranges)]
        if found:
            kept = [one for op in found for one in hazard.together(op, ranges)]
            option, names = keeping(kept)
            others = len(node_names(found)) - 1
            also = f" (so do {others} more)" if others else ""
            warning(hazard.name, found[0], f"{hazard.text}{also}; {option}", nodes=names)
            yield from kept


def check_sample(block: Block, ops: list[GeOp], ranges: Ranges, path: str, told: list[Operation]) -> None:
    """One remark on what overflows on the sample in `path`, one on what rounding moves by more than the fp16 bound.

    And one on what magnifies the rounding of all others beyond it, if an output is still outside when what the first two
    name is in fp32, and the operators `told` of before.
    """
    inputs = sample_inputs(block, path)
    found = list(losses(block, inputs, ops))
    kept = list(told)
    beyond = [loss for loss in found if loss.overflows and not loss.reads_beyond]
    if beyond:
        worst = max(beyond, key=lambda loss: loss.largest)
        text = f"reaches {worst.largest:.6g}, beyond fp16, on the sample"
        outside = [loss.op for loss in found if loss.overflows or loss.reads_beyond]
        _warn_of_sample("SampleOutOfRange", worst.op, text, len(beyond), outside)
        kept += outside
    inexact = [loss for loss in found if loss.share > FP16_SHARE and not loss.overflows]
    if inexact:
        worst = max(inexact, key=lambda loss: loss.share)
        text = f"moves by {min(worst.share, 1):.0%} of its range when rounded on the sample"
        makers = [ranges.definition(value) for loss in inexact for value in loss.op.operands]
        exact = [op for op in makers if isinstance(op, GeOp) and not isinstance(op, ConstantOp)]
        exact += [loss.op for loss in inexact]
        _warn_of_sample("SampleLosesDigits", worst.op, text, len(inexact), exact)
        kept += exact
    check_outputs(Propagation(block, inputs, ops, ranges), kept)


def check_outputs(graph: Propagation, kept: list[Operation]) -> None:
    """One remark, at the operator where the rounding of all before it leaves the fp16 bound, if an output does."""
    kernels = graph.kernels_of(kept)
    outputs = graph.outputs_beyond(FP16_SHARE, kernels)
    magnified = graph.magnified(FP16_SHARE, kernels, outputs) if outputs else []
    if not magnified:
        return
    worst = max(magnified, key=lambda found: found.share)
    cure = graph.cure(FP16_SHARE * MARGIN, kernels, outputs)
    text = f"magnifies what is rounded before it to {min(worst.share, 1):.0%} of its range on the sample"
    if cure.everything:
        text += "; to cure it takes all that leads to the outputs, as with --precision-mode=must_keep_origin_dtype"
    _warn_of_sample("SampleMagnifiesRounding", worst.op, text, len(magnified), cure.kernels)


def _warn_of_sample(name: str, op: GeOp, text: str, count: int, kept: Iterable[Operation]) -> None:
    also = f" (so do {count - 1} more)" if count > 1 else ""
    option, names = keeping(kept)
    warning(name, op, f"{text}{also}; {option}", nodes=names)


@dataclass(frozen=True)
class CheckFp16Range(GePass):
    """One analysis of ranges for each graph, then one walk over what will be fp16; with a sample, evaluations of it."""

    name = "check-fp16-range"
    numerics = EXACT

    sample: str = field(
        default="", metadata={"help": "an .npz file of inputs by name: also warn of what rounding costs on them"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in graphs(op):
            ranges, ops = Ranges(block), list(halved_operators(block))
            told = [*check_constants(ops, ranges), *check_operators(ops, ranges)]
            if self.sample:
                check_sample(block, ops, ranges, self.sample, told)
