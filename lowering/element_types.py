"""Element types that a chip's memory can hold or compute; a graph with others is refused, with the inputs and nodes at fault."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, bf16
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.control_flow import RegionOp
from graph_engine.dialects.ge.core import GeOp, Trait
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.ports import input_names
from graph_engine.errors import GraphEngineError
from graph_engine.lowering.static_sizes import SHOWN, node_title
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.soc.soc import Soc

STORABLE = frozenset(dtype.mlir for dtype in DType)


def require_element_types(function: FuncOp, soc: Soc) -> None:
    """Raises GraphEngineError if a value has an element type that the chip cannot store, or an operator one that it cannot
    compute: without bf16 in its instructions, values of that type may only be cast."""
    lines = [
        f"input '{input_names(function)[index]}' is {type}"
        for index, type in enumerate(function.function_type.inputs)
        if not _storable(type)
    ]
    for op in function.body.block.ops:
        lines += [f"{node_title(op)}: {op.name} gives {type}" for type in op.result_types if not _storable(type)]
    if lines:
        _refuse("the chip has no such element types (the reference can run this):", lines)
    if soc.numerics.bf16:
        return
    at_fault = [op for op in function.body.block.ops if _computes_brain(op)]
    if at_fault:
        advice = (
            f"{soc.name} does not compute bf16; precision mode force_fp16 computes these in fp16, allow_fp32_to_fp16"
        )
        _refuse(f"{advice} in fp32 but on the Cube:", [f"{node_title(op)}: {op.name}" for op in at_fault])


def _refuse(advice: str, lines: Sequence[str]) -> None:
    shown = [*lines[:SHOWN], *([f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])]
    raise GraphEngineError("\n  ".join([advice, *shown]))


def _storable(type: Attribute) -> bool:
    return not isinstance(type, TensorType) or element_name(type.element_type) in STORABLE


def _computes_brain(op: Operation) -> bool:
    """Whether bf16 is among the types of an operator that does more than to hold it or to cast it."""
    if isinstance(op, FusedOp):  # a kernel of casts and others falls apart
        return any(map(_computes_brain, op.block.ops))
    if not isinstance(op, GeOp) or isinstance(op, CastOp | ConstantOp | RegionOp) or op.has(Trait.VIEW):
        return False
    return any(isinstance(v.type, TensorType) and v.type.element_type == bf16 for v in (*op.operands, *op.results))
