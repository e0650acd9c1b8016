"""Elementwise tasks that share a launch: the numbers stay, bit by bit, no cycle arises, and the chip's own times agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from harness.checked_operators import fused, kernel_of, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.light import random_inputs
from models.random_networks import networks
from models.small import GraphBuilder
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from graph_engine.dialects.ge import activation
from graph_engine.dialects.ge import elementwise as ge
from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.lowering.kernels.elementwise_time import elementwise_us
from graph_engine.lowering.selection.vector import elementwise_of
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import Phase, default_pipeline
from graph_engine.pipelines.registry import instantiate
from graph_engine.pipelines.runner import RunOptions, RunReport, Step, run_steps
from graph_engine.pipelines.spec import PassSpec
from graph_engine.target_ascend.chip.timing import TimingEngine
from graph_engine.target_ascend.om.program import Launch, Location, Program, Segment
from graph_engine.target_ascend.runtime.device import run
from graph_engine.target_ascend.soc.soc import load_soc
from graph_engine.transforms.remarks import Remark, listening

JOIN = "join-vector-ops"


def run_passes(module: ModuleOp, after: Phase, until: Phase, limit: int | None = None) -> RunReport:
    steps = [Step(instantiate(spec)) for _, spec in default_pipeline({}, after=after, until=until)]
    return run_steps(make_context(), module, steps, RunOptions(verify_each=True, rewrite_limit=limit))


def laid_out(model: onnx.ModelProto) -> ModuleOp:
    module = import_onnx(model)
    run_passes(module, Phase.IMPORTED, Phase.LAID_OUT)
    return module


def program_of(module: ModuleOp) -> Program:
    run_passes(module, Phase.GROUPED, Phase.TASKS)
    return emit_program(module)


def outputs(module: ModuleOp, feeds: Sequence[Any]) -> list[Any]:
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    return evaluate_block(function.body.block, list(feeds))


def tasks(program: Program) -> int:
    return sum(isinstance(task, Launch) for stream in program.entry_points[0].streams for task in stream.tasks)


def check_law(model: onnx.ModelProto) -> tuple[int, int]:
    """Joined = not joined by the reference and on the checked chip; how many tasks both take."""
    feeds = list(random_inputs(model, 1).values())
    apart, joined = laid_out(model), laid_out(model)
    before = outputs(joined, feeds)
    run_passes(joined, Phase.LAID_OUT, Phase.GROUPED)
    for old, new in zip(before, outputs(joined, feeds), strict=True):
        np.testing.assert_array_equal(old, new)
    programs = program_of(apart), program_of(joined)
    plain, shared = (run(program, feeds, mode="both", check=True) for program in programs)
    assert not plain.findings and not shared.findings, shared.findings[:3]
    for old, new in zip(plain.outputs, shared.outputs, strict=True):
        np.testing.assert_array_equal(old, new)
    assert plain.profile is not None and shared.profile is not None
    assert shared.profile.latency_us <= plain.profile.latency_us
    return tasks(programs[0]), tasks(programs[1])


@st.composite
def vector_graphs(draw: Any) -> onnx.ModelProto:
    """Elementwise operators, softmaxes and products over two shapes; values have several users and some leave the graph."""
    b = GraphBuilder(draw(st.integers(0, 9)))
    values = {32: [b.input("x", (4, 32))], 16: [b.input("y", (4, 16))]}
    for _ in range(draw(st.integers(3, 12))):
        kind = draw(st.sampled_from(("Relu", "Sigmoid", "Neg", "Add", "Sub", "Mul", "Softmax", "MatMul")))
        width = draw(st.sampled_from((32, 16)))
        one = draw(st.sampled_from(values[width]))
        match kind:
            case "Add" | "Sub" | "Mul":
                made = b.node(kind, [one, draw(st.sampled_from(values[width]))])
            case "MatMul":
                width = 48 - width
                made = b.node(kind, [one, b.weight((48 - width, width), -0.3, 0.3)])
            case _:
                made = b.node(kind, [one])
        values[width].append(made)
    made = [*values[32][1:], *values[16][1:]]
    return b.model(*sorted({made[-1], *draw(st.lists(st.sampled_from(made), max_size=3))}))


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[*HealthCheck])
@given(vector_graphs())
def test_numbers_stay(model: onnx.ModelProto) -> None:
    check_law(model)


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=[*HealthCheck])
@given(networks())
def test_numbers_of_feature_maps_stay(model: onnx.ModelProto) -> None:
    check_law(model)


def gates() -> onnx.ModelProto:
    """Three steps of a gated unit for two sequences: state and output of each share a task, and both sequences do."""
    b = GraphBuilder(3)
    outs: list[str] = []
    for name in "ab":
        state = b.input(name, (1, 32))
        for _ in range(3):
            gate = b.node("Softmax", [state])
            state = b.node("Add", [b.node("Mul", [gate, state]), b.node("Sigmoid", [gate])])
            outs.append(b.node("Mul", [b.node("Tanh", [state]), gate]))
        outs.append(state)
    return b.model(*outs)


def test_states_and_both_sequences_share_tasks() -> None:
    """Apart: 2 casts, for each of 2 x 3 steps a softmax, a state and an output, 8 casts. The casts share tasks as well."""
    assert check_law(gates()) == (2 + 2 * 3 * 3 + 8, 1 + 3 * (2 + 1) + 1)


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_the_graph_is_valid_after_any_number_of_rewrites(limit: int) -> None:
    module = laid_out(gates())
    feeds = list(random_inputs(gates(), 1).values())
    before = outputs(module, feeds)
    assert run_passes(module, Phase.LAID_OUT, Phase.GROUPED, limit).rewrites == limit
    for old, new in zip(before, outputs(module, feeds), strict=True):
        np.testing.assert_array_equal(old, new)


CASES = (Path(__file__).parents[1] / "join_vector_ops.mlir").read_text("utf-8").split("// -----")


def remarks_of(case: str) -> list[Remark]:
    """What the pass says about a function of the lit test."""
    (text,) = [text for text in CASES if f"func.func @{case}(" in text]
    context = make_context()
    found: list[Remark] = []
    with listening(found.append):
        run_steps(context, Parser(context, text).parse_module(), [Step(instantiate(PassSpec(JOIN, {})))], RunOptions())
    return found


@pytest.mark.parametrize(
    ("case", "guards"),
    [("diamond", ["path"] * 2), ("unlike", ["form", "shape", "form"]), ("large", ["cost"]), ("engine", ["engine"] * 2)],
)
def test_a_task_that_stays_alone_says_why(case: str, guards: list[str]) -> None:
    remarks = remarks_of(case)
    assert [remark.args["guard"] for remark in remarks] == guards
    assert {remark.name for remark in remarks} == {"NotJoined"}


@pytest.mark.parametrize("case", ["step", "branches"])
def test_a_joined_task_says_with_what(case: str) -> None:
    (remark,) = remarks_of(case)
    assert remark.name == "JoinedTasks" and len(remark.args["operators"]) == remark.args["results"] == 2
    assert remark.args["gain_us"] > 0


BODIES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "add": (lambda x, y: [ge.AddOp(x, y)], (-1,)),
    "gate": (lambda x, y: [a := ge.SigmoidOp(x), b := ge.TanhOp(y), ge.MulOp(a, b)], (-1,)),
    "two results": (lambda x, y: [ge.SigmoidOp(x), ge.TanhOp(y)], (0, 1)),
    "gelu": (lambda x, y: [a := activation.GeluOp(x), ge.MulOp(a, y)], (0, 1)),
}


@pytest.mark.parametrize("chip", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("shape", [(1, 96), (64, 384), (197, 768), (197, 3072)], ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_the_estimate_is_close_to_the_timing_model(name: str, shape: tuple[int, ...], chip: str) -> None:
    body, results = BODIES[name]
    soc, op = load_soc(chip), fused([value(shape), value(shape)], body, "ge.mul", None, results)
    choice, kernel = kernel_of(op, soc)
    places = range(len(choice.inputs) + len(op.results))
    launch = Launch(
        "t", "E", kernel.name, kernel.block_dim, tuple(Location(Segment.WORKSPACE, 0, i << 24) for i in places)
    )
    engine = TimingEngine(soc)
    cold, warm = (engine.launch(launch, kernel).us for _ in range(2))
    group, _ = elementwise_of([op], op.results)
    assert warm * 0.9 <= elementwise_us(group, soc, resident=True) <= warm * 1.4
    assert cold <= elementwise_us(group, soc, resident=False) * 1.02
