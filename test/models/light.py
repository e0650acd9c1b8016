"""The nine `light_*.onnx` networks of the onnx wheel, with weights that tell a wrong compiler from a right one.

The wheel's files build every weight with `ConstantOfShape`, so all channels are equal and a swapped layout would go
unnoticed. `light_model` gives every weight seeded random values: convolutions and classifiers scaled as in He et al. 2015,
"Delving Deep into Rectifiers" (the second moment of the activations stays near that of the input, so that fp16 neither
overflows nor loses the signal), BatchNorm statistics away from 0 and 1, residual branches damped, and classifiers scaled
so that a softmax does not saturate. Imports onnx, numpy and (for references only) onnxruntime; nothing of ours.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

LIGHT_NAMES = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)

# (low, high) of the uniform distribution of every weight that is not the matrix or filter of a heavy operator. With these,
# E[scale^2 / variance] is close to 1: a BatchNorm keeps the second moment.
RANGES = {
    "bias": (-0.2, 0.2),
    "scale": (0.75, 1.25),
    "residual scale": (0.2, 0.5),
    "shift": (-0.3, 0.3),
    "mean": (-0.3, 0.3),
    "variance": (0.6, 1.6),
}


def light_path(name: str) -> Path:
    """Where the onnx wheel keeps the network `name` (with or without the `light_` prefix)."""
    short = name.removeprefix("light_")
    if short not in LIGHT_NAMES:
        raise ValueError(f"no light model {name!r}; there are {', '.join(LIGHT_NAMES)}")
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{short}.onnx"


def light_model(name: str, *, seed: int = 0, batch: int | str = 1) -> onnx.ModelProto:
    """The network `name` with seeded weights as initialisers and the data as its only input.

    batch: 1 keeps the graph as it ships. Another number or a symbol ("N") makes the graph batch-free (the leading 1 of
    every Reshape's shape becomes 0, "as in the input") and declares that batch for inputs and outputs.
    """
    model = onnx.load(str(light_path(name)))
    _replace_weights(model.graph, seed)
    if batch != 1:
        _free_batch(model.graph, batch)
    # From IR version 4 on, an initialiser need not be repeated as an input.
    model.ir_version = max(model.ir_version, 4)
    return model


def random_inputs(model: onnx.ModelProto, seed: int = 0, *, batch: int = 1) -> dict[str, np.ndarray]:
    """Standard normal float32 arrays (like normalised images) for all inputs; `batch` stands in for symbolic dimensions."""
    rng = np.random.default_rng([seed, 1])
    feeds: dict[str, np.ndarray] = {}
    for value in graph_inputs(model):
        dims = value.type.tensor_type.shape.dim
        shape = [d.dim_value if d.HasField("dim_value") else batch for d in dims]
        feeds[value.name] = rng.standard_normal(shape, dtype=np.float32)
    return feeds


def graph_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that a caller feeds: those without an initialiser."""
    initialised = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in initialised]


def logits_name(model: onnx.ModelProto) -> str:
    """The tensor to compare instead of probabilities: the input of a final Softmax, else the first output."""
    output = model.graph.output[0].name
    for node in reversed(model.graph.node):
        if output in node.output:
            return node.input[0] if node.op_type == "Softmax" else output
    return output


def inner_names(model: onnx.ModelProto, count: int) -> list[str]:
    """`count` tensors spread evenly over the graph, from the results of its nodes, logits and outputs excluded."""
    outputs = {value.name for value in model.graph.output} | {logits_name(model)}
    constant = {tensor.name for tensor in model.graph.initializer}
    names: list[str] = []
    for node in model.graph.node:
        if constant.issuperset(node.input):
            constant.update(node.output)
        elif node.output[0] not in outputs:
            names.append(node.output[0])
    picks = np.linspace(0, len(names) - 1, min(count, len(names))).round().astype(int)
    return [names[pick] for pick in dict.fromkeys(picks.tolist())]


