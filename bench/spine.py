"""The spine's costs as ratios of CPU time in one run on one machine, beside onnxruntime on one thread.

    python bench/spine.py [--network resnet50,bert] [--rounds 5] [--seed 0] [--only time|memory|large] [--page docs/speed.md]

* time: ONNX file -> OM file beside creating a session from the same file; the modelled run (values and times, and times
  alone) of a program on a device beside inference in a session, every time computed anew; and, without a target, times asked
  again of a device that keeps them, and a single run that reads the OM file and prepares its kernels first. ResNet-50 and BERT-base of 128 tokens, batch 1, seeded weights.
  Medians of the rounds; a first round, which pays for lazy imports and prepared kernels, is shown beside them and not
  counted.
* memory: peak resident memory of a process that does one of these, beside one that does the same with onnxruntime.
* large: import and graph passes of a transformer of 10,000 nodes beside creating a session, once.

Each part runs in a process of its own, so that none sees the memory or the caches of another.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

# The largest factor of onnxruntime that is wanted.
TARGETS = {
    "ONNX file -> OM file": 10.0,
    "modelled run, function + time": 6.0,
    "modelled run, time only": 1.5,
    "peak memory of compile": 3.0,
    "peak memory of run": 3.0,
    "import + graph passes": 1.0,
}
PAGE = """# How fast the tools are

Written by `python bench/spine.py --page docs/speed.md`. CPU seconds on one thread of one machine, in one run, beside
onnxruntime in the same run: ratios are what to compare. Ours are medians behind a first round, which pays for imports and
prepared kernels and is shown as `first`; a modelled run keeps its program on a device, as inference keeps its session, and
from its second run on the weights in fp32; but it computes its times anew: those that the device keeps are a row of their own.
The memory of a run is that of three on one device.
[Beside SCALE-Sim](beside_scalesim.md) is a page of its own; [why the model of values is as fast as it
is](decisions/functional_engine.md).

```text
{tables}
```
"""

NETWORKS = {"resnet50": "ResNet-50", "bert": "BERT-base, 128 tokens"}
LARGE = 10_000
"""Nodes of the large transformer."""


def onnxruntime_session(model: str) -> Any:
    """A session as every user gets it, but on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def compile_file(model: str, om: str) -> Any:
    """ONNX file -> OM file; the report of the passes."""
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.pipelines.compile import compile_module, import_model
    from graph_engine.target_ascend.om.container import save

    module = import_model(model)
    report = compile_module(module)
    save(emit_program(module), om)
    return report


def device(om: str) -> Any:
    """A device with the program of an OM file."""
    from graph_engine.target_ascend.om.container import load
    from graph_engine.target_ascend.runtime.device import Device

    return Device(load(om))


def run_on(device: Any, inputs: str, mode: str) -> None:
    """The modelled run; times need no inputs."""
    device.run([] if mode == "timing" else list(feeds(inputs).values()), mode=mode)


def time_anew(device: Any) -> None:
    """The modelled times of a device's program, with nothing that an earlier run kept."""
    from graph_engine.target_ascend.runtime.device import Device

    Device(device.program).run(mode="timing")


def run_both(device: Any, inputs: str) -> None:
    """Values on the device, and times anew."""
    run_on(device, inputs, "functional")
    time_anew(device)


def run_file(om: str, inputs: str, mode: str) -> None:
    """The modelled run of an OM file from reading it on."""
    run_on(device(om), inputs, mode)


def feeds(inputs: str) -> dict[str, Any]:
    """Inputs by name, in order."""
    import numpy as np

    with np.load(inputs) as arrays:
        return {name: arrays[name] for name in arrays.files}


def infer(session: Any, inputs: str) -> None:
    """The same with onnxruntime."""
    session.run(None, feeds(inputs))


# ---- parts, each in its own process ---------------------------------------------------------------------------------


