"""The tensors of the graph under construction, by ONNX name: graph values, folded integers, constants not yet placed.

A constant becomes a `ge.constant` at its first use as an operand; one that only gives shapes or bounds never does.
Values that follow from constants alone can be asked for as well: the reference computes them on demand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of
from graph_engine.dialects.ge.interning import numpy_dtype, tensor_type
from graph_engine.dialects.ge.onnx_tensors import ConstantTensor
from graph_engine.dialects.ge.weights import INLINE_ELEMENTS, WeightAttr, WeightRef, constant_attr
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.extents import Extent, Extents, has_unknown
from graph_engine.frontend_onnx.folding import MAX_ELEMENTS
from graph_engine.frontend_onnx.node import Results, Unsupported, shape_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

MAX_COMPUTED = 1 << 22
"""Nothing is computed while importing that has more elements than this."""
_INTEGER_TYPES = frozenset({2, 3, 4, 5, 6, 7, 9, 12, 13})
"""TensorProto.DataType of integers and booleans."""


Element: TypeAlias = "tuple[Values, str]"
"""A tensor of a sequence: its name, and where that is bound."""


class Values:
    """Names to values; operators are appended to `block`. A body's names are looked up in `parent` where it lacks them."""

    def __init__(
        self,
        block: Block,
        constants: dict[str, ConstantTensor],
        used: Container[str],
        parent: Values | None = None,
    ) -> None:
        self.block = block
        self.parent = parent
        self._constants = constants
        self._used = used
        self._graph: dict[str, SSAValue] = {}
        self._folded: dict[str, Array] = {}
        self._makers: dict[str, Callable[[], SSAValue]] = {}
        self._sequences: dict[str, Sequence[Element]] = {}
        self._loaded: dict[str, Array] = {}
        self._locations: dict[str, LocationAttr] = {}
        self._rooted: set[SSAValue] = set()
        """Values of the graph that follow from constants alone."""
        self._computed: dict[SSAValue, Array] = {}
        self._order: dict[Operation, int] = {}
        self.extents: Extents = Extents() if parent is None else parent.extents
        """What is known of unknown extents."""
        self._apart = False
        """Whether a node is being computed apart from the graph."""

    def bind(self, name: str, value: SSAValue) -> None:
        """The tensor `name` is this value of the graph."""
        self._graph[name] = value
        if value.name_hint is None:
            value.name_hint = _hint(name)

    def bind_folded(self, name: str, array: Array, make: Callable[[], SSAValue] | None = None) -> None:
        """The tensor `name` is a small value that is known now, apart from unknown extents in it.

        `make` puts operators into the graph that compute it, for users that need those extents as data.
        """
        if array.dtype == object and not has_unknown(array):
            import numpy as np

            array = np.array(array.tolist(), dtype=None if array.size else np.int64)
            array = array.astype(np.float32) if array.dtype.kind == "f" else array
        self._folded[name] = array
        if make is not None and has_unknown(array):
            self._makers[name] = make

    def bind_constant(self, tensor: ConstantTensor, location: LocationAttr) -> None:
        """The tensor `tensor.name` is a constant that a node of the graph states."""
        self._constants[tensor.name] = tensor
        self._locations[tensor.name] = location

    def bind_as(self, name: str, source: Values, inner: str) -> None:
        """The tensor `name` is what `source`, a body in place of a node, calls `inner`: known there, known here."""
        home = source._home(inner)
        if home is not None and inner in home._sequences:
            self.bind_sequence(name, home._sequences[inner])
        elif home is not None and inner in home._folded:
            self.bind_folded(name, home._folded[inner], home._makers.get(inner))
        elif home is not None and inner in home._constants and inner not in home._graph:
            tensor = home._constants[inner]
            self.bind_constant(replace(tensor, name=name), home._locations.get(inner, UNKNOWN_LOC))
        else:
            self.bind(name, source.operand(inner))

    def bind_sequence(self, name: str, elements: Sequence[Element]) -> None:
        """The sequence `name` holds these tensors."""
        self._sequences[name] = elements

    def sequence(self, name: str) -> Sequence[Element] | None:
        """The tensors of a sequence, None if that is not known."""
        home = self._home(name)
        return None if home is None else home._sequences.get(name)

    def __contains__(self, name: str) -> bool:
        return self._home(name) is not None

    def _home(self, name: str) -> Values | None:
        """Where `name` is bound: here or in the nearest parent."""
        if any(name in names for names in (self._graph, self._folded, self._constants, self._sequences)):
            return self
        return None if self.parent is None else self.parent._home(name)

    def is_used(self, name: str) -> bool:
        """Whether a live node or a graph output reads `name`."""
        return name in self._used

    def operand(self, name: str) -> SSAValue:
        """The tensor as a value of the graph; a constant is placed now."""
        found = self._graph.get(name)
        if found is not None:
            return found
        if name in self._folded:
            value = self._from_folded(name)
        elif name in self._constants:
            value = self._place(self._constants[name])
        elif name in self._sequences:
            raise Unsupported(f"'{name}' is a sequence: the device has tensors only")
        else:
            value = self._from_outside(name)
        self.bind(name, value)
        return value

    def _from_folded(self, name: str) -> SSAValue:
        """A folded value in the graph: a constant, or computed at run time if extents in it are unknown."""
        array = self._folded[name]
        if not has_unknown(array):
            return self.constant(array, name)
        if name not in self._makers:
            raise Unsupported(f"'{name}' holds an unknown extent as data; give input shapes")
        return self._makers[name]()

    def _from_outside(self, name: str) -> SSAValue:
        """The value here of a tensor that a parent knows."""
        array = self.known(name) if self._apart else None
        if array is not None:
            return self.constant(array, name)
        if self.parent is None:
            raise Unsupported(f"'{name}' is not known here")
        return self.parent.operand(name)

    def known(self, name: str) -> Array | None:
        """The array behind a folded value or a constant, None if the tensor depends on an input of the graph."""
        home = self._home(name)
        if home is None:
            return None
        found = home._folded.get(name)
        if found is None:
            found = home._loaded.get(name)
        if found is None and name in home._constants:
            found = home._loaded[name] = home._constants[name].load()
        if found is None and (value := home._graph.get(name)) is not None:
            found = home._value(value)
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
            if wanted in self._computed or owner in needed:
                continue
            if not isinstance(owner, Operation):
                array = self._value_outside(wanted)
                if array is None:
                    return None
                self._computed[wanted] = array
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

    def _value_outside(self, argument: SSAValue) -> Array | None:
        """The value of what an argument of a body stands for."""
        del argument
        return None

    def follows_from_constants(self, value: SSAValue) -> bool:
        """Whether a value of the graph follows from constants alone."""
        return value in self._rooted

    def foldable(self, names: Sequence[str]) -> bool:
        """Whether a node on these inputs is part of an integer chain: all known and small, and one folded or all integers."""
        folded = False
        integers = True
        for name in names:
            home = self._home(name)
            if home is not None and name in home._folded:
                folded = True
            elif home is not None and name in home._constants and home._constants[name].elements <= MAX_ELEMENTS:
                integers = integers and home._constants[name].data_type in _INTEGER_TYPES
            else:
                return False
        return folded or integers

    def shape(self, name: str) -> tuple[Extent, ...]:
        """The shape of a tensor, without placing a constant."""
        home = self._home(name)
        if home is None:
            raise Unsupported(f"'{name}' is not known here")
        if name in home._folded:
            return home._folded[name].shape
        if name in home._constants and name not in home._graph:
            return home._constants[name].shape
        return self.extents.of(home.operand(name))

    def made(self) -> dict[str, tuple[Sequence[Extent], Attribute | None]]:
        """Shape and element type of every tensor that is known here; no type where folding forgets it."""
        found: dict[str, tuple[Sequence[Extent], Attribute | None]] = {}
        for name, tensor in self._constants.items():
            found[name] = tensor.shape, element_of_onnx(tensor.data_type)
        for name, value in self._graph.items():
            found[name] = shape_of(value), element_of(value)
        for name, array in self._folded.items():
            found[name] = array.shape, None
        return found

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
        if any(DYNAMIC in shape_of(result) for result in op.results):
            self.extents.follow(op)
        return op.results

    def _sized(self, op: GeOp) -> Sequence[SSAValue]:
        """The operator with the types of its computed results."""
        arrays = [self._computed.pop(result) for result in op.results]
        self._rooted.difference_update(op.results)
        types = [tensor_type(array.shape, element_of(result)) for array, result in zip(arrays, op.results, strict=True)]
        bodies = [op.detach_region(region) for region in list(op.regions)]
        sized = type(op).create(operands=op.operands, properties=op.properties, result_types=types, regions=bodies)
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
        block, graph, apart = self.block, self._graph, self._apart
        self.block, self._graph, self._apart = Block(), {}, True
        try:
            made = convert()
            results = [made] if isinstance(made, SSAValue) else list(made)
            if any(r is not None and prod(max(n, 1) for n in shape_of(r)) > MAX_ELEMENTS for r in results):
                return None
            return [None if result is None else self._value(result) for result in results]
        finally:
            self.block, self._graph, self._apart = block, graph, apart

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


