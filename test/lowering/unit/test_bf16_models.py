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
}
SHARE = 2 * 2.0**-8
"""Of the range of a result: the last rounding to 8 digits is half of that; the earlier ones, one a kernel, do not add up."""


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend310B1"])
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
