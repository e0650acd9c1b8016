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


@pytest.mark.parametrize("rows", [64, 20])
def test_heads_are_read_and_written_where_they_lie(rows: int) -> None:
    """Attention of a team: one task, whether rows fill whole blocks or not; no conversion, nobody cuts or joins heads."""
    module = compiled(HEADS.format(s=rows), "Ascend910B3")
    assert tasks(module) == ["FlashAttentionScore"]
    x = np.random.default_rng(8).standard_normal((1, rows, 96)).astype(np.float16)
    heads = x.astype(float).reshape(rows, 3, 32).swapaxes(0, 1)
    scores = np.exp(heads @ heads.swapaxes(1, 2))
    exact = (scores / scores.sum(-1, keepdims=True) @ heads).swapaxes(0, 1).reshape(1, rows, 96)
    assert abs(result(module, [x]) - exact).max() < 1e-2 * np.ptp(exact)


def test_heads_decide_where_products_do_not() -> None:
    """A sigmoid between the cut and the product: in ND the cut is a transposition of as many bytes as two conversions of
    FRACTAL_NZ move; joined again behind it, FRACTAL_NZ wins."""
    sigmoid = "%s = ge.sigmoid %0 : (tensor<1x3x64x32xf16>) -> tensor<1x3x64x32xf16>"
    merge = "%m = ge.merge_heads %s : (tensor<1x3x64x32xf16>) -> tensor<1x64x96xf16>"
    split = "%0 = ge.split_heads %x {heads = 3} : (tensor<1x64x96xf16>) -> tensor<1x3x64x32xf16>"
    signature = "func.func @main(%x: tensor<1x64x96xf16>) -> tensor<1x64x96xf16>"
    text = f"{signature} {{\n{split}\n{sigmoid}\n{merge}\nreturn %m : tensor<1x64x96xf16>\n}}"
    module = compiled(text, "Ascend910B3")
    assert tasks(module).count("ConfusionTransposeD") == 0
    x = np.random.default_rng(9).standard_normal((1, 64, 96)).astype(np.float16)
    assert abs(result(module, [x]) - 1 / (1 + np.exp(-x.astype(float)))).max() < 1e-3


def test_parts_of_heads_and_heads_of_other_readers() -> None:
    """Queries, keys and values cut from one product are read where they lie; what a softmax reads as well is cut for it."""
    t, h = "tensor<1x20x96xf16>", "tensor<1x3x20x32xf16>"
    part = "ge.slice %0 {{starts = [{0}], ends = [{1}], axes = [1], steps = [1]}} : (tensor<1x9x20x32xf16>) -> {h}"
    text = f"""func.func @main(%x: tensor<1x20x288xf16>) -> ({t}, {h}) {{
      %0 = ge.split_heads %x {{heads = 9}} : (tensor<1x20x288xf16>) -> tensor<1x9x20x32xf16>
      %q = {part.format(0, 3, h=h)}
      %k = {part.format(3, 6, h=h)}
      %v = {part.format(6, 9, h=h)}
      %1 = ge.matmul %q, %k {{transpose_b = true}} : ({h}, {h}) -> tensor<1x3x20x20xf16>
      %2 = ge.matmul %1, %v : (tensor<1x3x20x20xf16>, {h}) -> {h}
      %3 = ge.merge_heads %2 : ({h}) -> {t}
      %4 = ge.softmax %v {{axis = -1}} : ({h}) -> {h}
      return %3, %4 : {t}, {h}
    }}"""
    module = compiled(text, "Ascend910B3")
    assert not {"TransData"} & set(tasks(module))
    x = np.random.default_rng(10).standard_normal((1, 20, 288)).astype(np.float16)
    program = emit_program(module)
    done = run(program, [x], mode="functional", check=True)
    assert not done.findings
    q, k, v = x.astype(float).reshape(20, 3, 3, 32).transpose(1, 2, 0, 3)
    exact = (q @ k.swapaxes(1, 2) @ v).swapaxes(0, 1).reshape(1, 20, 96)
    assert abs(done.outputs[0] - exact).max() < 1e-2 * np.ptp(exact)
    chosen = np.exp(v) / np.exp(v).sum(-1, keepdims=True)
    assert abs(done.outputs[1] - chosen).max() < 1e-2


def test_a_late_bias_is_added_behind_a_product_of_heads() -> None:
    """A bias that is no constant does not keep the product off the Cube, nor makes the cut into heads a task."""
    h = "tensor<1x3x20x32xf16>"
    text = f"""func.func @main(%x: tensor<1x20x96xf16>, %b: tensor<20xf16>) -> tensor<1x3x20x20xf16> {{
      %0 = ge.split_heads %x {{heads = 3}} : (tensor<1x20x96xf16>) -> {h}
      %1 = ge.matmul %0, %0, %b {{transpose_b = true}} : ({h}, {h}, tensor<20xf16>) -> tensor<1x3x20x20xf16>
      return %1 : tensor<1x3x20x20xf16>
    }}"""
    module = compiled(text, "Ascend910B3")
    assert tasks(module) == ["MatMulV2", "Add"]
    rng = np.random.default_rng(11)
    x, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((1, 20, 96), (20,)))
    done = run(emit_program(module), [x, b], mode="functional", check=True)
    heads = x.astype(float).reshape(20, 3, 32).swapaxes(0, 1)
    assert abs(done.outputs[0] - (heads @ heads.swapaxes(1, 2) + b)).max() < 5e-2
