"""What check-fp16-range tells of a sample of inputs: keeping the nodes that it names brings the outputs back into the bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.light import random_inputs
from models.random_networks import networks
from onnx import TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.transforms.check_fp16_range import CheckFp16Range
from graph_engine.transforms.mark_precision import MarkPrecision
from graph_engine.transforms.remarks import Kind, Remark, listening

BOUND = 0.01
"""Of an output's range, as fp16 may differ from fp32."""
WIDTH = 16
SETTINGS: dict[str, Any] = {
    "max_examples": 25,
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": list(HealthCheck),
}


def model_of(nodes: list[onnx.NodeProto], weights: dict[str, Any], classes: int = WIDTH) -> onnx.ModelProto:
    """A model from `x`, `1xWIDTH`, to `y`, `1xclasses`."""
    graph = helper.make_graph(
        nodes,
        "sample",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, WIDTH))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, classes))],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(kind: str, name: str, *inputs: str, **attributes: Any) -> onnx.NodeProto:
    """A node with one output, which bears its name."""
    return helper.make_node(kind, list(inputs), [name], name, **attributes)


def logistic(steps: int) -> onnx.ModelProto:
    """3.9 x (1 - x), again and again: each step rounds by 2^-11 only, and doubles what was rounded before."""
    nodes: list[onnx.NodeProto] = []
    x = "x"
    for step in range(steps):
        last = "y" if step == steps - 1 else f"x{step}"
        nodes += [
            node("Sub", f"rest{step}", "one", x),
            node("Mul", f"product{step}", x, f"rest{step}"),
            node("Mul", last, "rate", f"product{step}"),
        ]
        x = last
    return model_of(nodes, {"one": 1.0, "rate": 3.9})


def overflowing() -> onnx.ModelProto:
    """A product beyond 1e5 that is divided at once."""
    return model_of(
        [node("MatMul", "large", "x", "w"), node("Relu", "cut", "large"), node("Mul", "y", "cut", "small")],
        {"w": np.random.default_rng(1).uniform(0, 6e4, (WIDTH, WIDTH)), "small": 6.5e-5},
    )


def offset() -> onnx.ModelProto:
    """Scores around 100 that differ by less than their rounding."""
    return model_of(
        [node("Gemm", "scores", "x", "w", "b"), node("Sub", "y", "scores", "b")],
        {"w": np.random.default_rng(2).normal(0, 0.02, (WIDTH, WIDTH)), "b": np.full(WIDTH, 100.0)},
    )


def plain() -> onnx.ModelProto:
    """Nothing to tell of."""
    return model_of(
        [node("Gemm", "hidden", "x", "w", "b"), node("Relu", "cut", "hidden"), node("Gemm", "y", "cut", "w", "b")],
        {"w": np.random.default_rng(3).normal(0, 0.3, (WIDTH, WIDTH)), "b": np.ones(WIDTH)},
    )


def told(module: ModuleOp, feeds: dict[str, Any], folder: Path) -> list[Remark]:
    """The warnings about a sample."""
    np.savez(folder / "sample.npz", **feeds)
    remarks: list[Remark] = []
    with listening(remarks.append, frozenset({Kind.WARNING})):
        CheckFp16Range(sample=str(folder / "sample.npz")).apply(Context(), module)
    return [remark for remark in remarks if remark.name.startswith("Sample")]


def error(module: ModuleOp, feeds: dict[str, Any], kept: set[str]) -> float:
    """How far fp16 is from fp32, as a part of the range, with some nodes in fp32."""
    half = module.clone()
    MarkPrecision(keep_dtype_nodes=tuple(kept)).apply(Context(), half)
    compile_module(half, until=Phase.PRECISION)
    graphs = ReferenceGraph(module, "fp32"), ReferenceGraph(half, "fp16")
    worst = 0.0
    with np.errstate(all="ignore"):
        for right, got in zip(*(graph.run([feeds[p.name] for p in graph.inputs]) for graph in graphs), strict=True):
            wide = right.astype(np.float64)
            worst = max(worst, float(np.nan_to_num(np.abs(got - wide), nan=np.inf).max() / (np.ptp(wide) or 1.0)))
    return worst


def fused(model: onnx.ModelProto) -> ModuleOp:
    """The graph before anything is rounded."""
    module = import_onnx(model)
    compile_module(module, until=Phase.FUSED)
    return module


@pytest.mark.parametrize(
    ("model", "names", "where"),
    [
        (overflowing(), {"SampleOutOfRange"}, "large"),
        (offset(), {"SampleLosesDigits"}, "scores"),
        (logistic(14), {"SampleMagnifiesRounding"}, None),
        (logistic(2), set[str](), None),
        (plain(), set[str](), None),
    ],
    ids=["overflow", "offset", "magnified", "magnified-little", "nothing"],
)
def test_each_kind_is_told_where_it_arises_and_keeping_cures_it(
    model: onnx.ModelProto, names: set[str], where: str | None, tmp_path: Path
) -> None:
    module = fused(model)
    feeds = {"x": np.random.default_rng(5).uniform(0.1, 0.9, (1, WIDTH)).astype(np.float32)}
    remarks = told(module, feeds, tmp_path)
    assert {remark.name for remark in remarks} == names
    assert (error(module, feeds, set()) > BOUND) == bool(names)
    kept = {name for remark in remarks for name in remark.args["nodes"]}
    assert error(module, feeds, kept) <= BOUND
    assert all("--keep-dtype-nodes=" in remark.message for remark in remarks)
    if where is not None:
        assert where in [n.name for n in remarks[0].nodes]


def test_the_stretch_to_keep_ends_before_what_magnifies_too_little(tmp_path: Path) -> None:
    feeds = {"x": np.random.default_rng(5).uniform(0.1, 0.9, (1, WIDTH)).astype(np.float32)}
    (remark,) = told(fused(logistic(14)), feeds, tmp_path)
    assert "x0" in remark.args["nodes"]
    assert "y" not in remark.args["nodes"]


@settings(**SETTINGS)
@given(networks(), st.sampled_from((1.0, 300.0, 3e4)))
def test_networks_are_in_the_bound_with_what_is_told_in_fp32(
    tmp_path_factory: pytest.TempPathFactory, model: onnx.ModelProto, scale: float
) -> None:
    module = fused(model)
    feeds = {name: (value * scale).astype(value.dtype) for name, value in random_inputs(model, 1).items()}
    remarks = told(module, feeds, tmp_path_factory.mktemp("sample"))
    assert error(module, feeds, {name for remark in remarks for name in remark.args["nodes"]}) <= BOUND
