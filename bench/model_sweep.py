"""Every model of a folder imported, simplified, fused and run by the reference beside onnxruntime, in one table.

    python bench/model_sweep.py FOLDER [--only PATTERN] [--derived fp16,qdq] [--timeout 600] [--memory 8] [--json OUT]

FOLDER is one that `corpus_models.py` reads. Columns: nodes as exported, operators after import and after
simplification (constants not counted), seconds of import and of the reference, the largest error of any output as a part
of its range (integers exact; of a final Softmax or Sigmoid its input as well), and the verdict. onnxruntime runs without
graph optimisations, so that it judges what the model says; where an error is above 1e-4, the verdict compares it with how
far onnxruntime is from itself. With `--fp16` the graph is also computed in fp16 (see `fp16_error.py`), and the model fails
if it is neither within the fp16 bound nor explained by warnings that are proven to cure it. `--derived` takes instead of
each model what `derived_models.py` makes of it (patterns of names, `*` for all). One process a model, with limits of time
and memory; rows bear the commit and the seconds of CPU. Exits 1 if a model fails.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from corpus_models import bindings, commit, hints, in_half, inputs, load, onnxruntime_outputs, onnxruntime_session
from derived_models import DERIVATIONS
from fp16_error import CRASHED, GOOD, computed, fp16_columns, probability_node

TOLERANCE = 1e-4
"""Of the output's range, as float outputs may differ."""
HALF_TOLERANCE = 2e-3
"""The same for models with fp16 inside."""
UNCHANGED = "nothing derived"
HEAD = f"{'model':<52}{'nodes':>6}{'import':>8}{'simple':>8}{'imp s':>7}{'run s':>7}{'error':>10}  verdict"
HEAD_FP16 = f"  {'fp16':>9}{'rounding':>10}{'warned':>8}  verdict on fp16"


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="*", help="pattern of model names")
    parser.add_argument("--timeout", type=float, default=600, help="seconds a model (default 600)")
    parser.add_argument("--memory", type=float, default=8, help="GB of address space a model (default 8)")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--derived", default="", help="patterns of derivations, with commas; '*' for all")
    parser.add_argument("--fp16", action="store_true", help="also compute in fp16")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        row = examine(options.one, options.folder, options.derived, fp16=options.fp16)
        print(json.dumps(row | {"cpu_s": time.process_time()}))
        return 0
    print(HEAD + (HEAD_FP16 if options.fp16 else ""))
    patterns = options.derived.split(",")
    derived = (
        [name for name in DERIVATIONS if any(fnmatch.fnmatch(name, p) for p in patterns)] if options.derived else [""]
    )
    version = commit()
    rows: list[dict[str, Any]] = []
    for path in sorted(p for p in options.folder.iterdir() if p.name.endswith((".onnx", ".onnx.xz"))):
        name = path.name.removesuffix(".xz").removesuffix(".onnx")
        for derivation in derived if fnmatch.fnmatch(name, options.only) else ():
            command = [str(options.folder), "--one", str(path), "--derived", derivation]
            command += ["--fp16"] if options.fp16 else []
            row = in_own_process([__file__, *command], options.timeout, options.memory)
            if row["verdict"] == UNCHANGED:
                continue
            rows.append({"model": f"{name}+{derivation}" if derivation else name, "version": version} | row)
            print(line(rows[-1]), flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
    good = [row for row in rows if row["verdict"].startswith("agrees") and row.get("fp16_class", GOOD[0]) in GOOD]
    print(f"\n{len(good)} of {len(rows)} agree")
    for kind, count in Counter(row["fp16_class"] for row in rows if "fp16_class" in row).most_common():
        print(f"{count:>4}  in fp16: {kind}")
    for reason, count in Counter(
        cause for row in rows if row not in good for cause in causes(row["verdict"])
    ).most_common():
        print(f"{count:>4}  {reason}")
    return 0 if len(good) == len(rows) else 1


def causes(verdict: str) -> list[str]:
    """What stands in the way, without the names of nodes: of a refusal, every operator with its reason."""
    found = re.findall(r"(?:^|; )([^;]*?) \(\d+\): ", verdict.partition(":; ")[2].join(("; ", "")))
    return list(dict.fromkeys(found)) if verdict.startswith("refused") and found else [verdict[:160]]


def in_own_process(command: list[str], timeout: float, memory: float) -> dict[str, Any]:
    """The row that a script prints as JSON, or the verdict why it did not in so many seconds and GB."""
    limit = int(memory * 2**30)

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [sys.executable, *command],
            capture_output=True,
            text=True,
            timeout=timeout,
            preexec_fn=limit_memory,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return {"verdict": f"takes more than {timeout:.0f} s"}
    if done.returncode or not done.stdout.strip():
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return {"verdict": f"process died: {last[0]}"}
    return json.loads(done.stdout.splitlines()[-1])


def line(row: dict[str, Any]) -> str:
    """A row as text."""

    def cell(key: str, width: int, form: str = "") -> str:
        return f"{format(row[key], form) if key in row else '-':>{width}}"

    counts = cell("nodes", 6) + cell("imported", 8) + cell("simplified", 8)
    times = cell("import_s", 7, ".2f") + cell("run_s", 7, ".1f") + cell("error", 10, ".1e")
    text = f"{row['model']:<52}{counts}{times}  {row['verdict'][:200]}"
    if "fp16_verdict" in row:
        text += cell("fp16", 11, ".1e") + cell("rounding", 10, ".1e") + cell("warned", 8) + "  " + row["fp16_verdict"]
    return text


def examine(path: Path, folder: Path, derivation: str = "", *, fp16: bool = False) -> dict[str, Any]:
    """The row of one model, or of what a derivation makes of it."""

    from graph_engine.errors import GraphEngineError
    from graph_engine.frontend_onnx.importer import import_onnx
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.pipelines.default import Phase
    from graph_engine.pipelines.reference import ReferenceGraph

    row: dict[str, Any] = {}
    try:
        model = load(path, folder)
        if derivation:
            model = derive(model, derivation)
            if model is None:
                return {"verdict": UNCHANGED}
        row["nodes"] = len(model.graph.node)
        show_logits(model)
        shapes, values, most = bindings(model, hints(path, folder))
        feeds = inputs(model, shapes, values, most)
        start = time.perf_counter()
        free = {name: shape for name, shape in shapes.items() if name not in values}
        module = import_onnx(model, free, bindings=values)
        row["import_s"] = time.perf_counter() - start
        row["imported"] = operators(module)
        compile_module(module, until=Phase.SIMPLIFIED)
        row["simplified"] = operators(module)
        compile_module(module, until=Phase.FUSED)
        start = time.perf_counter()
        found = ReferenceGraph(module, path.name).run([feeds[name] for name in feeds if name not in values])
        row["run_s"] = time.perf_counter() - start
    except GraphEngineError as error:
        return row | {"verdict": "refused: " + "; ".join(text.strip() for text in str(error).splitlines())[:4000]}
    except Exception as error:
        return row | {"verdict": f"{type(error).__name__}: {error}".replace("\n", " ")[:400]}
    try:
        expected = onnxruntime_outputs(model, feeds)
    except Exception as error:
        return row | {"verdict": f"onnxruntime refuses it: {error}".replace("\n", " ")[:400]}
    for output, wanted, got in zip(model.graph.output, expected, found, strict=True):
        if wanted.shape != got.shape or wanted.dtype != got.dtype:
            verdict = f"'{output.name}' is {got.dtype}{list(got.shape)}, not {wanted.dtype}{list(wanted.shape)}"
            return row | {"verdict": verdict}
    row["error"] = distance(expected, found)
    if fp16:
        try:
            row |= fp16_columns(
                model,
                partial(computed, module),
                lambda seed: inputs(model, shapes, values, most, seed),
                onnxruntime_session,
                lambda: spread(model, feeds, expected),
            )
        except Exception as error:
            text = f"{CRASHED}: {type(error).__name__}: {error}".replace("\n", " ")[:400]
            row |= {"fp16_class": CRASHED, "fp16_verdict": text}
    bound = HALF_TOLERANCE if in_half(model) else TOLERANCE
    if row["error"] <= bound:
        return row | {"verdict": "agrees"}
    if "spread" not in row:
        row["spread"] = spread(model, feeds, expected)
    if row["error"] <= 2 * row["spread"]:
        return row | {"verdict": f"agrees as far as onnxruntime with itself ({row['spread']:.1e})"}
    return row | {"verdict": "differs"}


def distance(expected: list[Any], found: list[Any]) -> float:
    """The largest difference as a part of its output's range; any difference of integers is infinite."""
    import numpy as np

    errors: list[float] = []
    for wanted, got in zip(expected, found, strict=True):
        if wanted.dtype.kind != "f":
            errors.append(0.0 if np.array_equal(wanted, got) else float("inf"))
            continue
        wide = wanted.astype(np.float64)
        with np.errstate(invalid="ignore"):
            span = np.ptp(wide[np.isfinite(wide)]) if np.isfinite(wide).any() else 1.0
            apart = np.where(wide == got, 0, np.abs(wide - got))
        apart = np.where(np.isnan(wide) & np.isnan(got), 0, np.nan_to_num(apart, nan=np.inf))
        errors.append(float(apart.max(initial=0) / (span or 1.0)))
    return max(errors, default=0.0)


def spread(model: Any, feeds: dict[str, Any], expected: list[Any]) -> float:
    """How far onnxruntime is from itself: with its optimisations, and with float inputs changed in their last bits.

    Rounding to integers inside a quantised model, and activations much larger than what a later Clip or Erf lets
    through, make any order of fp32 sums visible.
    """
    import numpy as np

    random = np.random.default_rng(8)
    others = [onnxruntime_outputs(model, feeds, optimised=True)]
    for _ in range(3):
        nudged = {
            name: value * (1 + random.choice([-1, 1], value.shape) * 4 * np.finfo(value.dtype).eps).astype(value.dtype)
            if value.dtype.kind == "f"
            else value
            for name, value in feeds.items()
        }
        others.append(onnxruntime_outputs(model, nudged))
    return max(distance(expected, other) for other in others)


def derive(model: Any, derivation: str) -> Any:
    """What a derivation makes of a model; None if that is nothing, or nothing that onnxruntime takes: not our affair."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            derived = DERIVATIONS[derivation](model)
        if derived is not None:
            onnxruntime_session(derived)
        return derived
    except Exception as error:
        print(f"{derivation}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
        return None


def show_logits(model: Any) -> None:
    """What a final Softmax or Sigmoid reads becomes an output as well: large logits saturate and hide differences."""
    import onnx

    shown = {output.name for output in model.graph.output}
    for name in [output.name for output in model.graph.output]:
        node = probability_node(model, name)
        if node is not None and node.input[0] not in shown:
            shown.add(node.input[0])
            model.graph.output.append(onnx.ValueInfoProto(name=node.input[0]))


def operators(module: Any) -> int:
    """Operators of the graph that compute something."""
    (function,) = module.ops
    return sum(op.name not in ("ge.constant", "func.return", "return") for op in function.body.block.ops)


if __name__ == "__main__":
    sys.exit(main())
