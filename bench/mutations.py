"""Mutations of ONNX models, each one function `(model or bytes, Random)`: what a broken exporter or disk makes of them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

EXTENTS = (-(2**63), -7, -1, 0, 1, 2, 3, 1000, 2**31, 2**40, 2**62, 2**63 - 1)
INTEGERS = (*EXTENTS, *range(-4, 8))
KINDS = (*range(30), 99)
"""TensorProto.DataType, and numbers that it lacks."""


def changed_bytes(content: bytes, random: Random) -> bytes:
    """Overwrites, cuts, drops, inserts or doubles bytes of a file, in one place."""
    changed = bytearray(content)
    place = random.randrange(len(changed) + 1)
    length = random.randint(1, 8)
    kind = random.random()
    if kind < 0.6 and place < len(changed):
        changed[place] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
    elif kind < 0.7:
        del changed[place:]
    elif kind < 0.8:
        del changed[place : place + length]
    elif kind < 0.9:
        changed[place:place] = random.randbytes(length)
    else:
        changed[place:place] = changed[place : place + 10 * length]
    return bytes(changed)


def changed_model(content: bytes, random: Random) -> bytes:
    """Changes one field of a model; a file that is no model any more, and a change that cannot be, leave it alone."""
    from onnx import ModelProto

    try:
        model = ModelProto.FromString(content)
        random.choice(FIELD_MUTATIONS)(model, random)
        return model.SerializeToString()
    except Exception:  # no model any more, no such part, or a value that the field cannot take
        return content


def _node(model: Any, random: Random) -> Any:
    return random.choice(model.graph.node)


def _attribute(model: Any, random: Random) -> Any:
    return random.choice(_node(model, random).attribute)


def _tensors(model: Any) -> list[Any]:
    return [*model.graph.initializer, *(a.t for n in model.graph.node for a in n.attribute if a.HasField("t"))]


def _names(model: Any) -> list[str]:
    graph = model.graph
    made = [name for node in graph.node for name in node.output]
    return ["", "absent", *made, *(v.name for v in graph.input), *(t.name for t in graph.initializer)]


def _vary(field: Any, value: Any, random: Random) -> None:
    """Replaces an element of a repeated field by `value`, drops one, or adds `value`."""
    kind = random.random()
    if kind < 0.5:
        field[random.randrange(len(field))] = value
    elif kind < 0.7:
        del field[random.randrange(len(field))]
    else:
        field.append(value)


def rename(model: Any, random: Random) -> None:
    """Gives a node, tensor, input or output the name of another."""
    graph = model.graph
    random.choice([*graph.node, *graph.initializer, *graph.input, *graph.output]).name = random.choice(_names(model))


def edge(model: Any, random: Random) -> None:
    """Replaces, drops or adds an input of a node."""
    _vary(_node(model, random).input, random.choice(_names(model)), random)


def output(model: Any, random: Random) -> None:
    """Replaces, drops or adds an output of a node."""
    _vary(_node(model, random).output, random.choice([*_names(model), f"extra{random.randrange(9)}"]), random)


def operator(model: Any, random: Random) -> None:
    """Makes a node another operator's."""
    import onnx.defs

    _node(model, random).op_type = random.choice([s.name for s in onnx.defs.get_all_schemas()])


def domain(model: Any, random: Random) -> None:
    """Moves a node to another domain."""
    _node(model, random).domain = random.choice(["", "ai.onnx", "com.microsoft", "com.vendor", "ai.onnx.ml"])


def opset(model: Any, random: Random) -> None:
    """States another opset."""
    random.choice(model.opset_import).version = random.choice([0, 1, 6, 7, 9, 10, 11, 12, 13, 17, 18, 21, 24, 1000])


def extents(model: Any, random: Random) -> None:
    """Changes, drops or adds an extent of an input or of an output."""
    graph = model.graph
    dims = random.choice([*graph.input, *graph.output, *graph.value_info]).type.tensor_type.shape.dim
    kind = random.random()
    if kind < 0.5:
        random.choice(dims).dim_value = random.choice(EXTENTS)
    elif kind < 0.65:
        random.choice(dims).dim_param = random.choice(["N", "M", "", "2*N"])
    elif kind < 0.8:
        del dims[random.randrange(len(dims))]
    else:
        dims.add().dim_value = random.choice(EXTENTS)


def tensor_extents(model: Any, random: Random) -> None:
    """Changes, drops, swaps or adds an extent of a constant."""
    dims = random.choice(_tensors(model)).dims
    if random.random() < 0.8:
        _vary(dims, random.choice((1, *EXTENTS)), random)
    else:
        dims[:] = random.sample(list(dims), len(dims))


def integers_of_tensor(model: Any, random: Random) -> None:
    """Gives a constant of integers (axes, perms, shapes, pads, repeats) other values."""
    import numpy as np
    from onnx import numpy_helper

    tensor = random.choice([t for t in _tensors(model) if t.data_type in (6, 7)])
    values = numpy_helper.to_array(tensor).copy().reshape(-1)
    values[random.randrange(values.size)] = np.array(random.choice(INTEGERS)).astype(values.dtype)
    changed = numpy_helper.from_array(values.reshape(tuple(tensor.dims)), tensor.name)
    tensor.CopyFrom(changed)


