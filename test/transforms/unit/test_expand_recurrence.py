"""Recurrent layers written out give what onnxruntime gives for the layer, and run without the AI CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from harness.agreement import tasks_of
from harness.judge import onnxruntime_outputs
from harness.on_the_chip import chip_outputs
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from xdsl.dialects.builtin import ModuleOp

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.transforms.expand_recurrence import ExpandRecurrencePass
from graph_engine.transforms.remarks import Remark, listening

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def layer(
    kind: str,
    shape: tuple[int, int, int, int],
    *,
    direction: str = "forward",
    lengths: bool = False,
    peepholes: bool = False,
    states: bool = True,
    constants: bool = True,
    **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model of one layer of `shape` (steps, batch, inputs, hidden), and what to feed it."""
    steps, batch, width, hidden = shape
    directions = 2 if direction == "bidirectional" else 1
    rng = np.random.default_rng(sum(shape))

    def random(*extents: int) -> Any:
        return (rng.standard_normal(extents) / 2).astype(np.float32)

    gates = GATES[kind] * hidden
    arrays = {"x": random(steps, batch, width), "w": random(directions, gates, width)}
    arrays |= {"r": random(directions, gates, hidden), "b": random(directions, 2 * gates)}
    ends = rng.integers(1, steps + 1, batch).astype(np.int32)
    names = ["x", "w", "r", "b", "lengths" if lengths else "", "h" if states else ""]
    arrays |= {"lengths": ends} if lengths else {}
    arrays |= {"h": random(directions, batch, hidden)} if states else {}
    if kind == "LSTM" and (states or peepholes):
        names += ["c" if states else "", "p" if peepholes else ""]
        arrays |= {"c": random(directions, batch, hidden)} if states else {}
        arrays |= {"p": random(directions, 3 * hidden)} if peepholes else {}
    outputs = ["y", "yh", "yc"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, names, outputs, hidden_size=hidden, direction=direction, **attributes)
    weights = [name for name in ("w", "r", "b", "p") if constants and name in arrays]
    feeds = {name: array for name, array in arrays.items() if name not in weights}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feeds.items()
    ]
    ends_of = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs]
    initializers = [onnx.numpy_helper.from_array(arrays[name], name) for name in weights]
    graph = helper.make_graph([node], "g", inputs, ends_of, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), feeds


def expanded(model: onnx.ModelProto, soc: str = "Ascend910B3") -> ModuleOp:
    """The model with its layer written out, step by step on a chip whose cores have one unit each."""
    module = import_onnx(model)
    ExpandRecurrencePass(soc=soc).apply(make_context(), module)
    module.verify()
    return module


