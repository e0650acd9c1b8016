"""How the cost of compiling grows with the network: CPU time by pass, the power of n that it follows, and onnxruntime's.

    python bench/growth.py [--network transformer|residual] [--rounds 3] [--seed 0] [--largest 16000]

* transformer: an encoder as exporters write it, all layers alike but for their weights (`test/models/transformer.py`).
* residual: bottlenecks of convolutions, whose number of distinct kernels grows as the network does.

Two tables:

* work: Python calls that the import, each pass and verification make. Free of noise, but for the constant part that a small
  network shows.
* time: CPU seconds, the least of the rounds, since others on the machine only add to it. Networks of 1,000 nodes up to the
  largest, each twice the one before; the largest half of the sizes is run in the first round alone.

Every run is a process of its own that compiles a small network first, which pays for lazy imports. The exponent is the
slope of the least-squares line through the logarithms, with its 95 % confidence interval. Then the same at 10,000 nodes
beside the creation of an onnxruntime session on one thread (all its graph optimisations), in turns. Exits 1 if the work
of any pass grows faster than the target, or the time surely does: its whole interval lies above.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

TARGET = 1.1
"""The largest exponent of the whole and of any pass."""
COUNTED = (1000, 4000)
"""Nodes of the networks whose work is counted."""
COMPARED = 10_000
"""Nodes of the network beside onnxruntime."""
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365}
"""The 97.5 % quantile of Student's distribution by degrees of freedom."""
AFTER = ("(emission)", "(saving)", "(time of the run)")
"""What follows the passes: shown, not counted."""
KERNELS = "distinct kernels"


def residual_network(nodes: int, seed: int = 0) -> Any:
    """Bottlenecks of 8 nodes on 8 x 8 images. Widths walk at random through v multiples of 16 up to 256, where v * v
    grows as the number of nodes: so does the number of distinct kernels (one a pair of widths)."""
    import numpy as np
    from models.small import GraphBuilder

    widths = max(2, round(4 * math.sqrt(nodes / 1000)))
    choices = [16 * max(1, round(16 * (i + 1) / widths)) for i in range(widths)]
    rng = np.random.default_rng(seed)
    b = GraphBuilder(seed)
    width = 64
    y = b.input("x", (1, width, 8, 8))
    for _ in range(nodes // 8):
        short = y
        y = b.conv_bn_relu(y, width, 16, 1)
        y = b.batch_norm(b.conv(y, 16, width, 1, bias=False), width)
        y = b.node("Relu", [b.node("Add", [y, short])])
        following = int(rng.choice(choices))
        y = b.conv(y, width, following, 1)
        width = following
    b.node("Relu", [y], "y")
    return b.model("y")


def write_network(name: str, nodes: int, seed: int, path: Path) -> None:
    """The network as a file."""
    import onnx
    from models.transformer import transformer

    builder = {"transformer": transformer, "residual": residual_network}[name]
    onnx.save(builder(nodes, seed), str(path))


def compile_steps(path: str, om: str) -> dict[str, float]:
    """CPU seconds of the import, each pass, all verification, and what follows, by name in order."""
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.pipelines.compile import compile_module, import_model
    from graph_engine.target_ascend.om.container import save
    from graph_engine.target_ascend.runtime.device import run

    found: dict[str, float] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = call()
        found[name] = time.process_time() - start
        return result

    module = timed("import", lambda: import_model(path))
    report = compile_module(module)
    for step in report.steps:
        found[step.name] = found.get(step.name, 0.0) + step.cpu_s
    found["verification"] = sum(step.verify_cpu_s for step in report.steps)
    program = timed("(emission)", lambda: emit_program(module))
    timed("(saving)", lambda: save(program, om))
    timed("(time of the run)", lambda: run(program, mode="timing"))
    found[KERNELS] = len(program.kernels)
    return found


def count_calls(path: str) -> dict[str, float]:
    """Calls of Python functions that the import, each pass and all verification make."""
    from cProfile import Profile

    from graph_engine.pipelines.compile import default_steps, import_model
    from graph_engine.pipelines.context import make_context
    from graph_engine.pipelines.verification import Verifier

    found: dict[str, float] = {"verification": 0}

    def counted(name: str, call: Callable[[], Any]) -> Any:
        profile = Profile(builtins=False)
        result = profile.runcall(call)
        found[name] = found.get(name, 0) + sum(entry.callcount for entry in profile.getstats())
        return result

    module = counted("import", lambda: import_model(path))
    context, verifier = make_context(), Verifier()
    steps = default_steps({}, module)
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        counted(step.body.name, lambda step=step: step.body.apply(context, module))
        if following is None or following.phase is not step.phase:
            counted("verification", lambda: verifier.verify(module))
    return found


def session_seconds(path: str) -> float:
    """CPU seconds of creating an onnxruntime session on one thread."""
    from spine import onnxruntime_session

    start = time.process_time()
    onnxruntime_session(path)
    return time.process_time() - start


def measure(folder: Path, what: str, nodes: str) -> Any:
    """One measurement, behind a small network of the same kind that is not counted."""
    from graph_engine.pipelines.collection import relaxed_gc

    calls: dict[str, Callable[[str], Any]] = {
        "session": session_seconds,
        "count": count_calls,
        "compile": lambda path: compile_steps(path, str(folder / "growth.om")),
    }
    call = calls[what]
    call(str(folder / "warm.onnx"))
    with relaxed_gc():  # as in the tools
        return call(str(folder / f"{nodes}.onnx"))


def child(folder: Path, *arguments: str) -> Any:
    """What a measurement in a process of its own prints."""
    command = [sys.executable, __file__, "--folder", str(folder), "--part", *arguments]
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | one_thread).stdout)