class BodyValues(Values):
    """The names in a body of control flow: what it takes from outside, constants too, becomes an argument of the body."""

    def __init__(self, constants: dict[str, ConstantTensor], used: Container[str], parent: Values) -> None:
        super().__init__(Block(), constants, used, parent)
        self._outside = parent
        self.captured: dict[SSAValue, SSAValue] = {}
        """Values outside to the arguments that stand for them."""
        self._stands_for: dict[SSAValue, SSAValue] = {}

    def _from_outside(self, name: str) -> SSAValue:
        value = super()._from_outside(name)
        return value if self._apart else self._capture(value)

    def constant(self, array: Array, name: str) -> SSAValue:
        """An array as an argument of the body; the constant stands outside."""
        return super().constant(array, name) if self._apart else self._capture(self._outside.constant(array, name))

    def _place(self, tensor: ConstantTensor) -> SSAValue:
        return super()._place(tensor) if self._apart else self._capture(self._outside._place(tensor))

    def _capture(self, value: SSAValue) -> SSAValue:
        if value not in self.captured:
            argument = self.block.insert_arg(value.type, len(self.block.args))
            argument.name_hint = value.name_hint
            self.captured[value] = argument
            self._stands_for[argument] = value
            if self._outside.follows_from_constants(value):
                self._rooted.add(argument)
        return self.captured[value]

    def _value_outside(self, argument: SSAValue) -> Array | None:
        value = self._stands_for.get(argument)
        return None if value is None else self._outside._value(value)


