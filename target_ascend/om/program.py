"""What an OM file holds, as plain data: entry points, task streams, kernels, weights.

The compiler builds a `Program`, the container stores it, the runtime runs it. Sizes are bytes. Locations are
(segment, offset), never absolute addresses, so that a program can be loaded anywhere and entry points can share
weights. Imports neither xdsl nor onnx nor numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol, TypeAlias

from graph_engine.target_ascend.isa.model import DType, Kernel


class Segment(IntEnum):
    """Memory segments that task arguments point into. `index` picks one of several inputs or outputs."""

    INPUT = 0
    OUTPUT = 1
    WEIGHT = 2
    WORKSPACE = 3


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a segment: `index` is the input's or output's number (0 for weight and workspace)."""

    segment: Segment
    index: int
    offset: int


@dataclass(frozen=True, slots=True)
class TensorDesc:
    """A tensor as stored: logical `shape` (-1 = not known before run time), `format` (ND, NC1HWC0, ...),
    `physical_shape` (equals `shape` for ND) and its place. `pad`: what its padding lanes promise to hold, "zero" or
    "finite" numbers; empty where that is nothing."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    format: str
    physical_shape: tuple[int, ...]
    bytes: int
    location: Location
    pad: str = ""


@dataclass(frozen=True, slots=True)
class SourceNode:
    """The ONNX node that a task comes from: its name (else `<first output>`), operator type, outputs."""

    name: str
    op_type: str
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """Runs `kernel` on `block_dim` cores with `args` bound to the kernel's launch arguments in order.

    `name` is unique in its entry point; `type` is the operator type shown in profiles (Conv2D, TransData, ...).
    `inputs`/`outputs` describe the tensors for profiles and dumps. `macs`: useful multiply-accumulates.
    """

    name: str
    type: str
    kernel: str
    block_dim: int
    args: tuple[Location, ...]
    inputs: tuple[TensorDesc, ...] = ()
    outputs: tuple[TensorDesc, ...] = ()
    source_nodes: tuple[SourceNode, ...] = ()
    macs: int = 0
    layout_bytes: int = 0
    """Bytes that this task reads and writes only to change a layout (all of a TransData's; 0 for most)."""
    exchanged: tuple[TensorDesc, ...] = ()
    """Memory in which the cores of a team exchange what is no tensor of the model; the last arguments."""


@dataclass(frozen=True, slots=True)
class AicpuCall:
    """Runs the numpy reference of `ge` operator `op` (e.g. "ge.lrn") with JSON-able `attributes`."""

    name: str
    type: str
    op: str
    attributes: dict[str, Any]
    inputs: tuple[TensorDesc, ...]
    outputs: tuple[TensorDesc, ...]
    source_nodes: tuple[SourceNode, ...] = ()
    macs: int = 0
    layout_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """Signals `event` when everything before it in its stream is done."""

    event: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Holds its stream until `event` was recorded."""

    event: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Device copy of `bytes`."""

    name: str
    source: Location
    target: Location
    bytes: int


Task: TypeAlias = Launch | AicpuCall | Record | Wait | Copy


@dataclass(frozen=True, slots=True)
class Stream:
    """Tasks that run in order on `device`."""

    name: str
    tasks: tuple[Task, ...]
    device: int = 0


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One callable program. `aliases`: pairs (input index, output index) that share a buffer."""

    name: str
    inputs: tuple[TensorDesc, ...]
    outputs: tuple[TensorDesc, ...]
    streams: tuple[Stream, ...]
    workspace_bytes: int
    workspace_lower_bound: int
    aliases: tuple[tuple[int, int], ...] = ()


class WeightSource(Protocol):
    """Anything sliceable to bytes: `bytes`, `memoryview`, `mmap`; offsets are those of weight locations."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: slice, /) -> Any: ...


@dataclass(slots=True)
class Program:
    """A whole compiled model."""

    name: str
    soc: str
    entry_points: Sequence[EntryPoint]
    kernels: dict[str, Kernel]
    weights: WeightSource
    producer: str = "graph_engine"
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