def exponent(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    """The power of n in the least-squares line through the logarithms, and half its 95 % confidence interval."""
    xs, ys = [math.log(n) for n in sizes], [math.log(max(s, 1e-6)) for s in seconds]
    slope, intercept = statistics.linear_regression(xs, ys)
    freedom = len(xs) - 2
    centre = statistics.mean(xs)
    spread = sum((x - centre) ** 2 for x in xs)
    residual = sum((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    return slope, STUDENT[freedom] * math.sqrt(residual / freedom / spread)


def whole(run: dict[str, float]) -> float:
    """Import, passes and verification."""
    return sum(seconds for name, seconds in run.items() if name not in (*AFTER, KERNELS))


def print_work(sizes: tuple[int, int], runs: list[dict[str, float]]) -> bool:
    """Thousands of calls by size and the exponents; whether all are within the target."""
    print(f"{'1000 calls by ONNX nodes':<32}{''.join(f'{nodes:>8}' for nodes in sizes)}  exponent")
    met = True
    for name in runs[0]:
        first, second = (run[name] for run in runs)
        power = math.log(max(second, 1) / max(first, 1)) / math.log(sizes[1] / sizes[0])
        met &= power <= TARGET
        print(f"{name:<32}{first / 1000:>8.0f}{second / 1000:>8.0f}{power:>8.2f}{'' if power <= TARGET else '  above'}")
    return met


def print_growth(sizes: list[int], runs: list[dict[str, float]]) -> bool:
    """Seconds by size and the exponents; whether none is surely above the target."""
    print(f"{'CPU s by ONNX nodes':<32}{''.join(f'{nodes:>8}' for nodes in sizes)}  exponent")
    columns = {name: [run[name] for run in runs] for name in runs[0] if name != KERNELS}
    columns["import + passes"] = [whole(run) for run in runs]
    met = True
    for name, seconds in columns.items():
        power, half = exponent(sizes, seconds)
        within = name in AFTER or power - half <= TARGET
        met &= within
        shown = f"{power:>8.2f} +- {half:.2f}{'' if within else f'  above {TARGET}'}"
        print(f"{name:<32}{''.join(f'{s:>8.3f}' for s in seconds)}{shown}")
    print(f"{KERNELS:<32}{''.join(f'{int(run[KERNELS]):>8}' for run in runs)}")
    return met


def main() -> int:
    """Runs the measurements and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=("transformer", "residual"), default="transformer")
    parser.add_argument("--rounds", type=int, default=3, help="the least of so many is taken (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights")
    parser.add_argument("--largest", type=int, default=16_000, help="nodes of the largest network (at least 4000)")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(measure(options.folder, *options.part)))
        return 0
    sizes = [1000 * 2**i for i in range(round(math.log2(options.largest / 1000)) + 1)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_network(options.network, 100, options.seed, folder / "warm.onnx")
        for nodes in {*sizes, *COUNTED, COMPARED}:
            write_network(options.network, nodes, options.seed, folder / f"{nodes}.onnx")
        met = print_work(COUNTED, [child(folder, "count", str(nodes)) for nodes in COUNTED])
        print()
        runs: dict[int, list[dict[str, float]]] = {nodes: [] for nodes in sizes}
        for turn in range(options.rounds):
            for nodes in sizes[: None if turn == 0 else (len(sizes) + 1) // 2]:
                runs[nodes].append(child(folder, "compile", str(nodes)))
        least = [{name: min(run[name] for run in of_size) for name in of_size[0]} for of_size in runs.values()]
        met &= print_growth(sizes, least)
        pairs = [
            (whole(child(folder, "compile", str(COMPARED))), child(folder, "session", str(COMPARED)))
            for _ in range(min(2, options.rounds))
        ]
    ours, theirs = (min(times) for times in zip(*pairs, strict=True))
    ratio = ours / theirs
    print(f"\n{COMPARED} nodes: import + passes {ours:.2f} s, onnxruntime session {theirs:.2f} s, ratio {ratio:.1f}x")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
