"""The graph of a module run by the numpy references, operator by operator, as it stands at its phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.dialects.ge.interning import numpy_dtype, shape_of_type
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.runtime.tensor_files import Array, Port


class ReferenceGraph:
    """Function `main` of a module that is still a graph. Raises GraphEngineError for one that is kernels and tasks."""

    def __init__(self, module: ModuleOp, path: str) -> None:
        functions = [op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"]
        if not functions:
            raise GraphEngineError(
                f"{path} has no graph @main: kernels and tasks run on --engine chip, graphs also on the reference"
            )
        self.function = functions[0]
        types = self.function.function_type
        self.inputs = _ports(types.inputs.data, self.function.arg_attrs)
        self.outputs = _ports(types.outputs.data, self.function.res_attrs)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of the graph for `inputs`, in fp32 where an operator is fp16, rounded at its result."""
        try:
            with np.errstate(all="ignore"):
                outputs = evaluate_block(self.function.body.block, inputs)
        except (ValueError, IndexError) as problem:
            raise GraphEngineError(f"the reference cannot run on these inputs: {problem}") from problem
        return [np.asarray(output, order="C") for output in outputs]


def _ports(types: Sequence[Attribute], attributes: Any) -> list[Port]:
    names: Sequence[Any] = [None] * len(types) if attributes is None else attributes.data
    ports: list[Port] = []
    for index, (tensor, entry) in enumerate(zip(types, names, strict=True)):
        if not isinstance(tensor, TensorType):
            raise GraphEngineError(f"value {index} of @main is {tensor}, the reference takes tensors")
        named = entry.data.get("ge.name") if isinstance(entry, DictionaryAttr) else None
        name = named.data if isinstance(named, StringAttr) else str(index)
        dtype = numpy_dtype(tensor.element_type)
        ports.append(Port(name, dtype, shape_of_type(tensor)))
    return ports
