"""The tensors of the graph under construction, by ONNX name: graph values, folded integers, constants not yet placed.

A constant becomes a `ge.constant` at its first use as an operand; one that only gives shapes or bounds never does.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Block, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.interning import numpy_dtype, tensor_type
from graph_engine.dialects.ge.weights import INLINE_ELEMENTS, WeightAttr, WeightRef, constant_attr
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.folding import MAX_ELEMENTS
from graph_engine.frontend_onnx.node import Unsupported, has_unknown, shape_of
from graph_engine.frontend_onnx.tensors import ConstantTensor

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_INTEGER_TYPES = frozenset({2, 3, 4, 5, 6, 7, 9, 12, 13})
"""TensorProto.DataType of integers and booleans."""


class Values:
    """Names to values; operators are appended to `block`."""

    def __init__(self, block: Block, constants: dict[str, ConstantTensor], used: Container[str]) -> None:
        self.block = block
        self._constants = constants
        self._used = used
        self._graph: dict[str, SSAValue] = {}
        self._folded: dict[str, Array] = {}
        self._loaded: dict[str, Array] = {}
        self._locations: dict[str, LocationAttr] = {}

    def bind(self, name: str, value: SSAValue) -> None:
        """The tensor `name` is this value of the graph."""
        self._graph[name] = value
        if value.name_hint is None:
            value.name_hint = _hint(name)

    def bind_folded(self, name: str, array: Array) -> None:
        """The tensor `name` is a small value that is known now."""
        self._folded[name] = array

    def bind_constant(self, tensor: ConstantTensor, location: LocationAttr) -> None:
        """The tensor `tensor.name` is a constant that a node of the graph states."""
        self._constants[tensor.name] = tensor
        self._locations[tensor.name] = location

    def __contains__(self, name: str) -> bool:
        return name in self._graph or name in self._folded or name in self._constants

    def is_used(self, name: str) -> bool:
        """Whether a live node or a graph output reads `name`."""
        return name in self._used

    def operand(self, name: str) -> SSAValue:
        """The tensor as a value of the graph; a constant is placed now."""
        found = self._graph.get(name)
        if found is not None:
            return found
        if name in self._folded:
            array = self._folded[name]
            if has_unknown(array):
                raise Unsupported(f"'{name}' holds an unknown extent as data; give input shapes")
            value = self.constant(array, name)
        else:
            value = self._place(self._constants[name])
        self.bind(name, value)
        return value

    def known(self, name: str) -> Array | None:
        """The array behind a folded value or a constant, None if the tensor is computed by the graph."""
        found = self._folded.get(name)
        if found is None:
            found = self._loaded.get(name)
        if found is None and name in self._constants:
            found = self._loaded[name] = self._constants[name].load()
        return found

    def foldable(self, names: Sequence[str]) -> bool:
        """Whether a node on these inputs is part of an integer chain: all known and small, and one folded or all integers."""
        folded = False
        integers = True
        for name in names:
            if name in self._folded:
                folded = True
            elif (tensor := self._constants.get(name)) is not None and tensor.elements <= MAX_ELEMENTS:
                integers = integers and tensor.data_type in _INTEGER_TYPES
            else:
                return False
        return folded or integers

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, without placing a constant."""
        if name in self._folded:
            return self._folded[name].shape
        if name in self._constants and name not in self._graph:
            return self._constants[name].shape
        return shape_of(self._graph[name])

    def append(self, op: GeOp, location: LocationAttr) -> SSAValue:
        """Puts an operator at the end of the block."""
        op.location = location
        self.block.add_op(op)
        return op.result

    def constant(self, array: Array, name: str) -> SSAValue:
        """An array as a `ge.constant`."""
        return self.append(ConstantOp(constant_attr(array, name)), UNKNOWN_LOC)

    def _place(self, tensor: ConstantTensor) -> SSAValue:
        element = element_of_onnx(tensor.data_type)
        if element is None:
            raise Unsupported(f"constant '{tensor.name}' has element type {tensor.data_type} of TensorProto")
        if tensor.elements <= INLINE_ELEMENTS:
            attribute = constant_attr(tensor.load(), tensor.name)
        else:
            attribute = WeightAttr(WeightRef(tensor.name, str(numpy_dtype(element)), tensor.shape, tensor.load))
        op = ConstantOp(attribute, result_type=tensor_type(tensor.shape, element))
        return self.append(op, self._locations.get(tensor.name, UNKNOWN_LOC))


_INVALID = re.compile(r"[^A-Za-z0-9_.]+")


def _hint(name: str) -> str:
    """An SSA name that resembles the ONNX name; xDSL cuts off a trailing `_<number>` itself."""
    hint = _INVALID.sub("_", name)
    return hint if re.match(r"[A-Za-z]", hint) else f"v{hint}"
