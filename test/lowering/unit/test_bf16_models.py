"""Whole models in bf16 on the chips that have it, in checking mode, beside onnxruntime in fp32 on the same weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from harness.bf16_models import BF16, in_bf16, rounded, rounded_weights
from harness.judge import onnxruntime_outputs
from harness.on_the_chip import chip_outputs
from models import encoder_layers, small
from models.architectures import feeds_of

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.runtime.device import run

MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "residual": small.residual,
    "inception": small.inception,
    "depthwise": small.depthwise,
    "gemm_head": small.gemm_head,
    "written_out_norms": small.written_out_norms,
    "bert": encoder_layers.bert,
    "gpt2": encoder_layers.gpt2,
    "llama": encoder_layers.llama,
    "qwen3": encoder_layers.qwen3,
    "swin": encoder_layers.swin,
    "whisper": encoder_layers.whisper,
}
SHARE = 2 * 2.0**-8
"""Of the range of a result: the last rounding to 8 digits is half of that; the earlier ones, one a kernel, do not add up."""


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend310B1", "Ascend950PR_9599"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_in_bf16_agrees_with_onnxruntime_in_fp32(name: str, soc: str) -> None:
    model = MODELS[name]()
    feeds = {k: rounded(v) if v.dtype == np.float32 else v for k, v in feeds_of(model).items()}
    wanted = onnxruntime_outputs(rounded_weights(model), feeds)
    narrow = {k: v.astype(BF16) if v.dtype == np.float32 else v for k, v in feeds.items()}
    found, _ = chip_outputs(in_bf16(model), narrow, soc, precision_mode="must_keep_origin_dtype")
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == BF16
        error = np.abs(got.astype(np.float64) - want).max() / np.ptp(want)
        assert error <= SHARE, error


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend310B1"])
def test_typed_memories_and_bytes_alone_give_the_same_bits(soc: str) -> None:
    model = in_bf16(encoder_layers.llama())
    inputs = [v.astype(BF16) if v.dtype == np.float32 else v for v in feeds_of(encoder_layers.llama()).values()]
    module = import_onnx(model)
    compile_module(module, soc, pipeline={"precision_mode": "must_keep_origin_dtype"})
    program = emit_program(module)
    (typed,), (bare,) = (
        run(program, inputs, mode="functional", real_bytes=real_bytes).outputs for real_bytes in (False, True)
    )
    np.testing.assert_array_equal(typed.view(np.uint16), bare.view(np.uint16))
