"""Sequences of tensors that are known while importing: their operators become slices, concatenations, or nothing.

Exporters write a split into unknown parts, or a list that a loop appends to, as a sequence. Which tensors it holds is known
as soon as sizes, positions and the loop's iterations are. Sequences that are inputs or outputs of a graph, or that a loop
carries that is not written out, are refused: the device has tensors only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.shape import ConcatOp, ReshapeOp, SliceOp
from graph_engine.frontend_onnx.node import Converter, Node, Results, Unsupported, axis_of, shape_of

if TYPE_CHECKING:
    import numpy as np

    from graph_engine.frontend_onnx.values import Element

    Array = np.ndarray[Any, Any]


def _elements(node: Node) -> list[Element]:
    """The tensors of the sequence that is input 0."""
    found = node.values.sequence(node.inputs[0])
    if found is None:
        raise Unsupported(f"'{node.inputs[0]}' is a sequence that is not known while importing")
    return list(found)


def _position(node: Node, index: int, count: int) -> int:
    place = int(node.constant(index, "the position").item())
    if not -count <= place < max(count, 1):
        raise Unsupported(f"position {place} of a sequence of {count}")
    return place % max(count, 1)


def sequence_empty(node: Node) -> Results:
    """A sequence of nothing, known while importing."""
    node.values.bind_sequence(node.outputs[0], [])
    return []


def sequence_construct(node: Node) -> Results:
    """A sequence known while importing."""
    node.values.bind_sequence(node.outputs[0], [(node.values, name) for name in node.inputs])
    return []


def sequence_insert(node: Node) -> Results:
    """A sequence known while importing, with one more tensor."""
    elements = _elements(node)
    place = len(elements)
    if node.has(2) and int(node.constant(2, "the position").item()) != place:
        place = _position(node, 2, place)
    node.values.bind_sequence(node.outputs[0], [*elements[:place], (node.values, node.inputs[1]), *elements[place:]])
    return []


def sequence_erase(node: Node) -> Results:
    """A sequence known while importing, with one tensor less."""
    elements = _elements(node)
    del elements[_position(node, 1, len(elements)) if node.has(1) else -1]
    node.values.bind_sequence(node.outputs[0], elements)
    return []


def sequence_at(node: Node) -> Results:
    """The tensor itself."""
    elements = _elements(node)
    if not elements:
        raise Unsupported("an element of an empty sequence")
    node.values.bind_as(node.outputs[0], *elements[_position(node, 1, len(elements))])
    return []


def sequence_length(node: Node) -> Results:
    """A constant."""
    import numpy as np

    node.values.bind_folded(node.outputs[0], np.array(len(_elements(node)), np.int64))
    return []


def split_to_sequence(node: Node) -> Results:
    """One `ge.slice` a part, of known sizes."""
    import numpy as np

    folded = node.known(0) if node.values.foldable([node.inputs[0]]) else None
    shape = folded.shape if folded is not None else shape_of(node.operand(0))
    axis = axis_of(node.int("axis", 0), len(shape))
    extent = shape[axis]
    if extent == DYNAMIC:
        raise Unsupported("the extent that is split must be known; give input shapes")
    sizes = [1] * extent
    if node.has(1):
        split = node.constant(1, "the sizes of parts")
        size = int(split.reshape(-1)[0]) if split.ndim == 0 else 0
        starts = range(0, extent, size) if size > 0 else ()
        sizes = [min(size, extent - start) for start in starts] if size else [int(s) for s in split.tolist()]
    if sum(sizes) != extent:
        raise Unsupported(f"parts of {sizes} do not make {extent}")
    squeezed = not node.has(1) and not node.int("keepdims", 1)
    elements: list[Element] = []
    start = 0
    for number, size in enumerate(sizes):
        name = f"{node.outputs[0]}[{number}]"
        if folded is not None:
            part: Array = np.take(folded, range(start, start + size), axis)
            node.values.bind_folded(name, part.squeeze(axis) if squeezed else part)
        else:
            value = node.emit(SliceOp(node.operand(0), starts=[start], ends=[start + size], axes=[axis]))
            if squeezed:
                value = node.emit(ReshapeOp(value, shape=shape[:axis] + shape[axis + 1 :]))
            node.values.bind(name, value)
        elements.append((node.values, name))
        start += size
    node.values.bind_sequence(node.outputs[0], elements)
    return []


def concat_from_sequence(node: Node) -> Results:
    """`ge.concat`, along a new axis after reshapes."""
    import numpy as np

    elements = _elements(node)
    if not elements:
        raise Unsupported("a concatenation of nothing")
    new_axis = bool(node.int("new_axis", 0))
    if all(home.foldable([name]) for home, name in elements):
        arrays = [array for home, name in elements if (array := home.known(name)) is not None]
        axis = axis_of(node.int("axis"), arrays[0].ndim + new_axis)
        node.values.bind_folded(node.outputs[0], (np.stack if new_axis else np.concatenate)(arrays, axis))
        return []
    values = [home.operand(name) for home, name in elements]
    shape = shape_of(values[0])
    axis = axis_of(node.int("axis"), len(shape) + new_axis)
    if new_axis:
        if shape.count(DYNAMIC) > 1:
            raise Unsupported("several unknown extents; give input shapes")
        values = [node.emit(ReshapeOp(value, shape=(*shape[:axis], 1, *shape[axis:]))) for value in values]
    return node.emit(ConcatOp(values, axis=axis)) if len(values) > 1 else values[0]


CONVERTERS: dict[str, Converter] = {
    "SequenceEmpty": sequence_empty,
    "SequenceConstruct": sequence_construct,
    "SequenceInsert": sequence_insert,
    "SequenceErase": sequence_erase,
    "SequenceAt": sequence_at,
    "SequenceLength": sequence_length,
    "SplitToSequence": split_to_sequence,
    "ConcatFromSequence": concat_from_sequence,
}
