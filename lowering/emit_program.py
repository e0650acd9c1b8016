"""From a module in phase `tasks` to the OM program: kernels encoded, weights to be read, tasks as plain data."""

from __future__ import annotations

import json
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.program import SEGMENTS, BufferOp, ProgramOp, StreamOp
from graph_engine.dialects.ascend.task import AicpuOp, CopyTaskOp, DeviceTaskOp, LaunchOp, RecordOp, WaitOp
from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.dialects.layout import Pad, encoding_of, format_name, physical_shape, storage_bytes
from graph_engine.errors import GraphEngineError
from graph_engine.lowering.encode_kernel import encode_kernel
from graph_engine.lowering.weight_segment import WeightSegment
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
    Stream,
    Task,
    TensorDesc,
    Wait,
)


def emit_program(module: ModuleOp, name: str = "model") -> Program:
    """The program of a module. Raises GraphEngineError if the module is not in phase `tasks`."""
    programs = [op for op in module.ops if isinstance(op, ProgramOp)]
    if not programs:
        raise GraphEngineError("the module holds no ascend.task.program; compile it to phase `tasks` first")
    kernels = {op.sym_name.data: encode_kernel(op) for op in module.ops if isinstance(op, KernelOp)}
    entries = [_entry_point(program) for program in programs]
    return Program(name, programs[0].soc.data, entries, kernels, _weights(programs))


def _buffers(program: ProgramOp) -> list[BufferOp]:
    return [op for op in program.body.block.ops if isinstance(op, BufferOp)]


def _weights(programs: list[ProgramOp]) -> WeightSegment:
    tensors: dict[int, tuple[Attribute, Tensor]] = {}
    for buffer in (b for program in programs for b in _buffers(program)):
        if buffer.segment.data == "weight":
            assert buffer.value is not None
            tensors[_offset(buffer)] = buffer.value, buffer.tensor.type
    return WeightSegment(tensors)


def _offset(buffer: BufferOp) -> int:
    if buffer.offset is None:
        raise GraphEngineError("a buffer has no offset; run plan-buffers and assign-addresses first")
    return buffer.offset.value.data


def _location(value: SSAValue) -> Location:
    buffer = cast(BufferOp, value.owner)
    return Location(Segment(SEGMENTS.index(buffer.segment.data)), buffer.index.value.data, _offset(buffer))


def _describe(value: SSAValue) -> TensorDesc:
    buffer = cast(BufferOp, value.owner)
    ty = cast(Tensor, value.type)
    label = buffer.label.data if buffer.label is not None else (value.name_hint or "")
    return TensorDesc(
        label,
        DType.from_mlir(element_name(ty.element_type)),
        ty.get_shape(),
        format_name(ty),
        physical_shape(ty),
        storage_bytes(ty),
        _location(value),
        _promise(ty),
    )


def _promise(ty: Tensor) -> str:
    """What padding lanes hold, if there are any and it is something."""
    encoding = encoding_of(ty)
    padded = physical_shape(ty) != ty.get_shape() and encoding.promises(Pad.finite)
    return str(encoding.pad_lanes) if padded else ""


def _numbers(info: DictionaryAttr) -> tuple[str, int, int]:
    kind, macs, moved = (info.data.get(key) for key in ("type", "macs", "layout_bytes"))
    return (
        kind.data if isinstance(kind, StringAttr) else "",
        macs.value.data if isinstance(macs, IntegerAttr) else 0,
        moved.value.data if isinstance(moved, IntegerAttr) else 0,
    )


def _task(op: Operation, counter: int) -> Task:
    match op:
        case LaunchOp() | AicpuOp():
            return _device_task(op)
        case RecordOp():
            return Record(op.event.value.data)
        case WaitOp():
            return Wait(op.event.value.data)
        case CopyTaskOp():
            size = storage_bytes(cast(Tensor, op.source.type))
            return Copy(f"copy_{counter}", _location(op.source), _location(op.target), size)
        case _:
            raise GraphEngineError(f"{op.name} is no task")


def _device_task(op: DeviceTaskOp) -> Task:
    kind, macs, moved = _numbers(op.info)
    inputs, outputs = tuple(map(_describe, op.inputs)), tuple(map(_describe, op.outputs))
    nodes = tuple(source_nodes(op.location))
    if isinstance(op, LaunchOp):
        args = tuple(_location(v) for v in (*op.inputs, *op.outputs))
        count = op.info.data.get("exchanged")
        results = len(outputs) - (count.value.data if isinstance(count, IntegerAttr) else 0)
        outputs, memory = outputs[:results], outputs[results:]
        return Launch(
            op.label.data,
            kind,
            op.kernel.data,
            op.block_dim.value.data,
            args,
            inputs,
            outputs,
            nodes,
            macs,
            moved,
            memory,
        )
    assert isinstance(op, AicpuOp)
    attributes = json.loads(op.attributes_of.data)
    return AicpuCall(op.label.data, kind, op.operator.data, attributes, inputs, outputs, nodes, macs, moved)


def _entry_point(program: ProgramOp) -> EntryPoint:
    roots = [b for b in _buffers(program) if b.alias is None]

    def numbered(segment: str) -> tuple[TensorDesc, ...]:
        found = [b for b in roots if b.segment.data == segment]
        return tuple(_describe(b.tensor) for b in sorted(found, key=lambda b: b.index.value.data))

    streams = [
        Stream(
            op.sym_name.data,
            tuple(_task(task, i) for i, task in enumerate(op.body.block.ops)),
            op.device.value.data,
        )
        for op in program.body.block.ops
        if isinstance(op, StreamOp)
    ]
    workspace = program.workspace_bytes.value.data if program.workspace_bytes is not None else 0
    bound = program.lower_bound_bytes.value.data if program.lower_bound_bytes is not None else 0
    return EntryPoint(program.sym_name.data, numbered("input"), numbered("output"), tuple(streams), workspace, bound)
