"""The fp16 bound: how far a compiled network may be from onnxruntime, tensor by tensor.

Two judges, neither of them ours to bend: onnxruntime in fp32 says what is right, and the graph with every tensor rounded
to fp16 at the places where the chip rounds it, run by numpy, says what fp16 costs. The chip's error may be four times that
cost, and one percent of the tensor's range; its direction must be that of the right answer (cosine 0.9999).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from models.light import logits_name, random_inputs, reference_outputs, with_extra_outputs
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.target_ascend.om.program import AicpuCall, Launch, Program
from graph_engine.target_ascend.runtime.device import RunResult, run

Array = np.ndarray[Any, np.dtype[Any]]
Tensors = Mapping[str, Array]

TIMES_ROUNDING, OF_RANGE, COSINE = 4.0, 0.01, 0.9999
"""The bound."""


@dataclass(frozen=True)
class Agreement:
    """One tensor beside the right one. Errors are the largest absolute difference over the right tensor's range."""

    name: str
    error: float
    rounding_error: float
    cosine: float

    @property
    def holds(self) -> bool:
        """Whether the tensor is within the bound; a NaN anywhere is not."""
        close = self.error <= TIMES_ROUNDING * self.rounding_error and self.error <= OF_RANGE
        return close and self.cosine >= COSINE


def relative_error(value: Array, right: Array) -> float:
    """Largest absolute difference over the range of `right`; infinite for another shape."""
    if value.shape != right.shape:
        return float("inf")
    return float(np.abs(value.astype(np.float64) - right).max() / np.ptp(right))


def cosine(value: Array, right: Array) -> float:
    """Of the angle between two tensors taken as vectors."""
    a, b = value.ravel().astype(np.float64), right.ravel().astype(np.float64)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def agreements(values: Tensors, rounded: Tensors, right: Tensors, names: Iterable[str]) -> list[Agreement]:
    """`values` beside `right`, with what rounding alone costs."""
    return [
        Agreement(
            name,
            relative_error(values[name], right[name]),
            relative_error(rounded[name], right[name]),
            cosine(values[name], right[name]) if values[name].shape == right[name].shape else 0.0,
        )
        for name in names
    ]


def misses(found: Iterable[Agreement]) -> list[Agreement]:
    """Those out of bound, for a readable assertion."""
    return [agreement for agreement in found if not agreement.holds]


def compile_program(model: onnx.ModelProto) -> Program:
    """The default pipeline, in memory."""
    module = import_onnx(model)
    compile_module(module)
    return emit_program(module)


def kernel_results(model: onnx.ModelProto, count: int) -> list[str]:
    """`count` ONNX tensors spread over the network that the compiled network computes as well: results of its fused
    operators. Returned as extra outputs they change no fusion, so that the kernels stay those of the plain network."""
    module = import_onnx(model)
    compile_module(module, until=Phase.FUSED)
    outputs = {value.name for value in model.graph.output} | {logits_name(model)}
    names: list[str] = []
    for op in main_block(module).ops:
        nodes = source_nodes(op.location) if isinstance(op, GeOp | FusedOp) and op.name != "ge.constant" else []
        if nodes and nodes[-1].outputs[0] not in outputs:
            names.append(nodes[-1].outputs[0])
    names = list(dict.fromkeys(names))
    picks = np.linspace(0, len(names) - 1, min(count, len(names))).round().astype(int)
    return [names[pick] for pick in dict.fromkeys(picks.tolist())]


def main_block(module: ModuleOp) -> Any:
    """The graph of a module."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return function.body.block


@dataclass
class Network:
    """A network that also returns its logits and inner tensors, compiled, with its judges."""

    model: onnx.ModelProto
    program: Program
    reference: ReferenceGraph
    names: list[str]
    """The tensors to compare: logits first, then inner ones."""

    @staticmethod
    def of(model: onnx.ModelProto, inner: Sequence[str]) -> Network:
        """Compiles `model` with its logits and the tensors `inner` as further outputs."""
        names = [logits_name(model), *inner]
        model = with_extra_outputs(model, names)
        module = import_onnx(model)
        compile_module(module, until=Phase.PRECISION)
        reference = ReferenceGraph(module.clone(), "model")
        compile_module(module)
        return Network(model, emit_program(module), reference, names)

    def inputs(self, feeds: Tensors) -> list[Array]:
        """The feeds in the order of the program."""
        return [feeds[tensor.name] for tensor in self.program.entry_points[0].inputs]

    def judge(self, feeds: Tensors) -> tuple[Tensors, Tensors]:
        """(rounded, right) values of all outputs."""
        rounded = self.reference.run([feeds[port.name] for port in self.reference.inputs])
        names = [port.name for port in self.reference.outputs]
        return dict(zip(names, rounded, strict=True)), reference_outputs(self.model, feeds)

    def run(self, feeds: Tensors, **options: Any) -> tuple[Tensors, RunResult]:
        """The chip's outputs by name, and all that the run tells."""
        result = run(self.program, self.inputs(feeds), **options)
        names = [tensor.name for tensor in self.program.entry_points[0].outputs]
        return dict(zip(names, result.outputs, strict=False)), result

    def compare(self, feeds: Tensors, **options: Any) -> tuple[list[Agreement], RunResult]:
        """Runs the chip and both judges on `feeds`."""
        rounded, right = self.judge(feeds)
        values, result = self.run(feeds, **options)
        return agreements(values, rounded, right, self.names), result


def check_agreement(model: onnx.ModelProto, inner: Sequence[str], *, seed: int = 0, batch: int = 1) -> list[Agreement]:
    """Compiles, runs and compares a network on seeded inputs."""
    return Network.of(model, inner).compare(random_inputs(model, seed, batch=batch), mode="functional")[0]


def tasks_of(program: Program) -> list[Launch | AicpuCall]:
    """The tasks that compute, in order."""
    return [t for s in program.entry_points[0].streams for t in s.tasks if isinstance(t, Launch | AicpuCall)]
