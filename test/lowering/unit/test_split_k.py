"""Products whose K cores share, through the whole compiler and the checked chip, against numpy in fp64."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from harness.agreement import tasks_of
from hypothesis import given, settings
from hypothesis import strategies as st
from models.small import GraphBuilder

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.lowering.selection import split_k
from graph_engine.pipelines.compile import compile_module
from graph_engine.target_ascend.om.program import Program
from graph_engine.target_ascend.runtime.device import run
from graph_engine.transforms.remarks import Remark, listening

SOCS = ["Ascend310P3", "Ascend910B3", "Ascend310", "Ascend950PR"]
SUM = "AddN"


def compiled(model: onnx.ModelProto, soc: str) -> Program:
    """Its program."""
    module = import_onnx(model)
    compile_module(module, soc)
    return emit_program(module)


def types(program: Program) -> list[str]:
    """Of its tasks."""
    return [task.type for task in tasks_of(program)]


def check(m: int, k: int, n: int, soc: str, *, bias: bool = False, side: bool = False, relu: bool = False) -> Program:
    """Compiles and runs x w + bias + side; compares all of the result."""
    rng = np.random.default_rng(31)
    x = rng.standard_normal((m, k)).astype(np.float16)
    w = (rng.standard_normal((k, n)) / np.sqrt(k)).astype(np.float16)
    b = GraphBuilder()
    y = b.node("MatMul", [b.input("x", (m, k)), b.constant("w", w.astype(np.float32))])
    sums, magnitudes, feeds = x.astype(float) @ w, abs(x.astype(float)) @ abs(w), [x]
    if bias:
        vector = rng.standard_normal(n).astype(np.float16)
        y, sums, magnitudes = (
            b.node("Add", [y, b.constant("bias", vector.astype(np.float32))]),
            sums + vector,
            magnitudes + abs(vector),
        )
    roundings = 1
    if side:
        added = rng.standard_normal((m, n)).astype(np.float16)
        y, feeds = b.node("Add", [y, b.input("s", (m, n))]), [x, added]
        sums, magnitudes, roundings = sums + added, magnitudes + abs(added), 2
    if relu:
        y, sums = b.node("Relu", [y]), np.maximum(sums, 0)
    program = compiled(b.model(y), soc)
    done = run(program, [feed.astype(np.float32) for feed in feeds], mode="functional", check=True)
    assert not done.findings, done.findings[:3]
    (got,) = done.outputs
    bound = k * 2.0**-24 * magnitudes + roundings * 2.0**-11 * (abs(sums) + 2) + 2.0**-24
    assert (abs(got.astype(float) - sums) <= bound).all(), abs(got.astype(float) - sums).max()
    return program


@pytest.mark.parametrize("soc", SOCS)
@pytest.mark.parametrize(
    ("shape", "behind"),
    [
        ((1, 8192, 16), {}),
        ((1, 8192, 10), {"bias": True}),
        ((5, 8192, 32), {"bias": True, "relu": True}),
        ((16, 8192, 3), {"side": True}),
        ((20, 16384, 16), {"bias": True, "side": True, "relu": True}),
    ],
)
def test_numbers(soc: str, shape: tuple[int, int, int], behind: Any) -> None:
    check(*shape, soc, **behind)


@settings(max_examples=8, deadline=None)
@given(
    m=st.integers(1, 40),
    blocks=st.integers(8, 12),
    n=st.integers(1, 48),
    soc=st.sampled_from(SOCS[:2]),
    bias=st.booleans(),
)
def test_drawn(m: int, blocks: int, n: int, soc: str, bias: bool) -> None:
    cores = {"Ascend310P3": 8, "Ascend910B3": 16}[soc]
    check(m, 16 * cores * blocks, n, soc, bias=bias)


@pytest.mark.parametrize("soc", SOCS[:2])
@pytest.mark.parametrize("shape", [(1, 8192, 16), (16, 16384, 32), (1, 25088, 10)])
def test_sooner(soc: str, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the whole timing model, the sum's launch included."""

    def product() -> Program:
        b = GraphBuilder()
        return compiled(b.model(b.node("MatMul", [b.input("x", shape[:2]), b.weight(shape[1:])])), soc)

    def duration(program: Program) -> float:
        profile = run(program, [], mode="timing").profile
        assert profile is not None
        return sum(task.duration_us for task in profile.tasks)

    split = product()
    assert types(split).count(SUM) == 1
    monkeypatch.setattr(split_k, "WORTHWHILE", 0.0)
    whole = product()
    assert SUM not in types(whole)
    assert duration(split) < duration(whole)


@pytest.mark.parametrize("soc", SOCS[:2])
@pytest.mark.parametrize("shape", [(1, 1024, 16), (1, 4096, 1000), (512, 4096, 64), (1, 4112, 16)])
def test_not_where_it_does_not_pay(soc: str, shape: tuple[int, int, int]) -> None:
    """Little to read, all cores at work, or a number of blocks that none of the cores' numbers divides (257)."""
    b = GraphBuilder()
    y = b.node("MatMul", [b.input("x", shape[:2]), b.weight(shape[1:])])
    assert SUM not in types(compiled(b.model(y), soc))


def test_the_remark_tells_both_times() -> None:
    b = GraphBuilder()
    y = b.node("MatMul", [b.input("x", (1, 8192)), b.weight((8192, 16))])
    remarks: list[Remark] = []
    with listening(remarks.append):
        compiled(b.model(y), "Ascend310P3")
    (remark,) = (remark for remark in remarks if remark.name == "SplitK")
    assert remark.args["parts"] == 8 and 0 < remark.args["us"] < remark.args["whole_us"]
