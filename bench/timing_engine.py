"""CPU time of the timing engine: microseconds an instruction, beside a bare Python loop over as many steps.

Ten different kernels shaped like a convolution (load, img2col-like fills of L0, mmad, epilogue, store; double
buffered with flags) for eight blocks, timed from scratch. Prints medians of five runs.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

from models.hand_kernels import (
    L0A,
    L0B,
    L1,
    X,
    affine,
    copy,
    kernel,
    launch,
    load_ub,
    loop,
    mmad,
    set_flag,
    store_ub,
    vector,
    view,
    wait_flag,
)

from graph_engine.target_ascend.chip.timing import TimingEngine
from graph_engine.target_ascend.isa.model import Instr, Kernel, Opcode, Pipe, Rotate
from graph_engine.target_ascend.soc.soc import load_soc

RUNS = 5


def conv_like(tiles: int, depth: int) -> Kernel:
    """`tiles` output tiles, each with `depth` steps along K, two versions of every buffer."""
    outer, inner = Rotate(2, affine(s1=1)), Rotate(2, affine(s2=1))
    fill_a = Instr(
        Opcode.LOAD2D, Pipe.MTE1, (view(L0A, (8, 4, 16, 16), rotate=inner), view(L1, (8, 4, 16, 16))), (affine(),)
    )
    fill_b = Instr(
        Opcode.LOAD2D, Pipe.MTE1, (view(L0B, (4, 8, 16, 16), rotate=inner), view(L1, (4, 8, 16, 16))), (affine(),)
    )
    step = (
        wait_flag(Pipe.M, Pipe.MTE1, rotate=inner),
        fill_a,
        fill_b,
        set_flag(Pipe.MTE1, Pipe.M, rotate=inner),
        wait_flag(Pipe.MTE1, Pipe.M, rotate=inner),
        mmad(128, 64, 128),
        set_flag(Pipe.M, Pipe.MTE1, rotate=inner),
    )
    image = view(X, (4, 4096), offset=affine(s0=1 << 18, s1=4096), strides=(100352, 1))
    tile = (
        wait_flag(Pipe.MTE1, Pipe.MTE2, rotate=outer),
        copy(view(L1, (4, 4096), rotate=outer), image, Pipe.MTE2),
        load_ub(8192, offset=affine(s1=8192)),
        set_flag(Pipe.MTE2, Pipe.MTE1, rotate=outer),
        wait_flag(Pipe.MTE2, Pipe.MTE1, rotate=outer),
        loop(depth, *step),
        set_flag(Pipe.MTE1, Pipe.MTE2, rotate=outer),
        set_flag(Pipe.M, Pipe.V, 2),
        wait_flag(Pipe.M, Pipe.V, 2),
        vector(Opcode.VRELU, 16384),
        set_flag(Pipe.V, Pipe.MTE3),
        wait_flag(Pipe.V, Pipe.MTE3),
        store_ub(16384, offset=affine(s0=1 << 18, s1=16384)),
    )
    free = [set_flag(a, b, event) for a, b in ((Pipe.M, Pipe.MTE1), (Pipe.MTE1, Pipe.MTE2)) for event in (0, 1)]
    return kernel(*free, loop(tiles, *tile), block_dim=8)


def measure() -> tuple[int, float]:
    """(instructions of one block of every kernel, CPU seconds)."""
    soc = load_soc("Ascend310P3")
    kernels = [conv_like(40, 8) for _ in range(10)]
    engine = TimingEngine(soc)
    start = time.process_time()
    timings = [engine.launch(launch(8, x=index << 20), work) for index, work in enumerate(kernels)]
    return sum(t.instructions for t in timings) // 8, time.process_time() - start


def bare_loop(steps: int) -> float:
    """CPU seconds of a loop that unpacks a tuple and adds, `steps` times."""
    items = [(1, 2, 3, 4)] * steps
    total, start = 0, time.process_time()
    for a, b, c, d in items:
        total += a + b + c + d
    return time.process_time() - start


def main() -> None:
    """Prints the medians."""
    runs = [measure() for _ in range(RUNS)]
    count = runs[0][0]
    seconds = statistics.median(seconds for _, seconds in runs)
    bare = statistics.median(bare_loop(count) for _ in range(RUNS))
    print(f"{count} instructions: {seconds * 1e3:.1f} ms, {seconds * 1e6 / count:.2f} us each")
    print(f"ratio to a bare Python loop over as many steps: {seconds / bare:.1f}x")


if __name__ == "__main__":
    main()
