"""From a `Program`, as an OM file holds it, back to a module at phase `tasks`: the inverse of `emit_program`.

Weights come back unpacked, in their logical shape, read from the file only when somebody needs their numbers. What a
file does not say (names of values, where an operator's kernel came from) is chosen anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from graph_engine.dialects import layout
from graph_engine.dialects.ascend.program import SEGMENTS, BufferOp, ProgramOp, StreamOp
from graph_engine.dialects.ascend.task import AicpuOp, CopyTaskOp, LaunchOp, RecordOp, WaitOp, task_info
from graph_engine.dialects.encodings import Declared
from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.interning import element_type, numpy_dtype, tensor_type
from graph_engine.dialects.ge.locations import fuse, node_location
from graph_engine.dialects.ge.weights import INLINE_ELEMENTS, WeightAttr, WeightRef, constant_attr
from graph_engine.errors import GraphEngineError
from graph_engine.lowering.decode_kernel import decode_kernel
from graph_engine.planning.index_map import Format
from graph_engine.target_ascend.isa.model import DType
from graph_engine.target_ascend.om.program import (
    AicpuCall,
    Copy,
    EntryPoint,
    Launch,
    Location,
    Program,
    Record,
    Segment,
    SourceNode,
    Task,
    TensorDesc,
    Wait,
)

_ENCODINGS: dict[str, type[layout.Encoding]] = {
    attribute.FORM.name: attribute for attribute in layout.LAYOUT.attributes if issubclass(attribute, layout.Encoding)
}
_MOST_GROUPS = 4096


def import_program(program: Program) -> ModuleOp:
    """The program as a module. Raises GraphEngineError for what the dialect cannot say."""
    kernels = [decode_kernel(kernel) for kernel in program.kernels.values()]
    entries = [_Entry(program, entry).run() for entry in program.entry_points]
    module = ModuleOp([*kernels, *entries])
    module.attributes["ge.phase"] = StringAttr("tasks")
    return module


def tensor_type_of(tensor: TensorDesc) -> Tensor:
    """The type with the encoding under which `tensor` is stored as it says."""
    plain = tensor_type(tensor.shape, element_type(tensor.dtype.mlir))
    if tensor.format == "ND":
        return plain
    # Without padding lanes there is nothing to promise.
    pad = "zero" if tensor.physical_shape == tensor.shape else tensor.pad or "undef"
    if "->" in tensor.format:
        form = Format.named(tensor.format)
        return layout.with_encoding(plain, Declared.by(*form.patterns, pad=pad, **form.sizes))
    kind = _ENCODINGS.get(tensor.format)
    if kind is not None:
        names = [name for name in kind.parameter_names() if name in ("n0", "c0")]
        sizes = dict(zip(names, tensor.physical_shape[len(tensor.physical_shape) - len(names) :], strict=True))
        groups = range(1, min(tensor.shape[0], _MOST_GROUPS) + 1) if "groups" in kind.parameter_names() else [0]
        for count in groups:
            encoding = kind.of(**sizes, **({"groups": count} if count else {}))
            if _physical_shape(layout.with_encoding(plain, encoding)) == tensor.physical_shape:
                return layout.with_encoding(plain, encoding.with_pad(pad))
    raise GraphEngineError(
        f"tensor '{tensor.name}' {list(tensor.shape)} stored as {list(tensor.physical_shape)} is not {tensor.format}"
    )


def _hint(name: str) -> str | None:
    """What remains of a tensor's name as the name of an SSA value."""
    try:
        return SSAValue.extract_valid_name(re.sub(r"[^A-Za-z0-9_$.-]", "_", name))
    except ValueError:
        return None


def _physical_shape(ty: Tensor) -> tuple[int, ...]:
    try:
        return layout.physical_shape(ty)
    except ValueError:
        return ()


