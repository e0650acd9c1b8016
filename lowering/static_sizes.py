"""The chip's memory is planned before a run: graphs with unknown sizes are refused, with the inputs and nodes at fault."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from graph_engine.dialects.ge.core import DYNAMIC, shape_text
from graph_engine.dialects.ge.interning import shape_of_type
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.dialects.ge.ports import input_names
from graph_engine.errors import GraphEngineError

SHOWN = 10
"""How many inputs or nodes the message names."""


def require_static_sizes(function: FuncOp) -> None:
    """Raises GraphEngineError if some size is unknown, naming where it comes from: model inputs, or operators whose
    results are as long as their data want."""
    inputs = [
        f"input '{input_names(function)[index]}' is {shape_text(shape_of_type(type))}"
        for index, type in enumerate(function.function_type.inputs)
        if _unknown(type)
    ]
    makers = [
        f"{node_title(op)}: {op.name} gives {', '.join(shape_text(shape_of_type(t)) for t in op.result_types if _unknown(t))}"
        for op in function.body.block.ops
        if any(map(_unknown, op.result_types)) and not any(map(_unknown, op.operand_types))
    ]
    if inputs:
        advice = "sizes must be known to plan the chip's memory; give input shapes by --input-shape as you import:"
        raise GraphEngineError("\n  ".join([advice, *_some(inputs)]))
    if makers:
        advice = "the chip's memory is planned before the run, but sizes depend on data (the reference can run this):"
        raise GraphEngineError("\n  ".join([advice, *_some(makers)]))


def _unknown(type: Attribute) -> bool:
    return isinstance(type, TensorType) and DYNAMIC in shape_of_type(type)


def _some(lines: list[str]) -> list[str]:
    return lines[:SHOWN] + ([f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])


def node_title(op: Operation) -> str:
    """The node that an operator comes from, for messages."""
    names = [node.name for node in source_nodes(op.location)]
    return f"node '{names[0]}'" if names else "an operator"
