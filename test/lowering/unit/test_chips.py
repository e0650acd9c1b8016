"""Programs for every chip: no instruction that its family lacks, and right numbers where one was put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness.instruction_types import lacking
from models.light import random_inputs, reference_outputs
from models.small import SMALL
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.isa.model import CoreKind
from graph_engine.target_ascend.om.program import AicpuCall, Program
from graph_engine.target_ascend.runtime.device import run
from graph_engine.target_ascend.soc.soc import available_socs, load_soc

OTHERS = [name for name in available_socs() if name != "Ascend310P3"]
MANY = ("Ascend310", "Ascend310B1", "Ascend910B3")
"""Chips that run every small network: one of each way out of L0C."""


def compiled(module: ModuleOp, soc: str, **options: str) -> Program:
    compile_module(module, soc, pipeline=options)
    return emit_program(module, "program")


def on_the_host(program: Program) -> list[str]:
    return [t.op for point in program.entry_points for s in point.streams for t in s.tasks if isinstance(t, AicpuCall)]


FEW = ("gemm_head", "residual")
"""Networks for the others: one matrix product and one convolution with something behind it."""


@pytest.mark.parametrize(
    ("soc", "name"), [(soc, name) for soc in OTHERS for name in (sorted(SMALL) if soc in MANY else FEW)]
)
def test_small_networks(soc: str, name: str):
    """Every small network agrees with onnxruntime, silently in checking mode, with nothing left to the AI CPU."""
    model = SMALL[name]()
    inputs = random_inputs(model)
    program = compiled(import_onnx(model), soc)
    assert not lacking(program, load_soc(soc))
    result = run(program, list(inputs.values()), mode="functional", check=True)
    assert not result.findings
    right = reference_outputs(model, inputs)
    for value, exact in zip(result.outputs, right.values(), strict=True):
        assert np.abs(value - exact).max() <= 2e-3 * np.ptp(exact)
    assert not on_the_host(program)


Array = np.ndarray[Any, Any]
LINE = np.concatenate([np.linspace(-9, 9, 4063), [0.0, 60.0, -60.0, 1e-3, -1e-3, 11.0, -11.0, 80.0, -80.0]])
POSITIVE = np.geomspace(1e-30, 1e30, 4072)
FUNCTIONS: dict[str, tuple[Callable[[Array], Array], Array, float]] = {
    # operator: meaning in fp64, inputs, relative error in fp32 beside the last bits (absolute below 1)
    "exp": (np.exp, np.concatenate([LINE, [-103.0, -200.0]])[2:], 1.2e-4),
    "log": (np.log, POSITIVE, 4e-5),
    "sqrt": (np.sqrt, np.concatenate([POSITIVE[:-1], [0.0]]), 3e-7),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), LINE, 1e-4),
    "tanh": (np.tanh, LINE, 1e-4),
    "relu": (lambda x: np.maximum(x, 0), LINE, 0),
    "leaky_relu": (lambda x: np.where(x > 0, x, 0.01 * x), LINE, 1e-7),
    "abs": (np.abs, LINE, 0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("soc", ["Ascend310", "Ascend910A"])
def test_functions_in_fp32(soc: str, name: str):
    """Sequences in the place of fp32 instructions, beside numpy in fp64."""
    function, inputs, bound = FUNCTIONS[name]
    attributes = " {alpha = 0.01}" if name == "leaky_relu" else ""
    text = f"""
    func.func @main(%x: tensor<{inputs.size}xf32> {{ge.name = "x"}}) -> (tensor<{inputs.size}xf32> {{ge.name = "y"}}) {{
      %0 = ge.{name} %x{attributes} : (tensor<{inputs.size}xf32>) -> tensor<{inputs.size}xf32>
      return %0 : tensor<{inputs.size}xf32>
    }}"""
    module = Parser(make_context(), text).parse_module()
    program = compiled(module, soc, precision_mode="must_keep_origin_dtype")
    assert not lacking(program, load_soc(soc))
    assert not on_the_host(program)
    x = inputs.astype(np.float32)
    result = run(program, [x], mode="functional", check=True)
    assert not result.findings
    exact = function(x.astype(np.float64))
    error = np.abs(result.outputs[0] - exact) / np.maximum(
        np.abs(exact), 1 if name in ("log", "sigmoid", "tanh") else 1e-40
    )
    assert error[exact > 1e-37].max() <= bound + 2e-7


def test_the_largest_of_a_row_of_wide_numbers():
    """Ascend310 finds maxima of rows in fp16 alone: those of widened fp16 numbers are exact."""
    text = """
    func.func @main(%x: tensor<5x48xf16> {ge.name = "x"}) -> (tensor<5x1xf16> {ge.name = "y"}) {
      %0 = ge.reduce_max %x {axes = [1], keepdims = true} : (tensor<5x48xf16>) -> tensor<5x1xf16>
      return %0 : tensor<5x1xf16>
    }"""
    program = compiled(Parser(make_context(), text).parse_module(), "Ascend310")
    assert not lacking(program, load_soc("Ascend310"))
    x = np.random.default_rng(0).normal(size=(5, 48)).astype(np.float16)
    result = run(program, [x], mode="functional", check=True)
    assert not result.findings
    np.testing.assert_array_equal(result.outputs[0], x.max(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("soc", "activation", "whole"),
    [
        ("Ascend950PR_9599", "clip {min = 0.0, max = 2.0}", True),
        ("Ascend310B1", "clip {min = 0.0, max = 2.0}", True),
        ("Ascend910B3", "clip {min = 0.0, max = 2.0}", False),
        ("Ascend910B3", "leaky_relu {alpha = 0.25}", True),
        ("Ascend950PR_9599", "clip {min = -1.0, max = 2.0}", False),
    ],
)
@pytest.mark.parametrize("product", ["conv2d", "matmul"])
def test_activations_that_fixpipe_does(soc: str, activation: str, whole: bool, product: str):
    """On the way out of L0C where the chip has them, else by the Vector cores of a team: the same numbers."""
    name, _, attributes = activation.partition(" ")
    shapes = ("1x20x6x5", "24x20x1x1", "1x24x6x5") if product == "conv2d" else ("40x20", "20x24", "40x24")
    x, w, y = (f"tensor<{shape}xf32>" for shape in shapes)
    text = f"""
    func.func @main(%x: {x} {{ge.name = "x"}}, %w: {w} {{ge.name = "w"}}) -> ({y} {{ge.name = "y"}}) {{
      %0 = ge.{product} %x, %w : ({x}, {w}) -> {y}
      %1 = ge.{name} %0 {attributes} : ({y}) -> {y}
      return %1 : {y}
    }}"""
    program = compiled(Parser(make_context(), text).parse_module(), soc)
    assert not lacking(program, load_soc(soc))
    (kernel,) = (kernel for called, kernel in program.kernels.items() if called.startswith(f"{product}_{name}"))
    assert (kernel.core_kind is CoreKind.MIXED) is not whole
    assert not on_the_host(program)
    random = np.random.default_rng(6)
    inputs = [random.standard_normal(tuple(map(int, shape.split("x")))).astype(np.float32) for shape in shapes[:2]]
    result = run(program, inputs, mode="functional", check=True)
    assert not result.findings
    a, b = (value.astype(np.float64).reshape(value.shape[:2] + (-1,)).squeeze() for value in inputs)
    exact = (b @ a).reshape(1, 24, 6, 5) if product == "conv2d" else a @ b
    low = float(attributes.partition("min = ")[2].partition(",")[0] or 0)
    exact = np.where(exact < 0, 0.25 * exact, exact) if name == "leaky_relu" else np.clip(exact, low, 2.0)
    assert np.abs(result.outputs[0] - exact).max() <= 4e-3 * np.ptp(exact)


@pytest.mark.parametrize("soc", ["Ascend310B1", "Ascend910A"])
def test_attention_is_one_kernel_where_cube_and_vector_share_a_core(soc: str):
    """Whichever way scores leave L0C, FixPipe's or the Vector's, with and without a mask and a ragged last tile."""
    shapes = {"q": (1, 2, 40, 32), "k": (1, 2, 300, 32), "v": (1, 2, 300, 48), "m": (1, 1, 40, 300)}
    ports = ", ".join(f'%{n}: tensor<{"x".join(map(str, s))}xf16> {{ge.name = "{n}"}}' for n, s in shapes.items())
    text = f"""
    func.func @main({ports}) -> (tensor<1x2x40x48xf16> {{ge.name = "y"}}) {{
      %0 = ge.matmul %q, %k {{transpose_b = true}} : (tensor<1x2x40x32xf16>, tensor<1x2x300x32xf16>) -> tensor<1x2x40x300xf16>
      %1 = ge.add %0, %m : (tensor<1x2x40x300xf16>, tensor<1x1x40x300xf16>) -> tensor<1x2x40x300xf16>
      %2 = ge.softmax %1 : (tensor<1x2x40x300xf16>) -> tensor<1x2x40x300xf16>
      %3 = ge.matmul %2, %v : (tensor<1x2x40x300xf16>, tensor<1x2x300x48xf16>) -> tensor<1x2x40x48xf16>
      return %3 : tensor<1x2x40x48xf16>
    }}"""
    program = compiled(Parser(make_context(), text).parse_module(), soc)
    assert not lacking(program, load_soc(soc))
    assert [name for name in program.kernels if name.startswith("attention")]
    assert not [name for name in program.kernels if name.startswith("softmax")]
    random = np.random.default_rng(5)
    inputs = [random.standard_normal(shape).astype(np.float16) for shape in shapes.values()]
    result = run(program, inputs, mode="functional", check=True)
    assert not result.findings
    q, k, v, mask = (x.astype(np.float64) for x in inputs)
    scores = q @ k.swapaxes(-1, -2) + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    exact = (weights / weights.sum(-1, keepdims=True)) @ v
    assert np.abs(result.outputs[0] - exact).max() <= 4e-3 * np.ptp(exact)
