"""Compute an fp32 graph in fp16, as ATC does by default: casts at the borders, weights rounded once.

    func.func @main(%x: tensor<1x8xf32>) { %y = ge.relu %x : (tensor<1x8xf32>) -> tensor<1x8xf32>  return %y }
    // becomes
    %0 = ge.cast %x : (tensor<1x8xf32>) -> tensor<1x8xf16>
    %1 = ge.relu %0 : (tensor<1x8xf16>) -> tensor<1x8xf16>
    %y = ge.cast %1 : (tensor<1x8xf16>) -> tensor<1x8xf32>

Inputs and outputs keep their declared types. Constants become fp16 by a recipe that rounds to nearest even, except the
bias of a convolution or matrix product, which joins the fp32 accumulator. Tensors of other types are not touched, nor
are operators marked `ge.precision = "fp32"` (see mark-precision); a value that crosses is cast once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.control_flow import RegionOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import GeOp, Tensor, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.precision import FP32, precision_of
from graph_engine.transforms.driver import CountedRewriter, RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.pass_base import APPROXIMATE, FP16_SHARE, GePass
from graph_engine.transforms.recipes import cast_to, known
from graph_engine.transforms.retyping import rebuilt


def is_bias(op: Operation, index: int) -> bool:
    """Whether operand `index` of `op` only ever joins an accumulator of the Cube."""
    if isinstance(op, FusedOp):
        uses = list(op.block.args[index].uses)
        return bool(uses) and all(is_bias(use.operation, use.index) for use in uses)
    return isinstance(op, Conv2dOp | MatmulOp) and index == 2


def stays(op: Operation, index: int) -> bool:
    """Whether operand `index` is left in fp32: it joins an accumulator, or is no number to compute with."""
    return is_bias(op, index) or (isinstance(op, GeOp) and op.keeps_type(index))


def halved(type_: Attribute) -> Tensor:
    """The type with fp16 in place of fp32."""
    tensor = cast(Tensor, type_)
    return tensor_type(tensor.get_shape(), f16, tensor.encoding) if tensor.element_type == f32 else tensor


def _result_types(op: Operation, operands: Sequence[SSAValue]) -> Sequence[Attribute]:
    del operands
    return [halved(result.type) for result in op.results]


class _Halves:
    """fp16 versions of fp32 values, each made once, right behind the value."""

    def __init__(self, block: Block):
        self.block = block
        self.made: dict[SSAValue, SSAValue] = {}

    def has(self, value: SSAValue) -> bool:
        """Whether an fp16 version exists already."""
        return value in self.made or (isinstance(value.owner, CastOp) and element_of(value.owner.x) == f16)

    def of(self, value: SSAValue, user: Operation, rewriter: CountedRewriter) -> SSAValue:
        """The fp16 version of `value`, which `user` needs."""
        owner = value.owner
        if isinstance(owner, CastOp) and element_of(owner.x) == f16:
            return owner.x
        if value not in self.made:
            constant = known(value)
            if constant is not None:
                new: GeOp = cast_to(constant, f16).op()
            else:
                new = CastOp(value, result_type=halved(value.type))
            if isinstance(value, BlockArgument):
                point = InsertPoint.at_start(self.block)
                new.location = user.location
            else:
                assert isinstance(owner, Operation)
                point = InsertPoint.after(owner)
                new.location = owner.location
            rewriter.insert(new, point)
            self.made[value] = new.result
        return self.made[value]


def halve(op: Operation, halves: _Halves, rewriter: CountedRewriter) -> None:
    """Puts an fp16 copy of `op` between casts; casts that meet vanish as the walk goes on."""
    operands = [
        halves.of(value, op, rewriter) if element_of(value) == f32 and not stays(op, index) else value
        for index, value in enumerate(op.operands)
    ]
    copy = rebuilt(op, operands, _result_types)
    casts = [
        CastOp(new, result_type=cast(Tensor, old.type)) if new.type != old.type else None
        for old, new in zip(op.results, copy.results, strict=True)
    ]
    for cast_back in casts:
        if cast_back is not None:
            cast_back.location = op.location
    results = [new if back is None else back.result for new, back in zip(copy.results, casts, strict=True)]
    rewriter.replace(op, [copy, *(back for back in casts if back is not None)], results)


def is_border(op: Operation) -> bool:
    """Whether `op` is a cast between fp16 and fp32: such a cast has nothing to compute in fp16."""
    return isinstance(op, CastOp) and {element_of(op.x), element_of(op.result)} == {f16, f32}


def needs_halving(op: Operation) -> bool:
    """Whether `op` touches fp32 other than by what stays and border casts; control flow runs on the host, as it is."""
    if isinstance(op, ConstantOp | RegionOp) or not isinstance(op, GeOp | FusedOp) or is_border(op):
        return False
    if op.operands and all(isinstance(op, GeOp) and op.keeps_type(index) for index in range(len(op.operands))):
        return False
    if any(element_of(result) == f32 for result in op.results):
        return True
    return any(element_of(value) == f32 and not stays(op, index) for index, value in enumerate(op.operands))


@dataclass(frozen=True)
class ForceFp16(GePass):
    """Walks in program order; the graph is valid after each operator."""

    name = "force-fp16"
    numerics = APPROXIMATE(FP16_SHARE)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = RewriteContext.current()
        for block in graphs(op):
            halves = _Halves(block)
            for inner in tuple(block.ops):
                if needs_halving(inner) and precision_of(inner) != FP32:
                    with context.rewrite("force-fp16", [inner]) as rewriter:
                        halve(inner, halves, rewriter)
                elif is_border(inner) and element_of(inner.operands[0]) == f32 and halves.has(inner.operands[0]):
                    with context.rewrite("drop-cast-pair", [inner]) as rewriter:
                        rewriter.replace(inner, (), [halves.of(inner.operands[0], inner, rewriter)])
