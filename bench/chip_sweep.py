"""Every model of a folder compiled for chips and run on their models beside onnxruntime, in checking mode, in one table.

    python bench/chip_sweep.py FOLDER --json rows.json [--soc Ascend310P3,Ascend910B3] [--only PATTERN] [--first N]
    python bench/chip_sweep.py FOLDER --json rows.json --timing-only --soc all
    python bench/chip_page.py rows.json > docs/chip_corpus.md

FOLDER is as for `model_sweep.py`. Columns: tasks, those that run on the AI CPU and why not on a core, modelled time, findings
of checking mode, the largest error of any output as a part of its range, what rounding alone costs, and the verdict by the
bound of `fp16_error.py`. Models are taken by the number of their weights, small ones first, one process each with limits of
time and memory. Rows of the same commit that the file holds already are not made again, so that a sweep can be stopped and
continued; `--jobs` makes several at a time. `--timing-only` compiles and times without values: it finds what a compiler
refuses. Exits 1 if a model fails.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from typing import Any

import corpus_models
import fp16_error
import model_sweep

COMPILED = "compiles"
FAILED = "failed"
GOOD = (COMPILED, *fp16_error.GOOD)


def main() -> int:
    """Prints the table and keeps its rows in a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, required=True, help="rows, those that are there and those to come")
    parser.add_argument("--soc", default="Ascend310P3,Ascend910B3", help="chips, with commas, or 'all'")
    parser.add_argument("--only", default="*", help="patterns of model names, with commas")
    parser.add_argument("--first", type=int, help="only so many models, the smallest")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time (default 1)")
    parser.add_argument("--timing-only", action="store_true", help="compile and time, compute nothing")
    parser.add_argument("--timeout", type=float, default=900, help="seconds a model (default 900)")
    parser.add_argument("--memory", type=float, default=8, help="GB of address space a model (default 8)")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(examine(options.one, options.folder, options.soc, timing_only=options.timing_only)))
        return 0
    rows: list[dict[str, Any]] = json.loads(options.json.read_text()) if options.json.exists() else []
    version = corpus_models.commit()
    known = {(row["model"], row["soc"]) for row in rows if row["version"] == version}

    def row_of(case: tuple[Path, str]) -> dict[str, Any]:
        path, soc = case
        command = [__file__, str(options.folder), "--one", str(path), "--json", str(options.json), "--soc", soc]
        command += ["--timing-only"] if options.timing_only else []
        row = model_sweep.in_own_process(command, options.timeout, options.memory)
        return {"model": name_of(path), "soc": soc, "version": version, "class": FAILED} | row

    start = time.perf_counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(row_of, [case for case in wanted(options) if (name_of(case[0]), case[1]) not in known]):
            rows.append(row)
            options.json.write_text(json.dumps(rows, indent=1))
            print(line(row), flush=True)
    seconds = sum(row.get("cpu_s", 0.0) for row in rows if row["version"] == version)
    print(f"\n{time.perf_counter() - start:.0f} s; {seconds:.0f} s of one core in all rows of this commit")
    good = sum(row["class"] in GOOD and not row.get("findings") for row in rows)
    print(f"{good} of {len(rows)} are good")
    return 0 if good == len(rows) else 1


def wanted(options: argparse.Namespace) -> Iterator[tuple[Path, str]]:
    """Models by the number of their weights, each with every chip."""
    from graph_engine.target_ascend.soc.soc import available_socs

    socs = available_socs() if options.soc == "all" else options.soc.split(",")
    paths = [p for p in options.folder.iterdir() if p.name.endswith((".onnx", ".onnx.xz"))]
    paths = [p for p in paths if any(fnmatch.fnmatch(name_of(p), pattern) for pattern in options.only.split(","))]
    for path in sorted(paths, key=lambda p: (weights(p), p.name))[: options.first]:
        for soc in socs:
            yield path, soc


def name_of(path: Path) -> str:
    """The model's name."""
    return path.name.removesuffix(".xz").removesuffix(".onnx")