def prepare(folder: Path, network: str, seed: int) -> None:
    """The network, its inputs, and an OM file for the runs."""
    import numpy as np
    import onnx

    if network == "bert":
        from published.net import Net
        from published.transformers import bert

        rng = np.random.default_rng(seed)
        net = Net(1)
        net.save(bert(128)(net), folder).rename(folder / "m.onnx")
        names = [value.name for value in onnx.load(str(folder / "m.onnx"), load_external_data=False).graph.input]
        values = rng.integers(0, 30522, (1, 128)), np.ones((1, 128), np.int64), np.zeros((1, 128), np.int64)
        given = dict(zip(names, values, strict=True))
    else:
        from models.light import light_model, random_inputs

        model = light_model("resnet50", seed=seed)
        onnx.save(model, str(folder / "m.onnx"))
        given = random_inputs(model, seed)
    np.savez(str(folder / "x.npz"), **given)
    compile_file(str(folder / "m.onnx"), str(folder / "m.om"))


def measure_large(seed: int) -> dict[str, float]:
    """CPU seconds for the large transformer: import, graph passes, session."""
    import onnx
    from models.transformer import transformer

    from graph_engine.frontend_onnx.importer import import_onnx
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.pipelines.default import Phase

    compile_module(import_onnx(transformer(100, seed)), until=Phase.LAID_OUT)  # pays for lazy imports
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        path = str(Path(name) / "m.onnx")
        onnx.save(transformer(LARGE, seed), path)
        onnxruntime_session(path)
        for what in ("session", "import", "passes"):
            start = time.process_time()
            if what == "session":
                onnxruntime_session(path)
            elif what == "import":
                module = import_onnx(path)
            else:
                compile_module(module, until=Phase.LAID_OUT)
            found[what] = time.process_time() - start
    return found


def measure_time(folder: Path, rounds: int) -> dict[str, list[float]]:
    """CPU seconds by kind of work, one list entry a round, the warming first round included."""
    model, om, image = (str(folder / name) for name in ("m.onnx", "m.om", "x.npz"))
    sessions: list[Any] = []
    devices: list[Any] = []

    def create() -> None:
        sessions[:] = [onnxruntime_session(model)]

    work: dict[str, Callable[[], object]] = {
        "session": create,
        "inference": lambda: infer(sessions[0], image),
        "compile": lambda: compile_file(model, om),
        "single": lambda: run_file(om, image, "both"),
        "both": lambda: run_both(devices[0], image),
        "function": lambda: run_on(devices[0], image, "functional"),
        "time": lambda: time_anew(devices[0]),
        "again": lambda: run_on(devices[0], image, "timing"),
    }
    found: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds + 1):
        for name, call in work.items():
            if name == "both" and not devices:
                devices.append(device(om))
            start = time.process_time()
            call()
            found[name].append(time.process_time() - start)
    return found


def measure_memory(folder: Path, what: str) -> float:
    """Peak resident MiB of this process after one piece of work; of runs, after several on one device."""
    model, om, image = (str(folder / name) for name in ("m.onnx", "m.om", "x.npz"))
    match what:
        case "compile":
            compile_file(model, str(folder / "memory.om"))
        case "run":  # as often as it takes until the device keeps all that it will
            one = device(om)
            for _ in range(3):
                run_both(one, image)
        case "session":
            onnxruntime_session(model)
        case _:
            infer(onnxruntime_session(model), image)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ---- the parent -----------------------------------------------------------------------------------------------------


def child(folder: Path, *arguments: str) -> Any:
    """What a part prints as JSON."""
    command = [sys.executable, __file__, "--folder", str(folder), "--part", *arguments]
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | one_thread).stdout)


def verdict(what: str, ratio: float) -> str:
    """A row's last columns: the target, and whether it is met."""
    return f"{f'<= {TARGETS[what]:g}':>9}  {'met' if ratio <= TARGETS[what] else 'MISSED'}"


