"""Give every buffer its (segment, offset): weights one after another, equal ones once, views where their root is.

    %w = ascend.task.buffer weight #ge.weight<...> : ...   ->   %w = ascend.task.buffer weight + 100352 #ge.weight<...>

Inputs and outputs are segments of their own and start at 0. Programs of one module share the weight segment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from graph_engine.dialects.ascend.program import BufferOp, ProgramOp
from graph_engine.dialects.ge.interning import int_attr
from graph_engine.dialects.layout import storage_bytes
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.pass_base import EXACT, GePass, OperatorError


def assign_addresses(module: ModuleOp, alignment: int) -> None:
    """Sets every offset that is still open. Raises OperatorError for workspace without a plan."""
    next_free = 0
    placed: dict[tuple[Attribute, Attribute], int] = {}
    for program in module.ops:
        if not isinstance(program, ProgramOp):
            continue
        for buffer in program.body.block.ops:
            if not isinstance(buffer, BufferOp):
                continue
            ty = buffer.tensor.type
            if buffer.alias is not None:
                source = cast(BufferOp, buffer.alias.owner)  # it stands before its views
                inside = 0 if buffer.inside is None else buffer.inside.value.data
                assert source.offset is not None
                buffer.offset = int_attr(source.offset.value.data + inside)
            elif buffer.segment.data == "weight":
                assert buffer.value is not None
                key = buffer.value, ty
                if key not in placed:
                    placed[key] = next_free
                    next_free += -(-storage_bytes(ty) // alignment) * alignment
                buffer.offset = int_attr(placed[key])
            elif buffer.segment.data == "workspace":
                if buffer.offset is None:
                    raise OperatorError(buffer, "a workspace buffer has no offset; run plan-buffers first")
            else:
                buffer.offset = int_attr(0)


@dataclass(frozen=True)
class AssignAddresses(GePass):
    """Give every buffer its (segment, offset): weights one after another, equal ones once, views where their root is."""

    name = "assign-addresses"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose alignment of tensors holds"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assign_addresses(op, load_soc(self.soc).alignment["tensor"])
