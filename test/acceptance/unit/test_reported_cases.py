"""Kinds of graphs that users have reported, by kernels alone on two families, in checking mode, beside onnxruntime.

The judges are those of `harness.agreement`: the error may be four times what rounding to fp16 at the same places costs,
and one percent of the range; a tensor that fp16 holds exactly may be one of its roundings away.
"""

import numpy as np
import pytest
from harness.agreement import OF_RANGE, TIMES_ROUNDING, relative_error, tasks_of
from harness.judge import onnxruntime_outputs
from models.reported import REPORTED

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.reference import ReferenceGraph
from graph_engine.target_ascend.om.program import Launch
from graph_engine.target_ascend.runtime.device import run

ONE_ROUNDING = 2.0**-11


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str, soc: str) -> None:
    model, feeds = REPORTED[name]()
    module = import_onnx(model)
    compile_module(module, soc, until=Phase.PRECISION)
    inputs = list(feeds.values())
    rounded = ReferenceGraph(module.clone(), name).run(inputs)
    compile_module(module, soc)
    program = emit_program(module)
    assert all(isinstance(task, Launch) for task in tasks_of(program)), tasks_of(program)
    result = run(program, inputs, mode="functional", check=True)
    assert not result.findings, result.findings[:3]
    for value, half, right in zip(result.outputs, rounded, onnxruntime_outputs(model, feeds), strict=True):
        assert np.isfinite(value).all()
        allowed = max(TIMES_ROUNDING * relative_error(half, right), ONE_ROUNDING)
        assert relative_error(value, right) <= min(allowed, OF_RANGE)