def print_time(network: str, found: dict[str, list[float]]) -> None:
    """Medians without the first round, and the ratios."""
    medians = {name: statistics.median(values[1:]) for name, values in found.items()}
    print(f"\n{NETWORKS[network]}, batch 1: CPU time")
    print(f"{'':<34}{'ours s':>9}{'ort s':>9}{'ratio':>8}{'first':>8} {'target':>9}")
    rows = [
        ("ONNX file -> OM file", "compile", "session"),
        ("modelled run, function + time", "both", "inference"),
        ("  function only", "function", "inference"),
        ("modelled run, time only", "time", "inference"),
        ("  time again on the same device", "again", "inference"),
        ("a single run from the OM file", "single", "inference"),
    ]
    for what, ours, theirs in rows:
        ratio = statistics.median(a / b for a, b in zip(found[ours][1:], found[theirs][1:], strict=True))
        first = found[ours][0] / medians[theirs]
        tail = verdict(what, ratio) if what in TARGETS else ""
        print(f"{what:<34}{medians[ours]:>9.3f}{medians[theirs]:>9.3f}{ratio:>7.1f}x{first:>7.1f}x {tail}", flush=True)


def print_memory(network: str, found: dict[str, float]) -> None:
    """Peaks and ratios."""
    print(f"\n{NETWORKS[network]}, batch 1: peak resident memory")
    print(f"{'':<34}{'ours MiB':>9}{'ort MiB':>9}{'ratio':>8}{'':>8} {'target':>9}")
    for what, ours, theirs in (("compile", "compile", "session"), ("run", "run", "inference")):
        ratio = found[ours] / found[theirs]
        row = f"peak memory of {what}"
        print(
            f"{row:<34}{found[ours]:>9.0f}{found[theirs]:>9.0f}{ratio:>7.1f}x{'':>8} {verdict(row, ratio)}", flush=True
        )


def print_large(found: dict[str, float]) -> None:
    """The large transformer's row."""
    ours = found["import"] + found["passes"]
    print(
        f"\nTransformer of {LARGE:,} nodes: CPU time (import {found['import']:.1f} s, passes {found['passes']:.1f} s)"
    )
    row, ratio = "import + graph passes", ours / found["session"]
    print(f"{row:<34}{ours:>9.3f}{found['session']:>9.3f}{ratio:>7.1f}x{'':>8} {verdict(row, ratio)}", flush=True)


def main() -> None:
    """Runs the parts and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="medians are taken over so many (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and inputs")
    parser.add_argument("--network", default="resnet50,bert", help=f"of {', '.join(NETWORKS)} (default all)")
    parser.add_argument("--only", choices=("time", "memory", "large"), help="one of the tables")
    parser.add_argument("--page", type=Path, help="write the tables to this page as well")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        part, *arguments = options.part
        calls: dict[str, Callable[[], object]] = {
            "prepare": lambda: prepare(options.folder, arguments[0], int(arguments[1])),
            "large": lambda: measure_large(int(arguments[0])),
            "time": lambda: measure_time(options.folder, int(arguments[0])),
            "memory": lambda: measure_memory(options.folder, arguments[0]),
        }
        from graph_engine.pipelines.collection import relaxed_gc

        with relaxed_gc():  # as in the tools
            print(json.dumps(calls[part]()))
        return
    tables = io.StringIO()
    with contextlib.redirect_stdout(tables) if options.page else contextlib.nullcontext():
        print_tables(options)
    if options.page:
        options.page.write_text(PAGE.format(tables=tables.getvalue().strip()))
        print(tables.getvalue())


def print_tables(options: argparse.Namespace) -> None:
    """Measures what is wanted and prints each table when it is known."""
    wanted = (options.only,) if options.only else ("time", "memory", "large")
    for network in options.network.split(",") if wanted != ("large",) else ():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            child(folder, "prepare", network, str(options.seed))
            if "time" in wanted:
                print_time(network, child(folder, "time", str(options.rounds)))
            if "memory" in wanted:
                parts = ("compile", "run", "session", "inference")
                print_memory(network, {part: child(folder, "memory", part) for part in parts})
    if "large" in wanted:
        print_large(child(Path(), "large", str(options.seed)))


if __name__ == "__main__":
    main()
