"""bf16 on the chips that have it: whole models on the chip, in checking mode, against numpy in fp64 on the same numbers.

A result is the nearest bf16 of a number that fp32 steps made: half a unit of its 8 digits, 2^-8 of the number at most, plus
what those steps lose (`ROOM`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from harness.agreement import tasks_of
from harness.on_the_chip import chip_outputs
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run
from graph_engine.target_ascend.soc.soc import load_soc

BF16 = ml_dtypes.bfloat16
CHIPS = ("Ascend910B3", "Ascend310B1")
STEP, ROOM = 2.0**-8, 1e-5
Array = np.ndarray[Any, Any]


def one_node(
    op: str, shapes: Sequence[Sequence[int]], result: Sequence[int], element: int = onnx.TensorProto.BFLOAT16, **attributes: Any
) -> onnx.ModelProto:  # fmt: skip
    """A node of bf16 operands."""
    names = [f"x{number}" for number in range(len(shapes))]
    infos = [
        helper.make_tensor_value_info(name, onnx.TensorProto.BFLOAT16, shape)
        for name, shape in zip(names, shapes, strict=True)
    ]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)],
        "g",
        infos,
        [helper.make_tensor_value_info("y", element, result)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def drawn(shape: Sequence[int], seed: int, low: float = -4.0, high: float = 4.0) -> Array:
    return np.random.default_rng(seed).uniform(low, high, tuple(shape)).astype(BF16)


def on_chip(model: onnx.ModelProto, arrays: Sequence[Array], soc: str) -> Array:
    feeds = {value.name: array for value, array in zip(model.graph.input, arrays, strict=True)}
    outputs, _ = chip_outputs(model, feeds, soc, precision_mode="must_keep_origin_dtype")
    return outputs[0]


def assert_near(got: Array, want: Array, near_zero: Any = 0.0) -> None:
    assert got.dtype == BF16 and got.shape == want.shape
    error = np.abs(got.astype(np.float64) - want)
    assert (error <= (STEP + ROOM) * np.abs(want) + near_zero).all(), float(error.max())


def softmax(x: Array, axis: int) -> Array:
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


UNARY: dict[str, tuple[Any, tuple[float, float]]] = {
    "Exp": (np.exp, (-8, 8)),
    "Log": (np.log, (2, 50)),
    "Sqrt": (np.sqrt, (0.01, 50)),
    "Reciprocal": (lambda x: 1 / x, (0.1, 9)),
    "Sigmoid": (sigmoid, (-8, 8)),
    "Neg": (np.negative, (-4, 4)),
    "Abs": (np.abs, (-4, 4)),
    "Relu": (lambda x: np.maximum(x, 0), (-4, 4)),
    "Floor": (np.floor, (-9, 9)),
    "Sign": (np.sign, (-2, 2)),
}
BINARY: dict[str, Any] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum, "Min": np.minimum,
}  # fmt: skip
SHAPES = st.lists(st.integers(1, 40), min_size=1, max_size=4).filter(lambda shape: np.prod(shape) <= 20000)
SEEDS = st.integers(0, 1 << 30)


@settings(max_examples=15, deadline=None)
@given(SHAPES, st.sampled_from(sorted(UNARY)), st.sampled_from(CHIPS), SEEDS)
def test_functions_of_one_number(shape: list[int], name: str, soc: str, seed: int) -> None:
    function, (low, high) = UNARY[name]
    x = drawn(shape, seed, low, high)
    assert_near(on_chip(one_node(name, [shape], shape), [x], soc), function(x.astype(np.float64)))


@settings(max_examples=15, deadline=None)
@given(SHAPES, st.data(), st.sampled_from(sorted(BINARY)), st.sampled_from(CHIPS), SEEDS)
def test_functions_of_two_numbers_broadcast(
    shape: list[int], data: st.DataObject, name: str, soc: str, seed: int
) -> None:
    other = [data.draw(st.sampled_from((1, n))) for n in shape]
    a, b = drawn(shape, seed), drawn(other, seed + 1, 0.5, 4)
    want = BINARY[name](a.astype(np.float64), b.astype(np.float64))
    got = on_chip(one_node(name, [shape, other], shape), [a, b], soc)
    assert_near(got, want, near_zero=1e-6)  # fp32 subtracts what is nearly equal


@settings(max_examples=10, deadline=None)
@given(SHAPES, st.data(), st.sampled_from(CHIPS), SEEDS)
def test_softmax_along_any_axis(shape: list[int], data: st.DataObject, soc: str, seed: int) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = drawn(shape, seed)
    got = on_chip(one_node("Softmax", [shape], shape, axis=axis), [x], soc)
    assert_near(got, softmax(x.astype(np.float64), axis))


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 70), st.integers(2, 300), st.booleans(), st.sampled_from(CHIPS), SEEDS)
def test_norms_of_rows(rows: int, columns: int, root: bool, soc: str, seed: int) -> None:
    shape, row = (rows, columns), (columns,)
    x, scale, bias = drawn(shape, seed), drawn(row, seed + 1), drawn(row, seed + 2)
    wide = x.astype(np.float64)
    if root:
        want = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5) * scale.astype(np.float64)
        got = on_chip(one_node("RMSNormalization", [shape, row], shape, axis=-1), [x, scale], soc)
    else:
        centred = wide - wide.mean(-1, keepdims=True)
        want = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        want = want * scale.astype(np.float64) + bias.astype(np.float64)
        got = on_chip(one_node("LayerNormalization", [shape, row, row], shape, axis=-1), [x, scale, bias], soc)
    assert_near(got, want, near_zero=2e-4)


@settings(max_examples=10, deadline=None)
@given(SHAPES, st.data(), st.sampled_from(CHIPS), SEEDS)
def test_movements_keep_every_bit(shape: list[int], data: st.DataObject, soc: str, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 1 << 16, tuple(shape)).astype(np.uint16)
    perm = data.draw(st.permutations(range(len(shape))))
    turned = [shape[axis] for axis in perm]
    got = on_chip(one_node("Transpose", [shape], turned, perm=perm), [bits.view(BF16)], soc)
    np.testing.assert_array_equal(got.view(np.uint16), bits.transpose(perm))
    joined = [2 * shape[0], *shape[1:]]
    got = on_chip(one_node("Concat", [shape, shape], joined, axis=0), [bits.view(BF16), bits[::-1].view(BF16)], soc)
    np.testing.assert_array_equal(got.view(np.uint16), np.concatenate([bits, bits[::-1]]))


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("to", ["FLOAT", "FLOAT16", "INT32", "UINT8", "BOOL"])
def test_casts(to: str, soc: str) -> None:
    x = drawn((7, 33), 5, 0, 200)
    element = getattr(onnx.TensorProto, to)
    dtype = helper.tensor_dtype_to_np_dtype(element)
    got = on_chip(one_node("Cast", [x.shape], x.shape, element, to=element), [x], soc)
    np.testing.assert_array_equal(got, x.astype(np.float32).astype(dtype))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pooling(op: str) -> None:
    x = drawn((1, 20, 9, 11), 3)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 2), (2, 3))
    want = windows.max((-1, -2)) if op == "MaxPool" else windows.mean((-1, -2))
    got = on_chip(one_node(op, [x.shape], want.shape, kernel_shape=[3, 2]), [x], "Ascend910B3")
    assert_near(got, want, near_zero=1e-6)


def summed(function: Any, a: Array, b: Array) -> tuple[Array, Array]:
    """A sum of products in fp64, and what fp32 sums of as many products may lose of it: 2^-24 of the sizes for each."""
    wide = [array.astype(np.float64) for array in (a, b)]
    return function(*wide), function(*map(np.abs, wide))


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(1, 3), max_size=2), st.tuples(*3 * (st.integers(1, 70),)), st.sampled_from(CHIPS), SEEDS,
)  # fmt: skip
def test_products(batch: list[int], sizes: tuple[int, int, int], soc: str, seed: int) -> None:
    m, k, n = sizes
    a, b = drawn((*batch, m, k), seed), drawn((*batch, k, n), seed + 1)
    want, lost = summed(np.matmul, a, b)
    assert_near(on_chip(one_node("MatMul", [a.shape, b.shape], want.shape), [a, b], soc), want, lost * k * 2.0**-24)


def convolved(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("nchwkl,ockl->nohw", windows, w)


@settings(max_examples=10, deadline=None)
@given(
    st.integers(1, 2), st.integers(1, 40), st.integers(1, 40), st.tuples(*2 * (st.integers(1, 3),)),
    st.sampled_from(CHIPS), SEEDS,
)  # fmt: skip
def test_convolutions(n: int, channels: int, filters: int, kernel: tuple[int, int], soc: str, seed: int) -> None:
    x, w = drawn((n, channels, 9, 11), seed), drawn((filters, channels, *kernel), seed + 1)
    want, lost = summed(convolved, x, w)
    got = on_chip(one_node("Conv", [x.shape, w.shape], want.shape), [x, w], soc)
    assert_near(got, want, lost * w[0].size * 2.0**-24)


@pytest.mark.parametrize("masked", [0.0, -3.3895314e38, -np.inf], ids=["no mask", "lowest", "infinite"])
@pytest.mark.parametrize("keys", [16, 50, 700])
@pytest.mark.parametrize("soc", CHIPS)
def test_attention(soc: str, keys: int, masked: float) -> None:
    """Scores are rounded at most twice, weights once: each moves a weight by as much as a score of 4 does, or less."""
    q, k, v = (drawn((2, rows, 32), number, -2, 2) for number, rows in enumerate((40, keys, keys)))
    mask = np.where(np.random.default_rng(9).random((1, 40, keys)) < 0.4, masked, 0.0)
    mask[..., 0] = 0
    if np.isfinite(masked):
        mask[:, 7] = masked  # all of a row, whose weights then are equal
    mask = mask.astype(BF16)
    text = f"""<ir_version: 10, opset_import: ["": 22]>
        net (bfloat16[2,40,32] q, bfloat16[2,{keys},32] k, bfloat16[2,{keys},32] v, bfloat16[1,40,{keys}] mask)
        => (bfloat16[2,40,32] y) <bfloat16 c = {{{BF16(0.125).view(np.uint16)}}}> {{
            turned = Transpose<perm = [0, 2, 1]>(k)
            s = MatMul(q, turned)
            scaled = Mul(s, c)
            sums = Add(scaled, mask)
            p = Softmax<axis = -1>(sums)
            y = MatMul(p, v)
        }}"""
    wide = [array.astype(np.float64) for array in (q, k, v, mask)]
    scores = wide[0] @ wide[1].transpose(0, 2, 1) * 0.125
    scores = np.where(wide[3] < -1e38, masked, scores)
    weights = softmax(scores, -1)
    got = on_chip(onnx.parser.parse_model(text), [q, k, v, mask], soc)
    assert_near(got, weights @ wide[2], 3 * STEP * (weights @ np.abs(wide[2])))


def test_a_chip_without_bf16_refuses_and_says_what_to_do() -> None:
    model = one_node("Add", [(3,), (3,)], (3,))
    with pytest.raises(GraphEngineError, match="Ascend310P3 does not compute bf16; precision mode force_fp16"):
        on_chip(model, [drawn((3,), 1), drawn((3,), 2)], "Ascend310P3")


@pytest.mark.parametrize("soc", ["Ascend310P3", *CHIPS])
def test_the_default_mode_computes_a_bf16_model_in_fp16(soc: str) -> None:
    """On a chip without bf16 the casts at the borders alone are the AI CPU's."""
    a, b = drawn((33, 70), 1), drawn((70, 41), 2)
    want, lost = summed(np.matmul, a, b)
    module = import_onnx(one_node("MatMul", [a.shape, b.shape], want.shape))
    compile_module(module, soc)
    program = emit_program(module)
    on_aicpu = {task.op for task in tasks_of(program) if isinstance(task, AicpuCall)}
    assert on_aicpu == (set() if load_soc(soc).numerics.bf16 else {"ge.cast"})
    done = run(program, [a, b], mode="functional", check=True)
    assert not done.findings
    assert_near(done.outputs[0], want, 2.0**-11 * np.abs(want) + lost * 70 * 2.0**-24)


