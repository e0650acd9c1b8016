"""Random networks with a random node marked right after import: no pass loses the mark on its way to the rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.light import random_inputs
from models.random_networks import networks
from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.transforms.mark_precision import MarkPrecision

SETTINGS: dict[str, Any] = {
    "max_examples": 60,
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": list(HealthCheck),
}


@settings(**SETTINGS)
@given(networks(), st.data())
def test_a_mark_of_an_early_phase_reaches_the_rounding(model: onnx.ModelProto, data: st.DataObject) -> None:
    module = import_onnx(model)
    nodes = dict.fromkeys(node.name for op in module.walk() for node in source_nodes(op.location))
    kept = data.draw(st.sampled_from(list(nodes)))
    MarkPrecision(keep_dtype_nodes=(kept,)).apply(Context(), module)
    compile_module(module, until=Phase.PRECISION)
    for op in module.walk():
        does_its_work = kept in [node.name for node in source_nodes(op.location)]
        if does_its_work and isinstance(op, GeOp | FusedOp) and not isinstance(op, CastOp) and op.name != "ge.constant":
            assert {element_name(element_of(value)) for value in (*op.operands, *op.results)} == {"f32"}


@settings(**SETTINGS)
@given(networks())
def test_the_models_own_types_change_no_bit(model: onnx.ModelProto) -> None:
    module = import_onnx(model)
    compile_module(module, until=Phase.FUSED)
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    feeds = list(random_inputs(model, 1).values())
    before = evaluate_block(function.body.block, feeds)
    compile_module(module, until=Phase.PRECISION, pipeline={"precision_mode": "must_keep_origin_dtype"})
    for old, new in zip(before, evaluate_block(function.body.block, feeds), strict=True):
        np.testing.assert_array_equal(old, new)
