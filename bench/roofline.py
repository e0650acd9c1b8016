"""How close compiled convolutions and products are to the roofline of a chip, and which engine makes the gap.

    python bench/roofline.py [--soc Ascend310P3,Ascend910B3] [--page docs/roofline.md]

The shapes are the 20 largest convolutions and products with weights of a corpus of exported models, by MACs. Each is compiled
alone in fp16; its Cube task is timed with an empty L2, without its launch. The roofline is the longer of

    MACs / (cores * MACs a cycle of the Cube * clock)
    bytes of input and weights / rate of device memory, of the chip or of all its cores, whichever is less.

Where the time goes is the chain of what ends last (`docs/timing.md`).
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

TARGET = 0.75
SHOWN = 3
"""So many reasons are shown."""

# (input channels, height, width, output channels, kernel, strides, pads, dilations)
CONVOLUTIONS: tuple[tuple[int, int, int, int, tuple[int, int], tuple[int, int], tuple[int, int], int], ...] = (
    (2048, 28, 28, 512, (3, 3), (1, 1), (1, 1), 1),
    (512, 28, 28, 512, (3, 3), (1, 1), (2, 2), 2),
    (512, 28, 28, 512, (3, 3), (1, 1), (4, 4), 4),
    (1024, 28, 28, 2048, (1, 1), (1, 1), (0, 0), 1),
    (512, 1, 3199, 512, (1, 3), (1, 2), (0, 0), 1),
    (1024, 64, 64, 256, (1, 1), (1, 1), (0, 0), 1),
    (512, 28, 28, 2048, (1, 1), (1, 1), (0, 0), 1),
    (2048, 28, 28, 512, (1, 1), (1, 1), (0, 0), 1),
    (80, 73, 73, 192, (3, 3), (1, 1), (0, 0), 1),
    (384, 1, 3000, 384, (1, 3), (1, 2), (0, 1), 1),
    (512, 1, 1599, 512, (1, 3), (1, 2), (0, 0), 1),
    (32, 224, 224, 32, (3, 3), (1, 1), (1, 1), 1),
    (256, 28, 28, 256, (3, 3), (1, 1), (1, 1), 1),
    (256, 28, 28, 256, (3, 3), (1, 1), (2, 2), 2),
    (64, 112, 112, 64, (3, 3), (1, 1), (1, 1), 1),
    (960, 14, 14, 256, (3, 3), (1, 1), (12, 12), 12),
    (960, 14, 14, 256, (3, 3), (1, 1), (24, 24), 24),
    (512, 28, 28, 1024, (1, 1), (1, 1), (0, 0), 1),
    (1024, 28, 28, 512, (1, 1), (1, 1), (0, 0), 1),
    (32, 147, 147, 64, (3, 3), (1, 1), (1, 1), 1),
)

# (m, k, n)
PRODUCTS: tuple[tuple[int, int, int], ...] = (
    (1500, 384, 1536),
    (1500, 1536, 384),
    (197, 768, 3072),
    (197, 3072, 768),
    (64, 768, 8192),
    (197, 768, 2304),
    (128, 768, 3072),
    (128, 3072, 768),
    (1500, 384, 384),
    (257, 384, 1536),
    (257, 1536, 384),
    (64, 768, 3072),
    (64, 3072, 768),
    (50, 768, 3072),
    (50, 3072, 768),
    (197, 768, 768),
    (3136, 96, 384),
    (3136, 384, 96),
    (784, 192, 768),
    (784, 768, 192),
)


@dataclass
class Row:
    """One shape on one chip: microseconds of the roofline and of the kernel, what bounds the roofline, shares by reason."""

    shape: str
    macs: int
    bound: str
    roofline: float
    kernel: float
    reasons: list[tuple[str, float]]

    @property
    def achieved(self) -> float:
        return self.roofline / self.kernel


def models() -> list[tuple[str, Any]]:
    """(shape in words, ONNX model) of every shape."""
    from models.small import GraphBuilder

    found: list[tuple[str, Any]] = []
    for c_in, h, w, c_out, kernel, strides, pads, dilation in CONVOLUTIONS:
        b = GraphBuilder()
        inputs = [b.input("x", (1, c_in, h, w)), b.weight((c_out, c_in, *kernel), -0.02, 0.02), b.weight((c_out,))]
        y = b.node("Conv", inputs, strides=strides, pads=[*pads, *pads], dilations=[dilation] * 2)
        notes = f", stride {strides[1]}" * (max(strides) > 1) + f", dilation {dilation}" * (dilation > 1)
        found.append((f"{c_in} x {h} x {w} -> {c_out}, {kernel[0]} x {kernel[1]}{notes}", b.model(y)))
    for m, k, n in PRODUCTS:
        b = GraphBuilder()
        y = b.node("MatMul", [b.input("x", (m, k)), b.weight((k, n), -0.02, 0.02)])
        found.append((f"({m}, {k}) x ({k}, {n})", b.model(y)))
    return found


def measure(shape: str, model: Any, name: str) -> Row:
    """The row of one shape on one chip."""
    from graph_engine.frontend_onnx.importer import import_onnx
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.target_ascend.chip.timing import TimingEngine
    from graph_engine.target_ascend.om.program import AicpuCall, Launch
    from graph_engine.target_ascend.profile.breakdown import in_words
    from graph_engine.target_ascend.soc.soc import load_soc

    soc = load_soc(name)
    module = import_onnx(model)
    compile_module(module, name)
    program = emit_program(module)
    every = [task for stream in program.entry_points[0].streams for task in stream.tasks]
    task = max((task for task in every if isinstance(task, Launch | AicpuCall)), key=lambda task: task.macs)
    clock = soc.freq_mhz.cube
    m, k, n = soc.cube.tile["f16"]
    cube = task.macs / (soc.cores.aic * m * k * n * clock)
    rate = min(soc.ddr.total_bytes_per_s / 1e6, soc.cores.aic * soc.path("gm", "l1", "ddr").bytes_per_cycle * clock)
    memory = sum(tensor.bytes for tensor in task.inputs) / rate
    engine = TimingEngine(soc, accounts=True)
    if isinstance(task, AicpuCall):
        kernel, shares = engine.aicpu_us(task), [("AI CPU", 1.0)]
    else:
        timing = engine.launch(task, program.kernels[task.kernel])
        assert timing.account is not None
        kernel, chain = timing.kernel_cycles / clock, timing.account.chain.most_common()
        shares = [(in_words(reason), cycles / timing.kernel_cycles) for reason, cycles in chain if reason != "launch"]
    return Row(shape, task.macs, "Cube" if cube >= memory else "DDR", max(cube, memory), kernel, shares)


def page(tables: dict[str, list[Row]]) -> str:
    """The tables in Markdown."""
    from graph_engine.target_ascend.soc.soc import load_soc

    lines = [
        "# Beside the roofline",
        "",
        "Written by `python bench/roofline.py --page docs/roofline.md`. The 20 largest convolutions and products with weights of a",
        "corpus of exported models, in fp16, each compiled alone; modelled time of its Cube task with an empty L2, without the",
        "launch. The roofline is the longer of MACs by the Cube's peak, and bytes of input and weights by the rate of device",
        "memory, of the chip or of all its cores, whichever is less. MACs are the task's: taps of a filter that meet padding alone are",
        "dropped before (dilation 24). The last column says where the kernel's time goes along",
        "[the chain of what ends last](timing.md#what-a-profile-shows).",
        "",
        *(f"* {soc}: {load_soc(soc).trust()}." for soc in tables),
        "",
        f"| chip | median of all | convolutions | products | at least {TARGET} |",
        "|---|---:|---:|---:|---:|",
    ]
    for soc, rows in tables.items():
        ratios = [row.achieved for row in rows]
        parts = ratios, ratios[: len(CONVOLUTIONS)], ratios[len(CONVOLUTIONS) :]
        medians = " | ".join(f"{statistics.median(part):.2f}" for part in parts)
        lines.append(f"| {soc} | {medians} | {sum(ratio >= TARGET for ratio in ratios)} of {len(ratios)} |")
    for soc, rows in tables.items():
        lines += ["", f"## {soc}", "", "| shape | MMACs | roofline us | by | kernel us | achieved | where it goes |"]
        lines.append("|---|---:|---:|---|---:|---:|---|")
        for row in rows:
            reasons = ", ".join(f"{reason} {share:.0%}" for reason, share in row.reasons[:SHOWN])
            numbers = f"{row.macs / 1e6:.0f} | {row.roofline:.1f} | {row.bound} | {row.kernel:.1f} | {row.achieved:.2f}"
            lines.append(f"| {row.shape} | {numbers} | {reasons} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Prints the tables, or writes the page too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soc", default="Ascend310P3,Ascend910B3", help="chips, with commas")
    parser.add_argument("--page", type=Path, help="write the page in Markdown")
    options = parser.parse_args()
    shapes = models()
    tables = {soc: [measure(shape, model, soc) for shape, model in shapes] for soc in options.soc.split(",")}
    text = page(tables)
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
