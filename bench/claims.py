"""Four claims that users hear about graph compilers for this chip, measured on small graphs that come with the project.

    python bench/claims.py [--soc Ascend310P3] [--page docs/claims.md]

1. Convolution, BatchNorm and ReLU as one task: fewer tasks, fewer bytes, less time.
2. A detector with transposes around every operator spends tens of percent of its time on changes of layout, and a few
   percent behind the passes that move transposes and assign formats.
3. Larger batches raise the throughput while weights and launches are shared by more images.
4. Many small operators are bound by launches, one task is not.

All times are modelled. Exits 1 if a claim does not hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

LAYOUT = ("TransData", "Transpose", "TransposeD")
"""Types of tasks that only store the same elements otherwise."""


@dataclass
class Claim:
    """A claim in words, what was built, a table of what was found, and whether the claim holds."""

    title: str
    built: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    verdict: str
    holds: bool


def measured(model: Any, soc: str, *, off: tuple[str, ...] = (), unfused: bool = False, strategy: str = "") -> Any:
    """The profile of a model, with passes switched off, all fusions off, or another way to assign formats."""
    from graph_engine.frontend_onnx.importer import import_onnx
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.pipelines.compile import mark_phase
    from graph_engine.pipelines.context import make_context
    from graph_engine.pipelines.default import Phase, default_pipeline
    from graph_engine.pipelines.fusion_switch import fusion_passes
    from graph_engine.pipelines.registry import instantiate
    from graph_engine.pipelines.runner import RunOptions, Step, run_steps
    from graph_engine.target_ascend.runtime.device import run
    from graph_engine.transforms.switches import Switches

    module = import_onnx(model)
    steps: list[Step] = []
    for phase, spec in default_pipeline({"soc": soc}):
        if strategy and spec.name == "propagate-layout":
            spec.options["strategy"] = strategy
        steps.append(Step(instantiate(spec), phase))
    groups = dict.fromkeys(fusion_passes(), False) if unfused else {}
    run_steps(make_context(), module, steps, RunOptions(switches=Switches(dict.fromkeys(off, False), groups)))
    mark_phase(module, Phase.TASKS)
    return run(emit_program(module), mode="timing", accounts=True).profile


def launch_share(profile: Any) -> float:
    """Part of the latency that is set-up and report of launches."""
    from graph_engine.target_ascend.profile.breakdown import chain_us

    return chain_us(profile).get("launch", 0.0) / profile.latency_us


def layout_share(profile: Any) -> float:
    """Part of the tasks' time that only changes a layout."""
    return sum(profile.share(type=kind)[1] for kind in LAYOUT)


def count(profile: Any, *kinds: str) -> int:
    """Number of tasks of these types."""
    return sum(task.type in kinds for task in profile.tasks)


def moved(profile: Any) -> int:
    """Bytes that tasks read from and write to device memory."""
    return sum(task.bytes_read + task.bytes_written for task in profile.tasks)


def one_task(soc: str) -> Claim:
    """Claim 1."""
    from models.small import GraphBuilder

    b = GraphBuilder()
    y = b.input("x", (1, 64, 56, 56))
    for _ in range(8):
        y = b.conv_bn_relu(y, 64, 64)
    model = b.model(y)
    fused, unfused = measured(model, soc), measured(model, soc, unfused=True)
    rows = [
        (name, str(len(p.tasks)), f"{moved(p) / 2**20:.2f}", f"{launch_share(p):.0%}", f"{p.latency_us:.1f}")
        for name, p in (("every operator a task", unfused), ("fused", fused))
    ]
    times = unfused.latency_us / fused.latency_us
    return Claim(
        "Convolution, BatchNorm and ReLU are one task",
        "Eight times a 3 x 3 convolution of 64 channels at 56 x 56, BatchNorm, ReLU; all fusions off, and the default.",
        ("", "tasks", "MiB moved", "launches", "us"),
        rows,
        f"{len(unfused.tasks) / len(fused.tasks):.1f} x fewer tasks, {moved(unfused) / moved(fused):.1f} x fewer bytes, "
        f"{times:.1f} x faster",
        len(fused.tasks) < len(unfused.tasks) and moved(fused) < moved(unfused) and times > 1,
    )


