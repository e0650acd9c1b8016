"""What checking mode needs to know of a program: which tasks are ordered, and which lanes of a tensor must be valid.

The checker watches instructions; this module tells it, task by task, what came before, that output tensors begin
undefined, and that every logical lane of theirs must be defined in the end. Padding lanes hold what the format promises,
or may stay undefined: where one reaches a logical lane, the checker sees it.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from graph_engine.target_ascend.chip.checker import Checker
from graph_engine.target_ascend.om.program import (
    AicpuCall,
    Copy,
    EntryPoint,
    Launch,
    Location,
    Record,
    TensorDesc,
    Wait,
)
from graph_engine.target_ascend.runtime.schedule import Step
from graph_engine.target_ascend.runtime.stored_tensor import valid_lanes

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class TaskChecks:
    """Called around every task of a run, in the order in which they are run."""

    def __init__(self, checker: Checker, entry: EntryPoint) -> None:
        self.checker = checker
        self._frontier: list[frozenset[str]] = [frozenset() for _ in entry.streams]
        """Names of the tasks that the next task of each stream directly follows."""
        self._recorded: dict[int, frozenset[str]] = {}
        self._masks: dict[tuple[object, ...], Mask | None] = {}

    def before(self, step: Step) -> None:
        """Tells what `step` follows, and makes the tensors that it writes undefined."""
        task, before = step.task, self._frontier[step.stream]
        if isinstance(task, Record):
            self._recorded[task.event] = before
        elif isinstance(task, Wait):
            self._frontier[step.stream] = before | self._recorded[task.event]
        else:
            self.checker.begin_task(task.name, before)
            self._frontier[step.stream] = frozenset({task.name})
        if isinstance(task, Launch):
            for tensor in task.exchanged:
                self.checker.fresh(tensor.location, tensor.bytes)
            for tensor in task.outputs:
                if not any(_overlap(tensor, other) for other in task.inputs):
                    self.checker.fresh(tensor.location, tensor.bytes)
                self.checker.declare_valid(tensor.location, tensor.bytes, self._mask(tensor))

    def after(self, step: Step) -> None:
        """Looks at what `step` has left behind."""
        task = step.task
        if isinstance(task, Launch):
            for tensor in task.outputs:
                self.checker.check_output(
                    tensor.location,
                    tensor.bytes,
                    self._mask(tensor),
                    task_name=task.name,
                    buffer=tensor.name,
                    source_nodes=task.source_nodes,
                )
                self._check_padding(tensor, task)
        elif isinstance(task, AicpuCall):
            reads, writes = _ranges(task.inputs), _ranges(task.outputs)
            self.checker.host_access(task.name, reads, writes, task.source_nodes)
        elif isinstance(task, Copy):
            self.checker.host_access(task.name, [(task.source, task.bytes)], [(task.target, task.bytes)])

    def _check_padding(self, tensor: TensorDesc, task: Launch) -> None:
        mask = self._mask(tensor) if tensor.pad else None
        if mask is None:
            return
        width = tensor.dtype.bytes
        self.checker.check_padding(
            tensor.location,
            tensor.dtype,
            ~mask[: prod(tensor.physical_shape) * width : width],
            tensor.pad,
            task_name=task.name,
            buffer=tensor.name,
            source_nodes=task.source_nodes,
        )

    def _mask(self, tensor: TensorDesc) -> Mask | None:
        key = tensor.format, tensor.shape, tensor.physical_shape, tensor.dtype, tensor.bytes
        if key not in self._masks:
            self._masks[key] = valid_lanes(tensor)
        return self._masks[key]


def _ranges(tensors: tuple[TensorDesc, ...]) -> list[tuple[Location, int]]:
    return [(tensor.location, tensor.bytes) for tensor in tensors]


def _overlap(a: TensorDesc, b: TensorDesc) -> bool:
    first, second = a.location, b.location
    if (first.segment, first.index) != (second.segment, second.index):
        return False
    return first.offset < second.offset + b.bytes and second.offset < first.offset + a.bytes
