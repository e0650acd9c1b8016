"""All nine light networks through the whole pipeline: what comes out, in one table.

    python bench/light_models.py [names...] [--seed 1000] [--batch 1] [--check]

tasks, AI CPU tasks with their operators, TransData and their share of the time, modelled latency, planned workspace,
CPU seconds of compiling and of the modelled run, and the largest errors (of the tensor's range) of logits and inner
tensors against onnxruntime. Structure and time are those of the network as it ships; numbers are taken from the same
network with inner tensors as further outputs. Exits 1 if a network fails or is out of the fp16 bound.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

from harness.agreement import Network, compile_program, kernel_results, misses, tasks_of
from models.light import LIGHT_NAMES, light_model, random_inputs

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.om.program import AicpuCall
from graph_engine.target_ascend.runtime.device import run

INNER = 12
HEAD = (
    f"{'network':<14}{'tasks':>6}{'AICPU':>6}{'TransData':>16}{'latency us':>11}{'MiB':>7}{'compile s':>10}{'run s':>7}"
    f"{'logits':>9}{'inner':>9}  verdict"
)


def row(name: str, seed: int, batch: int, check: bool) -> tuple[str, bool]:
    """The line of one network, and whether it is right."""
    model = light_model(name, seed=seed, batch=batch)
    feeds = random_inputs(model, seed, batch=batch)
    start = time.process_time()
    program = compile_program(model)
    compiling = time.process_time() - start
    start = time.process_time()
    profile = run(program, list(feeds.values()), mode="both").profile
    running = time.process_time() - start
    assert profile is not None

    network = Network.of(model, kernel_results(model, INNER))
    found, result = network.compare(feeds, mode="functional", check=check)
    wrong = [agreement.name for agreement in misses(found)]
    verdict = f"out of bound: {', '.join(wrong)}" if wrong else "agrees"
    if check:
        kinds = Counter(finding.kind for finding in result.findings)
        verdict += f"; findings: {dict(kinds)}" if kinds else "; checking mode silent"
    tasks = tasks_of(program)
    aicpu = Counter(task.op for task in tasks if isinstance(task, AicpuCall))
    if aicpu:
        verdict += "; on the AI CPU: " + ", ".join(f"{count} {op}" for op, count in aicpu.items())
    transdata = [task for task in profile.tasks if task.type == "TransData"]
    share = sum(task.duration_us for task in transdata) / sum(task.duration_us for task in profile.tasks)
    line = (
        f"{name:<14}{len(tasks):>6}{aicpu.total():>6}{f'{len(transdata)} ({share:.1%} time)':>16}"
        f"{profile.latency_us:>11.1f}{program.entry_points[0].workspace_bytes / 2**20:>7.2f}{compiling:>10.2f}{running:>7.2f}"
        f"{found[0].error:>9.5f}{max(a.error for a in found[1:]):>9.5f}  {verdict}"
    )
    return line, not wrong and not result.findings


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=LIGHT_NAMES, help="networks (default: all nine)")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="run in checking mode as well")
    options = parser.parse_args()
    good = True
    print(HEAD)
    for name in options.names:
        try:
            line, right = row(name, options.seed, options.batch, options.check)
        except GraphEngineError as error:
            line, right = f"{name:<14}FAILS: {error}", False
        print(line, flush=True)
        good &= right
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
