"""Take unsigned 8-bit numbers as signed ones, 128 lower, where the Cube multiplies signed ones alone.

%q = ge.quantize %x, %s, 133 : ... -> tensor<1x64x8x8xui8>
%i = ge.conv2d_integer %q, %w, 133, 0 : ... -> tensor<1x32x8x8xi32>
// becomes
%q = ge.quantize %x, %s, 5 : ... -> tensor<1x64x8x8xi8>
%i = ge.conv2d_integer %q, %w, 5, 0 : ... -> tensor<1x32x8x8xi32>

Number and zero point move together, so that what they stand for stays, to the last bit. All that reads a tensor moves with
it, or none does: a tensor that enters or leaves the model unsigned stays, and so do products of it in floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import element_of, shape_of
from graph_engine.dialects.ge.elementwise import MaximumOp
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.quantization import (
    Conv2dIntegerOp,
    DequantizeOp,
    MatmulIntegerOp,
    QuantizedAddOp,
    QuantizeOp,
    RequantizeOp,
)
from graph_engine.dialects.ge.shape import ConcatOp
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.quantised_values import constant, multiplied_types
from graph_engine.transforms.recipes import known
from graph_engine.transforms.remarks import missed
from graph_engine.transforms.simplify_quantized import MOVES

RESULT = -1
POINTS: dict[type[Operation], dict[int, int]] = {
    QuantizeOp: {RESULT: 2},
    DequantizeOp: {0: 2},
    RequantizeOp: {RESULT: 2},
    Conv2dIntegerOp: {0: 2},
    MatmulIntegerOp: {0: 2},
    QuantizedAddOp: {0: 2, 3: 5, RESULT: 7},
}
"""Which operand is the zero point of which operand, or of the result."""
TOGETHER = (*MOVES, ConcatOp, MaximumOp)
"""Operators on numbers of one quantisation, whose results are quantised alike."""
PRODUCTS = (Conv2dIntegerOp, MatmulIntegerOp, Conv2dOp, MatmulOp)


@dataclass
class Quantisation:
    """Unsigned tensors that can only move together, and the operators at them; `kept`: why they stay, if they do."""

    values: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    ops: dict[Operation, None] = field(default_factory=dict[Operation, None])
    kept: str = ""


def is_unsigned(value: SSAValue) -> bool:
    """Whether a value holds unsigned 8-bit numbers and is no constant."""
    return element_name(element_of(value)) == "ui8" and not isinstance(value.owner, ConstantOp)


def quantisation_of(start: SSAValue) -> Quantisation:
    """The group of an unsigned tensor."""
    group, pending = Quantisation(), [start]
    while pending:
        value = pending.pop()
        if value in group.values:
            continue
        group.values[value] = None
        for op, place in places(value):
            if op is None:
                group.kept = "it enters the model unsigned"
                continue
            group.ops[op] = None
            if isinstance(op, TOGETHER):
                pending += [v for v in (*op.operands, *op.results) if is_unsigned(v)]
            elif place not in POINTS.get(type(op), {}):
                group.kept = "it leaves the model unsigned" if isinstance(op, ReturnOp) else f"{op.name} takes it so"
    return group


def places(value: SSAValue) -> Iterator[tuple[Operation | None, int]]:
    """Where a value is made (None: by no operator) and read: operators, and its number among their operands."""
    yield value.owner if isinstance(value.owner, Operation) else None, RESULT
    for use in value.uses:
        yield use.operation, use.index


def points_of(op: Operation, values: dict[SSAValue, None]) -> list[int]:
    """The operands of an operator that are zero points of some of `values`, or their lower bounds."""
    if isinstance(op, TOGETHER):
        return [number for number, value in enumerate(op.operands) if isinstance(value.owner, ConstantOp)]
    held = [*op.operands, op.results[0]]
    return [point for place, point in POINTS[type(op)].items() if held[place] in values]


def lowered(value: SSAValue) -> ConstantOp | None:
    """A constant of unsigned numbers as signed ones, if its value is known."""
    point = known(value)
    try:
        return (
            None if point is None else constant((point.numbers().astype(np.int16) - 128).astype(np.int8), "zero_point")
        )
    except GraphEngineError:  # a store that is not there
        return None


def sign(group: Quantisation, order: list[Operation], numbers: dict[Operation, int], context: RewriteContext) -> None:
    """Moves all tensors of a group, or says in `kept` why not. `order` are the operators of the block, by `numbers`."""
    values, ops = group.values, sorted(group.ops, key=numbers.__getitem__)
    points = dict.fromkeys(op.operands[place] for op in ops for place in points_of(op, values))
    new = {point: made for point in points if (made := lowered(point)) is not None}
    if len(new) < len(points):
        group.kept = "its zero point is not known"
        return
    with context.rewrite("signed-numbers", ops[:1]) as rewriter:
        rewriter.insert(list(new.values()))
        for op in ops:
            own = points_of(op, values)
            operands = [new[v].result if place in own else v for place, v in enumerate(op.operands)]
            types = [tensor_type(shape_of(r), i8) if r in values else r.type for r in op.results]
            moved = type(op).create(operands=operands, result_types=types, properties=dict(op.properties))
            moved.location = op.location
            numbers[moved] = numbers[op]
            order[numbers[op]] = moved
            values |= {after: None for before, after in zip(op.results, moved.results, strict=True) if before in values}
            rewriter.replace(op, moved)


def products(group: Quantisation) -> list[Operation]:
    """The products that read a group, as integers or dequantised."""
    readers = [op for op in group.ops if op.operands and op.operands[0] in group.values]
    behind = [use.operation for op in readers if isinstance(op, DequantizeOp) for use in op.result.uses]
    return list(dict.fromkeys(op for op in (*readers, *behind) if isinstance(op, PRODUCTS)))


def walk(block: Block, soc: Soc, context: RewriteContext) -> None:
    """Every group of a graph once; operators that were moved are seen again in their new form."""
    order = list(block.ops)
    numbers = {op: number for number, op in enumerate(order)}
    seen: set[SSAValue] = set()
    for op in order:
        start = next((value for value in op.results if is_unsigned(value) and value not in seen), None)
        if start is None:
            continue
        group = quantisation_of(start)
        seen |= set(group.values)
        if not group.kept:
            sign(group, order, numbers, context)
        for product in products(group) if group.kept else ():
            reason = f"{soc.name} has no product of unsigned numbers, and a tensor stays so: {group.kept}"
            missed("Signed", product, reason)


@dataclass(frozen=True)
class SignQuantized(GePass):
    """Take unsigned 8-bit numbers as signed ones, 128 lower, where the Cube multiplies signed ones alone."""

    name = "sign-quantized"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose Cube decides"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        soc, context = load_soc(self.soc), RewriteContext.current()
        if multiplied_types(soc) != ["i8"]:
            return
        for block in graphs(op):
            walk(block, soc, context)
