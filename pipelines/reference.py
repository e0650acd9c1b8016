"""The graph of a module run by the numpy references, operator by operator, as it stands at its phase."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from graph_engine.dialects.ge.evaluate import Observer, evaluate_block
from graph_engine.dialects.ge.interning import numpy_dtype, shape_of_type
from graph_engine.dialects.ge.ports import input_names, output_names
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.runtime.tensor_files import Array, Port


def graph_functions(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module that is still a graph; none once there are kernels."""
    if any(op.name.startswith("ascend.") for op in module.ops):
        return []
    return [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]


class ReferenceGraph:
    """Function `main` of a module that is still a graph, or another one. Raises GraphEngineError for kernels and tasks."""

    def __init__(self, module: ModuleOp, path: str, name: str = "main") -> None:
        functions = [op for op in graph_functions(module) if op.sym_name.data == name]
        if not functions:
            raise GraphEngineError(
                f"{path} has no graph @{name}: kernels and tasks run on --engine chip, graphs also on the reference"
            )
        self.function = functions[0]
        types = self.function.function_type
        self.inputs = _ports(types.inputs.data, input_names(self.function))
        self.outputs = _ports(types.outputs.data, output_names(self.function))

    def run(self, inputs: Sequence[Array], observer: Observer | None = None) -> list[Array]:
        """The outputs of the graph for `inputs`, in fp32 where an operator is fp16, rounded at its result.

        `observer` is told the results of every operator.
        """
        try:
            with np.errstate(all="ignore"):
                return evaluate_block(self.function.body.block, inputs, observer)
        except (ValueError, IndexError) as problem:
            raise GraphEngineError(f"the reference cannot run on these inputs: {problem}") from problem


def _ports(types: Sequence[Attribute], names: Sequence[str]) -> list[Port]:
    ports: list[Port] = []
    for index, (tensor, name) in enumerate(zip(types, names, strict=True)):
        if not isinstance(tensor, TensorType):
            raise GraphEngineError(f"value {index} of the graph is {tensor}, the reference takes tensors")
        dtype = numpy_dtype(tensor.element_type)
        ports.append(Port(name, dtype, shape_of_type(tensor)))
    return ports
