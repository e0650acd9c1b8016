"""Element types that the chip's memory can hold; a graph with others is refused, with the inputs and nodes at fault."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.ports import input_names
from graph_engine.errors import GraphEngineError
from graph_engine.lowering.static_sizes import SHOWN, node_title
from graph_engine.target_ascend.isa.model import DType

STORABLE = frozenset(dtype.mlir for dtype in DType) - {DType.BF16.mlir}
"""The instruction set has a number for bf16, but no unit of this generation computes it."""


def require_element_types(function: FuncOp) -> None:
    """Raises GraphEngineError if a value has an element type that the chip cannot store."""
    lines = [
        f"input '{input_names(function)[index]}' is {type}"
        for index, type in enumerate(function.function_type.inputs)
        if not _storable(type)
    ]
    for op in function.body.block.ops:
        lines += [f"{node_title(op)}: {op.name} gives {type}" for type in op.result_types if not _storable(type)]
    if lines:
        shown = lines[:SHOWN] + ([f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])
        advice = "the chip has no such element types (the reference can run this):"
        raise GraphEngineError("\n  ".join([advice, *shown]))


def _storable(type: Attribute) -> bool:
    return not isinstance(type, TensorType) or element_name(type.element_type) in STORABLE
