"""Operators of onnxruntime's own domain against onnxruntime; integers exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import agree

from graph_engine.errors import GraphEngineError

F32 = np.float32
BATCH, QUERIES, KEYS, HEADS, WIDTH = 2, 5, 7, 4, 8
HIDDEN = HEADS * WIDTH


def floats(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    return (scale * np.random.default_rng([seed, *shape]).standard_normal(shape)).astype(F32)


def whole(dtype: Any, *shape: int, seed: int = 0) -> Any:
    info = np.iinfo(dtype)
    return np.random.default_rng([seed, *shape]).integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def microsoft(op: str, inputs: dict[str, Any], attributes: dict[str, Any] | None = None, **form: Any) -> list[str]:
    return agree(op, inputs, attributes, domain="com.microsoft", **form)


def quantised(name: str, value: Any, scale: float, zero: int) -> dict[str, Any]:
    return {name: value, f"{name}_scale": np.array(scale, F32), f"{name}_zero": np.array(zero, value.dtype)}


def parameters(inputs: dict[str, Any]) -> list[str]:
    return [name for name in inputs if name.endswith(("_scale", "_zero"))]


# Quantised operators


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("other", [(3, 256, 9), (256, 1), (9,)])
def test_quantised_arithmetic(op: str, dtype: Any, other: tuple[int, ...]) -> None:
    inputs = quantised("a", whole(dtype, 3, 256, 9), 0.0664, 34) | quantised("b", whole(dtype, *other), 0.0716, 22)
    inputs |= {"y_scale": np.array(0.0936 if op == "QLinearAdd" else 0.5, F32), "y_zero": np.array(5, dtype)}
    microsoft(op, inputs, constants=parameters(inputs))


@pytest.mark.parametrize(
    "op, attributes",
    [
        ("QLinearSigmoid", {}),
        ("QLinearLeakyRelu", {"alpha": 0.3}),
        ("QLinearSoftmax", {"axis": -1, "opset": 13}),
        ("QLinearAveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
        ("QLinearGlobalAveragePool", {"channels_last": 0}),
        ("QLinearGlobalAveragePool", {"channels_last": 1}),
    ],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_quantised_functions(op: str, attributes: dict[str, Any], dtype: Any) -> None:
    zero = 0 if dtype is np.uint8 else -128
    y = (1 / 256, zero) if op in ("QLinearSigmoid", "QLinearSoftmax") else (0.031, 3)
    inputs = quantised("x", whole(dtype, 2, 6, 7, 8), 0.03, 7)
    inputs |= {"y_scale": np.array(y[0], F32), "y_zero": np.array(y[1], dtype)}
    microsoft(op, inputs, attributes, constants=parameters(inputs))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("scales", ["one a direction", "one a row"])
def test_dynamically_quantised_lstm(direction: str, scales: str) -> None:
    """x goes through 8 bits once, the state at every step; states and peepholes are given."""
    d, steps, batch, width, hidden = 2 if direction == "bidirectional" else 1, 6, 3, 5, 4
    scale = np.array([0.01, 0.02][:d], F32) if scales == "one a direction" else np.abs(floats(d, 4 * hidden)) / 100
    zero = (
        (np.arange(scale.size) % 5).astype(np.int8).reshape(scale.shape)
        if scale.ndim == 1
        else whole(np.int8, *scale.shape) * 0
    )
    inputs = {
        "x": floats(steps, batch, width),
        "w": whole(np.int8, d, width, 4 * hidden),
        "r": whole(np.int8, d, hidden, 4 * hidden, seed=1),
        "b": floats(d, 8 * hidden, scale=0.1),
        "lengths": np.array([steps] * batch, np.int32),
        "h": floats(d, batch, hidden, seed=2),
        "c": floats(d, batch, hidden, seed=3),
        "p": floats(d, 3 * hidden, scale=0.1),
        **{"w_scale": scale, "w_zero": zero, "r_scale": scale[::-1].copy(), "r_zero": zero[::-1].copy()},
    }
    attributes = {"direction": direction, "hidden_size": hidden}
    constants = ["w", "r", "b", "p", "lengths", *parameters(inputs)]
    found = microsoft("DynamicQuantizeLSTM", inputs, attributes, outputs=3, constants=constants)
    assert "lstm" in found
    with pytest.raises(GraphEngineError, match="sequences that end early"):
        microsoft(
            "DynamicQuantizeLSTM", inputs | {"lengths": np.array([6, 4, 2], np.int32)}, attributes, constants=constants
        )


def test_quantised_concatenation() -> None:
    inputs = {"y_scale": np.array(0.05, F32), "y_zero": np.array(100, np.uint8)}
    inputs |= quantised("a", whole(np.uint8, 2, 3, 4), 0.05, 100) | quantised("b", whole(np.uint8, 2, 5, 4), 0.07, 90)
    microsoft("QLinearConcat", inputs, {"axis": 1}, constants=parameters(inputs))


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("turned", [0, 1])
def test_quantised_gemm(real: bool, turned: int) -> None:
    a, b = (9, 5) if turned else (5, 9), (6, 9) if turned else (9, 6)
    inputs = quantised("a", whole(np.uint8, *a), 0.02, 120) | quantised("b", whole(np.int8, *b), 0.01, 0)
    inputs["c"] = np.arange(-3000, 3000, 1000, dtype=np.int32)
    if not real:
        inputs |= {"y_scale": np.array(0.05, F32), "y_zero": np.array(100, np.uint8)}
    microsoft("QGemm", inputs, {"transA": turned, "transB": turned, "alpha": 1.5}, constants=[*parameters(inputs), "c"])


def test_products_of_bytes_as_reals() -> None:
    inputs = {
        "a": whole(np.uint8, 4, 32),
        "b": whole(np.int8, 32, 6),
        "a_scale": np.array(0.02, F32),
        "b_scale": np.linspace(0.01, 0.02, 6, dtype=F32),
        "a_zero": np.array(100, np.uint8),
        "b_zero": np.zeros(6, np.int8),
        "c": floats(6),
    }
    microsoft("MatMulIntegerToFloat", inputs, constants=["b", *parameters(inputs)])
    dynamic = {"a": floats(4, 32)} | {name: inputs[name] for name in ("b", "b_scale", "b_zero", "c")}
    microsoft("DynamicQuantizeMatMul", dynamic, constants=["b", "b_scale", "b_zero"])


@pytest.mark.parametrize("bits, zeros, bias", [(4, False, False), (4, True, True), (8, True, False)])
def test_weights_of_few_bits(bits: int, zeros: bool, bias: bool) -> None:
    inner, outputs, block = 64, 6, 16
    inputs = {
        "a": floats(3, 5, inner),
        "b": whole(np.uint8, outputs, inner // block, block * bits // 8),
        "scales": np.abs(floats(outputs, inner // block)) + F32(0.01),
        "zeros": whole(np.uint8, outputs, inner // block * bits // 8) if zeros else None,
        "g_idx": None,
        "bias": floats(outputs) if bias else None,
    }
    attributes = {"K": inner, "N": outputs, "bits": bits, "block_size": block}
    constants = [name for name in ("b", "scales", "zeros") if inputs[name] is not None]
    microsoft("MatMulNBits", inputs, attributes, constants=constants, tolerance=1e-4)


# Products, GELU forms, normalizations


@pytest.mark.parametrize(
    "activation, values",
    [("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4])],
)  # fmt: skip
@pytest.mark.parametrize("added", [False, True])
def test_fused_convolution(activation: str, values: list[float], added: bool) -> None:
    if added and activation != "Relu":
        return
    inputs = {
        "x": floats(1, 4, 6, 7),
        "w": floats(5, 4, 3, 3),
        "b": floats(5),
        "z": floats(1, 5, 6, 7) if added else None,
    }
    attributes: dict[str, Any] = {"pads": [1, 1, 1, 1], "activation": activation}
    if values:
        attributes["activation_params"] = values
    microsoft("FusedConv", inputs, attributes)


@pytest.mark.parametrize("a, b, attributes", [
    ((2, 3, 4, 5), (2, 3, 5, 6), {"alpha": 0.5}),
    ((2, 3, 5, 4), (2, 3, 6, 5), {"transA": 1, "transB": 1, "alpha": 2.0}),
    ((4, 3, 5), (5, 6), {}),
    ((4, 2, 3, 5), (2, 3, 5, 6), {"transBatchA": 1}),
    ((5,), (5, 6), {"alpha": 3.0}),
])  # fmt: skip
def test_fused_matmul(a: tuple[int, ...], b: tuple[int, ...], attributes: dict[str, Any]) -> None:
    microsoft("FusedMatMul", {"a": floats(*a), "b": floats(*b)}, attributes)


def test_gelu_forms() -> None:
    x, b = floats(3, 4, 8), floats(8)
    assert microsoft("Gelu", {"x": x}) == ["gelu"]
    assert microsoft("BiasGelu", {"x": x, "b": b}) == ["add", "gelu"]
    assert microsoft("FastGelu", {"x": x, "b": b}, tolerance=1e-4) == ["add", "gelu"]
    assert microsoft("FastGelu", {"x": x}, tolerance=1e-4) == ["gelu"]
    assert microsoft("QuickGelu", {"x": x}) == ["swish"]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_normalization_of_a_sum(op: str, bias: bool) -> None:
    inputs = {"x": floats(2, 5, 8), "skip": floats(2, 5, 8, seed=1), "gamma": floats(8)}
    if op == "SkipLayerNormalization":
        inputs["beta"] = floats(8, seed=2)
    if bias:
        inputs["bias"] = floats(8, seed=3)
    microsoft(op, inputs, {"epsilon": 1e-5})


@pytest.mark.parametrize("segments, masked", [(True, True), (False, False)])
def test_embedding_and_normalization(segments: bool, masked: bool) -> None:
    rng = np.random.default_rng(1)
    inputs = {
        "ids": rng.integers(0, 11, (2, 5)).astype(np.int32),
        "segments": rng.integers(0, 2, (2, 5)).astype(np.int32) if segments else None,
        "words": floats(11, 8),
        "positions": floats(7, 8),
        "kinds": floats(2, 8) if segments else None,
        "gamma": floats(8),
        "beta": floats(8, seed=1),
        "mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32) if masked else None,
    }
    microsoft("EmbedLayerNormalization", inputs, {"epsilon": 1e-5}, outputs=2)


# Attention


def mask_of(form: str) -> Any:
    lengths = np.array([KEYS - 2, KEYS], np.int32)
    full = (np.arange(KEYS) < lengths[:, None]).astype(np.int32)
    return {
        "none": None,
        "lengths": lengths,
        "keys": full,
        "queries": np.broadcast_to(full[:, None], (BATCH, QUERIES, KEYS)).copy(),
    }[form]


@pytest.mark.parametrize("form", ["none", "lengths", "keys", "queries"])
@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_attention(form: str, bias: bool) -> None:
    inputs = {
        "q": floats(BATCH, QUERIES, HIDDEN),
        "k": floats(BATCH, KEYS, HIDDEN),
        "v": floats(BATCH, KEYS, HIDDEN, seed=1),
        "b": floats(3 * HIDDEN) if bias else None,
        "mask": mask_of(form),
        "added": floats(BATCH, HEADS, QUERIES, KEYS) if bias else None,
    }
    microsoft("MultiHeadAttention", inputs, {"num_heads": HEADS, "mask_filter_value": -1000.0})


def test_multi_head_attention_with_a_past() -> None:
    inputs = {
        "q": floats(BATCH, QUERIES, HIDDEN),
        "k": floats(BATCH, QUERIES, HIDDEN, seed=1),
        "v": floats(BATCH, QUERIES, HIDDEN, seed=2),
        "b": None,
        "mask": None,
        "added": None,
        "past_key": floats(BATCH, HEADS, 3, WIDTH),
        "past_value": floats(BATCH, HEADS, 3, WIDTH, seed=1),
    }
    microsoft("MultiHeadAttention", inputs, {"num_heads": HEADS, "unidirectional": 1}, outputs=3)


@pytest.mark.parametrize("form", ["none", "lengths", "keys"])
@pytest.mark.parametrize("unidirectional, past", [(0, False), (1, False), (1, True)])
def test_attention_with_its_projection(form: str, unidirectional: int, past: bool) -> None:
    mask, old = mask_of(form), KEYS - QUERIES
    if mask is not None and not past:
        mask = np.minimum(mask, QUERIES) if form == "lengths" else mask[:, :QUERIES].copy()
    inputs = {
        "x": floats(BATCH, QUERIES, 12),
        "w": floats(12, 3 * HIDDEN, scale=0.3),
        "b": floats(3 * HIDDEN),
        "mask": mask,
        "past": floats(2, BATCH, HEADS, old, WIDTH) if past else None,
    }
    attributes = {"num_heads": HEADS, "unidirectional": unidirectional}
    microsoft("Attention", inputs, attributes, outputs=2 if past else 1, constants=["w", "b"])


@pytest.mark.parametrize("past", [False, True])
def test_attention_with_a_quantised_projection(past: bool) -> None:
    inputs = {
        "x": whole(np.uint8, BATCH, QUERIES, 12),
        "w": whole(np.int8, 12, 3 * HIDDEN),
        "b": floats(3 * HIDDEN),
        "x_scale": np.array(0.01, F32),
        "w_scale": np.array(0.005, F32),
        "mask": mask_of("keys") if past else None,
        "x_zero": np.array(120, np.uint8),
        "w_zero": np.array(0, np.int8),
        "past": floats(2, BATCH, HEADS, KEYS - QUERIES, WIDTH) if past else None,
    }
    attributes = {"num_heads": HEADS, "unidirectional": 1}
    microsoft("QAttention", inputs, attributes, outputs=2 if past else 1, constants=["w", *parameters(inputs)])


@pytest.mark.parametrize("old", [0, 3])
@pytest.mark.parametrize("attributes", [{}, {"softcap": 2.0}, {"do_rotary": 1}, {"do_rotary": 1, "rotary_interleaved": 1}, {"local_window_size": 2}])  # fmt: skip
def test_group_query_attention(old: int, attributes: dict[str, Any]) -> None:
    kv_heads, width, new = 2, 16, 1 if old else QUERIES
    angles = np.arange(16)[:, None] * 0.3 ** np.arange(width // 2)
    rotary = attributes.get("do_rotary")
    inputs = {
        "q": floats(BATCH, new, HEADS * width),
        "k": floats(BATCH, new, kv_heads * width),
        "v": floats(BATCH, new, kv_heads * width, seed=1),
        "past_key": floats(BATCH, kv_heads, old, width),
        "past_value": floats(BATCH, kv_heads, old, width, seed=1),
        "lengths": np.full(BATCH, old + new - 1, np.int32),
        "total": np.array(old + new, np.int32),
        "cos": np.cos(angles).astype(F32) if rotary else None,
        "sin": np.sin(angles).astype(F32) if rotary else None,
    }
    shape = {"num_heads": HEADS, "kv_num_heads": kv_heads}
    microsoft("GroupQueryAttention", inputs, shape | attributes, outputs=3, constants=["total"])


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_rotary_embedding(interleaved: int, offset: bool, packed: bool) -> None:
    shape = (BATCH, QUERIES, HIDDEN) if packed else (BATCH, HEADS, QUERIES, WIDTH)
    positions = np.array([2]) if offset else np.array([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]])
    inputs = {"x": floats(*shape), "positions": positions, "cos": floats(16, WIDTH // 2), "sin": floats(16, WIDTH // 2, seed=1)}  # fmt: skip
    microsoft("RotaryEmbedding", inputs, {"interleaved": interleaved})
