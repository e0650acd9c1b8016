"""What a model declares besides its nodes: names, extents and types, checked before and compared after the import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.interning import element_name
from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.extents import Extent, UnknownExtent
from graph_engine.frontend_onnx.problems import listed

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

MAX_DEPTH = 50
"""Bodies within bodies; protobuf itself ends at 100 messages."""


def check_declarations(graph: GraphProto) -> None:
    """Raises GraphEngineError for names that are no UTF-8 or stand for two tensors, and for negative extents."""
    problems = [*_unreadable_names(graph, 0)]
    if not problems:
        problems = [*_repeated_names(graph), *_negative_extents(graph), *_contradicting_inputs(graph)]
    if problems:
        raise GraphEngineError(listed("the model is not valid:", problems))


def _unreadable_names(graph: GraphProto, depth: int) -> Iterator[str]:
    """Protobuf gives a name that is no UTF-8 as bytes."""
    if depth > MAX_DEPTH:
        raise GraphEngineError(f"the bodies of control flow are nested more than {MAX_DEPTH} deep")
    for what, values in (("input", graph.input), ("output", graph.output), ("value_info", graph.value_info)):
        for number, value in enumerate(values):
            symbols = [d.dim_param for d in value.type.tensor_type.shape.dim]
            yield from _not_text(f"{what} {number}", [value.name, *symbols])
    for number, tensor in enumerate(graph.initializer):
        entries = [text for entry in tensor.external_data for text in (entry.key, entry.value)]
        yield from _not_text(f"initialiser {number}", [tensor.name, *entries])
    for number, node in enumerate(graph.node):
        named = f"'{node.name}'" if node.name and _is_text(node.name) else str(number)
        kind = f" ({node.op_type})" if _is_text(node.op_type) else ""
        attributes = [a.name for a in node.attribute]
        texts = [node.name, node.op_type, node.domain, *node.input, *node.output, *attributes]
        yield from _not_text(f"node {named}{kind}", texts)
        for attribute in node.attribute:
            if attribute.type in (5, 10):  # AttributeProto.AttributeType of a graph and of graphs
                for body in (attribute.g, *attribute.graphs):
                    yield from _unreadable_names(body, depth + 1)


def _is_text(name: object) -> bool:
    return isinstance(name, str)


def _not_text(where: str, texts: Iterable[object]) -> Iterator[str]:
    for text in texts:
        if isinstance(text, bytes):
            shown = text[:60].decode(errors="backslashreplace")
            yield f"{where}: the name '{shown}' is not UTF-8; rename it, or export the model again"


def _repeated_names(graph: GraphProto) -> Iterator[str]:
    for what, items in (("inputs", graph.input), ("initialisers", graph.initializer)):
        seen: set[str] = set()
        repeated: dict[str, None] = {}
        for item in items:
            if item.name in seen:
                repeated[item.name] = None
            seen.add(item.name)
        yield from (f"two {what} are called '{name}'; rename one of them" for name in repeated)


def _negative_extents(graph: GraphProto) -> Iterator[str]:
    for value in graph.input:
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if any(d < DYNAMIC for d in dims):
            yield f"input '{value.name}' is declared with shape {dims}: extents are 0 or more; give it a shape"
    for tensor in graph.initializer:
        if any(d < 0 for d in tensor.dims):
            yield f"initialiser '{tensor.name}' has shape {list(tensor.dims)}: extents are 0 or more; export it again"


def _contradicting_inputs(graph: GraphProto) -> Iterator[str]:
    """Old models declare every initialiser as an input too."""
    tensors: dict[str, TensorProto] = {tensor.name: tensor for tensor in graph.initializer}
    for value in graph.input:
        tensor = tensors.get(value.name)
        declared = value.type.tensor_type.elem_type
        if tensor is not None and declared and declared != tensor.data_type:
            yield (
                f"initialiser '{value.name}' holds {type_name(tensor.data_type)} and is declared as an input of "
                f"{type_name(declared)}; make them agree"
            )


def type_name(data_type: int) -> str:
    """A TensorProto data type as text."""
    element = element_of_onnx(data_type)
    return f"type {data_type} of TensorProto" if element is None else element_name(element)


def declared_dims(value: ValueInfoProto) -> list[tuple[int, str]] | None:
    """(extent, symbol) of every axis, -1 for an unknown extent; None without a declared shape."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return [(d.dim_value if d.HasField("dim_value") else DYNAMIC, d.dim_param) for d in tensor.shape.dim]


def contradictions(
    graph: GraphProto,
    nodes: Iterable[tuple[NodeProto, str]],
    made: Mapping[str, tuple[Sequence[Extent], Attribute | None]],
) -> tuple[list[str], list[str]]:
    """Where `value_info` and outputs declare other element types (errors) and shapes (stale) than the graph makes."""
    makers = {output: f"node '{name}' ({node.op_type})" for node, name in nodes for output in node.output}
    types: list[str] = []
    shapes: list[str] = []
    outputs = {value.name for value in graph.output}
    for value in {value.name: value for value in (*graph.value_info, *graph.output)}.values():
        found = made.get(value.name)
        if found is None or value.type.WhichOneof("value") != "tensor_type":
            continue
        shape, element = found
        what = "the graph output" if value.name in outputs else "value_info"
        where = f"{makers.get(value.name, 'the graph')}: {what} declares '{value.name}' as"
        declared = value.type.tensor_type.elem_type
        wanted = element_of_onnx(declared)
        if declared and element is not None and wanted is not None and wanted != element:
            types.append(f"{where} {type_name(declared)}, it is {element_name(element)}; correct the declaration")
        dims = declared_dims(value)
        if dims is not None and not _agree([d for d, _ in dims], shape):
            shapes.append(f"{where} {_text(dims)}, it is {_text([(_number(e), '') for e in shape])}, which is taken")
    return types, shapes


def _number(extent: Extent) -> int:
    return DYNAMIC if isinstance(extent, UnknownExtent) else extent


def _agree(declared: Sequence[int], shape: Sequence[Extent]) -> bool:
    pairs = zip(declared, map(_number, shape), strict=False)
    return len(declared) == len(shape) and all(a == b or DYNAMIC in (a, b) for a, b in pairs)


def _text(dims: Sequence[tuple[int, Any]]) -> str:
    return f"[{', '.join(str(d) if d != DYNAMIC else symbol or '?' for d, symbol in dims)}]"
