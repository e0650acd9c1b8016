"""The element type that an operator is to compute in, where somebody chose one: attribute `ge.precision`.

    %y = ge.softmax %x {ge.precision = "fp32"} : (tensor<1x10xf32>) -> tensor<1x10xf32>

`fp32` keeps an operator as it is, `fp16` says that it may be rounded; without the attribute the precision mode decides.
What replaces a marked operator is marked, so that the choice survives every rewrite between it and `force-fp16`.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from graph_engine.dialects.ge.interning import string_attr

PRECISION = "ge.precision"
FP32, FP16 = "fp32", "fp16"

DEVICE_FLOATS = ("f16", "bf16", "f32")
"""Floats that chips compute in (bf16 not all of them)."""


def precision_of(op: Operation) -> str | None:
    """`fp32` or `fp16`; None if nobody chose. One operator kept in fp32 keeps the kernel around it."""
    own = op.attributes.get(PRECISION)
    if own is not None and isinstance(own, StringAttr):
        return own.data
    if not op.regions:
        return None
    inside = [precision_of(inner) for region in op.regions for block in region.blocks for inner in block.ops]
    return FP32 if FP32 in inside else None


def set_precision(op: Operation, precision: str) -> None:
    """Marks `op`."""
    op.attributes[PRECISION] = string_attr(precision)


def carry_precision(replaced: Iterable[Operation], heirs: Iterable[Operation]) -> None:
    """Marks the operators of `heirs` that compute as those that they replace were: fp32 if one of these was."""
    found = {precision_of(op) for op in replaced} - {None}
    if not found:
        return
    for heir in heirs:
        if heir.name.startswith("ge.") and heir.name not in ("ge.constant", "ge.cast", "ge.yield"):
            set_precision(heir, FP32 if FP32 in found else FP16)
