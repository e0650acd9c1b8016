"""ResNet-50's convolutions by SCALE-Sim 3.0 beside this chip model: CPU seconds.

    python bench/beside_scalesim.py PYTHON [--limit 600]

PYTHON is the interpreter of another environment, in which `scalesim==3.0.0` is installed (`pip install scalesim`). It simulates
the 24 distinct convolutions of ResNet-50 at batch 1, one after another, on an array of 16 x 16 with the buffers of an
Ascend310P3's core, until all are done or the limit of CPU seconds is reached; then the ratio is a lower bound. Beside it this
project runs all 53 of them, once for values and times and once for times alone, from an OM file.
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

sys.path.insert(0, str(Path(__file__).parent))

TARGET = 200.0

# (input side with its padding, kernel, input channels, filters, stride): the distinct convolutions of ResNet-50 v1.5
LAYERS: tuple[tuple[int, int, int, int, int], ...] = (
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
scalesim(save_disk_space=True, verbose=False, config="scale.cfg", topology="layer.csv", layout="layout.csv").run_scale("out")
used = resource.getrusage(resource.RUSAGE_SELF)
print("CPU", used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def simulate(python: str, folder: Path, layer: tuple[int, int, int, int, int]) -> tuple[float, float]:
    """(CPU seconds, peak MiB) of SCALE-Sim for one layer."""
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


def ours() -> dict[str, float]:
    """CPU seconds of this project for all of ResNet-50, the second of two runs."""
    from spine import prepare, run_file

    with tempfile.TemporaryDirectory() as name:
        folder, found = Path(name), dict[str, float]()
        prepare(folder, "resnet50", 0)
        for _ in range(2):
            for mode in ("both", "timing"):
                start = time.process_time()
                run_file(str(folder / "m.om"), str(folder / "x.npz"), mode)
                found[mode] = time.process_time() - start
        return found


def main() -> int:
    """Prints a row a layer and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="?", help="interpreter with scalesim==3.0.0")
    parser.add_argument("--limit", type=float, default=600, help="CPU seconds for SCALE-Sim (default 600)")
    parser.add_argument("--ours", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ours:
        print(json.dumps(ours()))
        return 0
    if options.python is None:
        parser.error("which interpreter has scalesim==3.0.0?")
    theirs, most, done = 0.0, 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        for layer in sorted(LAYERS, key=lambda layer: layer[0] ** 2 * layer[1] ** 2 * layer[2] * layer[3]):
            if theirs >= options.limit:
                break
            seconds, memory = simulate(options.python, Path(name), layer)
            theirs, most, done = theirs + seconds, max(most, memory), done + 1
            side, kernel, channels, filters, stride = layer
            text = f"{channels} x {side} x {side} -> {filters}, {kernel} x {kernel}, stride {stride}"
            print(f"{text:<48}{seconds:>9.1f} s{memory:>8.0f} MiB", flush=True)
    one_thread = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--ours"]
    mine = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_thread).stdout)
    bound = "" if done == len(LAYERS) else "at least "
    print(f"SCALE-Sim 3.0, {done} of {len(LAYERS)} distinct layers: {theirs:.1f} s, {most:.0f} MiB")
    for mode, what in (("both", "values and times"), ("timing", "times alone")):
        print(f"here, all of ResNet-50, {what}: {mine[mode]:.2f} s, {bound}{theirs / mine[mode]:.0f} x faster")
    return 0 if theirs / mine["both"] >= TARGET or bound else 1


if __name__ == "__main__":
    sys.exit(main())
