"""Which tensors hold numbers of 8 bits, and what these stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Attribute, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import element_of
from graph_engine.dialects.ge.interning import element_name, tensor_type
from graph_engine.dialects.ge.properties import python_value
from graph_engine.dialects.ge.quantization import DequantizeOp, QuantizeOp
from graph_engine.dialects.ge.weights import FoldAttr, attribute_type, constant_attr
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.soc.soc import Soc
from graph_engine.transforms.recipes import Known, known

Array = np.ndarray[Any, Any]

EIGHT_BITS = ("i8", "ui8")


def multiplied_types(soc: Soc) -> list[str]:
    """The 8-bit types that the chip's kernel of integers takes; for others floats on the Cube are faster than the host."""
    if not all(soc.supports("conv", kinds) for kinds in ("i32 -> f32", "f32 -> i32")):
        return []  # nothing makes 8 bits of the sums
    return [kind for kind in EIGHT_BITS if soc.supports_mmad(kind, "i8", "i32")]


@dataclass(frozen=True)
class Quantised:
    """Numbers of 8 bits and what they stand for: (q - zero) * scale, one scale or one along an axis."""

    q: SSAValue | Known
    scale: Array
    zero: Array
    axis: int


def dequantised(value: SSAValue | None) -> Quantised | None:
    """Where a float tensor comes from, if it is 8-bit numbers dequantised with constants, be it folded into a recipe."""
    owner = None if value is None else value.owner
    try:
        if isinstance(owner, DequantizeOp):
            scale, zero = known(owner.scale), known(owner.zero_point)
            if scale is None or zero is None or owner.block.value.data or element_of(owner.result) != f32:
                return None
            if element_name(element_of(owner.x)) not in EIGHT_BITS:
                return None
            return Quantised(known(owner.x) or owner.x, scale.numbers(), zero.numbers(), owner.axis.value.data)
        if (
            isinstance(owner, ConstantOp)
            and isinstance(owner.value, FoldAttr)
            and owner.value.op.data == "ge.dequantize"
        ):
            q, scale, zero = (Known(attribute, attribute_type(attribute)) for attribute in owner.value.operands)
            keywords: dict[str, Any] = python_value(owner.value.attributes)
            if keywords.get("block") or element_name(q.type.element_type) not in EIGHT_BITS:
                return None
            return Quantised(q, scale.numbers(), zero.numbers(), int(keywords["axis"]))
    except GraphEngineError:  # a store that is not there
        pass
    return None


def quantisation(op: QuantizeOp | DequantizeOp) -> tuple[float, int, Attribute] | None:
    """Scale, zero point and type of a quantisation by single constants."""
    scale, zero = known(op.scale), known(op.zero_point)
    if scale is None or zero is None or scale.elements != 1 or zero.elements != 1:
        return None
    if element_name(zero.type.element_type) not in EIGHT_BITS or scale.type.element_type != f32:
        return None
    return float(scale.numbers().reshape(())), int(zero.numbers().reshape(())), zero.type.element_type


def around_zero(w: Known, zero: Array) -> Known | None:
    """w - zero, one zero or one an output, as signed numbers of 8 bits; None where they do not fit. Reads w if it must."""
    if w.type.element_type == i8 and not zero.any():
        return w
    try:
        moved = w.numbers().astype(np.int16) - zero.astype(np.int16).reshape(-1, 1, 1, 1)
    except GraphEngineError:
        return None
    if moved.min() < -128 or moved.max() > 127:
        return None
    return Known(constant_attr(moved.astype(np.int8), "weights around zero"), tensor_type(w.shape, i8))


def constant(array: Array, name: str) -> ConstantOp:
    """An operator that yields an array."""
    return ConstantOp(constant_attr(array, name))
