"""Random networks: every pass keeps them valid and keeps their numbers."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from models.light import random_inputs
from models.random_networks import networks
from xdsl.dialects.func import FuncOp

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import Phase, default_pipeline
from graph_engine.pipelines.registry import instantiate
from graph_engine.pipelines.runner import RunOptions, Step, run_steps


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(networks())
def test_passes_keep_the_numbers(model) -> None:
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
