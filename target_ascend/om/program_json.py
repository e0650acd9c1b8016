"""A program's model definition and task lists as JSON values, and back.

Every key is required but a tensor's `pad`, and no other is accepted, so that a file from a writer with other ideas is
refused and not half understood. Floats that JSON lacks are written as {"float": "inf"}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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
    Stream,
    Task,
    TensorDesc,
    Wait,
)

Json = dict[str, Any]
T = TypeVar("T")

_SEGMENT_NAMES = {segment: segment.name.lower() for segment in Segment}
_SEGMENTS = {name: segment for segment, name in _SEGMENT_NAMES.items()}


def model_to_json(program: Program) -> Json:
    """The MODEL_DEF section: everything about a program but its tasks, kernels and weight bytes."""
    return {
        "name": program.name,
        "soc": program.soc,
        "producer": program.producer,
        "attributes": _attribute_to_json(program.attributes),
        "entry_points": [
            {
                "name": entry.name,
                "inputs": [_tensor_to_json(tensor) for tensor in entry.inputs],
                "outputs": [_tensor_to_json(tensor) for tensor in entry.outputs],
                "workspace_bytes": entry.workspace_bytes,
                "workspace_lower_bound": entry.workspace_lower_bound,
                "aliases": [list(pair) for pair in entry.aliases],
            }
            for entry in program.entry_points
        ],
    }


def tasks_to_json(entry_points: Sequence[EntryPoint]) -> Json:
    """The TASK_INFO section: the streams of each entry point, in the order of MODEL_DEF."""
    return {
        "entry_points": [
            {
                "name": entry.name,
                "streams": [
                    {
                        "name": stream.name,
                        "device": stream.device,
                        "tasks": [_task_to_json(task) for task in stream.tasks],
                    }
                    for stream in entry.streams
                ],
            }
            for entry in entry_points
        ]
    }


def entry_points_from_json(model: Json, tasks: Json) -> tuple[EntryPoint, ...]:
    """Inverse of the two above. Raises KeyError, TypeError or ValueError on any other form."""
    definitions, programs = model["entry_points"], tasks["entry_points"]
    if [d["name"] for d in definitions] != [p["name"] for p in programs]:
        raise ValueError("the model definition and the task list name other entry points")
    return tuple(
        EntryPoint(
            definition["name"],
            _each(definition["inputs"], _tensor_from_json),
            _each(definition["outputs"], _tensor_from_json),
            tuple(
                Stream(stream["name"], _each(stream["tasks"], _task_from_json), stream["device"])
                for stream in program["streams"]
            ),
            definition["workspace_bytes"],
            definition["workspace_lower_bound"],
            tuple((first, second) for first, second in definition["aliases"]),
        )
        for definition, program in zip(definitions, programs, strict=True)
    )


def attributes_from_json(value: Json) -> dict[str, Any]:
    """The free attributes of MODEL_DEF."""
    return {name: _attribute_from_json(item) for name, item in value.items()}


def _each(values: list[Any], read: Callable[[Any], T]) -> tuple[T, ...]:
    return tuple(read(value) for value in values)


def _location_to_json(location: Location) -> list[Any]:
    return [_SEGMENT_NAMES[location.segment], location.index, location.offset]


def _location_from_json(value: list[Any]) -> Location:
    segment, index, offset = value
    return Location(_SEGMENTS[segment], int(index), int(offset))


def _tensor_to_json(tensor: TensorDesc) -> Json:
    return {
        "name": tensor.name,
        "dtype": tensor.dtype.mlir,
        "shape": list(tensor.shape),
        "format": tensor.format,
        "physical_shape": list(tensor.physical_shape),
        "bytes": tensor.bytes,
        "location": _location_to_json(tensor.location),
        **({"pad": tensor.pad} if tensor.pad else {}),
    }


def _tensor_from_json(value: Json) -> TensorDesc:
    return TensorDesc(
        value["name"],
        DType.from_mlir(value["dtype"]),
        tuple(value["shape"]),
        value["format"],
        tuple(value["physical_shape"]),
        value["bytes"],
        _location_from_json(value["location"]),
        value.get("pad", ""),
    )


def _work_to_json(task: Launch | AicpuCall) -> Json:
    return {
        "name": task.name,
        "type": task.type,
        "inputs": [_tensor_to_json(tensor) for tensor in task.inputs],
        "outputs": [_tensor_to_json(tensor) for tensor in task.outputs],
        "source_nodes": [[node.name, node.op_type, list(node.outputs)] for node in task.source_nodes],
        "macs": task.macs,
        "layout_bytes": task.layout_bytes,
    }


def _source_from_json(value: list[Any]) -> SourceNode:
    name, op_type, outputs = value
    return SourceNode(name, op_type, tuple(outputs))


def _task_to_json(task: Task) -> Json:
    if isinstance(task, Launch):
        args = [_location_to_json(location) for location in task.args]
        memory = {"exchanged": [_tensor_to_json(tensor) for tensor in task.exchanged]} if task.exchanged else {}
        launch = {"task": "launch", "kernel": task.kernel, "block_dim": task.block_dim, "args": args}
        return launch | _work_to_json(task) | memory
    if isinstance(task, AicpuCall):
        return {"task": "aicpu", "op": task.op, "attributes": _attribute_to_json(task.attributes)} | _work_to_json(task)
    if isinstance(task, Record):
        return {"task": "record", "event": task.event}
    if isinstance(task, Wait):
        return {"task": "wait", "event": task.event}
    return {
        "task": "copy",
        "name": task.name,
        "source": _location_to_json(task.source),
        "target": _location_to_json(task.target),
        "bytes": task.bytes,
    }


def _task_from_json(value: Json) -> Task:
    kind = value["task"]
    if kind == "record":
        return Record(value["event"])
    if kind == "wait":
        return Wait(value["event"])
    if kind == "copy":
        source, target = _location_from_json(value["source"]), _location_from_json(value["target"])
        return Copy(value["name"], source, target, value["bytes"])
    if kind not in ("launch", "aicpu"):
        raise ValueError(f"unknown task '{kind}'")
    inputs, outputs = _each(value["inputs"], _tensor_from_json), _each(value["outputs"], _tensor_from_json)
    sources = _each(value["source_nodes"], _source_from_json)
    macs, layout_bytes = value["macs"], value["layout_bytes"]
    if kind == "launch":
        args = _each(value["args"], _location_from_json)
        return Launch(
            value["name"], value["type"], value["kernel"], value["block_dim"], args,
            inputs, outputs, sources, macs, layout_bytes, _each(value.get("exchanged", []), _tensor_from_json),
        )  # fmt: skip
    attributes = attributes_from_json(value["attributes"])
    return AicpuCall(
        value["name"], value["type"], value["op"], attributes, inputs, outputs, sources, macs, layout_bytes
    )  # fmt: skip


def _attribute_to_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {str(name): _attribute_to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_attribute_to_json(item) for item in value]
    return value


def _attribute_from_json(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"float"} and isinstance(value["float"], str):
            return float(value["float"])
        return {name: _attribute_from_json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_attribute_from_json(item) for item in value]
    return value
