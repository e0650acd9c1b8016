"""What conversions of format cost each model under four ways to compile it, in one table.

    python bench/layout.py [FOLDER] [--only PATTERN] [--time] [--why] [--json rows.json] [--timeout 300]
    python bench/layout_page.py rows.json > docs/layout_corpus.md

Without FOLDER the light networks of the onnx wheel are taken; FOLDER holds `*.onnx` or `*.onnx.xz` as for
`bench/model_sweep.py`. The ways: the default, a minimum cut; GE's heavy-format spread; every fusion switched off; and no
layout, where nothing but heavy operators leaves ND. For each: tasks, TransData among them, and the KB that tasks read and
write only to store the same elements otherwise, wherever that happens: TransData, transposes, and both on the AI CPU.
Then the lower bound of the minimum cut, and whether the cut reaches it. `--time` adds the modelled latency of the default.

One process a model, with a limit of time. With `--json` rows that the file has already are not computed again, so that a
long run can be stopped and resumed. Exits 1 if the minimum cut moves more than the spread.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "test"), str(Path(__file__).parent)]

WAYS = ("default", "heavy-spread", "unfused", "around")
"""Keys of a row: [tasks, TransData, bytes] each."""
MOVING = ("TransData", "Transpose", "TransposeD")
"""Types of the tasks that only store the same elements otherwise; the second is that of the AI CPU."""
HEAD = (
    f"{'model':<44}{'ops':>6}"
    + "".join(f"{way:>16}{'TransData':>11}{'KB':>10}" for way in WAYS)
    + f"{'us':>10}{'bound KB':>10}  proof"
)


def models(folder: Path | None, pattern: str) -> Iterator[tuple[str, Path | None]]:
    """Names of the models, and the files of those that are not light networks."""
    if folder is None:
        from models.light import LIGHT_NAMES

        yield from ((name, None) for name in LIGHT_NAMES if fnmatch.fnmatch(name, pattern))
        return
    for path in sorted(p for p in folder.iterdir() if p.name.endswith((".onnx", ".onnx.xz"))):
        name = path.name.removesuffix(".xz").removesuffix(".onnx")
        if fnmatch.fnmatch(name, pattern):
            yield name, path


def module_of(name: str, path: Path | None) -> tuple[Any, list[Any]]:
    """The model, imported, and inputs for it."""
    from graph_engine.frontend_onnx.importer import import_onnx

    if path is None:
        from models.light import light_model
        from onnx.helper import tensor_dtype_to_np_dtype

        model = light_model(name)
        return import_onnx(model), [_zeros(value, tensor_dtype_to_np_dtype) for value in model.graph.input]
    from corpus_models import bindings, hints, inputs, load

    model = load(path, path.parent)
    shapes, values, most = bindings(model, hints(path, path.parent))
    free = {name: shape for name, shape in shapes.items() if name not in values}
    feeds = inputs(model, shapes, values, most)
    return import_onnx(model, free, bindings=values), [feeds[name] for name in feeds if name not in values]


def _zeros(value: Any, dtype_of: Any) -> Any:
    import numpy as np

    kind = value.type.tensor_type
    return np.zeros([dim.dim_value for dim in kind.shape.dim], dtype_of(kind.elem_type))


def examine(name: str, path: Path | None, *, timed: bool = False) -> dict[str, Any]:
    """The row of one model."""
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.pipelines.default import Phase
    from graph_engine.pipelines.fusion_switch import fusion_passes
    from graph_engine.pipelines.runner import RunOptions
    from graph_engine.transforms.formats import FormatRules
    from graph_engine.transforms.fusion import graphs
    from graph_engine.transforms.heavy_spread import around, heavy_spread
    from graph_engine.transforms.layout_assignment import assign_layouts
    from graph_engine.transforms.switches import Switches

    imported, feeds = module_of(name, path)
    module = imported.clone()
    compile_module(module, until=Phase.PRECISION)
    rules = FormatRules.for_soc("Ascend310P3")
    row: dict[str, Any] = {"model": name, "ops": sum(len(list(operators(block))) for block in graphs(module))}
    assignments = [assign_layouts(block, rules) for block in graphs(module)]
    row |= {"bound": sum(a.lower_bound for a in assignments), "cost": sum(a.cost for a in assignments)}
    off = RunOptions(switches=Switches(groups=dict.fromkeys(fusion_passes(), False)))
    compile_module(imported, until=Phase.PRECISION, options=off)
    row["default"], row["why default"] = lowered(module.clone(), "min-cut")
    row["unfused"], row["why unfused"] = lowered(imported, "min-cut")
    best = [a.choice for a in assignments]
    for way, spread in (("heavy-spread", heavy_spread), ("around", around)):
        same = [spread(block, rules) for block in graphs(module)] == best
        row[way], row[f"why {way}"] = (row["default"], []) if same else lowered(module.clone(), way)
    if timed:
        row["us"] = latency(module, feeds)
    return row


def operators(block: Any) -> Iterator[Any]:
    """Operators that may become tasks."""
    return (op for op in block.ops if op.name not in ("ge.constant", "ge.reshape", "func.return"))


def lowered(module: Any, strategy: str) -> tuple[list[int], list[str]]:
    """Tasks, TransData among them, bytes that they and transposes move; and why each TransData is there."""
    from graph_engine.dialects.ascend.task import DeviceTaskOp
    from graph_engine.dialects.layout import storage_bytes
    from graph_engine.pipelines.context import make_context
    from graph_engine.pipelines.default import Phase, default_pipeline
    from graph_engine.pipelines.registry import instantiate
    from graph_engine.pipelines.runner import Step, run_steps
    from graph_engine.transforms.remarks import Remark, listening

    specs = [spec for _, spec in default_pipeline({}, after=Phase.PRECISION, until=Phase.SCHEDULED)]
    specs = [spec for spec in specs if spec.name not in ("double-buffer", "plan-onchip-buffers", "insert-sync")]
    for spec in specs:
        if spec.name == "propagate-layout":
            spec.options["strategy"] = strategy
    remarks: list[Remark] = []
    with listening(remarks.append):
        run_steps(make_context(), module, [Step(instantiate(spec)) for spec in specs])
    tasks: list[Any] = [op for op in module.walk() if isinstance(op, DeviceTaskOp)]
    kinds = [op.info.data["type"].data for op in tasks]
    moving = [op for op, kind in zip(tasks, kinds, strict=True) if kind in MOVING]
    moved = sum(storage_bytes(value.type) for op in moving for value in (*op.inputs, *op.outputs))
    return [len(tasks), kinds.count("TransData"), moved], [
        str(r.args["reason"]) for r in remarks if r.name == "TransData"
    ]


def latency(module: Any, feeds: list[Any]) -> float:
    """Modelled microseconds of the default."""
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.target_ascend.runtime.device import run

    compile_module(module)
    profile = run(emit_program(module), feeds, mode="timing").profile
    assert profile is not None
    return profile.latency_us


def in_own_process(name: str, path: Path | None, options: argparse.Namespace) -> dict[str, Any]:
    """The row of a model, from a process with its limit of time."""
    command = [sys.executable, __file__, *([str(options.folder)] if options.folder else []), "--one", name]
    command += ["--time"] if options.time else []
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout, env=environment)
    except subprocess.TimeoutExpired:
        return {"model": name, "error": f"takes more than {options.timeout:.0f} s"}
    if done.returncode or not done.stdout.strip():
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return {"model": name, "error": last[0][:160]}
    return json.loads(done.stdout.splitlines()[-1])


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    if "error" in row:
        return f"{row['model']:<44}{row['error']}"
    cells = "".join(f"{row[way][0]:>16}{row[way][1]:>11}{row[way][2] / 1024:>10.0f}" for way in WAYS)
    us = f"{row['us']:>10.0f}" if "us" in row else f"{'-':>10}"
    return f"{row['model']:<44}{row['ops']:>6}{cells}{us}{row['bound'] / 1024:>10.0f}  {proof(row)}"


def proof(row: dict[str, Any]) -> str:
    """What is known of the minimum cut: that no choice of formats converts fewer bytes, or how many fewer it may."""
    return "optimal" if row["cost"] == row["bound"] else f"<={row['cost'] / max(row['bound'], 1):.3f}x"


def worse(row: dict[str, Any]) -> bool:
    """Whether the minimum cut moves more than the spread."""
    return "error" not in row and row["default"][2] > row["heavy-spread"][2]


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", default="*", help="pattern of model names")
    parser.add_argument("--time", action="store_true", help="also compile and time the default to the end")
    parser.add_argument("--why", action="store_true", help="list the reasons of what is left")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a model (default 300)")
    parser.add_argument("--json", type=Path, help="rows: those in it are kept, new ones added")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(examine(*next(models(options.folder, options.one)), timed=options.time)))
        return 0
    known: list[dict[str, Any]] = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
    rows = {row["model"]: row for row in known}
    print(HEAD)
    shown: list[dict[str, Any]] = []
    for name, path in models(options.folder, options.only):
        if name not in rows or (options.time and "us" not in rows[name] and "error" not in rows[name]):
            rows[name] = in_own_process(name, path, options)
            if options.json:
                options.json.write_text(json.dumps(list(rows.values()), indent=1))
        shown.append(rows[name])
        print(line(shown[-1]), flush=True)
        if options.why and "error" not in shown[-1]:
            for reason, count in Counter(shown[-1]["why default"]).most_common():
                print(f"    {count:>4}  {reason}")
    good = [row for row in shown if "error" not in row]
    total = {way: sum(row[way][2] for row in good) for way in WAYS}
    if total["default"]:
        times = ", ".join(f"{way} {total[way] / total['default']:.2f} x" for way in WAYS[1:])
        proved = sum(row["cost"] == row["bound"] for row in good)
        print(f"\n{len(good)} models, bytes beside the default's: {times}; {proved} proved optimal;", end=" ")
        print(f"worse than heavy-spread: {sum(map(worse, good))}")
    return 1 if any(map(worse, good)) else 0


if __name__ == "__main__":
    sys.exit(main())
