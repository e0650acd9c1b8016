"""Forms of elementwise operators, activations, comparisons and casts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import helper

from operator_forms.form import ALL, FLOATS, INTEGERS, NUMBERS, Draw, Form, Forms

SHAPES = ((2, 3), (), (5,), (1,), (2, 0, 3), (1, 2, 1, 3), (2, 1, 2, 1, 2), (1, 2, 1, 2, 1, 2))
PAIRS = (
    ((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((4,), (2, 3, 4)), ((2, 1, 4), (3, 1)), ((), (2, 3)), ((2, 3), ()),
    ((), ()), ((1,), (1,)), ((2, 0, 3), (1,)), ((2, 0, 3), (2, 1, 3)), ((1, 2, 1, 2, 1, 2), (3, 1, 2)),
)  # fmt: skip


def unary(low: float = -3, high: float = 3, dtypes: tuple[str, ...] = NUMBERS, **grid: tuple[Any, ...]) -> Forms:
    """All ranks, all element types, all combinations of attributes."""

    def forms(draw: Draw, opset: int) -> Iterator[Form]:
        for shape in SHAPES:
            yield Form({"x": draw.floats(*shape, low=low, high=high)})
        for dtype in dtypes:
            x = draw.floats(2, 5, low=low, high=high, dtype=dtype) if dtype in FLOATS else draw.any(dtype, 2, 5)
            yield Form({"x": x})
        if dtypes == NUMBERS or "float32" in dtypes:
            special = np.array(
                [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -3e38, 0.5, 1.5, 2.5, -0.5], np.float32
            )
            yield Form({"x": special})
        for values in draw.some(12, *grid.values()):
            yield Form({"x": draw.floats(3, 4, low=low, high=high)}, dict(zip(grid, values, strict=True)))
            yield Form(
                {"x": draw.floats(3, 4, low=low, high=high, dtype="float16")}, dict(zip(grid, values, strict=True))
            )

    return forms


def binary(dtypes: tuple[str, ...] = NUMBERS, *, nonzero: bool = False, **grid: tuple[Any, ...]) -> Forms:
    """Broadcasts of all kinds, all element types."""

    def forms(draw: Draw, opset: int) -> Iterator[Form]:
        def second(dtype: str, shape: tuple[int, ...]) -> Any:
            b = draw.any(dtype, *shape)
            return np.where(b == 0, np.ones_like(b), b) if nonzero else b

        dtype = dtypes[0]
        for a, b in PAIRS:
            if opset >= 7 or a == b:
                yield Form({"a": draw.any(dtype, *a), "b": second(dtype, b)})
        if opset < 7:  # the second operand is laid at `axis`
            for b, axis in (((4,), None), ((3, 4), 1), ((3,), 1), ((2,), 0), ((2, 3), 0), ((), None)):
                yield Form({"a": draw.any(dtype, 2, 3, 4), "b": second(dtype, b)}, {"broadcast": 1, "axis": axis})
        for dtype in dtypes:
            yield Form({"a": draw.any(dtype, 3, 5), "b": second(dtype, (3, 5))})
        for values in draw.some(12, dtypes, *grid.values()):
            attributes = dict(zip(grid, values[1:], strict=True))
            yield Form({"a": draw.any(values[0], 3, 5), "b": second(values[0], (3, 5))}, attributes)

    return forms


def variadic(draw: Draw, opset: int) -> Iterator[Form]:
    for dtype in NUMBERS:
        yield Form({"a": draw.any(dtype, 2, 3), "b": draw.any(dtype, 2, 3)})
    for shapes in (((2, 3),), ((2, 3),) * 3, ((2, 1), (3,), ()), ((2, 0), (1,)), ((1,), (4, 1, 3), (2, 1))):
        yield Form({f"x{i}": draw.floats(*shape) for i, shape in enumerate(shapes)})
    x = np.array([np.nan, 1, -np.inf, 2], np.float32)
    yield Form({"a": x, "b": np.array([0, np.nan, 3, -1], np.float32)})


def pow_(draw: Draw, opset: int) -> Iterator[Form]:
    for a, b in PAIRS:
        if opset >= 7 or a == b:
            yield Form({"a": draw.floats(*a, low=0.1), "b": draw.floats(*b)})
    for a, b in draw.some(40, (*FLOATS, "int32", "int64"), (*FLOATS, "int32", "int64")):
        yield Form({"a": draw.any(a, 3, 4), "b": np.abs(draw.any(b, 3, 4))})
    yield Form({"a": np.array([-2.0, -2, 0, 2], np.float32), "b": np.array([2.0, 3, 0, -1], np.float32)})
    yield Form({"a": np.array([2, 3, -3], np.int32), "b": np.array([0.5, 2.0, 3.0], np.float32)})


def mod(draw: Draw, opset: int) -> Iterator[Form]:
    for dtype in NUMBERS:
        b = draw.any(dtype, 4, 5)
        b = np.where(b == 0, np.ones_like(b), b)
        for fmod in (None, 0, 1):
            yield Form({"a": draw.any(dtype, 4, 5), "b": b}, {"fmod": fmod})
    for a, b in PAIRS:
        yield Form({"a": draw.floats(*a), "b": draw.floats(*b, low=0.5)}, {"fmod": 1})


def bit_shift(draw: Draw, opset: int) -> Iterator[Form]:
    for dtype, direction in draw.some(40, INTEGERS, ("LEFT", "RIGHT")):
        yield Form(
            {"a": draw.any(dtype, 3, 4), "b": draw.integers(3, 4, high=8, dtype=dtype)}, {"direction": direction}
        )
        yield Form({"a": draw.any(dtype, 3, 4), "b": draw.integers(4, high=8, dtype=dtype)}, {"direction": direction})


def clip(draw: Draw, opset: int) -> Iterator[Form]:
    if opset < 11:
        for low, high in draw.some(9, (None, -1.0, 0.0), (None, 1.0, 6.0)):
            for shape in SHAPES[:5]:
                yield Form({"x": draw.floats(*shape)}, {"min": low, "max": high})
        return
    for dtype in NUMBERS:
        for low, high in ((None, None), (1, None), (None, 4), (1, 4), (5, 2)):
            bounds = {"min": low, "max": high}
            given = {name: None if v is None else np.array(v, dtype) for name, v in bounds.items()}
            yield Form(
                {"x": draw.any(dtype, 3, 4), **given}, steering=tuple(n for n, v in given.items() if v is not None)
            )
    yield Form({"x": draw.floats(2, 0), "min": np.array(0, np.float32), "max": np.array(1, np.float32)})
    yield Form({"x": draw.floats(), "min": np.array(-1, np.float32)})
    yield Form({"x": draw.floats(3, 4), "min": np.array(-np.inf, np.float32), "max": np.array(np.inf, np.float32)})
    yield Form({"x": draw.floats(3, 4)})


def where(draw: Draw, opset: int) -> Iterator[Form]:
    for dtype in ALL:
        yield Form({"c": draw.any("bool", 3, 4), "a": draw.any(dtype, 3, 4), "b": draw.any(dtype, 3, 4)})
    for c, a, b in (((3, 1), (4,), ()), ((), (2, 3), (2, 3)), ((2, 0), (1,), (2, 1)), ((4,), (), ()), ((), (), ())):
        yield Form({"c": draw.any("bool", *c), "a": draw.floats(*a), "b": draw.floats(*b)})


def cast(draw: Draw, opset: int) -> Iterator[Form]:
    """Without bf16 and fp8, which onnxruntime hands out as integers."""
    for source, target in draw.some(200, ALL, ALL):
        x = draw.floats(3, 4, low=0 if np.dtype(target).kind == "u" else -9, high=9, dtype=source)
        yield Form({"x": x}, {"to": helper.np_dtype_to_tensor_dtype(np.dtype(target))})
    for shape in SHAPES:
        yield Form({"x": draw.floats(*shape)}, {"to": 7})
    special = np.array([0.0, -0.5, np.inf, -np.inf, np.nan, 1e-40, 70000, 65519, 65520, 1e-8], np.float32)
    for target in (1, 10, 11, 9):
        yield Form({"x": special}, {"to": target})
    for target in (21, 22):
        yield Form({"x": draw.floats(3, 4)}, {"to": target})


def cast_like(draw: Draw, opset: int) -> Iterator[Form]:
    for source, target in draw.some(40, ALL, ALL):
        yield Form({"x": draw.floats(3, 4, low=0, high=9, dtype=source), "like": draw.any(target, 1)})


def bit_cast(draw: Draw, opset: int) -> Iterator[Form]:
    for source, to in (("float32", 6), ("int32", 1), ("float16", 5), ("uint8", 3), ("int64", 11), ("float32", 12)):
        yield Form({"x": draw.any(source, 2, 3)}, {"to": to})


def prelu(draw: Draw, opset: int) -> Iterator[Form]:
    for x, slope in (((2, 3, 4), (1,)), ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 3, 4)), ((2, 3), ()), ((2, 3, 4), (4,))):
        for dtype in ("float32", "float16", "float64", "int32"):
            yield Form({"x": draw.any(dtype, *x), "slope": draw.any(dtype, *slope)})
    yield Form({"x": draw.floats(2, 3, 4, 4), "slope": draw.floats(3, 1, 1)})


def is_inf(draw: Draw, opset: int) -> Iterator[Form]:
    x = np.array([[0, np.inf, -np.inf, np.nan, 3e38]])
    for dtype, positive, negative in draw.some(30, FLOATS, (None, 0, 1), (None, 0, 1)):
        with np.errstate(over="ignore"):
            yield Form({"x": x.astype(dtype)}, {"detect_positive": positive, "detect_negative": negative})


def is_nan(draw: Draw, opset: int) -> Iterator[Form]:
    for dtype in FLOATS:
        yield Form({"x": np.array([0, np.inf, -np.inf, np.nan, 3], dtype)})
    yield Form({"x": draw.floats(0)})


def dropout(draw: Draw, opset: int) -> Iterator[Form]:
    for outputs in (1, 2):
        if opset < 12:
            yield Form({"x": draw.floats(3, 4)}, {"ratio": 0.3}, outputs=outputs)
            continue
        yield Form({"x": draw.floats(3, 4)}, outputs=outputs)
        yield Form({"x": draw.floats(3, 4), "ratio": np.array(0.3, np.float32)}, outputs=outputs)
        for ratio in (0.0, 0.4):
            training = np.array(ratio == 0)
            inputs = {"x": draw.floats(3, 4), "ratio": np.array(ratio, np.float32), "training": training}
            yield Form(inputs, steering=("ratio", "training"), outputs=outputs)
        yield Form({"x": draw.floats(3, 4, dtype="float16"), "r": None, "t": np.array(False)}, outputs=outputs)


def equal(draw: Draw, opset: int) -> Iterator[Form]:
    yield from binary(("int32", "int64", "bool", *FLOATS, "uint8"))(draw, opset)


def swi_glu(draw: Draw, opset: int) -> Iterator[Form]:
    for shape, axis in draw.some(6, ((2, 6), (2, 3, 8)), (None, -1, 1)):
        yield Form({"x": draw.floats(*shape)}, {"axis": axis})


LOGIC = ("bool",)
FORMS: dict[str, Forms] = {
    **dict.fromkeys(("Abs", "Neg", "Sign", "Relu"), unary()),
    **dict.fromkeys(("Ceil", "Floor", "Round", "Exp", "Erf", "Sigmoid", "Tanh", "Softplus", "Softsign"), unary(-6, 6)),
    **dict.fromkeys(("Sin", "Cos", "Tan", "Sinh", "Cosh", "Atan", "Asinh", "Identity"), unary()),
    **dict.fromkeys(("Asin", "Acos", "Atanh"), unary(-0.9, 0.9)),
    **dict.fromkeys(("Sqrt", "Log", "Reciprocal"), unary(0.1, 9)),
    "Acosh": unary(1.1, 9),
    "Not": unary(dtypes=LOGIC),
    **dict.fromkeys(("HardSwish", "Mish"), unary(-6, 6)),
    "Elu": unary(alpha=(None, 0.5, 2.0)),
    "Celu": unary(alpha=(None, 0.5, 2.0)),
    "Selu": unary(alpha=(None, 1.5), gamma=(None, 2.0)),
    "LeakyRelu": unary(alpha=(None, 0.0, 0.3, -0.5)),
    "ThresholdedRelu": unary(alpha=(None, 0.0, 2.0)),
    "HardSigmoid": unary(alpha=(None, 0.5), beta=(None, 0.1)),
    "Gelu": unary(approximate=(None, "none", "tanh")),
    "Swish": unary(alpha=(None, 1.0, 0.5)),
    "Shrink": unary(bias=(None, 0.7), lambd=(None, 1.5)),
    "BitwiseNot": unary(dtypes=INTEGERS),
    **dict.fromkeys(("Add", "Sub", "Mul"), binary()),
    "Div": binary(nonzero=True),
    **dict.fromkeys(("And", "Or", "Xor"), binary(LOGIC)),
    **dict.fromkeys(("Less", "Greater", "LessOrEqual", "GreaterOrEqual"), binary()),
    "Equal": equal,
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), binary(INTEGERS)),
    **dict.fromkeys(("Max", "Min", "Sum", "Mean"), variadic),
    "Pow": pow_,
    "Mod": mod,
    "BitShift": bit_shift,
    "Clip": clip,
    "Where": where,
    "Cast": cast,
    "CastLike": cast_like,
    "BitCast": bit_cast,
    "PRelu": prelu,
    "IsInf": is_inf,
    "IsNaN": is_nan,
    "Dropout": dropout,
    "SwiGLU": swi_glu,
}
