"""Precision modes on the modelled chip, beside onnxruntime in fp32: how near, and what runs where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from harness.agreement import Array, relative_error, tasks_of
from models.light import light_model, logits_name, random_inputs, reference_outputs, with_extra_outputs
from models.small import SMALL, GraphBuilder
from models.transformer import TOKENS, VOCABULARY, transformer

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run

NEAR_FP32 = 3e-6
"""Of the range: sums of a few thousand fp32 terms in another order."""


def errors(
    model: onnx.ModelProto, feeds: Mapping[str, Array], soc: str = "Ascend310P3", **pipeline: str
) -> tuple[dict[str, float], set[str]]:
    """Error of each output over its range, on the checked chip, and the operators that ran on the AI CPU."""
    module = import_onnx(model)
    compile_module(module, soc, pipeline=pipeline)
    program = emit_program(module)
    point = program.entry_points[0]
    result = run(program, [feeds[tensor.name] for tensor in point.inputs], mode="functional", check=True)
    assert not result.findings
    right = reference_outputs(model, feeds)
    names = [tensor.name for tensor in point.outputs]
    found = {n: relative_error(v, right[n]) for n, v in zip(names, result.outputs, strict=True)}
    return found, {task.op for task in tasks_of(program) if isinstance(task, AicpuCall)}


def encoder() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Two layers of a transformer, and what it reads; the mask is the usual 0 and -10000."""
    random = np.random.default_rng(3)
    mask = np.where(np.arange(TOKENS) < 11, 0, -10000).astype(np.float32).reshape(1, 1, 1, TOKENS)
    return transformer(140), {"x": random.integers(0, VOCABULARY, (1, TOKENS)), "mask": mask}


def light(name: str) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A light model that also returns its logits."""
    model = light_model(name)
    return with_extra_outputs(model, [logits_name(model)]), dict(random_inputs(model))


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "encoder"])
def test_the_models_own_types_are_near_fp32(name: str) -> None:
    model, feeds = encoder() if name == "encoder" else light(name)
    found, host = errors(model, feeds, precision_mode="must_keep_origin_dtype")
    assert max(found.values()) < NEAR_FP32
    assert host <= {
        "ge.conv2d",
        "ge.matmul",
        "layout.transdata",
        "ge.gather",
        "ge.reduce_mean",
        "ge.transpose",
        "ge.erf",
        "ge.pow",
    }


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend310B1"])
@pytest.mark.parametrize("name", ["squeezenet", "encoder"])
def test_fp32_stays_on_cubes_that_multiply_it(name: str, soc: str) -> None:
    model, feeds = encoder() if name == "encoder" else light(name)
    found, host = errors(model, feeds, soc, precision_mode="must_keep_origin_dtype")
    assert max(found.values()) < NEAR_FP32
    assert not host & {"ge.conv2d", "ge.matmul", "layout.transdata", "ge.transpose"}


def test_a_kept_convolution_among_those_of_fp16() -> None:
    """Blocks of 8 channels between blocks of 16: what fp16 warnings advise costs two conversions, no task on the AI CPU."""
    model, feeds = light("squeezenet")
    kept = [node.name or node.output[0] for node in model.graph.node if node.op_type == "Conv"][3]
    found, host = errors(model, feeds, "Ascend910B3", keep_dtype_nodes=kept)
    assert max(found.values()) < 0.01
    assert not host


@pytest.mark.parametrize("name", ["residual", "mlp", "lrn", "pools"])
def test_small_networks_in_their_own_types(name: str) -> None:
    model = SMALL[name]()
    found, _ = errors(model, random_inputs(model), precision_mode="origin")
    assert max(found.values()) < NEAR_FP32


def test_modes_from_coarse_to_fine() -> None:
    model = SMALL["lrn"]()
    half, mixed, cube, origin = (
        errors(model, random_inputs(model), precision_mode=mode)[0]["y"]
        for mode in ("force_fp16", "allow_mix_precision", "allow_fp32_to_fp16", "must_keep_origin_dtype")
    )
    assert half < 0.01 and mixed < 0.01
    assert cube < half
    assert origin < NEAR_FP32 < half


def overflowing() -> onnx.ModelProto:
    """exp(x) / sum(exp(x)) by hand, for x around 11: each term fits into fp16, their sum does not."""
    b = GraphBuilder()
    x = b.input("x", (4, 32))
    scaled = b.node("Mul", [x, b.constant("factor", np.float32(2.0))], "scaled")
    total = b.node("ReduceSum", [b.node("Exp", [scaled], "terms")], "total", keepdims=1)
    b.node("Div", ["terms", total], "y")
    return b.model("y")


@pytest.mark.parametrize(
    ("pipeline", "holds"),
    [
        ({}, False),
        ({"keep_dtype_nodes": "node_terms,node_total,node_y"}, True),
        ({"precision_mode": "allow_mix_precision"}, True),
        ({"precision_mode": "origin"}, True),
    ],
)
def test_kept_nodes_save_what_overflows(pipeline: dict[str, str], holds: bool) -> None:
    x = np.random.default_rng(2).uniform(4.0, 5.4, (4, 32)).astype(np.float32)
    found, _ = errors(overflowing(), {"x": x}, **pipeline)
    assert (found["y"] < 0.01) == holds


def test_a_kept_node_alone_keeps_the_rest_on_the_cube() -> None:
    model = SMALL["mlp"]()
    feeds: dict[str, Any] = random_inputs(model)
    first = next(node.name for node in model.graph.node if node.op_type in ("Gemm", "MatMul"))
    found, host = errors(model, feeds, keep_dtype_nodes=first)
    assert host == {"ge.matmul"}
    assert max(found.values()) < 0.01
    assert not errors(model, feeds)[1]
