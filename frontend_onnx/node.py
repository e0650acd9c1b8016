"""What a converter sees of one ONNX node: operands, compile-time values, attributes; and where it puts its operators.

A converter is a function `(Node) -> results`, one per ONNX operator, listed in its family's `CONVERTERS`. It reads the
node through `Node`, appends `ge` operators with `emit` and returns one value per output (None for one that it does not
make). It raises `Unsupported` with a reason if `ge` has no form for the node; the importer collects these for one report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, GeOp
from graph_engine.dialects.ge.interning import element_name, shape_of_type
from graph_engine.frontend_onnx.extents import Extent, UnknownExtent, has_unknown

if TYPE_CHECKING:
    import numpy as np
    from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

    from graph_engine.dialects.ge.onnx_tensors import ConstantTensor
    from graph_engine.frontend_onnx.values import Values

_T = TypeVar("_T")
Results: TypeAlias = SSAValue | Sequence[SSAValue | None]
Converter: TypeAlias = Callable[["Node"], Results]


class Unsupported(Exception):
    """`ge` has no form for this node; the message says which feature is at fault and which form would do."""


class Bodies(Protocol):
    """Reads the tensors and converts the graphs in attributes."""

    def tensor(self, proto: TensorProto, name: str) -> ConstantTensor:
        """A tensor, called `name`."""
        ...

    def constants(self, graph: GraphProto) -> dict[str, ConstantTensor]:
        """The initialisers of a body."""
        ...

    def convert(self, graph: GraphProto, values: Values) -> None:
        """Converts all nodes of a body into `values`. Raises Reported if some cannot be, which are reported then."""
        ...


class Reported(Exception):
    """A node cannot be converted for reasons that are reported already."""


class Node:
    """One node of the graph and the place where its operators go."""

    def __init__(
        self, proto: NodeProto, name: str, opset: int, location: LocationAttr, values: Values, bodies: Bodies
    ) -> None:
        self.proto = proto
        self.name = name
        self.opset = opset
        self.location = location
        self.op_type = proto.op_type
        self.inputs: tuple[str, ...] = tuple(proto.input)
        self.outputs: tuple[str, ...] = tuple(proto.output)
        self.bodies = bodies
        self.values = self._values = values
        self._attributes: Mapping[str, AttributeProto] = {a.name: a for a in proto.attribute}

    # Operands

    def has(self, index: int) -> bool:
        """Whether input `index` is given (a trailing input may be absent, an inner one empty)."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def operand(self, index: int = 0) -> SSAValue:
        """Input `index` as a tensor of the graph."""
        if not self.has(index):
            raise Unsupported(f"input {index} is missing")
        return self._values.operand(self.inputs[index])

    def optional(self, index: int) -> SSAValue | None:
        """Input `index` as a tensor of the graph, None if it is not given."""
        return self.operand(index) if self.has(index) else None

    def operands(self) -> list[SSAValue]:
        """All inputs as tensors of the graph."""
        return [self.operand(index) for index in range(len(self.inputs))]

    def known(self, index: int) -> np.ndarray | None:
        """The value of input `index` if it is known now: an initialiser, a Constant, or a folded integer chain."""
        return self._values.known(self.inputs[index]) if self.has(index) else None

    def is_constant(self, index: int) -> bool:
        """Whether input `index` is known in full, or not given."""
        value = self.known(index)
        return not self.has(index) if value is None else not has_unknown(value)

    def constant(self, index: int, what: str) -> np.ndarray:
        """Like `known`, for an input without which there is no static graph."""
        value = self.known(index)
        if value is None:
            raise Unsupported(f"{what} must be a constant")
        if has_unknown(value):
            raise Unsupported(f"{what} depends on an unknown extent; give input shapes")
        return value

    def extents(self, index: int, what: str) -> list[Extent]:
        """A constant 1-D input as extents, where those that were computed from unknown ones may be unknown."""
        value = self.known(index)
        if value is None:
            raise Unsupported(f"{what} must be a constant")
        return [v if isinstance(v, UnknownExtent) else int(v) for v in value.reshape(-1).tolist()]

    def shape(self, value: SSAValue) -> tuple[Extent, ...]:
        """The shape of a tensor of the graph, with its unknown extents by what they are."""
        return self._values.extents.of(value)

    def constant_ints(self, index: int, what: str) -> list[int]:
        """A constant 1-D (or scalar) input as integers."""
        return [int(v) for v in self.constant(index, what).reshape(-1).tolist()]

    def result_used(self, index: int) -> bool:
        """Whether something reads output `index`."""
        return index < len(self.outputs) and self._values.is_used(self.outputs[index])

    # Attributes

    def has_attribute(self, name: str) -> bool:
        """Whether the node states attribute `name`."""
        return name in self._attributes

    def int(self, name: str, default: int | None = None) -> int:
        """An integer attribute."""
        found = self._attributes.get(name)
        return found.i if found is not None else self._default(name, default)

    def float(self, name: str, default: float | None = None) -> float:
        """A float attribute."""
        found = self._attributes.get(name)
        return found.f if found is not None else self._default(name, default)

    def ints(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """An integer-list attribute."""
        found = self._attributes.get(name)
        return list(found.ints if found is not None else self._default(name, default))

    def floats(self, name: str) -> list[float]:
        """A float-list attribute."""
        return list(self._attributes[name].floats)

    def strings(self, name: str) -> list[str]:
        """A string-list attribute, empty if it is not given."""
        found = self._attributes.get(name)
        return [] if found is None else [item.decode() for item in found.strings]

    def string(self, name: str, default: str | None = None) -> str:
        """A string attribute."""
        found = self._attributes.get(name)
        return found.s.decode() if found is not None else self._default(name, default)

    def tensor(self, name: str, called: str = "") -> ConstantTensor:
        """A tensor attribute, as a tensor called `called`."""
        found = self._attributes.get(name)
        proto = found.t if found is not None else self._default(name, None)
        return self.bodies.tensor(proto, called or f"{self.name}.{name}")

    def graph(self, name: str) -> GraphProto:
        """A graph attribute."""
        found = self._attributes.get(name)
        return found.g if found is not None else self._default(name, None)

    def attribute_names(self) -> list[str]:
        """The names of all stated attributes."""
        return list(self._attributes)

    def _default(self, name: str, default: _T | None) -> _T:
        if default is None:
            raise Unsupported(f"attribute {name} is missing")
        return default

    # Results

    def emit(self, op: GeOp) -> SSAValue:
        """Appends an operator, with the node's location, and gives its (first) result."""
        return self._values.append(op, self.location)

    def emit_all(self, op: GeOp) -> list[SSAValue]:
        """Like `emit`, for an operator with several results: all of them."""
        return list(self._values.append_all(op, self.location))

    def emit_shaped(self, op: GeOp, extents: Sequence[Extent]) -> SSAValue:
        """Like `emit`, for an operator whose unknown result extents follow from more than its operands' types."""
        value = self.emit(op)
        self._values.extents.state(value, extents)
        return value

    def keep_constant(self, array: np.ndarray, name: str = "") -> SSAValue:
        """A compile-time array as a tensor of the graph."""
        return self._values.constant(array, name or self.name)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor, -1 for an unknown dimension."""
    return shape_of_type(value.type)


def dtype_of(value: SSAValue) -> str:
    """The element type of a tensor by its MLIR name."""
    return element_name(cast("TensorType[Attribute]", value.type).element_type)


def is_float(value: SSAValue) -> bool:
    """Whether a tensor holds floating-point numbers."""
    return dtype_of(value) in ("f16", "bf16", "f32", "f64")


def spatial(node: Node, index: int = 0) -> tuple[int, int]:
    """Height and width of input `index`, which must be a batch of 2-D images (N, C, H, W)."""
    shape = shape_of(node.operand(index))
    if len(shape) != 4:
        raise Unsupported(f"input has rank {len(shape)}; 2-D images (rank 4) are supported")
    return shape[2], shape[3]


def static_dim(size: int, what: str) -> int:
    """A dimension that must be known."""
    if size == DYNAMIC:
        raise Unsupported(f"{what} must be known; give it with an input shape")
    return size


def joined(sizes: Sequence[int]) -> int:
    """The extent of several axes made one: unknown if one of them is."""
    return DYNAMIC if DYNAMIC in sizes else prod(sizes)


def axis_of(axis: int, rank: int, what: str = "axis") -> int:
    """`axis` counted from the front."""
    if not -rank <= axis < rank:
        raise Unsupported(f"{what} {axis} is outside rank {rank}")
    return axis % rank
