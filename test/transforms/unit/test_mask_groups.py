"""Comparisons and choices between Cube operators: one kernel, in the Cube's format."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from graph_engine.dialects.ascend.task import DeviceTaskOp
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.runtime.device import run

# %a becomes %b = x where -1 < x < 1, else x cut to that: what ge.clip says in one word.
CHOICE = """
  %low = ge.constant dense<-1.0> : tensor<1xf32>
  %high = ge.constant dense<1.0> : tensor<1xf32>
  %above = ge.compare %a, %low {{predicate = "gt"}} : ({t}f32>, tensor<1xf32>) -> {t}i1>
  %below = ge.compare %a, %high {{predicate = "lt"}} : ({t}f32>, tensor<1xf32>) -> {t}i1>
  %inside = ge.and %above, %below : ({t}i1>, {t}i1>) -> {t}i1>
  %cut0 = ge.maximum %a, %low : ({t}f32>, tensor<1xf32>) -> {t}f32>
  %cut = ge.minimum %cut0, %high : ({t}f32>, tensor<1xf32>) -> {t}f32>
  %b = ge.select %inside, %a, %cut : ({t}i1>, {t}f32>, {t}f32>) -> {t}f32>
"""
CUBE = {
    "conv": ("1x{c}x9x9", "tensor<{c}x{c}x1x1xf32>", "ge.conv2d"),
    "matmul": ("1x24x{c}", "tensor<{c}x{c}xf32>", "ge.matmul"),
}


def module_of(kind: str, channels: int) -> ModuleOp:
    """x -> Cube operator -> choice -> Cube operator."""
    shape, weight, op = (part.format(c=channels) for part in CUBE[kind])
    t = f"tensor<{shape}x"
    text = f"""func.func @main(%x: {t}f32>, %w: {weight}) -> {t}f32> {{
  %a = {op} %x, %w : ({t}f32>, {weight}) -> {t}f32>
{CHOICE.format(t=t)}
  %y = {op} %b, %w : ({t}f32>, {weight}) -> {t}f32>
  return %y : {t}f32>
}}"""
    return Parser(make_context(), text).parse_module()


def kinds(module: ModuleOp) -> list[str]:
    ops: list[Any] = [op for op in module.walk() if isinstance(op, DeviceTaskOp)]
    return [op.info.data["type"].data for op in ops]


@pytest.mark.parametrize("channels", [16, 24], ids=["whole", "torn"])
@pytest.mark.parametrize("kind", CUBE)
def test_between_cube_operators(kind: str, channels: int) -> None:
    """Three conversions (x, w, y), two products, one group: nothing is converted around the choice. Padding of torn blocks
    stays zero, since both sides of the choice have zeros there: the second product sums over it."""
    module = module_of(kind, channels)
    compile_module(module)
    found = kinds(module)
    assert found.count("TransData") == 3 and found.count("Elementwise") == 1 and len(found) == 6
    rng = np.random.default_rng(3)
    program = emit_program(module)
    shapes = [tuple(tensor.shape) for tensor in program.entry_points[0].inputs]
    x = rng.uniform(-2, 2, shapes[0]).astype(np.float32)
    w = (rng.standard_normal(shapes[1]) / np.sqrt(channels)).astype(np.float32)
    wide = w.astype(float).reshape(channels, channels)

    def product(value: Any) -> Any:
        return np.einsum("oc,nchw->nohw", wide, value) if kind == "conv" else value @ wide

    exact = product(np.clip(product(x.astype(float)), -1, 1))
    done = run(program, [x, w], mode="functional", check=True)
    assert not done.findings
    assert abs(done.outputs[0] - exact).max() < 4e-3 * np.ptp(exact)


GROUPS = {
    # name: (operators, results, operators a kernel in order)
    "a comparison takes the arithmetic in front of it along": (
        """%0 = ge.add %x, %y : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
        %1 = ge.compare %0, %y {predicate = "ge"} : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xi1>""",
        "%1 : tensor<64xi1>",
        ["Elementwise"],
    ),
    "a mask with two readers is computed once": (
        """%0 = ge.compare %x, %y {predicate = "ge"} : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xi1>
        %1 = ge.select %0, %x, %y : (tensor<64xi1>, tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
        %2 = ge.select %0, %y, %x : (tensor<64xi1>, tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>""",
        "%1, %2 : tensor<64xf16>, tensor<64xf16>",
        ["Compare", "Elementwise"],
    ),
    "masks join": (
        """%0 = ge.compare %x, %y {predicate = "ge"} : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xi1>
        %1 = ge.compare %x, %x {predicate = "eq"} : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xi1>
        %2 = ge.xor %0, %1 : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>""",
        "%2 : tensor<64xi1>",
        ["Elementwise"],
    ),
    "integers are compared alone": (
        """%i = ge.cast %x : (tensor<64xf16>) -> tensor<64xi32>
        %0 = ge.compare %i, %i {predicate = "ge"} : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
        %1 = ge.select %0, %x, %y : (tensor<64xi1>, tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>""",
        "%1 : tensor<64xf16>",
        ["Cast", "Compare", "Select"],
    ),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name: str) -> None:
    operators, results, expected = GROUPS[name]
    types = results.partition(" : ")[2]
    text = f"func.func @main(%x: tensor<64xf16>, %y: tensor<64xf16>) -> ({types}) {{\n{operators}\nreturn {results}\n}}"
    module = Parser(make_context(), text).parse_module()
    compile_module(module)
    assert kinds(module) == expected
    rng = np.random.default_rng(4)
    x, y = (rng.uniform(-2, 2, 64).astype(np.float16) for _ in range(2))
    done = run(emit_program(module), [x, y], mode="functional", check=True)
    assert not done.findings
    exact = {
        "a comparison takes the arithmetic in front of it along": [(x + y) >= y],
        "a mask with two readers is computed once": [np.where(x >= y, x, y), np.where(x >= y, y, x)],
        "masks join": [(x >= y) ^ (x == x)],
        "integers are compared alone": [x],
    }[name]
    for got, want in zip(done.outputs, exact, strict=True):
        np.testing.assert_array_equal(got, want)