def test_a_chip_without_bf16_casts_views_and_groups_of_casts_on_the_ai_cpu() -> None:
    text = """<ir_version: 10, opset_import: ["": 22]>
        net (bfloat16[4,6] x) => (bfloat16[24] y) <int64[1] form = {24}> {
            flat = Reshape(x, form)
            e = Celu(flat)
            y = Relu(e)
        }"""
    x = drawn((4, 6), 3)
    module = import_onnx(onnx.parser.parse_model(text))
    compile_module(module, "Ascend310P3")
    done = run(emit_program(module), [x], mode="functional", check=True)
    want = np.maximum(x.astype(np.float64), 0).reshape(-1)
    assert not done.findings
    assert_near(done.outputs[0], want, 2.0**-11 * np.abs(want))


def test_a_chip_without_bf16_leaves_control_flow_in_it_to_the_host() -> None:
    text = """<ir_version: 10, opset_import: ["": 22]>
        net (bfloat16[3,5] x, bool c) => (bfloat16[3,5] y) {
            r = Relu(x)
            y = If(c) <then_branch = yes () => (bfloat16[3,5] a) { a = Neg(r) },
                       else_branch = no () => (bfloat16[3,5] b) { b = Identity(r) }>
        }"""
    x = drawn((3, 5), 3)
    module = import_onnx(onnx.parser.parse_model(text))
    compile_module(module, "Ascend310P3")
    done = run(emit_program(module), [x, np.array(True)], mode="functional", check=True)
    want = -np.maximum(x.astype(np.float64), 0)
    assert not done.findings
    assert_near(done.outputs[0], want, 2.0**-11 * np.abs(want))
