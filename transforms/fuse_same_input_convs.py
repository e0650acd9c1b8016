"""Make one wide convolution of several that read one input alike, as the branches of an Inception block do.

    %0 = ge.conv2d %x, %w0 : (tensor<1x64x8x8xf32>, tensor<32x64x1x1xf32>) -> tensor<1x32x8x8xf32>
    %1 = ge.relu %0
    %2 = ge.conv2d %x, %w1 : (tensor<1x64x8x8xf32>, tensor<16x64x1x1xf32>) -> tensor<1x16x8x8xf32>
    %3 = ge.relu %2
    // becomes
    %w = ge.constant #ge.fold<"ge.concat", [%w0, %w1], {axis = 0}, tensor<48x64x1x1xf32>>
    %4 = ge.conv2d %x, %w : (tensor<1x64x8x8xf32>, tensor<48x64x1x1xf32>) -> tensor<1x48x8x8xf32>
    %5 = ge.relu %4
    %1 = ge.slice %5 {starts = [0], ends = [32], axes = [1], steps = [1]} : ...
    %3 = ge.slice %5 {starts = [32], ends = [48], axes = [1], steps = [1]} : ...

Constants a channel behind each (BatchNorm, scale), and one activation that is the same behind all, become wide as well. One task starts instead of
several, and the input is read once. A part is free where it is a view: whole blocks of C0 channels of one image, the last
part excepted. Elsewhere it is a copy, and the estimated times of both forms decide. GE's SameInputConv2d fusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Trait, element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, CastOp, MulOp, UnaryOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.locations import fuse
from graph_engine.dialects.ge.normalization import BatchNormOp
from graph_engine.dialects.ge.shape import ConcatOp, SliceOp
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs, single_user
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import joined, known
from graph_engine.transforms.remarks import missed, passed
from graph_engine.transforms.retyping import rebuilt
from graph_engine.transforms.task_time import convolution_us, copy_us

Chain = list[Operation]
"""A convolution and what becomes wide with it, in order."""


def chain_of(conv: Conv2dOp) -> Chain | None:
    """The convolution with the constants a channel and the activation behind it; None if it cannot become wider."""
    if conv.group.value.data != 1 or DYNAMIC in shape_of(conv.result) or not _has_constants(conv, conv.x):
        return None
    chain: Chain = [conv]
    reader = single_user(conv.result)
    while isinstance(reader, BatchNormOp | MulOp | AddOp) and _has_constants(reader, chain[-1].results[0]):
        chain.append(reader)
        reader = single_user(reader.result)
    if isinstance(reader, UnaryOp) and reader.has(Trait.ELEMENTWISE) and not isinstance(reader, CastOp):
        return [*chain, reader]
    # Another elementwise reader leaves with this convolution; it would be a task of its own behind a wide one.
    return None if isinstance(reader, GeOp) and reader.has(Trait.ELEMENTWISE) else chain


def _has_constants(op: Operation, value: SSAValue) -> bool:
    """Whether all operands but `value` are constants with one value or one filter a channel."""
    wide = shape_of(op.results[0])[1]
    constants = [known(operand) for operand in op.operands if operand is not value]
    if not isinstance(op, MulOp | AddOp):
        return all(constant is not None for constant in constants)
    return all(constant is not None and constant.shape[-3:] == (wide, 1, 1) for constant in constants)


def groups(block: Block) -> list[list[Chain]]:
    """Chains of one input, window and form, in the order of the graph, two or more. Linear."""
    found: dict[tuple[object, ...], list[Chain]] = {}
    for op in block.ops:
        if isinstance(op, Conv2dOp) and (chain := chain_of(op)) is not None:
            form = [(type(member), *sorted(member.properties.items()), *_operands(member, chain)) for member in chain]
            found.setdefault((op.x, shape_of(op.w)[1:], tuple(form)), []).append(chain)
    return [group for group in found.values() if len(group) > 1]


def _operands(member: Operation, chain: Chain) -> list[object]:
    """What the operands of a member must share with those of another: type and rank of constants."""
    made = {op.results[0] for op in chain}
    return [None if value in made else (element_of(value), len(shape_of(value))) for value in member.operands]


def in_order(group: Sequence[Chain], c0: int) -> list[Chain]:
    """The chains in the order of their channels, of those with an open last block of channels the largest alone.

    What a concat reads first stands last, so that the rest of the concat can be stored behind it.
    """
    whole = [chain for chain in group if channels(chain) % c0 == 0]
    part = [max(open_, key=channels)] if (open_ := [chain for chain in group if channels(chain) % c0]) else []
    return [*sorted(whole, key=_read_first), *part]


def _read_first(chain: Chain) -> bool:
    """Whether a concat begins with what a chain yields."""
    reader = single_user(chain[-1].results[0])
    return isinstance(reader, ConcatOp) and reader.xs[0] is chain[-1].results[0]


def channels(chain: Chain) -> int:
    """The channels of a chain's result."""
    return shape_of(chain[0].results[0])[1]


