"""The tensors of the graph under construction, by ONNX name: graph values, folded integers, constants not yet placed.

A constant becomes a `ge.constant` at its first use as an operand; one that only gives shapes or bounds never does.
Values that follow from constants alone can be asked for as well: the reference computes them on demand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of
from graph_engine.dialects.ge.interning import numpy_dtype, tensor_type
from graph_engine.dialects.ge.weights import INLINE_ELEMENTS, WeightAttr, WeightRef, constant_attr
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.folding import MAX_ELEMENTS
from graph_engine.frontend_onnx.node import Results, Unsupported, has_unknown, shape_of
from graph_engine.frontend_onnx.tensors import ConstantTensor

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

MAX_COMPUTED = 1 << 22
"""Nothing is computed while importing that has more elements than this."""
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
        self._rooted: set[SSAValue] = set()
        """Values of the graph that follow from constants alone."""
        self._computed: dict[SSAValue, Array] = {}
        self._order: dict[Operation, int] = {}

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
        """The array behind a folded value or a constant, None if the tensor depends on an input of the graph."""
        found = self._folded.get(name)
        if found is None:
            found = self._loaded.get(name)
        if found is None and name in self._constants:
            found = self._loaded[name] = self._constants[name].load()
        if found is None and (value := self._graph.get(name)) is not None:
            found = self._value(value)
        return found

    def _value(self, value: SSAValue) -> Array | None:
        """A value of the graph as the reference computes it; None if it depends on an input or is large."""
        from graph_engine.dialects.ge.evaluate import evaluate_op

        if value not in self._rooted:
            return None
        needed: dict[Operation, None] = {}
        pending = [value]
        while pending:
            wanted = pending.pop()
            owner = wanted.owner
            if wanted in self._computed or not isinstance(owner, Operation) or owner in needed:
                continue
            if any(prod(max(n, 1) for n in shape_of(result)) > MAX_COMPUTED for result in owner.results):
                return None
            needed[owner] = None
            pending += owner.operands
        for op in sorted(needed, key=self._order.__getitem__):
            try:
                arrays = evaluate_op(op, [self._computed[operand] for operand in op.operands])
            except (ValueError, IndexError, ZeroDivisionError) as error:
                raise Unsupported(f"its constant inputs do not fit ({error})") from None
            self._computed.update(zip(op.results, arrays, strict=True))
        return self._computed[value]

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
        """Puts an operator at the end of the block; its first result."""
        return self.append_all(op, location)[0]

    def append_all(self, op: GeOp, location: LocationAttr) -> Sequence[SSAValue]:
        """Like `append`: all results. Sizes that depend on data are known if that is constant."""
        op.location = location
        self.block.add_op(op)
        self._order[op] = len(self._order)
        if all(operand in self._rooted for operand in op.operands):
            self._rooted.update(op.results)
            if any(DYNAMIC in shape_of(result) for result in op.results) and self._value(op.results[0]) is not None:
                return self._sized(op)
        return op.results

    def _sized(self, op: GeOp) -> Sequence[SSAValue]:
        """The operator with the types of its computed results."""
        arrays = [self._computed.pop(result) for result in op.results]
        self._rooted.difference_update(op.results)
        types = [tensor_type(array.shape, element_of(result)) for array, result in zip(arrays, op.results, strict=True)]
        sized = type(op).create(operands=op.operands, properties=op.properties, result_types=types)
        sized.location = op.location
        self._order[sized] = self._order.pop(op)
        op.detach()
        op.erase()
        self.block.add_op(sized)
        self._rooted.update(sized.results)
        self._computed.update(zip(sized.results, arrays, strict=True))
        return sized.results

    def fold(self, convert: Callable[[], Results]) -> list[Array | None] | None:
        """What a converter makes of inputs that are all known, as arrays; None if some result is too large to keep.

        Nothing is left in the graph.
        """
        block, graph = self.block, self._graph
        self.block, self._graph = Block(), {}
        try:
            made = convert()
            results = [made] if isinstance(made, SSAValue) else list(made)
            if any(r is not None and prod(max(n, 1) for n in shape_of(r)) > MAX_ELEMENTS for r in results):
                return None
            return [None if result is None else self._value(result) for result in results]
        finally:
            self.block, self._graph = block, graph

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
