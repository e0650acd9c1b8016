"""`make demo`: compile a ResNet-50 and run it on a modelled Ascend310P3.

The network is the one in the onnx wheel with the seeded weights of the test tree's model builder, which is loaded by
its path, because the tests are not part of the package. The answer is judged by onnxruntime.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.command_line import (
    OneLineParser,
    add_fusion_options,
    add_precision_options,
    one_line_main,
    precision_options,
    use_one_blas_thread,
)

if TYPE_CHECKING:
    import numpy as np
    from rich.progress import Progress
    from xdsl.dialects.builtin import ModuleOp

    from graph_engine.target_ascend.om.program import Program
    from graph_engine.target_ascend.runtime.device import RunResult

    Array = np.ndarray[Any, np.dtype[Any]]

BUILDER = Path("test") / "models" / "light.py"


def make_parser() -> OneLineParser:
    """The command line; plain `make demo` needs none of it."""
    parser = OneLineParser(prog="demo", description="Compile a light model and run it on the modelled chip.")
    add = parser.add_argument
    add("--model", default="resnet50", help="one of the onnx wheel's light models (default resnet50)")
    add("--batch", type=int, default=1, help="samples in one run (default 1)")
    add("--seed", type=int, default=0, help="seed of weights and input (default 0)")
    add("--soc-version", default="Ascend310P3", help="chip to compile for (default Ascend310P3)")
    add_precision_options(parser)
    add_fusion_options(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Builds, compiles, runs, compares; prints what is worth knowing."""
    options = make_parser().parse(arguments)
    use_one_blas_thread()
    if options.batch < 1 or options.seed < 0:
        raise GraphEngineError("--batch is at least 1, --seed at least 0")
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console()
    columns = TextColumn("{task.description:<34}"), BarColumn(), TextColumn("{task.fields[now]}"), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        builder = _load_builder()
        with _Step(progress, "build the model", 1):
            model, logits = _build(builder, options)
            feeds = builder.random_inputs(model, options.seed, batch=options.batch)
        module, before = _compile(progress, model, options)
        program = _emit(progress, module, options.model)
        result = _execute(progress, program, list(feeds.values()))
        with _Step(progress, "run onnxruntime in fp32", 1):
            expected = _judge(builder, model, feeds)
    _report(console, program, before, result, logits, expected)
    return 0


def _load_builder() -> ModuleType:
    """The model builder of the checkout that this file belongs to."""
    path = Path(__file__).resolve().parents[3] / BUILDER
    spec = importlib.util.spec_from_file_location("light_models", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise GraphEngineError(f"the demo runs from a checkout: there is no {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Step:
    """A row of the progress display that is done when the block ends."""

    def __init__(self, progress: Progress, title: str, total: int) -> None:
        self.progress = progress
        self.row = progress.add_task(title, total=total, now="")
        self.total = total

    def __enter__(self) -> _Step:
        return self

    def now(self, name: str) -> None:
        """Shows `name` as what runs now; what ran before is done."""
        self.progress.update(self.row, advance=1, now=name)

    def __exit__(self, *_: object) -> None:
        self.progress.update(self.row, completed=self.total, now="")


def _build(builder: ModuleType, options: argparse.Namespace) -> tuple[Any, str]:
    """The re-weighted model with its logits as a further output, and their name."""
    try:
        model = builder.light_model(options.model, seed=options.seed, batch=options.batch)
    except ValueError as problem:
        raise GraphEngineError(f"--model {options.model}: {problem}") from problem
    logits = builder.logits_name(model)
    return builder.with_extra_outputs(model, [logits]), logits


def _compile(progress: Progress, model: Any, options: argparse.Namespace) -> tuple[ModuleOp, int]:
    """The module at phase `tasks`, and how many operators there were before any fusion."""
    from graph_engine.frontend_onnx.importer import import_onnx
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.pipelines.context import make_context
    from graph_engine.pipelines.default import DEFAULT, Phase
    from graph_engine.pipelines.fusion_switch import read_switches, write_fusion_result
    from graph_engine.pipelines.runner import RunOptions, RunReport
    from graph_engine.transforms.switches import ALL_ON

    phases = list(dict.fromkeys(phase for phase, _ in DEFAULT))
    switches = read_switches(options.fusion_switch_file) if options.fusion_switch_file else ALL_ON
    whole = RunReport()
    with _Step(progress, f"compile for {options.soc_version}", len(phases) + 1) as step:
        step.now(Phase.IMPORTED.title)
        module = import_onnx(model)
        context, precision, operators = make_context(), precision_options(options), 0
        for phase in phases:
            step.now(phase.title)
            how = RunOptions(switches=switches)
            report = compile_module(
                module, options.soc_version, phase, context=context, options=how, pipeline=precision
            )
            whole.steps += report.steps
            if phase is Phase.SIMPLIFIED:
                operators = _operators(module)
    write_fusion_result(options.fusion_result, [whole])
    return module, operators


def _operators(module: ModuleOp) -> int:
    """Operators that would each be a task if nothing were fused: all but constants and changes of shape alone."""
    free = ("ge.constant", "ge.reshape", "func.return")
    functions = [op for op in module.ops if op.name == "func.func"]
    return sum(op.name not in free for function in functions for op in function.regions[0].block.ops)


def _emit(progress: Progress, module: ModuleOp, name: str) -> Program:
    from graph_engine.lowering.emit_program import emit_program

    with _Step(progress, "encode kernels and weights", 1):
        return emit_program(module, name)


def _execute(progress: Progress, program: Program, inputs: Sequence[Array]) -> RunResult:
    from graph_engine.target_ascend.runtime.device import run

    tasks = sum(len(stream.tasks) for entry in program.entry_points for stream in entry.streams)
    with _Step(progress, "run on the modelled chip", tasks) as step:
        return run(program, inputs, progress=step.now)


def _judge(builder: ModuleType, model: Any, feeds: dict[str, Array]) -> list[Array]:
    try:
        return list(builder.reference_outputs(model, feeds).values())
    except ImportError as problem:
        raise GraphEngineError("the demo compares with onnxruntime: pip install 'graph-engine[demo]'") from problem


def _report(
    console: Any, program: Program, before: int, result: RunResult, logits: str, expected: Sequence[Array]
) -> None:
    from graph_engine.target_ascend.profile.summary import print_summary

    assert result.profile is not None
    tasks = len(result.profile.tasks)
    console.print(f"\n{before} operators before fusion, {tasks} tasks after it", highlight=False)
    print_summary(result.profile, console)
    names = [tensor.name for tensor in program.entry_points[0].outputs]
    console.print("error against onnxruntime in fp32:", highlight=False)
    for name, found, wanted in zip(names, result.outputs, expected, strict=True):
        note = " (logits)" if name == logits else ""
        console.print(f"  {name}{note}: {_error(found, wanted)}", highlight=False, markup=False, soft_wrap=True)


def _error(found: Array, wanted: Array) -> str:
    """Largest error over the range of the wanted values, cosine, and whether the largest values stand in the same place."""
    import numpy as np

    a, b = found.astype(np.float64).reshape(len(found), -1), wanted.astype(np.float64).reshape(len(wanted), -1)
    error = np.abs(a - b).max() / max(float(np.ptp(b)), 1e-30)
    cosine = float((a * b).sum() / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-30))
    same = int((a.argmax(axis=1) == b.argmax(axis=1)).sum())
    return f"{error:.3%} of the range at most, cosine {cosine:.7f}, top-1 equal in {same} of {len(a)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of `python -m graph_engine.tools.demo`."""
    return one_line_main(run, arguments)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