def weights(path: Path) -> int:
    """How many weights a model has, stripped or not."""
    graph = corpus_models.load(path, None).graph
    constants = [a.t for node in graph.node for a in node.attribute if a.HasField("t")]
    return sum(prod(tensor.dims) for tensor in (*graph.initializer, *constants))


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    host = sum(count for count, _ in row.get("aicpu", {}).values())
    counts = f"{row.get('tasks', '-'):>6}{host:>4}{len(row.get('findings', [])):>4}"
    times = f"{row['us']:>11.1f}" if "us" in row else f"{'-':>11}"
    errors = "".join(f"{row[key]:>9.1e}" if key in row else f"{'-':>9}" for key in ("fp16", "rounding"))
    return f"{row['model'][:44]:<46}{row['soc']:<18}{counts}{times}{errors}  {row['class']}: {row['verdict'][:200]}"


def examine(path: Path, folder: Path, soc: str, *, timing_only: bool = False) -> dict[str, Any]:
    """The row of one model on one chip."""
    from graph_engine.target_ascend.runtime.device import run

    row: dict[str, Any] = {"class": FAILED}
    case = None
    try:
        model = corpus_models.load(path, folder)
        model_sweep.show_logits(model)
        shapes, values, most = corpus_models.bindings(model, corpus_models.hints(path, folder))
        case = OnChip(model, shapes, values, soc)
        start = time.process_time()
        program, row["aicpu"] = case.compile()
        row["compile_s"] = time.process_time() - start
        profile = run(program, mode="timing").profile
        assert profile is not None
        row |= {"tasks": len(profile.tasks), "us": profile.latency_us}
        if timing_only:
            return row | {"class": COMPILED, "verdict": f"in {row['compile_s']:.0f} s", "cpu_s": time.process_time()}

        def inputs_of(seed: int) -> dict[str, Any]:
            return corpus_models.inputs(model, shapes, values, most, seed)

        def spread() -> float:
            feeds = inputs_of(0)
            return model_sweep.spread(model, feeds, corpus_models.onnxruntime_outputs(model, feeds))

        columns = fp16_error.fp16_columns(model, case.computed, inputs_of, corpus_models.onnxruntime_session, spread)
        row |= columns | {"class": columns["fp16_class"], "verdict": columns["fp16_verdict"]}
    except Exception as error:  # a crash is what the sweep looks for
        row |= {"verdict": f"{type(error).__name__}: {error}".replace("\n", " ")[:600]}
    return row | {"findings": case.findings if case is not None else [], "cpu_s": time.process_time()}


class OnChip:
    """One model on one chip, in checking mode: what it finds is in `findings`."""

    def __init__(self, model: Any, shapes: dict[str, Any], values: dict[str, Any], soc: str) -> None:
        from graph_engine.frontend_onnx.importer import import_onnx
        from graph_engine.pipelines.compile import compile_module
        from graph_engine.pipelines.default import Phase

        free = {name: shape for name, shape in shapes.items() if name not in values}
        self.module = import_onnx(model, free, bindings=values)
        compile_module(self.module, soc, Phase.SIMPLIFIED)
        self.soc = soc
        self.findings: list[str] = []

    def compile(self, keep: list[str] | None = None) -> tuple[Any, dict[str, tuple[int, str]]]:
        """The program with the nodes `keep` in fp32; and how many tasks run on the AI CPU and why, by operator."""
        from graph_engine.dialects.ascend.task import AicpuOp
        from graph_engine.lowering.emit_program import emit_program
        from graph_engine.pipelines.compile import compile_module

        module = self.module.clone()
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
            names.write("\n".join(keep or []))
            names.flush()
            compile_module(module, self.soc, pipeline={"keep_dtype": names.name} if keep else None)
        hosts = [op for op in module.walk() if isinstance(op, AicpuOp)]
        reasons = {op.operator.data: str(op.info.data.get("no_kernel", "")).strip('"') for op in hosts}
        counts = Counter(op.operator.data for op in hosts)
        return emit_program(module), {name: (count, reasons[name]) for name, count in counts.items()}

    def computed(
        self, feeds: dict[str, Any], *, sample: bool = False, keep: list[str] | None = None, run: bool = True
    ) -> tuple[list[Any], list[Any]]:
        """The warnings before force-fp16 and the chip's outputs."""
        import numpy as np

        from graph_engine.target_ascend.runtime import device

        remarks, _ = fp16_error.computed(self.module, feeds, sample=sample, keep=keep, run=False)
        if not run:
            return remarks, []
        program, _ = self.compile(keep)
        inputs = [np.asarray(feeds[port.name]) for port in program.entry_points[0].inputs]
        result = device.run(program, inputs, mode="functional", check=True)
        self.findings += [str(finding) for finding in result.findings]
        return remarks, result.outputs


if __name__ == "__main__":
    sys.exit(main())
