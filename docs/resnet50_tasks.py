"""Writes resnet50_tasks.md, the tasks that light_resnet50 becomes in order as `make demo` compiles it, and the demo's
figures in README.md."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parent
PROMISED = 62


def light_models() -> ModuleType:
    """The model builder of the test tree, loaded by its path."""
    spec = importlib.util.spec_from_file_location("light_models", DOCS.parent / "test" / "models" / "light.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page() -> str:
    """The whole page."""
    from graph_engine.frontend_onnx.importer import import_onnx
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.target_ascend.om.program import AicpuCall, Launch

    model = light_models().light_model("resnet50")
    module = import_onnx(model)
    compile_module(module, "Ascend310P3")
    (entry,) = emit_program(module, "resnet50").entry_points
    tasks = [task for stream in entry.streams for task in stream.tasks if isinstance(task, Launch | AicpuCall)]
    types = ", ".join(f"{count} {kind}" for kind, count in Counter(task.type for task in tasks).most_common())
    macs = sum(task.macs for task in tasks)
    cube = sum(task.macs for task in tasks if isinstance(task, Launch))
    moved = [task for task in tasks if task.layout_bytes]
    kernels = len({task.kernel for task in tasks if isinstance(task, Launch)})
    lines = [
        "<!-- Written by docs/resnet50_tasks.py; do not edit. -->",
        "",
        "# ResNet-50 as tasks",
        "",
        f"`light_resnet50.onnx` of the onnx package has {len(model.graph.node)} nodes. Compiled for Ascend310P3 with the",
        f"default pipeline it becomes **{len(tasks)} tasks** (at most {PROMISED} are promised) with {kernels} distinct kernels:",
        f"{types}.",
        "",
        f"* {cube / macs:.1%} of the {macs / 1e9:.2f} G multiply-accumulates run on the Cube, "
        f"{sum(isinstance(task, AicpuCall) for task in tasks)} tasks on the AI CPU.",
        "* Every convolution carries its BatchNorm, ReLU and residual Add: see the source nodes.",
        f"* Layout changes in {len(moved)} tasks: {', '.join(task.name for task in moved)}; at the model's input and around the",
        "  classifier only.",
        "",
        "Times are not listed here; `make demo` prints them. It asks for the logits as a second output, which takes one more",
        "Cast.",
        "",
        "| # | task | type | kernel | blocks | result | ONNX nodes |",
        "|---|---|---|---|---|---|---|",
    ]
    for number, task in enumerate(tasks, start=1):
        launch = isinstance(task, Launch)
        output = task.outputs[0]
        shape = "x".join(map(str, output.shape))
        nodes = ", ".join(f"{node.name} ({node.op_type})" for node in task.source_nodes)
        lines.append(
            f"| {number} | {task.name} | {task.type} | {task.kernel if launch else 'AI CPU'} | "
            f"{task.block_dim if launch else '-'} | {shape} {output.dtype.mlir} {output.format} | {nodes} |"
        )
    return "\n".join(lines) + "\n"


def demo() -> str:
    """What the demo prints behind its progress, without titles and with the first of the longest tasks only."""
    command = [sys.executable, "-m", "graph_engine.tools.demo"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | {"COLUMNS": "120"})
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    lines = lines[next(i for i, line in enumerate(lines) if "before fusion" in line) :]
    task_rows = [line for line in lines if line.startswith("│") and line.count("│") == 7]
    dropped = {*task_rows[3:], *(line for line in lines if line.startswith(("Engines (", "Longest tasks (")))}
    return "\n".join(line for line in lines if line not in dropped)


def with_demo(readme: str) -> str:
    """README.md with the demo's figures as they are now."""
    block = f"<!-- demo -->\n```text\n{demo()}\n```\n<!-- end -->"
    return re.sub(r"<!-- demo -->\n.*?<!-- end -->", lambda _: block, readme, flags=re.S)


if __name__ == "__main__":
    (DOCS / "resnet50_tasks.md").write_text(page(), encoding="utf-8")
    readme = DOCS.parent / "README.md"
    readme.write_text(with_demo(readme.read_text(encoding="utf-8")), encoding="utf-8")