class _Entry:
    def __init__(self, program: Program, entry: EntryPoint):
        self.program, self.entry = program, entry
        self.op = ProgramOp(entry.name, program.soc)
        self.roots: dict[tuple[Segment, int], SSAValue] = {}
        """The inputs and outputs; every other buffer in one of them is a view of it."""
        self.buffers: dict[tuple[Location, Attribute, str], SSAValue] = {}

    def run(self) -> ProgramOp:
        """Inputs and outputs first, then the streams; other buffers stand where they are first used."""
        sizes = {
            "workspace_bytes": self.entry.workspace_bytes,
            "lower_bound_bytes": self.entry.workspace_lower_bound,
        }
        self.op.properties.update({key: IntegerAttr(value, 64) for key, value in sizes.items()})
        if self.entry.aliases:
            raise GraphEngineError(
                f"entry point '{self.entry.name}': outputs that share an input's buffer have no text yet"
            )
        for tensor in (*self.entry.inputs, *self.entry.outputs):
            self.roots[tensor.location.segment, tensor.location.index] = self.buffer(tensor, label=tensor.name)
        for stream in self.entry.streams:
            op = StreamOp(stream.name, stream.device)
            for task in stream.tasks:
                op.body.block.add_op(self.task(task))
            self.op.body.block.add_op(op)
        return self.op

    def buffer(self, tensor: TensorDesc, *, label: str | None = None) -> SSAValue:
        """The buffer of a tensor; tensors that follow one another at one place are buffers of their own."""
        ty = tensor_type_of(tensor)
        place = tensor.location
        key = (place, ty, tensor.name)
        if key not in self.buffers:
            op = BufferOp(
                SEGMENTS[place.segment],
                ty,
                index=place.index,
                label=label
                if label is not None or not tensor.name or _hint(tensor.name) == tensor.name
                else tensor.name,
                value=self.weight(tensor, ty) if place.segment is Segment.WEIGHT else None,
                alias=(root := self.roots.get((place.segment, place.index))),
                inside=0 if root is None else place.offset,
                offset=place.offset,
            )
            op.tensor.name_hint = _hint(tensor.name)
            first_stream = next((o for o in self.op.body.block.ops if isinstance(o, StreamOp)), None)
            if first_stream is None:
                self.op.body.block.add_op(op)
            else:
                self.op.body.block.insert_op_before(op, first_stream)
            self.buffers[key] = op.tensor
        return self.buffers[key]

    def weight(self, tensor: TensorDesc, ty: Tensor) -> Attribute:
        """A handle to the bytes of a weight, unpacked when they are needed."""
        start, weights = tensor.location.offset, self.program.weights

        def load() -> Any:
            import numpy as np

            raw = np.frombuffer(weights[start : start + tensor.bytes], np.uint8)
            size = prod(tensor.physical_shape) * tensor.dtype.bytes
            stored = raw[:size].view(numpy_dtype(tensor.dtype.mlir)).reshape(tensor.physical_shape)
            return stored if tensor.format == "ND" else layout.unpack(stored, ty)

        name = tensor.name or f"weight_{start}"
        if prod(tensor.shape) <= INLINE_ELEMENTS:
            return constant_attr(load(), name)
        return WeightAttr(WeightRef(name, str(numpy_dtype(tensor.dtype.mlir)), tensor.shape, load))

    def task(self, task: Task) -> Operation:
        """One task; events and copies as well."""
        match task:
            case Record(event):
                return RecordOp(properties={"event": IntegerAttr(event, 32)})
            case Wait(event):
                return WaitOp(properties={"event": IntegerAttr(event, 32)})
            case Copy():
                return CopyTaskOp(self.bytes_at(task.source, task.bytes), self.bytes_at(task.target, task.bytes))
            case AicpuCall():
                attributes = json.dumps(task.attributes, sort_keys=True)
                ins, outs = self.values(task.inputs), self.values(task.outputs)
                op = AicpuOp(
                    task.name, task.op, attributes, ins, outs, task_info(task.type, task.macs, task.layout_bytes)
                )
            case Launch():
                if tuple(t.location for t in (*task.inputs, *task.outputs, *task.exchanged)) != task.args:
                    raise GraphEngineError(f"task '{task.name}': its arguments are not its inputs and outputs in order")
                ins, outs = self.values(task.inputs), self.values((*task.outputs, *task.exchanged))
                op = LaunchOp(
                    task.name,
                    task.kernel,
                    ins,
                    outs,
                    task.block_dim,
                    task_info(task.type, task.macs, task.layout_bytes, exchanged=len(task.exchanged)),
                )
        op.location = fuse(*map(_location, task.source_nodes))
        return op

    def values(self, tensors: Sequence[TensorDesc]) -> list[SSAValue]:
        """The buffers of several tensors."""
        return [self.buffer(tensor) for tensor in tensors]

    def bytes_at(self, place: Location, size: int) -> SSAValue:
        """The buffer of that size at a place, else one of bare bytes."""
        for (at, ty, _), value in self.buffers.items():
            if at == place and layout.storage_bytes(cast(Tensor, ty)) == size:
                return value
        return self.buffer(TensorDesc("", DType.U8, (size,), "ND", (size,), size, place))


def _location(node: SourceNode) -> Attribute:
    return node_location(node.name, node.op_type, node.outputs)