def with_extra_outputs(model: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    """A copy of `model` that also returns the inner tensors `names` (after its own outputs, each once)."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    present = {value.name for value in copy.graph.output}
    for name in dict.fromkeys(names):
        if name not in present:
            copy.graph.output.append(onnx.ValueInfoProto(name=name))
    return copy


def reference_outputs(
    model: onnx.ModelProto, feeds: Mapping[str, np.ndarray], names: Iterable[str] | None = None
) -> dict[str, np.ndarray]:
    """What onnxruntime computes in fp32 on one thread for the tensors `names` (outputs or inner ones; default: outputs)."""
    import onnxruntime

    wanted = [value.name for value in model.graph.output] if names is None else list(dict.fromkeys(names))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    serialized = with_extra_outputs(model, wanted).SerializeToString()
    session = onnxruntime.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])
    return dict(zip(wanted, session.run(wanted, dict(feeds)), strict=True))


def _replace_weights(graph: onnx.GraphProto, seed: int) -> None:
    shapes = {t.name: tuple(t.dims) for t in graph.initializer if t.data_type == onnx.TensorProto.FLOAT}
    values = {t.name: t for t in graph.initializer}
    filled = {
        node.output[0]: tuple(numpy_helper.to_array(values[node.input[0]]).tolist())
        for node in graph.node
        if node.op_type == "ConstantOfShape" and node.input[0] in values
    }
    shapes.update(filled)
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape" or node.output[0] not in filled]
    ranges = _weight_ranges(nodes, shapes)

    used = {name for node in nodes for name in node.input}
    kept = [t for t in graph.initializer if t.name in used and t.name not in shapes]
    weights = [_random_tensor(name, shape, ranges[name], seed) for name, shape in shapes.items() if name in used]
    known = {t.name for t in kept} | {t.name for t in weights}
    inputs = [value for value in graph.input if value.name in used and value.name not in known]
    for field, items in ((graph.node, nodes), (graph.initializer, kept + weights), (graph.input, inputs)):
        items = list(items)
        del field[:]
        field.extend(items)
    del graph.value_info[:]


def _random_tensor(name: str, shape: tuple[int, ...], bounds: tuple[float, float], seed: int) -> onnx.TensorProto:
    """Drawn from the seed and the name alone, so that a weight's values do not depend on the rest of the graph."""
    low, high = bounds
    values = np.random.default_rng([seed, zlib.crc32(name.encode())]).random(shape, dtype=np.float32)
    values *= np.float32(high - low)
    values += np.float32(low)
    return numpy_helper.from_array(values, name)


def _weight_ranges(
    nodes: list[onnx.NodeProto], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[float, float]]:
    users: dict[str, list[onnx.NodeProto]] = {}
    nodes_by_output = {name: node for node in nodes for name in node.output}
    origin = {name: name for name in shapes}
    for node in nodes:
        for name in node.input:
            users.setdefault(name, []).append(node)
        if node.op_type in ("Unsqueeze", "Reshape") and node.input[0] in origin:
            origin[node.output[0]] = origin[node.input[0]]

    ranges: dict[str, tuple[float, float]] = {}
    for node in nodes:
        weights = [origin.get(name, "") for name in node.input]
        if node.op_type in ("Conv", "Gemm"):
            shape = shapes[weights[1]]
            transposed = any(a.name == "transB" and a.i for a in node.attribute)
            fan_in = int(np.prod(shape[1:])) if node.op_type == "Conv" else shape[-1 if transposed else -2]
            bound = _gain(node, nodes_by_output, users) * (6.0 / fan_in) ** 0.5
            ranges[weights[1]] = (-bound, bound)
            if len(weights) > 2:
                ranges[weights[2]] = RANGES["bias"]
        elif node.op_type == "BatchNormalization":
            residual = any(user.op_type == "Sum" for user in users.get(node.output[0], ()))
            roles = ("residual scale" if residual else "scale", "shift", "mean", "variance")
            ranges.update(zip(weights[1:5], (RANGES[role] for role in roles), strict=True))
        elif node.op_type in ("Mul", "Add"):
            role = "scale" if node.op_type == "Mul" else "shift"
            ranges.update({name: RANGES[role] for name in weights if name})
    return ranges


def _gain(
    node: onnx.NodeProto, producers: Mapping[str, onnx.NodeProto], users: Mapping[str, list[onnx.NodeProto]]
) -> float:
    """Factor on the bound of a weight that keeps the second moment after a ReLU.

    A classifier (its result goes to a Softmax) is damped, so that probabilities stay away from 0 and 1; an operator fed by
    a BatchNorm without a ReLU gets inputs of twice the second moment.
    """
    if any(user.op_type == "Softmax" for user in users.get(node.output[0], ())):
        return 0.5
    producer = producers.get(node.input[0])
    return 0.5**0.5 if producer is not None and producer.op_type == "BatchNormalization" else 1.0


def _free_batch(graph: onnx.GraphProto, batch: int | str) -> None:
    initialisers = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        shape = initialisers.get(node.input[1]) if node.op_type == "Reshape" else None
        # A Reshape of a weight has no batch.
        if shape is not None and node.input[0] not in initialisers:
            dims = numpy_helper.to_array(shape).copy()
            if dims[0] == 1:
                dims[0] = 0
            shape.CopyFrom(numpy_helper.from_array(dims, shape.name))
    for value in (*graph.input, *graph.output):
        dim = value.type.tensor_type.shape.dim[0]
        if isinstance(batch, int):
            dim.dim_value = batch
        else:
            dim.dim_param = batch
