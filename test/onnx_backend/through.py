"""A case through the compiler: imported, simplified and fused, run by the reference; and through the modelled chip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx_backend.cases import Case, check_outputs
from xdsl.dialects.builtin import ModuleOp

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.target_ascend.om.program import AicpuCall, Launch, Program
from graph_engine.target_ascend.runtime.device import run
from graph_engine.tools.ge_run.reference import ReferenceGraph

FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16})


@dataclass(frozen=True)
class Imported:
    """A module, which of the case's inputs are constants in it, and which are left."""

    module: ModuleOp
    bound: tuple[str, ...]
    free: tuple[int, ...]


def import_case(case: Case, inputs: list[Any]) -> Imported:
    """The case's model with no input bound; if that is refused, with those that give shapes, axes and bounds bound.

    Raises the first refusal if binding does not help.
    """
    # Not the initialisers: `inputs` are values of the others, in order.
    weights = {tensor.name for tensor in case.model.graph.initializer}
    declared = [value for value in case.model.graph.input if value.name not in weights][: len(inputs)]
    refusal: GraphEngineError | None = None
    for names in _bindings(declared, inputs):
        bound = {value.name: array for value, array in zip(declared, inputs, strict=True) if value.name in names}
        try:
            module = import_onnx(case.model, bindings=bound)
        except GraphEngineError as error:
            refusal = refusal or error
            continue
        free = tuple(i for i, value in enumerate(declared) if value.name not in names)
        return Imported(module, tuple(bound), free)
    assert refusal is not None
    raise refusal


def _bindings(declared: list[onnx.ValueInfoProto], inputs: list[Any]) -> Iterator[frozenset[str]]:
    """Sets of inputs to bind, growing: none; vectors and scalars of integers or booleans; also of floats; all of these
    and every other tensor of integers; all."""
    tensors = [
        (value, array) for value, array in zip(declared, inputs, strict=True) if value.type.HasField("tensor_type")
    ]
    small = [(value, array) for value, array in tensors[1:] if np.ndim(array) <= 1]
    sets = [
        frozenset[str](),
        frozenset(value.name for value, _ in small if value.type.tensor_type.elem_type not in FLOATS),
        frozenset(value.name for value, _ in small),
        frozenset(value.name for value, _ in tensors if value.type.tensor_type.elem_type not in FLOATS)
        | frozenset(value.name for value, _ in small),
        frozenset(value.name for value, _ in tensors),
    ]
    yield from dict.fromkeys(sets)


@dataclass
class Outcome:
    """How a case went: `bound` inputs that had to be constants; on the chip the numbers of tasks by engine."""

    bound: tuple[str, ...] = ()
    launches: int = 0
    aicpu: list[str] = field(default_factory=list[str])


def through_reference(case: Case) -> Outcome:
    """Imports the case, runs the passes before precision and layout, and compares what the reference then gives.

    Raises GraphEngineError on refusal, AssertionError on wrong outputs.
    """
    outcome = Outcome()
    compiled: tuple[tuple[str, ...], ReferenceGraph, Imported] | None = None
    for inputs, right in case.data_sets():
        # What depends on no values is compiled once, for all data sets.
        if compiled is None or compiled[0]:
            imported = import_case(case, inputs)
            compile_module(imported.module, until=Phase.FUSED)
            compiled = (imported.bound, ReferenceGraph(imported.module, case.name), imported)
        outcome.bound, graph, imported = compiled
        found = graph.run([inputs[i] for i in imported.free])
        check_outputs(right, found, case.rtol, case.atol)
    return outcome


def compile_for_chip(case: Case, inputs: list[Any]) -> tuple[Program, Imported, ModuleOp]:
    """The case through the whole default pipeline, and its graph as it stands before layouts."""
    imported = import_case(case, inputs)
    compile_module(imported.module, until=Phase.PRECISION)
    rounded = imported.module.clone()
    compile_module(imported.module)
    return emit_program(imported.module, case.name), imported, rounded


def through_chip(case: Case) -> Outcome:
    """Runs the case on the modelled chip in fp16 and compares with the reference rounded at the same places.

    The chip may be four times as far from the right outputs as that, and a hundredth of their range.
    """
    outcome = Outcome()
    for inputs, right in case.data_sets():
        program, imported, rounded = compile_for_chip(case, inputs)
        tasks = [task for stream in program.entry_points[0].streams for task in stream.tasks]
        outcome.launches = sum(isinstance(task, Launch) for task in tasks)
        outcome.aicpu = sorted({task.op for task in tasks if isinstance(task, AicpuCall)})
        if not outcome.launches:
            return outcome
        free = [inputs[i] for i in imported.free]
        found = run(program, free, mode="functional").outputs
        halves = ReferenceGraph(rounded, case.name).run(free)
        for number, (value, half, exact) in enumerate(zip(found, halves, right, strict=True)):
            check_fp16(value, half, exact, f"output {number}")
    return outcome


def check_fp16(value: Any, half: Any, exact: Any, what: str) -> None:
    """Raises AssertionError if the chip's `value` is beyond the bound that `half`, the rounded reference, sets."""
    assert value.shape == exact.shape and value.dtype == exact.dtype, f"{what}: {value.dtype}{value.shape}"
    if value.dtype.kind != "f":
        np.testing.assert_array_equal(value, half, err_msg=what)
        return
    value, half, exact = (a.astype(np.float64) for a in (value, half, exact))
    usable = np.isfinite(exact) & np.isfinite(half) & (np.abs(exact) < 65000)
    if not usable.any():
        return
    value, half, exact = value[usable], half[usable], exact[usable]
    scale = max(np.abs(exact).max(), np.abs(half).max(), 2**-14)
    allowed = max(4 * np.abs(half - exact).max(), 2**-9 * scale)
    error = np.abs(value - exact).max()
    assert error <= allowed, f"{what}: {error:.3g} from the right values, {allowed:.3g} are allowed"
