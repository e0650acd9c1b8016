"""The law of all graph passes: the numpy reference gives the same numbers before and after.

As closely as each pass declares: exactly where only structure changes, to 1e-5 of the range where constants fold in
fp32, within 1 % once fp16 rounds. The judge of the whole chain is onnxruntime in fp32.
"""

import numpy as np
import pytest
from models.light import graph_inputs, light_model, random_inputs, reference_outputs
from models.small import SMALL
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import Phase, default_pipeline
from graph_engine.pipelines.numerics import has_16_bits
from graph_engine.pipelines.registry import instantiate
from graph_engine.pipelines.runner import RunOptions, Step, run_steps
from graph_engine.pipelines.spec import PassSpec
from graph_engine.pipelines.validation import declared

TIDYING = ("fold-constants", "ge-canonicalize", "share-constants", "eliminate-common-subexpressions")
"""Passes that may find more to do behind later ones."""

STEPS = [spec for _, spec in default_pipeline({}, until=Phase.LAID_OUT)]


def outputs(module: ModuleOp, feeds: list[np.ndarray]) -> list[np.ndarray]:
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    return evaluate_block(function.body.block, feeds)


def apply(module: ModuleOp, spec: PassSpec) -> int:
    """Runs one pass with verification, dominance included; returns the number of rewrites."""
    return run_steps(make_context(), module, [Step(instantiate(spec))], RunOptions(verify_each=True)).rewrites


def check_all_passes(model, seed: int) -> None:
    feeds = random_inputs(model, seed)
    arrays = [feeds[value.name] for value in graph_inputs(model)]
    module = import_onnx(model)
    before = outputs(module, arrays)
    expected = reference_outputs(model, feeds)
    for spec in STEPS:
        apply(module, spec)
        after = outputs(module, arrays)
        share = declared(instantiate(spec)).bound(has_16_bits(module))
        for old, new, judge in zip(before, after, expected.values(), strict=True):
            assert new.dtype == old.dtype and new.shape == old.shape
            assert np.abs(new.astype(np.float64) - old).max(initial=0) <= share * np.ptp(old), spec.name
            assert np.abs(new - judge).max(initial=0) <= 1e-2 * np.ptp(judge), spec.name
        before = after
    for spec in STEPS:
        if spec.name not in TIDYING:
            assert apply(module, spec) == 0, f"{spec.name} is not idempotent"


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", SMALL)
def test_small_graph(name: str, batch: int) -> None:
    check_all_passes(SMALL[name](seed=5, batch=batch), seed=6)


def test_squeezenet() -> None:
    check_all_passes(light_model("squeezenet", seed=7), seed=8)


@pytest.mark.parametrize("limit", [0, 1, 6, 11, 16, 21, 26, 29])
def test_graph_is_valid_after_any_number_of_rewrites(limit: int) -> None:
    """Bisection stops anywhere: the graph still verifies and means the same."""
    model = SMALL["residual"](seed=9)
    feeds = list(random_inputs(model, 10).values())
    module = import_onnx(model)
    before = outputs(module, feeds)
    report = run_steps(
        make_context(),
        module,
        [Step(instantiate(spec)) for spec in STEPS if spec.name != "verify-layout"],
        RunOptions(verify_each=True, rewrite_limit=limit),
    )
    assert report.rewrites == limit
    (old,), (new,) = before, outputs(module, feeds)
    assert np.abs(old - new).max() <= 1e-2 * np.ptp(old)
