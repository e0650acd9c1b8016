"""Multiply quantised numbers as floats on chips whose Cube kernels make no 8 bits of integer sums.

    %i = ge.conv2d_integer %q, %w, %z, %wz : ... -> tensor<1x64x25x5xi32>
    %s = ge.add %i, %bias : ... -> tensor<1x64x25x5xi32>
    %y = ge.requantize %s, %factor, %yz : ... -> tensor<1x64x25x5xui8>
    // becomes
    %x = ge.dequantize %q, 1.0, %z : ... -> tensor<1x64x25x5xf32>
    %c = ge.conv2d %x, (%w - %wz) * %factor, %bias * %factor : ... -> tensor<1x64x25x5xf32>
    %y = ge.quantize %c, 1.0, %yz : ... -> tensor<1x64x25x5xui8>

This is what QDQ models are on these chips: the numbers of 8 bits are exact in fp16, the weights rounded once. On the AI CPU
the integers would be exact as well, and take longer than the rest of the network.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import element_of, elements_of, shape_of
from graph_engine.dialects.ge.elementwise import AddOp, CastOp, MulOp
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.quantization import (
    Conv2dIntegerOp,
    DequantizeOp,
    MatmulIntegerOp,
    QuantizeOp,
    RequantizeOp,
)
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.made_operators import Made
from graph_engine.transforms.pass_base import APPROXIMATE, GePass
from graph_engine.transforms.quantised_values import multiplied_types
from graph_engine.transforms.recipes import known


@dataclass
class RequantizedProduct(Pattern):
    """requantize(integer product [+ bias]) -> quantize of a product of floats, the factor in its constant weights."""

    kept: list[str]
    """Element types whose products are the chip's."""
    name = "expand-requantized-product"
    root: ClassVar[tuple[type[Operation], ...]] = (RequantizeOp,)

    def rewrite(self, op: RequantizeOp, rewriter: CountedRewriter) -> bool:
        added = op.x.owner if isinstance(op.x.owner, AddOp) else None
        product = (op.x if added is None else added.operands[0]).owner
        if not isinstance(product, Conv2dIntegerOp | MatmulIntegerOp) or single_user(product.result) is not (
            added or op
        ):
            return False
        if added is not None and (single_user(op.x) is not op or known(added.operands[1]) is None):
            return False
        x, w, x_zero, w_zero = product.operands
        convolution = isinstance(product, Conv2dIntegerOp)
        axis = 0 if convolution else len(shape_of(w)) - 1
        columns, ones = shape_of(w)[axis], elements_of(x_zero) == elements_of(op.zero_point) == 1
        if element_name(element_of(x)) in self.kept or not ones or None in map(known, (w, w_zero, op.factor)):
            return False
        constants = (op.factor, w_zero, *((added.operands[1],) if added is not None else ()))
        if any(elements_of(value) not in (1, columns) for value in constants):
            return False
        made = Made()
        one = made.shaped(made.number(1.0, op.factor), ())
        a = made.put(DequantizeOp(x, one, made.shaped(x_zero, ())))
        factor = made.spread(op.factor, columns)
        b = made.put(DequantizeOp(w, factor, made.spread(w_zero, columns), axis=axis))
        operands = [a, b]
        if added is not None:
            sums = made.put(CastOp(made.spread(added.operands[1], columns), result_type=tensor_type((columns,), f32)))
            operands.append(made.put(MulOp(sums, factor)))
        if isinstance(product, Conv2dIntegerOp):
            strides, pads, dilations = (product.ints(name) for name in ("strides", "pads", "dilations"))
            group = product.group.value.data
            y = made.put(Conv2dOp(*operands, strides=strides, pads=pads, dilations=dilations, group=group))
        else:
            y = made.put(MatmulOp(*operands))
        if added is not None:
            rewriter.sources(added)
        rewriter.sources(product)
        results = [made.put(QuantizeOp(y, one, made.shaped(op.zero_point, ()), result_type=op.result.type))]
        rewriter.replace(op, made.needed(results), results)
        return True


@dataclass(frozen=True)
class ExpandRequantized(GePass):
    """Multiply quantised numbers as floats on chips whose Cube kernels make no 8 bits of integer sums."""

    name = "expand-requantized"
    numerics = APPROXIMATE(0.01)

    soc: str = field(default="Ascend310P3", metadata={"help": "chip that multiplies the integers, or does not"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [RequantizedProduct(multiplied_types(load_soc(self.soc)))])
