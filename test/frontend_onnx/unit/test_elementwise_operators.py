"""Operators that work element by element against onnxruntime: values, types, integer semantics, special numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.judge import agree

from graph_engine.dialects.ge.reference import evaluate

SPECIAL = np.array(
    [-np.inf, -7.5, -2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 30.0, np.inf, np.nan], np.float32
)


def floats(*shape: int, seed: int = 0, low: float = -4.0, high: float = 4.0) -> Any:
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape).astype(np.float32)


def integers(*shape: int, dtype: str = "int32", seed: int = 0, low: int = -9, high: int = 10) -> Any:
    low = 0 if dtype.startswith("u") else low
    return np.random.default_rng([seed, *shape]).integers(low, high, shape).astype(dtype)


@pytest.mark.parametrize(
    ("op_type", "operator", "low", "high"),
    [
        ("Sin", "sin", -9, 9),
        ("Cos", "cos", -9, 9),
        ("Tan", "tan", -1.4, 1.4),
        ("Asin", "asin", -1, 1),
        ("Acos", "acos", -1, 1),
        ("Atan", "atan", -9, 9),
        ("Sinh", "sinh", -4, 4),
        ("Cosh", "cosh", -4, 4),
        ("Asinh", "asinh", -9, 9),
        ("Acosh", "acosh", 1, 9),
        ("Atanh", "atanh", -0.99, 0.99),
    ],
)
def test_trigonometry(op_type: str, operator: str, low: float, high: float) -> None:
    assert agree(op_type, {"x": floats(5, 7, low=low, high=high)}, tolerance=2e-6, opset=22) == [operator]


@pytest.mark.parametrize(
    ("op_type", "operators"),
    [
        ("Ceil", ["ceil"]),
        ("Floor", ["floor"]),
        ("Round", ["round"]),
        ("Sign", ["sign"]),
        ("IsNaN", ["compare"]),
        ("IsInf", ["abs", "compare"]),
    ],
)
def test_special_numbers(op_type: str, operators: list[str]) -> None:
    x = SPECIAL[:-1] if op_type == "Sign" else SPECIAL
    assert agree(op_type, {"x": x}, opset=20) == operators


def test_sign_of_integers() -> None:
    assert agree("Sign", {"x": integers(20)}) == ["sign"]


@pytest.mark.parametrize(("positive", "negative"), [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_infinity_of_one_sign(positive: int, negative: int) -> None:
    agree("IsInf", {"x": SPECIAL}, {"detect_positive": positive, "detect_negative": negative}, opset=20)


@pytest.mark.parametrize(
    ("op_type", "attributes", "operators"),
    [
        ("Swish", {"alpha": 1.5}, ["swish"]),
        ("Elu", {"alpha": 1.5}, ["elu"]),
        ("Selu", {}, ["elu"]),
        ("Celu", {"alpha": 0.7}, ["elu"]),
        ("Gelu", {}, ["gelu"]),
        ("Gelu", {"approximate": "tanh"}, ["gelu"]),
        ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}, ["hard_sigmoid"]),
        ("HardSwish", {}, ["hard_swish"]),
        ("Mish", {}, ["mish"]),
        ("Softplus", {}, ["softplus"]),
        ("Softsign", {}, ["abs", "add", "div"]),
        ("ThresholdedRelu", {"alpha": 0.6}, ["compare", "select"]),
        ("Shrink", {"lambd": 1.5, "bias": 0.25}, ["compare", "compare", "add", "sub", "select", "select"]),
    ],
)
def test_activations(op_type: str, attributes: dict[str, Any], operators: list[str]) -> None:
    x = np.concatenate([floats(4, 9, low=-8, high=8).ravel(), np.array([-90, -20, 0, 20, 90], np.float32)])
    assert agree(op_type, {"x": x}, attributes, opset=24 if op_type == "Swish" else 20) == operators


@pytest.mark.parametrize("slope", [(1,), (6, 1, 1), (1, 6, 1, 1), (5,), (2, 6, 4, 5)])
def test_prelu(slope: tuple[int, ...]) -> None:
    assert agree("PRelu", {"x": floats(2, 6, 4, 5), "slope": floats(*slope, seed=1)}, opset=16)[-1] == "prelu"


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("op_type", ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
def test_comparisons(op_type: str, dtype: str) -> None:
    a, b = integers(3, 1, 5, low=-2, high=3).astype(dtype), integers(4, 5, seed=1, low=-2, high=3).astype(dtype)
    assert agree(op_type, {"a": a, "b": b}) == ["compare"]


def test_comparisons_with_nan() -> None:
    for op_type in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
        agree(op_type, {"a": SPECIAL[:, None], "b": SPECIAL})


@pytest.mark.parametrize(("op_type", "operator"), [("And", "and"), ("Or", "or"), ("Xor", "xor")])
def test_logic(op_type: str, operator: str) -> None:
    a, b = floats(3, 1, 5) > 0, floats(4, 5, seed=1) > 0
    assert agree(op_type, {"a": a, "b": b}) == [operator]
    assert agree("Not", {"a": a}) == ["not"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_bits(dtype: str) -> None:
    a, b = integers(3, 1, 5, dtype=dtype, high=120), integers(4, 5, dtype=dtype, seed=1, high=120)
    for op_type in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        agree(op_type, {"a": a, "b": b}, opset=18)
    agree("BitwiseNot", {"a": a}, opset=18)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_shifts(dtype: str, direction: str) -> None:
    x, by = integers(30, dtype=dtype, high=200), integers(30, dtype=dtype, seed=1, high=8)
    assert agree("BitShift", {"x": x, "by": by}, {"direction": direction}) == ["shift"]


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float32", "float64"])
def test_remainders(dtype: str, fmod: int) -> None:
    if dtype.startswith("float") and not fmod:
        pytest.skip("onnxruntime takes floats with fmod alone")
    a = integers(40, dtype=dtype if "float" not in dtype else "int32", high=120).astype(dtype)
    b = integers(40, dtype="int32", seed=1, low=-5, high=6)
    b = np.where(b == 0, 3, np.abs(b) if dtype.startswith("u") else b).astype(dtype)
    assert agree("Mod", {"a": a, "b": b}, {"fmod": fmod}) == ["mod"]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integers_divide_towards_zero(dtype: str) -> None:
    a, b = integers(40, dtype=dtype, low=-100, high=100), integers(40, dtype=dtype, seed=1)
    agree("Div", {"a": a, "b": np.where(b == 0, 7, b).astype(dtype)})


@pytest.mark.parametrize("base", ["int32", "int64", "float32"])
@pytest.mark.parametrize("exponent", ["int32", "int64", "float32"])
def test_powers_of_mixed_types(base: str, exponent: str) -> None:
    a, b = integers(20, low=1, high=7).astype(base), integers(20, seed=1, low=0, high=5).astype(exponent)
    agree("Pow", {"a": a, "b": b})


def test_integer_powers_are_exact() -> None:
    """Beyond fp64's 53 bits, and of negative exponents: by Python's integers."""
    base, exponent = np.array([3, -3, 7, 1, -1, -1, 2, 0]), np.array([39, 39, 22, -5, -5, -4, -1, 0])
    (y,) = evaluate("ge.pow", [base, exponent], {})
    assert y.tolist() == [3**39, -(3**39), 7**22, 1, -1, 1, 0, 1]


def test_the_least_integer_by_minus_one_stays() -> None:
    (y,) = evaluate("ge.div", [np.array([-(2**31), 7], np.int32), np.array([-1, -2], np.int32)], {})
    assert y.tolist() == [-(2**31), -3]


def test_where_broadcasts() -> None:
    condition = floats(4, 1, 5) > 0
    assert agree("Where", {"c": condition, "x": floats(3, 1), "y": floats(1, seed=2)}) == ["select"]
    agree("Where", {"c": condition, "x": integers(3, 1, dtype="int64"), "y": integers(5, dtype="int64")})


@pytest.mark.parametrize("op_type", ["Max", "Min", "Sum", "Mean"])
def test_variadic(op_type: str) -> None:
    agree(op_type, {"a": floats(3, 1, 5), "b": floats(4, 1, seed=1), "c": floats(5, seed=2)})


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "float64"])
@pytest.mark.parametrize("given", [("low",), ("high",), ("low", "high"), ()])
def test_clip_of_other_types(dtype: str, given: tuple[str, ...]) -> None:
    bounds = {"low": np.array(2, dtype), "high": np.array(5, dtype)}
    x = integers(30, dtype="int32" if "float" in dtype else dtype).astype(dtype)
    inputs = {"x": x} | {name: bounds[name] if name in given else None for name in ("low", "high")}
    agree("Clip", inputs, constants=given)
    agree("Clip", inputs)


def test_clip_with_bounds_the_wrong_way_round_gives_the_upper_one() -> None:
    agree(
        "Clip",
        {"x": floats(9), "low": floats(low=2, high=2), "high": floats(low=-1, high=-1)},
        constants=("low", "high"),
    )


@pytest.mark.parametrize("to", ["int32", "uint8", "int64", "bool", "float64", "float16"])
def test_cast_like(to: str) -> None:
    x = integers(20, low=0, high=99).astype(np.float32) / 4
    assert agree("CastLike", {"x": x, "like": np.zeros(1, to)}, opset=19) == ["cast"]
    assert agree("CastLike", {"x": x, "like": np.zeros(1, np.float32)}, opset=19) == []


@pytest.mark.parametrize(("source", "target"), [((3, 1), (2, 1, 6)), ((3, 1), (3, 4)), ((3, 4), (1, 1)), ((), (2, 3))])
def test_expand(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    operators = agree("Expand", {"x": floats(*source), "shape": np.array(target, np.int64)}, constants=("shape",))
    assert operators == (["expand"] if target != (1, 1) else [])


@pytest.mark.parametrize("repeats", [(2, 1, 3), (1, 1, 1), (0, 1, 1)])
def test_tile(repeats: tuple[int, ...]) -> None:
    operators = agree("Tile", {"x": floats(2, 3, 4), "repeats": np.array(repeats, np.int64)}, constants=("repeats",))
    assert operators == ([] if repeats == (1, 1, 1) else ["tile"])


@pytest.mark.parametrize("bounds", [(0, 10, 3), (10, 0, -3), (5, 5, 1), (1.0, 2.0, 0.25)])
def test_range_is_a_constant(bounds: tuple[float, ...]) -> None:
    dtype = np.int64 if isinstance(bounds[0], int) else np.float32
    inputs = {name: np.array(b, dtype) for name, b in zip(("start", "limit", "delta"), bounds, strict=True)}
    assert agree("Range", inputs, constants=tuple(inputs)) == []


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_eye_like(k: int) -> None:
    assert agree("EyeLike", {"x": floats(3, 5)}, {"k": k}, opset=9) == []
    assert agree("EyeLike", {"x": integers(3, 5)}, {"k": k, "dtype": 7}, opset=9) == []


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul"])
def test_folded_integers_wrap_round(op_type: str, dtype: Any) -> None:
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.max, 5, limits.max], dtype)
    b = np.array([1, 1, 7, limits.max], dtype)
    assert agree(op_type, {"a": a, "b": b}, constants=("a", "b")) == []


@pytest.mark.parametrize("opset", [7, 10, 12, 13])
def test_dropout_keeps_everything(opset: int) -> None:
    assert agree("Dropout", {"x": floats(3, 5)}, outputs=2, opset=opset) == []
