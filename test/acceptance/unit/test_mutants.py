"""Faulty compilers must fail the check that the light networks pass: the check is worth what it catches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from harness.agreement import Agreement, check_agreement, compile_program, kernel_results, misses, relative_error
from harness.mutants import MUTANTS, dropped_bias, swapped_channels, wrong_pad
from models.light import random_inputs
from models.small import GraphBuilder

from graph_engine.dialects.ge.weights import clear_materialized
from graph_engine.lowering import insert_sync
from graph_engine.target_ascend.runtime.device import run


def network(seed: int = 3) -> onnx.ModelProto:
    """A ResNet in small: a padded stem of 3 channels and a max pool, two bottlenecks of which one projects, a
    classifier without softmax; widths that do not divide 16 among them."""
    b = GraphBuilder(seed)
    y = b.conv_bn_relu(b.input("x", (1, 3, 32, 32)), 3, 24, 7, strides=[2, 2])
    y = b.node("MaxPool", [y], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for c_in, c_out, project in ((24, 64, True), (64, 64, False)):
        main = b.conv_bn_relu(b.conv_bn_relu(y, c_in, 24, 1), 24, 24)
        main = b.batch_norm(b.conv(main, 24, c_out, 1, bias=False), c_out)
        y = b.batch_norm(b.conv(y, c_in, c_out, 1, bias=False), c_out) if project else y
        y = b.node("Relu", [b.node("Sum", [main, y])])
    y = b.node("Flatten", [b.node("GlobalAveragePool", [y])], axis=1)
    b.node("Gemm", [y, b.weight((40, 64), -0.3, 0.3), b.weight((40,), -0.2, 0.2)], "y", transB=1)
    return b.model("y")


@pytest.fixture(scope="module")
def inner() -> list[str]:
    return kernel_results(network(), 6)


@pytest.fixture(autouse=True)
def _no_constants_of_other_compilers() -> None:
    clear_materialized()


def check(model: onnx.ModelProto, inner: list[str]) -> list[Agreement]:
    """The tensors out of bound."""
    return misses(check_agreement(model, inner, seed=1))


def test_the_right_compiler_passes(inner: list[str]) -> None:
    assert check(network(), inner) == []


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutant_is_caught(mutant: str, inner: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant](monkeypatch)
    assert check(network(), inner) != []


ONE_OPERATOR = [(mutant, nth) for mutant in (swapped_channels, dropped_bias) for nth in range(4)]
ONE_OPERATOR += [(wrong_pad, nth) for nth in range(3)]  # the stem and two bottlenecks are padded


@pytest.mark.parametrize(("mutant", "nth"), ONE_OPERATOR, ids=lambda value: getattr(value, "__name__", str(value)))
def test_a_fault_in_one_operator_is_caught(
    mutant: Callable[..., None], nth: int, inner: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch, nth)
    assert check(network(), inner) != []


def test_logits_alone_catch_a_fault_of_the_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped_bias(monkeypatch, 8)
    (missed,) = check(network(), [])
    assert missed.name == "y"


def test_missing_flags_are_found_by_checking_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers cannot tell, since the model runs a kernel in program order: this fault is the checker's to find."""
    model = network()
    right = run(compile_program(model), list(random_inputs(model).values()), mode="functional", check=True)
    assert right.findings == []
    monkeypatch.setattr(insert_sync, "insert_sync", lambda region, event_ids: None)
    wrong = run(compile_program(model), list(random_inputs(model).values()), mode="functional", check=True)
    assert {finding.kind for finding in wrong.findings} >= {"pipe-race"}
    np.testing.assert_array_equal(wrong.outputs[0], right.outputs[0])


def test_relative_error_counts_shape_and_nan() -> None:
    right = np.array([0.0, 2.0], np.float32)
    assert relative_error(np.array([0.5, 2.0]), right) == 0.25
    assert relative_error(np.zeros(3), right) == float("inf")
    assert not Agreement("x", float("nan"), 0.1, 1.0).holds
    assert not Agreement("x", 0.005, 0.001, 1.0).holds
    assert not Agreement("x", 0.011, 0.01, 1.0).holds
    assert not Agreement("x", 0.001, 0.001, 0.99).holds
    assert Agreement("x", 0.003, 0.001, 0.99995).holds