class BranchValues(Values):
    """The names in a body that is converted in the node's place."""

    def __init__(self, constants: dict[str, ConstantTensor], used: Container[str], parent: Values) -> None:
        super().__init__(parent.block, constants, used, parent)
        self._outside = parent

    def append_all(self, op: GeOp, location: LocationAttr) -> Sequence[SSAValue]:
        """Puts an operator at the end of the surrounding block."""
        return super().append_all(op, location) if self._apart else self._outside.append_all(op, location)

    def constant(self, array: Array, name: str) -> SSAValue:
        """An array as a constant, where the surrounding body wants its constants."""
        return super().constant(array, name) if self._apart else self._outside.constant(array, name)

    def _place(self, tensor: ConstantTensor) -> SSAValue:
        return super()._place(tensor) if self._apart else self._outside._place(tensor)

    def _value(self, value: SSAValue) -> Array | None:
        return super()._value(value) if self._apart else self._outside._value(value)

    def follows_from_constants(self, value: SSAValue) -> bool:
        """Whether a value of the surrounding block follows from constants alone."""
        return self._outside.follows_from_constants(value)


_INVALID = re.compile(r"[^A-Za-z0-9_.]+")


def _hint(name: str) -> str:
    """An SSA name that resembles the ONNX name; xDSL cuts off a trailing `_<number>` itself."""
    hint = _INVALID.sub("_", name)
    return hint if re.match(r"[A-Za-z]", hint) else f"v{hint}"
