"""Single operators in the forms that opsets and exporters give them, against onnxruntime (or a shape counted by hand)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from models.light import graph_inputs, random_inputs, reference_outputs
from models.small import GraphBuilder, single_node
from onnx import TensorProto, helper, numpy_helper

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.dialects.ge.interning import shape_of_type
from graph_engine.frontend_onnx.importer import import_onnx

RNG = np.random.default_rng(0)
I64 = np.int64


def run(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> tuple[list[np.ndarray], list[str]]:
    """Results and the names of the operators of the imported graph."""
    module = import_onnx(model)
    module.verify()
    (function,) = module.body.block.ops
    block = function.regions[0].block
    names = [op.name.removeprefix("ge.") for op in block.ops if op.name.startswith("ge.")]
    return evaluate_block(block, [feeds[v.name] for v in graph_inputs(model)]), names


def check(model: onnx.ModelProto, *, seed: int = 0, positive: bool = False) -> list[str]:
    """Asserts that all outputs agree with onnxruntime; gives the operators used, constants left out."""
    feeds = random_inputs(model, seed)
    if positive:
        feeds = {name: np.abs(value) + np.float32(0.1) for name, value in feeds.items()}
    results, names = run(model, feeds)
    expected = reference_outputs(model, feeds)
    for name, result in zip(expected, results, strict=True):
        assert result.shape == expected[name].shape
        assert result.dtype == expected[name].dtype
        np.testing.assert_allclose(result, expected[name], rtol=1e-5, atol=1e-5)
    return [name for name in names if name != "constant"]


X4 = (2, 3, 9, 11)
W = RNG.standard_normal((5, 3, 3, 3)).astype(np.float32)
IMAGES: list[tuple[str, dict[str, Any], dict[str, Any], int]] = [
    ("Conv", {"x": X4, "w": W}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, 17),
    ("Conv", {"x": X4, "w": W}, {"auto_pad": "SAME_LOWER", "strides": [2, 3]}, 17),
    ("Conv", {"x": X4, "w": W}, {"auto_pad": "VALID", "strides": [1, 2]}, 11),
    ("Conv", {"x": X4, "w": W}, {"pads": [0, 1, 2, 3], "dilations": [2, 1]}, 7),
    ("MaxPool", {"x": X4}, {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2]}, 12),
    ("MaxPool", {"x": X4}, {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, 12),
    ("MaxPool", {"x": X4}, {"kernel_shape": [3, 3], "dilations": [2, 2]}, 12),
    ("AveragePool", {"x": X4}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}, 7),
    ("AveragePool", {"x": X4}, {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER", "count_include_pad": 1}, 11),
    ("GlobalMaxPool", {"x": X4}, {}, 9),
    ("GlobalAveragePool", {"x": X4}, {}, 9),
    ("LRN", {"x": X4}, {"size": 3, "alpha": 0.1}, 13),
]


@pytest.mark.parametrize("op_type, inputs, attributes, opset", IMAGES)
def test_image_operator(op_type: str, inputs: dict[str, Any], attributes: dict[str, Any], opset: int) -> None:
    assert len(check(single_node(op_type, inputs, opset=opset, **attributes))) == 1


@pytest.mark.parametrize(
    "op_type", ["Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Abs", "Neg", "Reciprocal", "Erf", "LeakyRelu"]
)
@pytest.mark.parametrize("opset", [9, 17])
def test_unary(op_type: str, opset: int) -> None:
    model = single_node(op_type, {"x": (3, 7)}, opset=opset)
    assert len(check(model, positive=op_type in ("Log", "Sqrt"))) == 1


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div", "Pow", "Sum", "Max", "Min", "Mean"])
def test_binary_broadcasts(op_type: str) -> None:
    check(single_node(op_type, {"a": (2, 3, 1), "b": (3, 4)}, opset=13), positive=True)


@pytest.mark.parametrize("op_type", ["Sum", "Max", "Min", "Mean"])
def test_variadic(op_type: str) -> None:
    assert check(single_node(op_type, {"a": (2, 3)}, opset=13)) == []
    check(single_node(op_type, {"a": (2, 3), "b": (2, 3), "c": (2, 1)}, opset=13))


def test_legacy_broadcast_along_an_axis() -> None:
    scale = np.arange(3, dtype=np.float32)
    model = single_node("Mul", {"x": (2, 3, 4, 4), "s": scale}, opset=6, broadcast=1, axis=1)
    feeds = random_inputs(model)
    (result,), names = run(model, feeds)
    np.testing.assert_allclose(result, feeds["x"] * scale[:, None, None])
    assert names == ["constant", "reshape", "mul"]


CLIPS: list[tuple[dict[str, Any], dict[str, Any], int]] = [
    ({}, {"min": -0.5, "max": 0.25}, 6),
    ({}, {}, 10),
    ({"low": np.float32(-0.5), "high": np.float32(0.5)}, {}, 11),
    ({"low": None, "high": np.float32(0.5)}, {}, 13),
    ({"low": np.float32(0.1)}, {}, 13),
]


@pytest.mark.parametrize("bounds, attributes, opset", CLIPS)
def test_clip(bounds: dict[str, Any], attributes: dict[str, Any], opset: int) -> None:
    bounds = {name: None if value is None else np.array(value) for name, value in bounds.items()}
    assert check(single_node("Clip", {"x": (4, 5), **bounds}, opset=opset, **attributes)) == ["clip"]


@pytest.mark.parametrize("opset, axis", [(9, 1), (11, 0), (12, 2), (11, -1), (13, 1), (17, -1), (13, 0)])
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
def test_softmax_of_old_and_new_meaning(op_type: str, opset: int, axis: int) -> None:
    check(single_node(op_type, {"x": (2, 3, 4)}, opset=opset, axis=axis))


def test_softmax_of_a_squeezed_tail_needs_no_reshape() -> None:
    assert check(single_node("Softmax", {"x": (2, 10, 1, 1)}, opset=9)) == ["softmax"]


B2 = RNG.standard_normal((7, 5)).astype(np.float32)
C1 = RNG.standard_normal(5).astype(np.float32)
GEMMS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"a": (4, 7), "b": B2, "c": C1}, {}),
    ({"a": (7, 4), "b": B2, "c": C1[:1]}, {"transA": 1}),
    ({"a": (4, 7), "b": np.ascontiguousarray(B2.T), "c": C1[None]}, {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    ({"a": (4, 7), "b": B2}, {"alpha": -1.5}),
    ({"a": (4, 7), "b": (7, 5), "c": (4, 1)}, {"beta": 0.0}),
]


@pytest.mark.parametrize("inputs, attributes", GEMMS)
def test_gemm(inputs: dict[str, Any], attributes: dict[str, Any]) -> None:
    assert check(single_node("Gemm", inputs, opset=13, **attributes)).count("matmul") == 1


@pytest.mark.parametrize(
    "a, b",
    [((3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4,))],
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check(single_node("MatMul", {"a": a, "b": b}, opset=13))


REDUCTIONS: list[tuple[str, dict[str, Any], dict[str, Any], int]] = [
    ("ReduceMean", {}, {"axes": [2, 3], "keepdims": 0}, 11),
    ("ReduceMean", {"axes": np.array([-1])}, {}, 18),
    ("ReduceSum", {"axes": np.array([1, 2])}, {"keepdims": 0}, 13),
    ("ReduceSum", {}, {}, 13),
    ("ReduceSum", {}, {"noop_with_empty_axes": 1}, 13),
    ("ReduceMax", {}, {"axes": [0]}, 12),
    ("ReduceMin", {}, {"axes": [-2]}, 13),
]


@pytest.mark.parametrize("op_type, inputs, attributes, opset", REDUCTIONS)
def test_reduction(op_type: str, inputs: dict[str, Any], attributes: dict[str, Any], opset: int) -> None:
    check(single_node(op_type, {"x": (2, 3, 4, 5), **inputs}, opset=opset, **attributes))


SHAPES: list[tuple[str, dict[str, Any], dict[str, Any], int]] = [
    ("Reshape", {"x": (2, 3, 4), "s": np.array([0, -1])}, {}, 13),
    ("Reshape", {"x": (2, 3, 4), "s": np.array([4, 0, -1])}, {}, 9),
    ("Reshape", {"x": (2, 3, 4), "s": np.array([24])}, {}, 14),
    ("Flatten", {"x": (2, 3, 4)}, {}, 9),
    ("Flatten", {"x": (2, 3, 4)}, {"axis": 0}, 13),
    ("Flatten", {"x": (2, 3, 4)}, {"axis": -1}, 13),
    ("Flatten", {"x": (2, 3, 4)}, {"axis": 3}, 13),
    ("Squeeze", {"x": (1, 3, 1, 4)}, {}, 11),
    ("Squeeze", {"x": (1, 3, 1, 4)}, {"axes": [-2]}, 11),
    ("Squeeze", {"x": (1, 3, 1, 4), "a": np.array([0])}, {}, 13),
    ("Unsqueeze", {"x": (3, 4)}, {"axes": [0, 3]}, 9),
    ("Unsqueeze", {"x": (3, 4), "a": np.array([-1, 1])}, {}, 13),
    ("Transpose", {"x": (2, 3, 4)}, {}, 9),
    ("Transpose", {"x": (2, 3, 4)}, {"perm": [1, 0, 2]}, 13),
    ("Concat", {"a": (2, 3), "b": (2, 4)}, {"axis": -1}, 13),
    ("Pad", {"x": (2, 3)}, {"pads": [1, 0, 0, 2], "value": 1.5}, 9),
    ("Pad", {"x": (2, 3), "p": np.array([0, 1, 2, 0]), "v": np.array(-2, np.float32)}, {}, 13),
    ("Pad", {"x": (2, 3), "p": np.array([2, 1]), "v": None, "a": np.array([-1])}, {}, 18),
    ("Slice", {"x": (5, 6)}, {"starts": [1, -4], "ends": [9, -1]}, 9),
    ("Slice", {"x": (5, 6)}, {"starts": [1], "ends": [3], "axes": [1]}, 9),
    ("Slice", {"x": (5, 6), "s": np.array([-1]), "e": np.array([-(2**62)]), "a": np.array([1]), "t": np.array([-2])}, {}, 13),
    ("Slice", {"x": (5, 6), "s": np.array([0, 1]), "e": np.array([2**62, 5])}, {}, 11),
    ("Identity", {"x": (2, 3)}, {}, 13),
    ("Dropout", {"x": (2, 3)}, {"ratio": 0.3}, 9),
    ("Dropout", {"x": (2, 3), "r": np.array(0.3, np.float32)}, {}, 13),
    ("Cast", {"x": (2, 3)}, {"to": TensorProto.FLOAT16}, 13),
    ("Cast", {"x": (2, 3)}, {"to": TensorProto.INT32}, 9),
    ("BatchNormalization", {"x": (2, 3, 4)} | {k: np.full(3, v, np.float32) for k, v in zip("sbmv", (2, 1, 0.5, 3), strict=True)}, {}, 15),
]  # fmt: skip


@pytest.mark.parametrize("op_type, inputs, attributes, opset", SHAPES)
def test_shape_operator(op_type: str, inputs: dict[str, Any], attributes: dict[str, Any], opset: int) -> None:
    check(single_node(op_type, inputs, opset=opset, **attributes))


@pytest.mark.parametrize(
    "inputs, attributes, opset, outputs",
    [
        ({"x": (7, 4)}, {"axis": 0, "split": [2, 5]}, 11, ["y", "z"]),
        ({"x": (6, 4)}, {"axis": 0}, 12, ["y", "z", "u"]),
        ({"x": (2, 7), "s": np.array([3, 1, 3])}, {"axis": 1}, 13, ["y", "z", "u"]),
        ({"x": (2, 7)}, {"axis": 1, "num_outputs": 2}, 18, ["y", "z"]),
    ],
)
def test_split(inputs: dict[str, Any], attributes: dict[str, Any], opset: int, outputs: list[str]) -> None:
    assert check(single_node("Split", inputs, opset=opset, outputs=outputs, **attributes)) == ["slice"] * len(outputs)


def test_dropout_and_identity_vanish() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (2, 3))
    builder.node("Relu", [builder.node("Identity", [builder.node("Dropout", [x])])], "y")
    assert check(builder.model("y")) == ["relu"]


def flatten_by_shape(batch: int | str) -> onnx.ModelProto:
    """`x.view(x.size(0), -1)` as PyTorch exported it."""
    b = GraphBuilder(opset=13)
    x = b.input("x", (batch, 4, 3, 3))
    size = b.node("Gather", [b.node("Shape", [x]), b.constant("zero", np.array(0))], axis=0)
    size = b.node("Unsqueeze", [size, b.constant("axes", np.array([0]))])
    shape = b.node("Concat", [size, b.constant("rest", np.array([-1]))], axis=0)
    b.node("Reshape", [x, shape], "y")
    return b.model("y")


def test_integer_chain_gives_a_static_shape() -> None:
    assert check(flatten_by_shape(2)) == ["reshape"]


def test_integer_chain_passes_an_unknown_extent_through() -> None:
    (function,) = import_onnx(flatten_by_shape("N")).body.block.ops
    assert shape_of_type(function.function_type.outputs.data[0]) == (-1, 36)


def test_arithmetic_on_shapes() -> None:
    b = GraphBuilder(opset=13)
    x = b.input("x", (2, 12, 5, 5))
    dims = b.node("Shape", [x])
    one = b.constant("one", np.array([1]))
    channels = b.node("Slice", [dims, one, b.constant("two", np.array([2]))])
    groups = b.constant("groups", np.array([4]))
    each = b.node("Div", [b.node("Cast", [channels], to=TensorProto.INT64), groups])
    spatial = b.node("Mul", [b.constant("five", np.array([5])), b.constant("five_", np.array([5]))])
    keep = b.node("Where", [b.node("Equal", [each, b.constant("m", np.array([-1]))]), one, each])
    shape = b.node("Concat", [b.constant("n", np.array([0])), groups, keep, spatial], axis=0)
    b.node("Reshape", [x, shape], "y")
    assert check(b.model("y")) == ["reshape"]


def test_constants_in_every_form() -> None:
    b = GraphBuilder(opset=13)
    x = b.input("x", (2, 3))
    big = RNG.standard_normal((2, 3)).astype(np.float32)
    y = b.node("Add", [x, b.node("Constant", [], value=numpy_helper.from_array(big))])
    y = b.node("Mul", [y, b.node("Constant", [], value_float=1.5)])
    y = b.node("Add", [y, b.node("Constant", [], value_floats=[1.0, 2.0, 3.0])])
    filled = b.node(
        "ConstantOfShape", [b.constant("s", np.array([2, 3]))], value=helper.make_tensor("v", 1, [1], [0.5])
    )
    y = b.node("Add", [y, filled])
    y = b.node("Add", [y, b.node("ConstantOfShape", [b.node("Shape", [x])])])
    b.node("Reshape", [y, b.node("Constant", [], value_ints=[3, 2])], "y")
    check(b.model("y"))


def test_a_constant_and_an_input_as_outputs() -> None:
    b = GraphBuilder(opset=13)
    b.input("x", (2, 3))
    b.constant("c", np.arange(100, dtype=np.float32))
    (x, c), names = run(b.model("x", "c"), feeds := {"x": np.ones((2, 3), np.float32)})
    assert names == ["constant"]
    np.testing.assert_array_equal(x, feeds["x"])
    np.testing.assert_array_equal(c, np.arange(100))


def test_initialisers_repeated_as_inputs_are_constants() -> None:
    model = single_node("Add", {"x": (2, 3), "w": np.ones((2, 3), np.float32)})
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 3]))
    model.ir_version = 3
    (function,) = import_onnx(model).body.block.ops
    assert len(function.body.block.args) == 1


def test_nodes_in_any_order_and_dead_ones() -> None:
    b = GraphBuilder()
    y = b.node("Relu", [b.input("x", (2, 3))])
    b.node("Neg", [y], "y")
    b.node("Foo", [y], "dead")
    model = b.model("y")
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    (result,), names = run(model, {"x": np.array([[1, -2, 3]] * 2, np.float32)})
    assert names == ["relu", "neg"]
    np.testing.assert_array_equal(result, [[-1, 0, -3]] * 2)


def test_local_functions_are_inlined() -> None:
    function = helper.make_function(
        "local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    model = single_node("Twice", {"x": (2, 3)}, domain="local")
    model.opset_import.append(helper.make_opsetid("local", 1))
    model.functions.append(function)
    assert check(model) == ["add"]
