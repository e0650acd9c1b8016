"""A model through the whole compiler and the checked chip, without the AI CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from harness.agreement import tasks_of

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.lowering.emit_program import emit_program
from graph_engine.pipelines.compile import DEFAULT_SOC, compile_module
from graph_engine.target_ascend.om.program import Launch
from graph_engine.target_ascend.runtime.device import run


def chip_outputs(
    model: onnx.ModelProto, feeds: Mapping[str, Any], soc: str = DEFAULT_SOC, **options: str
) -> tuple[list[Any], list[str]]:
    """Its outputs, in checking mode, which must stay silent; and the types of its tasks, all of which have kernels.
    `options` are those of the default pipeline."""
    module = import_onnx(model)
    compile_module(module, soc, pipeline=options)
    program = emit_program(module)
    tasks = tasks_of(program)
    assert all(isinstance(task, Launch) for task in tasks), tasks
    done = run(program, list(feeds.values()), mode="functional", check=True)
    assert not done.findings, done.findings[:3]
    return done.outputs, [task.type for task in tasks]