def constant_input(model: Any, random: Random) -> None:
    """Makes an input of the graph an initialiser of small integers, as axes and shapes are."""
    import numpy as np
    from onnx import helper, numpy_helper

    graph = model.graph
    place = random.randrange(len(graph.input))
    value = graph.input[place]
    kind = value.type.tensor_type
    shape = [min(max(d.dim_value, 0), 4) for d in kind.shape.dim]
    values = np.array([random.choice(INTEGERS[-12:]) for _ in range(int(np.prod(shape)))])
    array = values.reshape(shape).astype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
    graph.initializer.append(numpy_helper.from_array(array, value.name))
    del graph.input[place]


def element_type(model: Any, random: Random) -> None:
    """Changes the element type of an input, an output or a constant."""
    if random.random() < 0.5:
        random.choice([*model.graph.input, *model.graph.output]).type.tensor_type.elem_type = random.choice(KINDS)
    else:
        random.choice(_tensors(model)).data_type = random.choice(KINDS)


def tensor_data(model: Any, random: Random) -> None:
    """Changes the values of a constant, or how many there are."""
    tensor = random.choice(_tensors(model))
    raw = bytearray(tensor.raw_data)
    if raw and random.random() < 0.5:
        for _ in range(4):
            raw[random.randrange(len(raw))] = random.choice([0, 1, 0x7F, 0x80, 0xFF])
        tensor.raw_data = bytes(raw)
    elif random.random() < 0.5:
        tensor.raw_data = bytes(raw[: random.randrange(len(raw) + 1)])
    else:
        tensor.data_location = 1
        entry = tensor.external_data.add()
        entry.key, entry.value = random.choice([("location", "weights.bin"), ("offset", "-1"), ("length", "x")])


def attribute_value(model: Any, random: Random) -> None:
    """Changes the value of an attribute."""
    attribute = _attribute(model, random)
    if attribute.type == 7:
        _vary(attribute.ints, random.choice(INTEGERS), random)
    elif attribute.type == 1:
        attribute.f = random.choice([0.0, -1.0, 1e38, float("nan"), float("inf")])
    elif attribute.type == 3:
        attribute.s = random.choice([b"", b"SAME_UPPER", b"VALID", b"linear", b"\xff\xfe", b"NOTSET", b"abc,de->x"])
    else:
        attribute.i = random.choice((*KINDS, *INTEGERS))


def attribute_type(model: Any, random: Random) -> None:
    """Says that an attribute holds another kind of value, drops it or renames it."""
    kind = random.random()
    if kind < 0.4:
        _attribute(model, random).type = random.randrange(15)
    elif kind < 0.7:
        attributes = _node(model, random).attribute
        del attributes[random.randrange(len(attributes))]
    else:
        names = [a.name for node in model.graph.node for a in node.attribute]
        _attribute(model, random).name = random.choice([*names, "axis", "axes", "perm", "to", "value", "strange"])


def nodes(model: Any, random: Random) -> None:
    """Drops, doubles or swaps nodes."""
    kind = random.random()
    if kind < 0.4:
        del model.graph.node[random.randrange(len(model.graph.node))]
    elif kind < 0.7:
        model.graph.node.append(_node(model, random))
    else:
        one, other = _node(model, random), _node(model, random)
        first, second = type(one).FromString(one.SerializeToString()), type(one).FromString(other.SerializeToString())
        one.CopyFrom(second)
        other.CopyFrom(first)


def body(model: Any, random: Random) -> None:
    """Breaks the body of a control-flow node: its inputs, outputs, nodes, or what it reads from outside."""
    from onnx import ModelProto

    bodies = [a.g for node in model.graph.node for a in node.attribute if a.HasField("g")]
    inner = ModelProto(graph=random.choice(bodies))
    random.choice([rename, edge, output, operator, nodes, extents, outputs_of_graph, attribute_value])(inner, random)
    random.choice(bodies).CopyFrom(inner.graph)


def outputs_of_graph(model: Any, random: Random) -> None:
    """Drops or adds an input or output of the graph, or drops an initialiser."""
    kind = random.random()
    if kind < 0.2:
        del model.graph.output[random.randrange(len(model.graph.output))]
    elif kind < 0.4:
        del model.graph.input[random.randrange(len(model.graph.input))]
    elif kind < 0.6:
        model.graph.output.add().name = random.choice(_names(model))
    else:
        del model.graph.initializer[random.randrange(len(model.graph.initializer))]


FIELD_MUTATIONS: list[Callable[[Any, Random], None]] = [
    rename,
    edge,
    output,
    operator,
    domain,
    opset,
    extents,
    tensor_extents,
    integers_of_tensor,
    constant_input,
    element_type,
    tensor_data,
    attribute_value,
    attribute_type,
    nodes,
    body,
    outputs_of_graph,
]
