"""A case through the compiler: imported, simplified and fused, run by the reference; and through the modelled chip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx_backend.cases import Case, check_outputs
from xdsl.dialects.builtin import ModuleOp, TensorType

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.interning import shape_of_type
from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import DEFAULT_SOC, compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.target_ascend.om.program import AicpuCall, Launch
from graph_engine.target_ascend.runtime.device import run

FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16})


@dataclass(frozen=True)
class Imported:
    """A module, which of the case's inputs are constants in it, and which are left."""

    module: ModuleOp
    bound: tuple[str, ...]
    free: tuple[int, ...]


def import_case(case: Case, inputs: list[Any], *, bind: bool = False) -> Imported:
    """The case's model with no input bound; if that is refused, with those that give shapes, axes, bounds.

    With `bind`, as many are bound as it takes for all sizes to be known. Raises the first refusal if binding does not help.
    """
    # Not the initialisers: `inputs` are values of the others, in order.
    weights = {tensor.name for tensor in case.model.graph.initializer}
    declared = [value for value in case.model.graph.input if value.name not in weights][: len(inputs)]
    refusal: GraphEngineError | None = None
    for names in _bindings(declared, inputs, bind=bind):
        bound = {value.name: array for value, array in zip(declared, inputs, strict=True) if value.name in names}
        try:
            module = import_onnx(case.model, bindings=bound)
        except GraphEngineError as error:
            refusal = refusal or error
            continue
        if bind and _has_open_sizes(module) and len(names) < len(declared):
            continue
        free = tuple(i for i, value in enumerate(declared) if value.name not in names)
        return Imported(module, tuple(bound), free)
    assert refusal is not None
    raise refusal


def _has_open_sizes(module: ModuleOp) -> bool:
    types = [result.type for op in module.walk() for result in op.results]
    return any(DYNAMIC in shape_of_type(type_) for type_ in types if isinstance(type_, TensorType))


def _bindings(declared: list[onnx.ValueInfoProto], inputs: list[Any], *, bind: bool) -> Iterator[frozenset[str]]:
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
    yield from dict.fromkeys(names for names in sets if names or not bind)


@dataclass
class Outcome:
    """How a case went: `bound` inputs had to be constants; on the chip, its tasks by engine."""

    bound: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    """The `ge` operators that the model becomes, in order, each once; without constants."""
    kernels: int = 0
    """Tasks on the AI Core that compute: casts and changes of format around the host's operators do not count."""
    aicpu: list[str] = field(default_factory=list[str])
    refused: str = ""
    """Why there is no program for the chip: sizes that depend on data, or element types that it lacks."""


def operators_of(module: ModuleOp) -> tuple[str, ...]:
    """The `ge` operators of a module, in order, each once; without constants."""
    names = dict.fromkeys(op.name for op in module.walk() if op.name.startswith("ge."))
    return tuple(name for name in names if name not in ("ge.constant", "ge.yield"))


Run = tuple[Imported, list[Any], list[Any]]
"""The case at phase `fused`, the inputs that are not bound, and the right outputs."""


def through_reference(case: Case, soc: str = DEFAULT_SOC, *, bind: bool = False) -> tuple[Outcome, list[Run]]:
    """Imports the case, runs the passes before precision and layout, and compares what the reference then gives.

    With `bind`, inputs are bound until all sizes are known. Returns one run a module, to go on with. Raises
    GraphEngineError on refusal, AssertionError on wrong outputs.
    """
    outcome = Outcome()
    runs: list[Run] = []
    graph: ReferenceGraph | None = None
    for inputs, right in case.data_sets():
        if graph is None or runs[-1][0].bound:  # what depends on no values is compiled once, for all data sets
            imported = import_case(case, inputs, bind=bind)
            outcome.imported = operators_of(imported.module)
            compile_module(imported.module, soc, until=Phase.FUSED)
            graph = ReferenceGraph(imported.module, case.name)
            runs.append((imported, [inputs[i] for i in imported.free], right))
        imported = runs[-1][0]
        outcome.bound = imported.bound
        check_outputs(right, graph.run([inputs[i] for i in imported.free]), case.rtol, case.atol)
    return outcome, runs


SIZES = "sizes depend on data"
NOT_ON_THE_CHIP = ("the chip has no such element types", SIZES)
"""What GraphEngineError says of graphs that only the reference can run."""


def through_chip(outcome: Outcome, runs: list[Run], soc: str = DEFAULT_SOC, *, check: bool = False) -> None:
    """Runs what `through_reference` returned on the modelled chip in fp16, beside the reference rounded at the same places.

    The chip may be four times as far from the right outputs as that, and a five-hundredth of their size. Raises as
    `through_reference`, with `check` also for what checking mode finds.
    """
    for imported, inputs, right in runs:
        module = imported.module
        compile_module(module, soc, until=Phase.PRECISION)
        rounded = module.clone()
        try:
            compile_module(module, soc)
        except GraphEngineError as error:
            if not any(reason in str(error) for reason in NOT_ON_THE_CHIP):
                raise
            outcome.refused = str(error)
            return
        program = emit_program(module, "case")
        tasks = [task for stream in program.entry_points[0].streams for task in stream.tasks]
        outcome.kernels = sum(isinstance(task, Launch) and task.type not in ("Cast", "TransData") for task in tasks)
        outcome.aicpu = sorted({task.op for task in tasks if isinstance(task, AicpuCall)})
        result = run(program, inputs, mode="functional", check=check)
        assert not result.findings, f"checking mode: {result.findings[0]}"
        halves = ReferenceGraph(rounded, "case").run(inputs)
        for number, (value, half, exact) in enumerate(zip(result.outputs, halves, right, strict=True)):
            check_fp16(value, half, exact, f"output {number}")


def check_fp16(value: Any, half: Any, exact: Any, what: str) -> None:
    """Raises AssertionError if the chip's `value` is beyond the bound that `half`, the rounded reference, sets."""
    assert value.shape == exact.shape and value.dtype == exact.dtype, f"{what}: {value.dtype}{value.shape}"
    if value.dtype.kind != "f" and value.dtype.name != "bfloat16":
        np.testing.assert_array_equal(value, half, err_msg=what)
        return
    step = 2**-8 if value.dtype.name == "bfloat16" else 2**-9
    value, half, exact = (a.astype(np.float64) for a in (value, half, exact))
    usable = np.isfinite(exact) & np.isfinite(half) & (np.abs(exact) < 65000)
    if not usable.any():
        return
    value, half, exact = value[usable], half[usable], exact[usable]
    scale = max(np.abs(exact).max(), np.abs(half).max(), 2**-14)
    allowed = max(4 * np.abs(half - exact).max(), step * scale)
    error = np.abs(value - exact).max()
    assert error <= allowed, f"{what}: {error:.3g} from the right values, {allowed:.3g} are allowed"
