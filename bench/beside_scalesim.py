"""ResNet-50's convolutions by SCALE-Sim 3.0 beside this chip model, layer by layer: CPU seconds.

    python bench/beside_scalesim.py PYTHON [--limit 600] [--page docs/beside_scalesim.md]

PYTHON is the interpreter of another environment with SCALE-Sim (`pip install scalesim==3.0.0 "numpy<2.3"`). It simulates
the 24 distinct convolutions of ResNet-50 at batch 1, the cheapest first, on an array of 16 x 16 with the buffers of an
Ascend310P3's core, until all are done or the limit of CPU seconds is reached. Beside it this project loads and runs an OM
file of the same layer, once for values and times and once for times alone: the least of five runs behind one that warms up.
Then the same for the whole network of 53 convolutions. `--page` writes the table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

TARGET = 200.0
MODES = ("both", "timing")
Layer: TypeAlias = tuple[int, int, int, int, int]

# (input side with its padding, kernel, input channels, filters, stride): the distinct convolutions of ResNet-50 v1.5
LAYERS: tuple[Layer, ...] = (
    (230, 7, 3, 64, 2),
    (56, 1, 64, 64, 1),
    (58, 3, 64, 64, 1),
    (56, 1, 64, 256, 1),
    (56, 1, 256, 64, 1),
    (56, 1, 256, 128, 1),
    (58, 3, 128, 128, 2),
    (28, 1, 128, 512, 1),
    (56, 1, 256, 512, 2),
    (28, 1, 512, 128, 1),
    (30, 3, 128, 128, 1),
    (28, 1, 512, 256, 1),
    (30, 3, 256, 256, 2),
    (14, 1, 256, 1024, 1),
    (28, 1, 512, 1024, 2),
    (14, 1, 1024, 256, 1),
    (16, 3, 256, 256, 1),
    (14, 1, 1024, 512, 1),
    (16, 3, 512, 512, 2),
    (7, 1, 512, 2048, 1),
    (14, 1, 1024, 2048, 2),
    (7, 1, 2048, 512, 1),
    (9, 3, 512, 512, 1),
    (1, 1, 2048, 1000, 1),
)
BY_SIZE = sorted(LAYERS, key=lambda layer: layer[0] ** 2 * layer[1] ** 2 * layer[2] * layer[3] / layer[4] ** 2)

CONFIG = """[general]
run_name = layer
[architecture_presets]
ArrayHeight = 16
ArrayWidth = 16
IfmapSramSzkB = 512
FilterSramSzkB = 512
OfmapSramSzkB = 256
IfmapOffset = 0
FilterOffset = 10000000
OfmapOffset = 20000000
Bandwidth = 17
Dataflow = os
ReadRequestBuffer = 64
WriteRequestBuffer = 64
[layout]
IfmapCustomLayout = False
IfmapSRAMBankBandwidth = 16
IfmapSRAMBankNum = 16
IfmapSRAMBankPort = 2
FilterCustomLayout = False
FilterSRAMBankBandwidth = 16
FilterSRAMBankNum = 16
FilterSRAMBankPort = 2
[sparsity]
SparsitySupport = false
SparseRep = ellpack_block
OptimizedMapping = false
BlockSize = 8
RandomNumberGeneratorSeed = 40
[run_presets]
InterfaceBandwidth = CALC
UseRamulatorTrace = False
"""

RUN = """
import resource
from scalesim.scale_sim import scalesim
before = resource.getrusage(resource.RUSAGE_SELF)
scalesim(save_disk_space=True, verbose=False, config="scale.cfg", topology="layer.csv", layout="layout.csv").run_scale("out")
used = resource.getrusage(resource.RUSAGE_SELF)
print("CPU", used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, used.ru_maxrss / 1024)
"""


def simulate(python: str, folder: Path, layer: Layer) -> tuple[float, float]:
    """(CPU seconds without imports, peak MiB) of SCALE-Sim for one layer."""
    side, kernel, channels, filters, stride = layer
    head = "Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,Num Filter,Strides,"
    row = f"layer,{side},{side},{kernel},{kernel},{channels},{filters},{stride},"
    (folder / "layer.csv").write_text(f"{head}\n{row}\n")
    (folder / "layout.csv").write_text("Layer name," + "factor," * 24 + "\nlayer," + "1," * 24 + "\n")
    (folder / "scale.cfg").write_text(CONFIG)
    done = subprocess.run([python, "-c", RUN], cwd=folder, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("CPU ")]
    if not lines:
        raise SystemExit(f"error: SCALE-Sim failed: {(done.stderr.strip() or done.stdout.strip())[-300:]}")
    _, seconds, memory = lines[-1].split()
    return float(seconds), float(memory)


def write_layer(path: Path, layer: Layer) -> None:
    """A model of one convolution; the padding is part of its input, as SCALE-Sim has it."""
    import onnx
    from models.small import GraphBuilder

    side, kernel, channels, filters, stride = layer
    b = GraphBuilder(0)
    x, w = b.input("x", (1, channels, side, side)), b.weight((filters, channels, kernel, kernel))
    b.node("Conv", [x, w], "y", strides=[stride, stride])
    onnx.save(b.model("y"), str(path))


def least(om: Path, inputs: Path) -> dict[str, float]:
    """CPU seconds of the modelled run of an OM file by mode."""
    from spine import run_file

    found: dict[str, float] = {mode: float("inf") for mode in MODES}
    for run in range(6):
        for mode in MODES:
            start = time.process_time()
            run_file(str(om), str(inputs), mode)
            if run:
                found[mode] = min(found[mode], time.process_time() - start)
    return found


def ours(layers: int) -> list[dict[str, float]]:
    """CPU seconds of this project for the first so many layers, each alone, and at last for all of ResNet-50."""
    import numpy as np
    from spine import compile_file, prepare

    found: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for layer in BY_SIZE[:layers]:
            write_layer(folder / "layer.onnx", layer)
            compile_file(str(folder / "layer.onnx"), str(folder / "layer.om"))
            x = np.random.default_rng(0).standard_normal((1, layer[2], layer[0], layer[0]), np.float32)
            np.savez(str(folder / "layer.npz"), x=x)
            found.append(least(folder / "layer.om", folder / "layer.npz"))
        prepare(folder, "resnet50", 0)
        return [*found, least(folder / "m.om", folder / "x.npz")]


def page(theirs: list[tuple[float, float]], mine: list[dict[str, float]], command: str) -> str:
    """The table as a page of the documentation."""
    rows: list[str] = []
    for (side, kernel, channels, filters, stride), (seconds, memory), here in zip(BY_SIZE, theirs, mine, strict=False):
        macs = ((side - kernel) // stride + 1) ** 2 * kernel**2 * channels * filters
        text = f"{channels} x {side} x {side} -> {filters}, {kernel} x {kernel}, stride {stride}"
        ratios = " | ".join(f"{1000 * here[mode]:.1f} | {seconds / here[mode]:,.0f} x" for mode in MODES)
        rows.append(f"| {text} | {macs / 1e6:.1f} | {seconds:.1f} | {memory:.0f} | {ratios} |")
    total, (done, whole) = sum(seconds for seconds, _ in theirs), (mine[:-1], mine[-1])
    ratio = total / sum(here["both"] for here in done)
    verdict = "Holds" if ratio >= TARGET else "Does not hold"
    fewest = f"{len(theirs)} of the {len(LAYERS)} distinct convolutions, those of fewest operations,"
    which = fewest if len(theirs) < len(LAYERS) else f"All {len(LAYERS)} distinct convolutions"
    lines = [
        "# Beside SCALE-Sim",
        "",
        f"Written by `{command}`.",
        "CPU seconds on one thread of one machine, in one run, without imports. SCALE-Sim 3.0 simulates the cycles of a systolic",
        "array of 16 x 16 and no numbers; this project loads an OM file and computes its numbers and the times of the chip.",
        f"{which} of ResNet-50 at batch 1.",
        "",
        "| layer | million MACs | SCALE-Sim s | MiB | values and times ms | ratio | times alone ms | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *rows,
        "",
        f"**{verdict}**: {ratio:,.0f} x faster on these layers, against the {TARGET:.0f} x that are wanted; values included.",
        "",
        f"All 53 convolutions of ResNet-50 with everything between them take {whole['both']:.2f} s here,"
        f" {whole['timing']:.2f} s for times alone.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Prints a row a layer and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="?", help="interpreter with scalesim==3.0.0")
    parser.add_argument("--limit", type=float, default=600, help="CPU seconds for SCALE-Sim (default 600)")
    parser.add_argument("--page", type=Path, help="write the table here")
    parser.add_argument("--ours", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ours is not None:
        print(json.dumps(ours(options.ours)))
        return 0
    if options.python is None:
        parser.error("which interpreter has scalesim==3.0.0?")
    theirs: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as name:
        for layer in BY_SIZE:
            if sum(seconds for seconds, _ in theirs) >= options.limit:
                break
            theirs.append(simulate(options.python, Path(name), layer))
    one_thread = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--ours", str(len(theirs))]
    mine = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_thread).stdout)
    text = page(theirs, mine, f"python bench/beside_scalesim.py PYTHON --limit {options.limit:g} --page PAGE")
    print(text)
    if options.page is not None:
        options.page.write_text(text)
    ratio = sum(seconds for seconds, _ in theirs) / sum(here["both"] for here in mine[:-1])
    return 0 if ratio >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
