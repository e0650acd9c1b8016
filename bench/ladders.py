"""Times of single operators on modelled chips beside published ones.

    python bench/ladders.py [--only PATTERN]

Builds each operator of `published/operators.py` alone, with inputs and results in fp16, compiles it for the chip of the
measurement and times it, its inputs in device memory and not in the L2. Prints a row for each; `section` gives the same
for a page.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from published.net import Net
from published.operators import POINTS, Point


@dataclass(frozen=True)
class Row:
    """A point and our microseconds: of the tasks that count, and of all; the engine that is busy the longest."""

    point: Point
    us: float
    whole: float
    engine: str


def main() -> int:
    """Prints the ladders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="pattern of ladders")
    options = parser.parse_args()
    print(f"{'ladder':<22}{'chip':<18}{'shape':<29}{'published us':>13}{'ours us':>10}{'ratio':>7}  busiest")
    for point in POINTS:
        if fnmatch.fnmatch(point.ladder, options.only):
            row = measured(point)
            print(
                f"{point.ladder:<22}{point.chip:<18}{point.shape:<29}{point.us:>13.2f}{row.us:>10.2f}"
                f"{row.us / point.us:>7.2f}  {row.engine}",
                flush=True,
            )
    return 0


def measured(point: Point) -> Row:
    """Compiles and times one operator."""
    import onnx

    from graph_engine.frontend_onnx.importer import import_onnx
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.target_ascend.runtime.device import find_entry, time_program
    from graph_engine.target_ascend.soc.soc import load_soc

    batch = int(point.shape.split("x")[0]) if point.ladder == "convolution" else 0
    with tempfile.TemporaryDirectory() as folder:
        net = Net(batch or 1, onnx.TensorProto.FLOAT16)
        module = import_onnx(net.save(point.build(net), Path(folder)))
        compile_module(module, point.chip)
        program = emit_program(module)
    profile = time_program(program, find_entry(program), load_soc(point.chip))
    counted = [t for t in profile.tasks if not point.kinds or t.type in point.kinds]
    longest = max(counted, key=lambda task: task.duration_us)
    engine = max(longest.engine_us, key=longest.engine_us.__getitem__)
    share = longest.engine_us[engine] / longest.duration_us
    return Row(point, sum(t.duration_us for t in counted), profile.latency_us, f"{engine} {share:.0%}")


def section() -> list[str]:
    """The ladders as lines of a page."""
    lines = [
        "| ladder | chip | shape | published us | ours us | ratio | busiest engine | source |",
        "|---|" + "---|" * 7,
    ]
    for point in POINTS:
        row = measured(point)
        lines.append(
            f"| {point.ladder} | {point.chip} | {point.shape} | {point.us:g} | {row.us:.2f} | {row.us / point.us:.2f} "
            f"| {row.engine} | {point.source} |"
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
