"""Matrix products in the format that each family's library prefers."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from graph_engine.dialects.ascend.task import DeviceTaskOp
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run

MLP = """
func.func @main(%x: tensor<20x70xf32>, %w: tensor<70x33xf32>, %v: tensor<33x50xf32>) -> tensor<20x50xf32> {
  %0 = ge.matmul %x, %w : (tensor<20x70xf32>, tensor<70x33xf32>) -> tensor<20x33xf32>
  %1 = ge.relu %0 : (tensor<20x33xf32>) -> tensor<20x33xf32>
  %2 = ge.matmul %1, %v : (tensor<20x33xf32>, tensor<33x50xf32>) -> tensor<20x50xf32>
  return %2 : tensor<20x50xf32>
}
"""
HEADS = """
func.func @main(%x: tensor<1x{s}x96xf16>) -> tensor<1x{s}x96xf16> {{
  %0 = ge.split_heads %x {{heads = 3}} : (tensor<1x{s}x96xf16>) -> tensor<1x3x{s}x32xf16>
  %1 = ge.matmul %0, %0 {{transpose_b = true}} : (tensor<1x3x{s}x32xf16>, tensor<1x3x{s}x32xf16>) -> tensor<1x3x{s}x{s}xf16>
  %2 = ge.softmax %1 {{axis = -1}} : (tensor<1x3x{s}x{s}xf16>) -> tensor<1x3x{s}x{s}xf16>
  %3 = ge.matmul %2, %0 : (tensor<1x3x{s}x{s}xf16>, tensor<1x3x{s}x32xf16>) -> tensor<1x3x{s}x32xf16>
  %4 = ge.merge_heads %3 : (tensor<1x3x{s}x32xf16>) -> tensor<1x{s}x96xf16>
  return %4 : tensor<1x{s}x96xf16>
}}
"""


def compiled(text: str, soc: str) -> ModuleOp:
    module = Parser(make_context(), text).parse_module()
    compile_module(module, soc)
    return module


def tasks(module: ModuleOp) -> list[str]:
    ops: list[Any] = [op for op in module.walk() if isinstance(op, DeviceTaskOp)]
    return [cast(str, op.info.data["type"].data) for op in ops]


def result(module: ModuleOp, inputs: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    program = emit_program(module)
    streams = [stream for point in program.entry_points for stream in point.streams]
    assert not [task for stream in streams for task in stream.tasks if isinstance(task, AicpuCall)]
    done = run(program, inputs, mode="functional", check=True)
    assert not done.findings
    return done.outputs[0]


@pytest.mark.parametrize(
    ("soc", "conversions"),
    [("Ascend310P3", 4), ("Ascend910A", 4), ("Ascend310B1", 4), ("Ascend910B3", 0), ("Ascend950PR_9599", 0)],
)
def test_products_of_plain_matrices(soc: str, conversions: int) -> None:
    """310P and 910A multiply FRACTAL_NZ: three inputs and the result are converted. 910B and 950 take them as they are."""
    module = compiled(MLP, soc)
    assert tasks(module).count("TransData") == conversions
    rng = np.random.default_rng(7)
    x, w, v = (rng.standard_normal(shape).astype(np.float32) for shape in ((20, 70), (70, 33), (33, 50)))
    exact = np.maximum(x.astype(float) @ w, 0) @ v
    assert abs(result(module, [x, w, v]) - exact).max() < 4e-3 * np.ptp(exact)


@pytest.mark.parametrize(
    ("rows", "conversions", "transpositions"),
    # Of 64 rows the heads are cut and joined in fractals: x in, the result out. Of 20 rows the scores' softmax has no
    # such form, and its conversions move more than the heads do in ND: one cut, one joint.
    [(64, 2, 0), (20, 0, 2)],
)
def test_heads_decide_where_products_do_not(rows: int, conversions: int, transpositions: int) -> None:
    module = compiled(HEADS.format(s=rows), "Ascend910B3")
    kinds = tasks(module)
    assert (kinds.count("TransData"), kinds.count("ConfusionTransposeD")) == (conversions, transpositions)
    x = np.random.default_rng(8).standard_normal((1, rows, 96)).astype(np.float16)
    heads = x.astype(float).reshape(rows, 3, 32).swapaxes(0, 1)
    scores = np.exp(heads @ heads.swapaxes(1, 2))
    exact = (scores / scores.sum(-1, keepdims=True) @ heads).swapaxes(0, 1).reshape(1, rows, 96)
    assert abs(result(module, [x]) - exact).max() < 1e-2 * np.ptp(exact)
