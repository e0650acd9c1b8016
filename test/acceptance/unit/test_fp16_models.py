"""What fp16 costs a dozen small networks, and that a network which fp16 spoils is warned of, with the cure."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from harness.agreement import OF_RANGE, TIMES_ROUNDING, relative_error
from models.light import reference_outputs
from models.small import SMALL, GraphBuilder
from models.transformer import transformer
from onnx import TensorProto, helper, numpy_helper

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.transforms.remarks import Remark

Feeds = dict[str, np.ndarray[Any, Any]]


def feeds_of(model: onnx.ModelProto) -> Feeds:
    """Seeded inputs: numbers around 0, tokens, and a mask that hides the last quarter."""
    random = np.random.default_rng(5)
    feeds: Feeds = {}
    for value in model.graph.input:
        shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        if value.type.tensor_type.elem_type == TensorProto.INT64:
            feeds[value.name] = random.integers(0, 50, shape)
        elif value.name == "mask":
            feeds[value.name] = np.where(np.arange(shape[-1]) < shape[-1] * 3 // 4, 0, -1e4).astype(
                np.float32
            ) + np.zeros(shape, np.float32)
        else:
            feeds[value.name] = random.standard_normal(shape).astype(np.float32)
    return feeds


def in_fp16(model: onnx.ModelProto, feeds: Feeds, keep: str = "") -> tuple[list[Any], list[Remark]]:
    """The outputs of the compiled graph in fp16, but for the nodes `keep`, and what was warned of."""
    module = import_onnx(model)
    report = compile_module(module, until=Phase.PRECISION, pipeline={"keep_dtype_nodes": keep})
    graph = ReferenceGraph(module, "model")
    return graph.run([feeds[port.name] for port in graph.inputs]), report.remarks


def rounded_outputs(model: onnx.ModelProto, feeds: Feeds) -> list[Any]:
    """onnxruntime with every fp32 tensor rounded to fp16 where it is made: the price of fp16, told by another."""
    shaped = onnx.shape_inference.infer_shapes(model)
    wide = {v.name for v in (*shaped.graph.value_info, *shaped.graph.output) if v.type.tensor_type.elem_type == 1}
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            half = numpy_helper.to_array(tensor).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(half.astype(np.float32), tensor.name))
    nodes: list[onnx.NodeProto] = []
    for node in copy.graph.node:
        names = [name for name in node.output if name in wide]
        node.output[:] = [f"{name}/wide" if name in wide else name for name in node.output]
        nodes.append(node)
        for name in names:
            nodes.append(helper.make_node("Cast", [f"{name}/wide"], [f"{name}/half"], to=TensorProto.FLOAT16))
            nodes.append(helper.make_node("Cast", [f"{name}/half"], [name], to=TensorProto.FLOAT))
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    halves = {k: v.astype(np.float16).astype(v.dtype) if v.dtype == np.float32 else v for k, v in feeds.items()}
    return list(reference_outputs(copy, halves).values())


def encoder(seed: int = 0) -> onnx.ModelProto:
    return transformer(148, seed)


MODELS: dict[str, Callable[..., onnx.ModelProto]] = {**SMALL, "encoder": encoder}


@pytest.mark.parametrize("name", MODELS)
def test_within_the_bound(name: str) -> None:
    """No further off than four times what rounding costs, nor than 1 % of the range, and nothing to warn of."""
    model = MODELS[name](seed=3)
    feeds = feeds_of(model)
    found, warnings = in_fp16(model, feeds)
    rounded, right = rounded_outputs(model, feeds), list(reference_outputs(model, feeds).values())
    for value, half, wanted in zip(found, rounded, right, strict=True):
        error = relative_error(value, wanted)
        assert error <= OF_RANGE
        assert error <= TIMES_ROUNDING * max(relative_error(half, wanted), 2.0**-11)
    assert not warnings


def masked(value: float, *, inside: bool = True) -> onnx.ModelProto:
    """Scores with a mask of `value` on the last keys, added or multiplied by 0 and 1 first, and a softmax."""
    b = GraphBuilder(1)
    x, hidden = b.input("x", (4, 8, 16)), b.input("hidden", (1, 1, 16))
    penalty = b.node("Mul", [hidden, b.constant("value", np.float32(value))])
    b.node("Softmax", [b.node("Add", [b.node("MatMul", [x, b.weight((16, 16))]), penalty])], "y", axis=-1)
    return b.model("y")


@pytest.mark.parametrize(("value", "warned"), [(-1e4, 0), (-1e9, 1), (float(np.finfo(np.float32).min), 1)])
def test_masks(value: float, warned: int) -> None:
    """A mask in range is nothing to tell of; one beyond is, once, and saturates: no 0 times infinity."""
    model = masked(value)
    feeds = feeds_of(model)
    feeds["hidden"] = (np.arange(16) >= 12).astype(np.float32).reshape(1, 1, 16)
    (found,), warnings = in_fp16(model, feeds)
    (right,) = reference_outputs(model, feeds).values()
    assert relative_error(found, right) <= OF_RANGE
    assert [remark.name for remark in warnings] == ["ConstantOutOfRange"] * warned


def variance(seed: int = 0) -> onnx.ModelProto:
    """The deviation as E[x^2] - E[x]^2 of numbers between 0 and 500; behind it no quotient that makes it a LayerNorm."""
    b = GraphBuilder(seed)
    x = b.node("Mul", [b.node("Sigmoid", [b.input("x", (4, 64))]), b.constant("s", np.float32(500))])
    mean = b.node("ReduceMean", [x], axes=[-1], keepdims=1)
    squares = b.node("ReduceMean", [b.node("Mul", [x, x])], axes=[-1], keepdims=1)
    difference = b.node("Sub", [squares, b.node("Mul", [mean, mean])])
    b.node("Sqrt", [b.node("Add", [difference, b.constant("e", np.float32(1e-5))])], "y")
    return b.model("y")


def inverse_distance(seed: int = 0) -> onnx.ModelProto:
    """A vector over its length, which an epsilon keeps from 0, as graph networks of molecules have it."""
    b = GraphBuilder(seed)
    x = b.input("x", (4, 3))
    length = b.node("Clip", [b.node("ReduceL2", [x], axes=[-1], keepdims=1), b.constant("low", np.float32(1e-9))])
    b.node("Div", [x, length], "y")
    return b.model("y")


@pytest.mark.parametrize("build", [variance, inverse_distance])
def test_the_option_cures(build: Callable[..., onnx.ModelProto]) -> None:
    """Out of the bound and warned of; in it with the nodes that the warnings name kept in fp32."""
    model = build()
    feeds = {name: value * 0.5 for name, value in feeds_of(model).items()}
    if build is inverse_distance:
        feeds["x"][1] = 0
    (right,) = reference_outputs(model, feeds).values()
    (found,), warnings = in_fp16(model, feeds)
    assert not relative_error(found, right) <= OF_RANGE
    names = dict.fromkeys(name for remark in warnings for name in remark.args["nodes"])
    (kept,), _ = in_fp16(model, feeds, ",".join(names))
    assert relative_error(kept, right) <= OF_RANGE