def wide_detector(last: bool) -> Any:
    """A detector of the usual widths: a backbone of four stages of residual blocks, a neck that joins scales, three heads."""
    from models.detector import DetectorBuilder

    b = DetectorBuilder(0, last)
    y = b.layer(b.input("x", (1, 256, 256, 3) if last else (1, 3, 256, 256)), 3, 32, 3, 2, "Silu")
    levels: list[tuple[str, int]] = []
    for c_in, c_out in ((32, 64), (64, 128), (128, 256), (256, 512)):
        y = b.layer(y, c_in, c_out, 3, 2, "Silu")
        for _ in range(2):
            y = b.node("Add", [y, b.layer(b.layer(y, c_out, c_out // 2, 1, act="Silu"), c_out // 2, c_out, act="Silu")])
        levels.append((y, c_out))
    heads: list[str] = []
    y, channels = levels.pop()
    for finer, c_finer in (*reversed(levels[1:]), ("", 0)):
        heads.append(b.layer(y, channels, 32, 1, act="Sigmoid"))
        if finer:
            y = b.layer(b.concat(finer, b.doubled(b.layer(y, channels, c_finer, 1))), 2 * c_finer, c_finer, act="Silu")
            channels = c_finer
    return b.model(*heads)


def transposes(soc: str) -> Claim:
    """Claim 2."""
    model, movers = wide_detector(last=True), ("propagate-transposes", "eliminate-transdata")
    ways = {
        "as written, every heavy operator converts for itself": measured(model, soc, off=movers, strategy="around"),
        "transposes moved": measured(model, soc, strategy="around"),
        "transposes moved, formats assigned": measured(model, soc),
        "the same network written for NCHW": measured(wide_detector(last=False), soc),
    }
    rows = [
        (
            name,
            str(len(p.tasks)),
            str(count(p, "TransData")),
            str(count(p, *LAYOUT[1:])),
            f"{layout_share(p):.1%}",
            f"{p.latency_us:.1f}",
        )
        for name, p in ways.items()
    ]
    first, *_, last, other = ways.values()
    return Claim(
        "A detector loses the time of its transposes",
        "A detector of three scales at 256 x 256 whose exporter put a transpose before and behind every convolution and "
        "normalisation.",
        ("", "tasks", "TransData", "transposes", "time on layout", "us"),
        rows,
        f"from {layout_share(first):.0%} of the time on layout to {layout_share(last):.0%}, "
        f"{first.latency_us / last.latency_us:.1f} x faster; {last.latency_us / other.latency_us:.2f} x the time of the "
        "NCHW form",
        layout_share(first) > 0.2 and layout_share(last) < 0.08,
    )


def batches(soc: str) -> Claim:
    """Claim 3."""
    from models.small import GraphBuilder

    from graph_engine.target_ascend.profile.breakdown import chain_us

    rows: list[tuple[str, ...]] = []
    each: list[float] = []
    for batch in (1, 4, 8, 16):
        b = GraphBuilder()
        y = b.input("x", (batch, 64, 56, 56))
        for c_in, c_out in ((64, 128), (128, 256), (256, 512)):
            y = b.conv_bn_relu(b.conv_bn_relu(y, c_in, c_out, strides=[2, 2]), c_out, c_out)
        p = measured(b.model(b.node("GlobalAveragePool", [y])), soc)
        chain, us = chain_us(p), p.latency_us
        ddr = sum(spent for reason, spent in chain.items() if reason.endswith("ddr"))
        cells = f"{us:.1f}", f"{us / batch:.1f}", f"{p.fps:.0f}", f"{chain['launch'] / us:.0%}", f"{ddr / us:.0%}"
        rows.append((str(batch), *cells, f"{chain.get('M busy', 0.0) / us:.0%}"))
        each.append(us / batch)
    return Claim(
        "Batches share weights and launches",
        "Six convolutions of 64 to 512 channels, 56 x 56 down to 7 x 7, 4.6 million weights.",
        ("batch", "us", "us an image", "images a second", "launches", "DDR", "Cube"),
        rows,
        f"batch 16 needs {each[-1] / each[0]:.0%} of the time of batch 1 for an image",
        each == sorted(each, reverse=True),
    )


def small_tasks(soc: str) -> Claim:
    """Claim 4."""
    from models.small import GraphBuilder

    rows: list[tuple[str, ...]] = []
    found: dict[tuple[int, str], Any] = {}
    for side in (16, 64, 256):
        b = GraphBuilder()
        x = b.input("x", (1, 16, side, side))
        y = x
        for step in range(24):
            y = b.node("Abs", [y]) if step % 3 == 0 else b.node("Add" if step % 3 == 1 else "Mul", [y, x])
        model = b.model(y)
        for name, unfused in (("every operator a task", True), ("fused", False)):
            p = found[side, name] = measured(model, soc, unfused=unfused)
            rows.append(
                (f"16 x {side} x {side}, {name}", str(len(p.tasks)), f"{launch_share(p):.0%}", f"{p.latency_us:.1f}")
            )
    speedups = [
        found[side, "every operator a task"].latency_us / found[side, "fused"].latency_us for side in (16, 64, 256)
    ]
    share = launch_share(found[16, "every operator a task"])
    return Claim(
        "Many small tasks are bound by their launches",
        "24 elementwise operators in a row on tensors of three sizes; all fusions off, and the default.",
        ("", "tasks", "launches", "us"),
        rows,
        f"{share:.0%} of the time of the small tasks is launches; fused they are "
        f"{', '.join(f'{times:.1f} x' for times in speedups)} faster",
        share > 0.5 and min(speedups) > 1,
    )


CLAIMS: tuple[Callable[[str], Claim], ...] = (one_task, transposes, batches, small_tasks)


def page(claims: list[Claim], soc: str) -> str:
    """The claims in Markdown."""
    from graph_engine.target_ascend.soc.soc import load_soc

    lines = [
        "# Claims, measured",
        "",
        f"Written by `python bench/claims.py --soc {soc} --page docs/claims.md`. Times are modelled ([how](timing.md), and [how far",
        "to trust them](timing.md#how-far-to-trust-it)); launches, DDR and Cube are parts of the latency [along the chain of what",
        "ends last](timing.md#what-a-profile-shows). The graphs are small ones of `test/models/`, with seeded weights.",
        f"{soc} is {load_soc(soc).trust()}.",
    ]
    for number, claim in enumerate(claims, 1):
        lines += ["", f"## {number}. {claim.title}", "", claim.built, ""]
        lines += [f"| {' | '.join(claim.head)} |", f"|---|{'---:|' * (len(claim.head) - 1)}"]
        lines += [f"| {' | '.join(row)} |" for row in claim.rows]
        lines += ["", f"**{'Holds' if claim.holds else 'Does not hold'}**: {claim.verdict}."]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Prints the claims, or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soc", default="Ascend310P3", help="chip (default Ascend310P3)")
    parser.add_argument("--page", type=Path, help="write the page in Markdown")
    options = parser.parse_args()
    claims = [claim(options.soc) for claim in CLAIMS]
    text = page(claims, options.soc)
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    print(text)
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
