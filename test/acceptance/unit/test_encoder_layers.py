"""A layer of each transformer family on the checked chip beside onnxruntime in fp32, and the tasks that it takes.

Counted by hand from the layer's formulas: one product for queries, keys and values, attention, a product with the
residual, two norms, two products around an activation, which leaves with the first of them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from harness.agreement import OF_RANGE, compile_program, relative_error
from models.encoder_layers import LAYERS, bert, odd_heads, one_head, swin, swin_map
from models.light import reference_outputs

from graph_engine.target_ascend.runtime.device import run

ENCODER = {"MatMulV2": 4, "FlashAttentionScore": 1, "LayerNorm": 2}
TASKS: dict[str, dict[str, int]] = {
    "bert": ENCODER,
    "bert_sdpa": ENCODER,
    "gpt2": ENCODER,
    "llama": {"MatMulV2": 4, "FlashAttentionScore": 1, "RmsNorm": 2, "RotaryMul": 1},
    "qwen3": {"MatMulV2": 4, "FlashAttentionScore": 1, "RmsNorm": 2, "RotaryMul": 1},
    "vit": ENCODER,
    "whisper": ENCODER,
    "t5": {"MatMulV2": 4, "FlashAttentionScore": 1, "RmsNorm": 2},
    "swin": ENCODER,
    "swin_map": ENCODER,
}
AROUND = {"TransData", "Cast", "Select", "Elementwise"}
"""At the borders of the graph, or once for the mask that all layers share."""


def feeds_of(model: onnx.ModelProto) -> dict[str, np.ndarray[Any, Any]]:
    """Numbers around 0; a mask of tokens that hides the last quarter."""
    random = np.random.default_rng(1)
    feeds: dict[str, np.ndarray[Any, Any]] = {}
    for value in model.graph.input:
        shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        there = np.broadcast_to(np.arange(shape[-1]), shape) < shape[-1] * 3 // 4
        feeds[value.name] = (
            there.astype(np.int64) if value.name == "mask" else random.standard_normal(shape, np.float32)
        )
    return feeds


def run_layer(model: onnx.ModelProto) -> Counter[str]:
    """Compiles and runs a layer, which must agree and be checked clean; the tasks by type."""
    feeds = feeds_of(model)
    program = compile_program(model)
    inputs = [feeds[tensor.name] for tensor in program.entry_points[0].inputs]
    result = run(program, inputs, mode="both", check=True)
    assert not result.findings
    assert relative_error(result.outputs[0], reference_outputs(model, feeds)["y"]) <= OF_RANGE
    assert result.profile is not None
    return Counter(task.type for task in result.profile.tasks)


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str) -> None:
    """One percent of the range at most, nothing found by the checker, the tasks counted by hand, eight at most."""
    counted = run_layer(LAYERS[name]())
    assert {kind: count for kind, count in counted.items() if kind not in AROUND} == TASKS[name]


@pytest.mark.parametrize(("rows", "batch"), [(16, 2), (48, 3), (17, 2)])
def test_several_sequences(rows: int, batch: int) -> None:
    """One product for queries, keys and values of all sequences: their heads are read where they lie."""
    counted = run_layer(bert(rows, batch))
    if rows % 16 == 0:
        assert {kind: count for kind, count in counted.items() if kind not in AROUND} == ENCODER


@pytest.mark.parametrize("width", [36, 60, 10])
def test_heads_that_are_no_whole_blocks(width: int) -> None:
    """One kernel as well: what is behind a head's columns is zeros, however the head was made."""
    for model in (odd_heads(width), odd_heads(width, rows=32), one_head(width), one_head(width, rows=32)):
        counted = run_layer(model)
        assert counted["FlashAttentionScore"] == 1 and "SoftmaxV2" not in counted


def test_windows_of_columns_cut_in_thirds() -> None:
    """Heads of a third of the columns are heads of all of them: as few tasks as where they are cut at once."""
    counted = run_layer(swin_map(chunked=True))
    assert {kind: count for kind, count in counted.items() if kind not in AROUND} == ENCODER


@pytest.mark.parametrize("side", [5, 7])
def test_windows_that_are_no_whole_blocks(side: int) -> None:
    """Windows of 25 and 49 rows: their heads are read where they lie, and padding rows reach nothing."""
    assert "SliceD" not in run_layer(swin(side))
