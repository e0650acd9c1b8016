"""Random graphs of convolutions, scales, activations and joins: every pass keeps them valid and keeps their numbers."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.light import random_inputs
from models.small import GraphBuilder
from xdsl.dialects.func import FuncOp

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import Phase, default_pipeline
from graph_engine.pipelines.registry import instantiate
from graph_engine.pipelines.runner import RunOptions, Step, run_steps

KINDS = ("conv", "depthwise", "bn", "scale", "shift", "relu", "sigmoid", "add", "mul", "concat", "pool", "transpose")


@st.composite
def networks(draw):
    """Feature maps of one size; each step picks its operands anywhere earlier, so values get several users."""
    b = GraphBuilder(draw(st.integers(0, 9)))
    values = [(b.input("x", (2, 8, 4, 4)), 8)]
    for _ in range(draw(st.integers(2, 10))):
        kind = draw(st.sampled_from(KINDS))
        name, channels = values[draw(st.integers(max(0, len(values) - 3), len(values) - 1))]
        alike = [value for value, count in values if count == channels]
        other = alike[draw(st.integers(0, len(alike) - 1))]
        match kind:
            case "conv":
                outputs = draw(st.sampled_from((8, 16)))
                values.append((b.conv(name, channels, outputs, draw(st.sampled_from((1, 3)))), outputs))
            case "depthwise":
                values.append((b.conv(name, channels, channels, group=channels), channels))
            case "bn":
                values.append((b.batch_norm(name, channels), channels))
            case "scale" | "shift":
                shape = draw(st.sampled_from(((channels, 1, 1), (1, channels, 1, 1), (1,), (4,))))
                op = {"scale": "Mul", "shift": "Add"}[kind]
                values.append((b.node(op, [name, b.weight(shape, -0.5, 0.5)]), channels))
            case "relu" | "sigmoid":
                values.append((b.node(kind.capitalize(), [name]), channels))
            case "add" | "mul":
                values.append((b.node(kind.capitalize(), [other, name]), channels))
            case "concat":
                if channels <= 16:
                    values.append((b.node("Concat", [name, other], axis=1), 2 * channels))
            case "pool":
                pool = b.node("MaxPool", [name], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
                values.append((pool, channels))
            case _:
                values.append((b.node("Transpose", [name], perm=[0, 1, 3, 2]), channels))
    outputs = {values[-1][0], values[draw(st.integers(1, len(values) - 1))][0]} if len(values) > 1 else set()
    return b.model(*sorted(outputs)) if outputs else None


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(networks())
def test_passes_keep_the_numbers(model) -> None:
    if model is None:
        return
    feeds = list(random_inputs(model, 1).values())
    module = import_onnx(model)
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    before = evaluate_block(function.body.block, feeds)
    steps = default_pipeline({}, until=Phase.FUSED)
    context = make_context()
    run_steps(context, module, [Step(instantiate(spec)) for _, spec in steps], RunOptions(verify_each=True))
    for old, new in zip(before, evaluate_block(function.body.block, feeds), strict=True):
        assert np.abs(old - new).max() <= 2e-5 * max(np.ptp(old), 1e-3)
    steps = default_pipeline({}, after=Phase.FUSED, until=Phase.PRECISION)
    run_steps(context, module, [Step(instantiate(spec)) for _, spec in steps], RunOptions(verify_each=True))
    rounded = evaluate_block(function.body.block, feeds)
    steps = default_pipeline({}, after=Phase.PRECISION, until=Phase.LAID_OUT)
    run_steps(context, module, [Step(instantiate(spec)) for _, spec in steps], RunOptions(verify_each=True))
    for old, new in zip(rounded, evaluate_block(function.body.block, feeds), strict=True):
        np.testing.assert_array_equal(old, new)