def gain_us(group: Sequence[Chain], soc: Soc) -> float:
    """Microseconds that one wide convolution and its parts are expected to take less than the convolutions one by one."""
    results = [chain[0].results[0] for chain in group]
    conv = group[0][0]
    assert isinstance(conv, Conv2dOp)
    _, *window = shape_of(conv.w)
    positions, x = prod(shape_of(results[0])) // shape_of(results[0])[1], elements_of(conv.x)
    apart = sum(convolution_us(soc, x, positions, prod(window), channels(chain)) for chain in group)
    together = convolution_us(soc, x, positions, prod(window), sum(map(channels, group)))
    if shape_of(conv.x)[0] > 1:
        together += sum(copy_us(soc, elements_of(result)) for result in results)
    return apart - together


def widened(group: Sequence[Chain]) -> list[Operation]:
    """One chain for all, with its constants; the last operator yields the channels of all."""
    made: list[Operation] = []
    value = inner = group[0][0].operands[0]
    images, _, *pixels = shape_of(group[0][0].results[0])
    wide = tensor_type((images, sum(map(channels, group)), *pixels), element_of(value))
    for members in zip(*group, strict=True):
        operands: list[SSAValue] = []
        for number, operand in enumerate(members[0].operands):
            if operand is inner:
                operands.append(value)
                continue
            constants = [constant for member in members if (constant := known(member.operands[number])) is not None]
            axis = len(constants[0].shape) - 3 if isinstance(members[0], MulOp | AddOp) else 0
            made.append(joined(constants, axis).op())
            operands.append(made[-1].results[0])
        made.append(rebuilt(members[0], operands, lambda op, operands: [wide]))
        made[-1].location = fuse(*(member.location for member in members))
        value, inner = made[-1].results[0], members[0].results[0]
    return made


def fuse_block(block: Block, context: RewriteContext, soc: Soc) -> None:
    """Every group that gains by it. The wide chain stands where the first convolution stood, the parts behind it."""
    for found in groups(block):
        group = in_order(found, soc.c0["f16"])
        if len(group) < 2:
            continue
        first = next(chain[0] for chain in found if chain in group)
        gain = gain_us(group, soc)
        if gain <= 0:
            message = f"{len(group)} convolutions of one input stay: {-gain:.1f} us cheaper"
            missed("SameInputConvs", first, message, gain_us=gain)
            continue
        made, ends = widened(group), [0, *accumulate(map(channels, group))]
        with context.rewrite("fuse-same-input-convs", [first, *(op for chain in group for op in chain)]) as rewriter:
            wide = made[-1].results[0]
            parts = [SliceOp(wide, starts=[start], ends=[end], axes=[1]) for start, end in pairwise(ends)]
            rewriter.insert([*made, *parts])
            for chain, part in zip(group, parts, strict=True):
                part.location = chain[-1].location
                rewriter.replace(chain[-1], [], [part.result])
        passed("SameInputConvs", made[-1], f"one convolution of {len(group)}, {gain:.1f} us less", gain_us=gain)


@dataclass(frozen=True)
class FuseSameInputConvs(GePass):
    """One walk that groups convolutions by their input."""

    name = "fuse-same-input-convs"
    numerics = ROUNDING

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose rates, overheads and C0 decide"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context, soc = RewriteContext.current(), load_soc(self.soc)
        for block in graphs(op):
            fuse_block(block, context, soc)