CASES: list[tuple[str, tuple[int, int, int, int], dict[str, Any]]] = [
    ("RNN", (4, 2, 5, 7), {}),
    ("RNN", (3, 1, 5, 16), {"direction": "reverse", "states": False}),
    ("RNN", (4, 2, 5, 7), {"activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.2]}),
    ("RNN", (4, 2, 5, 7), {"activations": ["ScaledTanh"], "activation_alpha": [0.5], "activation_beta": [0.2]}),
    ("RNN", (4, 2, 5, 7), {"activations": ["ThresholdedRelu"], "activation_alpha": [0.1]}),
    ("RNN", (4, 2, 5, 7), {"activations": ["Softplus"]}),
    ("GRU", (4, 3, 5, 7), {}),
    ("GRU", (4, 3, 5, 7), {"linear_before_reset": 1}),
    ("GRU", (2, 3, 5, 7), {"linear_before_reset": 1, "states": False}),
    ("GRU", (3, 2, 5, 7), {"linear_before_reset": 1, "direction": "bidirectional"}),
    ("LSTM", (5, 1, 5, 16), {"direction": "bidirectional", "states": False}),
    ("LSTM", (5, 2, 5, 7), {"direction": "reverse"}),
    ("GRU", (5, 3, 5, 16), {"direction": "reverse", "lengths": True, "clip": 0.5}),
    ("GRU", (4, 2, 5, 7), {"activations": ["HardSigmoid", "Softsign"], "states": False}),
    ("LSTM", (4, 3, 5, 7), {}),
    ("LSTM", (1, 1, 8, 32), {}),
    ("LSTM", (4, 3, 5, 16), {"direction": "bidirectional", "lengths": True}),
    ("LSTM", (4, 3, 5, 7), {"peepholes": True}),
    ("LSTM", (4, 3, 5, 7), {"peepholes": True, "states": False}),
    ("LSTM", (3, 2, 4, 6), {"input_forget": 1, "peepholes": True, "constants": False}),
    ("LSTM", (4, 2, 5, 7), {"activations": ["LeakyRelu", "Elu", "Relu"], "activation_alpha": [0.1, 0.5]}),
]


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize(("kind", "shape", "options"), CASES, ids=str)
def test_values(kind: str, shape: tuple[int, int, int, int], options: dict[str, Any], soc: str) -> None:
    model, feeds = layer(kind, shape, **options)
    block = next(iter(expanded(model, soc).body.block.ops)).regions[0].block
    assert f"ge.{kind.lower()}" not in [op.name for op in block.ops]
    found = evaluate_block(block, list(feeds.values()))
    for value, right in zip(found, onnxruntime_outputs(model, feeds), strict=True):
        np.testing.assert_allclose(value, right, rtol=2e-5, atol=2e-5)


def test_what_stays_one_operator() -> None:
    model, _ = layer("LSTM", (600, 1, 4, 4), direction="bidirectional")
    assert "ge.lstm" in [op.name for op in expanded(model).walk()]


APART: list[tuple[str, tuple[int, int], dict[str, Any], str]] = [
    # kind, (steps, units), options, the guard of the remark, "" where one kernel has all steps
    ("LSTM", (4, 16), {}, ""),
    ("LSTM", (4, 16), {"direction": "bidirectional", "states": False}, ""),
    ("GRU", (4, 16), {"linear_before_reset": 1}, ""),
    ("GRU", (4, 16), {}, "cell"),
    ("RNN", (4, 16), {}, "cell"),
    ("LSTM", (4, 16), {"lengths": True}, "lengths"),
    ("LSTM", (4, 16), {"peepholes": True}, "cell"),
    ("LSTM", (4, 16), {"constants": False}, "constant"),
    ("LSTM", (4, 16), {"clip": 0.5}, "cell"),
    ("LSTM", (4, 16), {"input_forget": 1}, "cell"),
    ("LSTM", (4, 16), {"activations": ["Sigmoid", "Softsign", "Tanh"]}, "cell"),
    ("LSTM", (1, 64), {}, ""),
    ("LSTM", (1, 256), {}, "cost"),
    ("LSTM", (16, 256), {}, ""),
    ("LSTM", (64, 512), {}, "size"),
]


@pytest.mark.parametrize(("kind", "sizes", "options", "guard"), APART, ids=str)
def test_what_one_kernel_loops_over(kind: str, sizes: tuple[int, int], options: dict[str, Any], guard: str) -> None:
    model, _ = layer(kind, (sizes[0], 2, 5, sizes[1]), **options)
    for soc, expected in (("Ascend310P3", guard), ("Ascend310P1", guard), ("Ascend910B3", "chip")):
        remarks: list[Remark] = []
        with listening(remarks.append):
            operators = [op.name for op in expanded(model, soc).walk()]
        assert ("ge.recurrent_steps" in operators) == (not expected)
        (remark,) = remarks
        assert (remark.name, remark.args.get("guard", "")) == (
            "StepsApart" if expected else "StepsInOneKernel",
            expected,
        )


def on_the_chip(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[str]:
    """The types of its tasks; its numbers are compared with onnxruntime's."""
    outputs, types = chip_outputs(model, feeds)
    for value, right in zip(outputs, onnxruntime_outputs(model, feeds), strict=True):
        assert np.abs(value - right).max() <= 0.01 * np.abs(right).max()
    return types


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_on_the_chip(kind: str, lengths: bool) -> None:
    on_the_chip(*layer(kind, (3, 3, 20, 24), direction="bidirectional", lengths=lengths))


def test_tasks_of_a_step() -> None:
    """One product and one Vector task, of two results, for each of eight steps, beside the product of the whole sequence."""
    types = on_the_chip(*layer("LSTM", (8, 16, 64, 96), clip=9.0))
    assert types.count("MatMulV2") == 9
    assert types.count("Elementwise") == 8
    assert len(types) <= 40


@pytest.mark.parametrize(("kind", "task"), [("LSTM", "DynamicRNN"), ("GRU", "DynamicGRUV2")])
def test_one_task_of_all_steps(kind: str, task: str) -> None:
    options: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
    types = on_the_chip(*layer(kind, (16, 1, 24, 64), direction="bidirectional", **options))
    assert types.count(task) == types.count("MatMulV2") == 1
    assert len(types) <= 8


@pytest.mark.parametrize("mode", ["allow_fp32_to_fp16", "allow_mix_precision"])
def test_in_fp16_where_products_are(mode: str) -> None:
    """What the Cube computes is rounded in these modes, the rest is not: the kernel belongs to the Cube."""
    module = import_onnx(layer("LSTM", (4, 2, 16, 32))[0])
    compile_module(module, pipeline={"precision_mode": mode})
    tasks = tasks_of(emit_program(module))
    assert not any(isinstance(task, AicpuCall) for task in tasks)
    assert "DynamicRNN" in [task.type for task in tasks]


@settings(max_examples=6, deadline=None)
@given(
    st.sampled_from(sorted(GATES)),
    st.tuples(st.integers(1, 4), st.integers(1, 18), st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from(["forward", "reverse"]),
    st.booleans(),
    st.booleans(),
)
def test_any_shape(kind: str, shape: tuple[int, int, int, int], direction: str, states: bool, linear: bool) -> None:
    options: dict[str, Any] = {"linear_before_reset": int(linear)} if kind == "GRU" else {}
    on_the_chip(*layer(kind, shape, direction=direction, states=states, **options))
