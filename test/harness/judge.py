"""One ONNX node, or a small graph, by our importer and reference and by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.frontend_onnx.importer import import_onnx

Array = np.ndarray[Any, Any]


def node_model(
    op_type: str,
    inputs: Mapping[str, Array | None],
    attributes: Mapping[str, Any] | None = None,
    *,
    constants: Sequence[str] = (),
    outputs: int = 1,
    opset: int = 17,
    domain: str = "",
) -> onnx.ModelProto:
    """A model of one node; an input that is None is left out, those in `constants` are initialisers."""
    given = {name: value for name, value in inputs.items() if value is not None}
    names = [name if value is not None else "" for name, value in inputs.items()]
    made = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, made, name="the_node", domain=domain, **(attributes or {}))
    graph = helper.make_graph(
        [node],
        "one_node",
        [_value(name, value) for name, value in given.items() if name not in constants],
        [onnx.ValueInfoProto(name=name) for name in made],
        [numpy_helper.from_array(value, name) for name, value in given.items() if name in constants],
    )
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _value(name: str, value: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def onnxruntime_outputs(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime gives, on one thread and without its own rewrites."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))  # pyright: ignore


def imported_outputs(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> tuple[list[Array], list[str]]:
    """What the reference gives for the imported model, and the operators it became (constants left out)."""
    module = import_onnx(model)
    module.verify()
    (function,) = module.body.block.ops
    block = function.regions[0].block
    initialisers = {tensor.name for tensor in model.graph.initializer}
    values = [feeds[v.name] for v in model.graph.input if v.name not in initialisers]
    operators = [op.name.removeprefix("ge.") for op in block.ops if op.name.startswith("ge.")]
    with np.errstate(all="ignore"):
        results = evaluate_block(block, values)
    return results, [name for name in operators if name != "constant"]


def agree(
    op_type: str,
    inputs: Mapping[str, Array | None],
    attributes: Mapping[str, Any] | None = None,
    *,
    tolerance: float = 1e-5,
    **form: Any,
) -> list[str]:
    """Asserts that one node gives onnxruntime's shapes, types and values (integers exactly); gives its operators."""
    model = node_model(op_type, inputs, attributes, **form)
    constants = form.get("constants", ())
    feeds = {name: value for name, value in inputs.items() if value is not None and name not in constants}
    results, operators = imported_outputs(model, feeds)
    for result, expected in zip(results, onnxruntime_outputs(model, feeds), strict=True):
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        if expected.dtype.kind == "f":
            scale = max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0)))
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * scale)
        else:
            np.testing.assert_array_equal(result, expected)
    return operators
