"""No number changes by being printed and parsed: infinities, NaNs, whole numbers of many digits, in every place."""

from __future__ import annotations

import math
import shutil
import struct
import subprocess
from io import StringIO
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.elementwise import ClipOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.shape import PadOp
from graph_engine.dialects.ge.weights import FoldAttr, constant_attr, fold_attr, materialize
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.printing import to_text
from graph_engine.pipelines.source import Chunk, SourceError, parse

MLIR_OPT = shutil.which("mlir-opt") or shutil.which("mlir-opt-22") or shutil.which("/usr/lib/llvm-22/bin/mlir-opt")

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}
NUMBERS = {
    "-inf": -math.inf,
    "inf": math.inf,
    "nan": math.nan,
    "-nan": math.copysign(math.nan, -1),
    "digits": 1234567.0,
    "more_digits": 123456792.0,
    "lowest": -3.4028234663852886e38,
    "-0": -0.0,
    "tenth": 0.1,
}
SHAPES = {"scalar": (), "one": (1,), "splat": (2, 2), "list": (3,)}
FORMS = ("custom", "generic", "xdsl")


def array_of(number: float, dtype: Any, shape: str) -> np.ndarray[Any, Any]:
    """A tensor of the number; in a list, others stand beside it."""
    with np.errstate(over="ignore"):
        array = np.full(SHAPES[shape], number).astype(dtype)
    if shape == "list":
        array[1:] = 1, -2.5
    return array


def round_trip(module: ModuleOp, form: str) -> ModuleOp:
    """The module printed and parsed by ours, or printed by xDSL in our form and parsed by xDSL."""
    if form == "xdsl":
        stream = StringIO()
        Printer(stream).print_op(module)
        return Parser(make_context(), stream.getvalue()).parse_module()
    text = to_text(module, generic=form == "generic")
    parsed = parse(make_context(), Chunk("model.mlir", text))
    assert to_text(parsed, generic=form == "generic") == text
    return parsed


def dense_of(text: str) -> DenseIntOrFPElementsAttr[Any]:
    """The constant in the text of a module."""
    module = parse(make_context(), Chunk("model.mlir", text))
    (constant,) = (op for op in module.walk() if isinstance(op, ConstantOp))
    return cast(DenseIntOrFPElementsAttr[Any], constant.value)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_constants_keep_their_bits(dtype: Any, number: float, shape: str, form: str) -> None:
    array = array_of(number, dtype, shape)
    parsed = round_trip(ModuleOp([ConstantOp(constant_attr(array, "c"))]), form)
    (constant,) = (op for op in parsed.walk() if isinstance(op, ConstantOp))
    assert materialize(constant.value).tobytes() == array.tobytes()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_operands_and_attributes_of_recipes_keep_their_bits(name: str, number: float, form: str) -> None:
    mask = array_of(number, DTYPES[name], "list")
    wide = tensor_type((40, 3), name)
    inner = fold_attr(
        "ge.add", [constant_attr(np.zeros((40, 3), DTYPES[name]), "w"), constant_attr(mask, "m")], {}, wide
    )
    recipe = fold_attr("ge.clip", [inner], {"min": -1.0, "max": number}, wide)
    parsed = round_trip(ModuleOp([ConstantOp(recipe)]), form)
    (constant,) = (op for op in parsed.walk() if isinstance(op, ConstantOp))
    outer = cast(FoldAttr, constant.value)
    inner = cast(FoldAttr, outer.operands.data[0])
    assert materialize(inner.operands.data[1]).tobytes() == mask.tobytes()
    assert bits(outer.attributes.data["max"]) == struct.pack("<f", number)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_float_properties_keep_their_bits(number: float, form: str) -> None:
    x = ConstantOp(constant_attr(np.zeros(4, np.float32), "x"))
    operators = [ClipOp(x, min=number, max=math.inf), PadOp(x, pads=(1, 1), value=number)]
    parsed = round_trip(ModuleOp([x, *operators]), form)
    found = [op for op in parsed.walk() if isinstance(op, ClipOp | PadOp)]
    assert bits(found[0].properties["min"]) == struct.pack("<f", number)
    assert bits(found[0].properties["max"]) == struct.pack("<f", math.inf)
    assert bits(found[1].properties["value"]) == struct.pack("<f", number)


def bits(attribute: Attribute) -> bytes:
    """The fp32 bits of a float attribute."""
    assert isinstance(attribute, FloatAttr)
    return struct.pack("<f", attribute.value.data)


@pytest.mark.parametrize(
    "digits, bits", [("0xFF800000", "000080ff"), ("0x7fc00000", "0000c07f"), ("0x4996B438", "38b49649")]
)
@pytest.mark.parametrize("form", ["ge.constant {} : {}", '"ge.constant"() <{{value = {} : {}}}> : () -> {}'])
def test_digits_that_mlir_prints_are_bits(digits: str, bits: str, form: str) -> None:
    scalar, row = "tensor<f32>", "tensor<2xf32>"
    assert dense_of(form.format(f"dense<{digits}>", scalar, scalar)).data.data.hex() == bits
    assert dense_of(form.format(f"dense<{digits}>", row, row)).data.data.hex() == 2 * bits
    assert dense_of(form.format(f"dense<[1.0, {digits}]>", row, row)).data.data.hex() == "0000803f" + bits


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "complex<f32>"])
@pytest.mark.parametrize("number", [0.123456789, 1234567.0, -123456792.0, 1e10 / 3, 1e-30], ids=str)
def test_finite_numbers_stay_readable(number: float, name: str) -> None:
    array = array_of(number, DTYPES[name], "list")
    text = to_text(ModuleOp([ConstantOp(constant_attr(array, "c"))]))
    assert ("0x" in text) is not np.isfinite(array).all()
    assert dense_of(text).data.data == array.tobytes()


def test_digits_of_an_integer_are_a_number() -> None:
    assert dense_of("ge.constant dense<0x10> : tensor<i32>").get_values() == (16,)


@pytest.mark.parametrize(
    "text, message",
    [
        ("ge.constant dense<0x1FF800000> : tensor<f32>", "has more bits than f32"),
        ("ge.constant dense<0x10000> : tensor<f16>", "has more bits than f16"),
        ("ge.constant dense<(0x7F800000, 0x7F800000)> : tensor<complex<f32>>", "complex"),
        (
            "%x = ge.constant dense<1.0> : tensor<4xf32>\n%y = ge.clip %x {min = 0x1FF800000} : (tensor<4xf32>) -> tensor<4xf32>",
            "bits",
        ),
    ],
)
def test_digits_that_are_no_bits_are_refused(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse(make_context(), Chunk("model.mlir", text))


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt (Debian mlir-22-tools) is not installed")
@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_mlir_opt_reads_the_same_bits(name: str) -> None:
    assert MLIR_OPT is not None
    arrays = [array_of(number, DTYPES[name], shape) for number in NUMBERS.values() for shape in SHAPES]
    text = to_text(ModuleOp([ConstantOp(constant_attr(array, "c")) for array in arrays]), generic=True)
    command = [MLIR_OPT, "--allow-unregistered-dialect", "--mlir-print-op-generic"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    back = parse(make_context(), Chunk("model.mlir", done.stdout))
    values = [materialize(op.value).tobytes() for op in back.walk() if isinstance(op, ConstantOp)]
    assert values == [array.tobytes() for array in arrays]
