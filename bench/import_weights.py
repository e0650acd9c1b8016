"""What the weights of a model cost: time beside reading the file, and memory beside its size.

    python bench/import_weights.py [--megabytes 100] [--runs 5] [--gigabytes 1]

Chains of matrix products with 4 MB of weights each are written to a temporary folder: a model for times, and a large one
twice for memory, with its weights inline and as external data. Every measurement is a process of its own with the file in
the page cache; imports of modules are not counted. Times are medians. "peak" is what the resident set grows by at most:
mapped pages of the model count, though the system can drop them; "own" is the part that is not the mapped file, so a
second copy of the weights would show there. Exits 1 if the import takes twice as long as reading the file or more, or if
importing, or reading every weight after it, takes memory of its own beyond a tenth of the model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TENSOR = 4 << 20
LIMIT = 2.0
"""Times reading the file."""
OWN_LIMIT = 0.1
"""Of the model's size."""
ROWS = {
    "read": "reading the file",
    "load": "onnx.load",
    "import": "import",
    "values": "import, and every weight read",
}
LARGE_ROWS = ROWS | {"simplified": "import and simplify", "om": "import, compile, write the OM"}


def main() -> int:
    """Prints the tables and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100, help="size of the model for times (default 100)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=1, help="size of the models for memory (default 1)")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], Path(options.one[1]))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.onnx"
        write_model(path, options.megabytes, external=False)
        medians = table("inline", path, ROWS, options.runs)
        ratio = medians["import"][0] / medians["read"][0]
        print(f"import / reading = {ratio:.2f}, the limit is {LIMIT}")
        good = ratio < LIMIT
        for external in (False, True):
            write_model(path, int(options.gigabytes * 1000), external=external)
            rows = table("external" if external else "inline", path, LARGE_ROWS, 1)
            good &= all(rows[kind][2] < OWN_LIMIT * total_size(path) for kind in ("import", "values"))
    return 0 if good else 1


def table(title: str, path: Path, rows: dict[str, str], runs: int) -> dict[str, list[float]]:
    """Measures and prints every row; seconds, peak and own bytes by row."""
    print(f"\n{total_size(path) / 1e6:.1f} MB {title}, {runs} runs each")
    print(f"{'':<32}{'ms':>9}{'of reading':>12}{'peak MB':>10}{'own MB':>10}")
    medians: dict[str, list[float]] = {}
    for kind, what in rows.items():
        measured = [in_own_process(kind, path) for _ in range(runs)]
        medians[kind] = [statistics.median(column) for column in zip(*measured, strict=True)]
        seconds, peak, own = medians[kind]
        ratio = seconds / medians["read"][0]
        print(f"{what:<32}{seconds * 1e3:>9.1f}{ratio:>12.2f}{peak / 1e6:>10.1f}{own / 1e6:>10.1f}", flush=True)
    return medians


def total_size(path: Path) -> int:
    """Bytes of the model and its external data."""
    return sum(file.stat().st_size for file in _files(path))


def _files(path: Path) -> list[Path]:
    data = path.with_suffix(".data")
    return [path, data] if data.exists() else [path]


def write_model(path: Path, megabytes: int, *, external: bool) -> None:
    """A chain of matrix products with square weights of 4 MB."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    side = 1024
    random = np.random.default_rng(1)
    count = max(1, megabytes * 1_000_000 // TENSOR)
    weights = [numpy_helper.from_array(random.random((side, side), np.float32), f"w{i}") for i in range(count)]
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"], name=f"matmul{i}") for i in range(count)]
    value = helper.make_tensor_value_info
    inputs = [value("x0", TensorProto.FLOAT, [16, side])]
    outputs = [value(f"x{count}", TensorProto.FLOAT, [16, side])]
    graph = helper.make_graph(nodes, "weights", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if external:
        place = path.with_suffix(".data").name
        save(model, str(path), save_as_external_data=True, location=place)
    else:
        save(model, str(path))


def in_own_process(kind: str, path: Path) -> list[float]:
    """Seconds, growth of the peak and peak of own memory in bytes."""
    command = [sys.executable, __file__, "--one", kind, str(path)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(kind: str, path: Path) -> list[float]:
    """One run in this process."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test"))
    import onnx
    from models.small import SMALL  # pyright: ignore[reportMissingImports]

    from graph_engine.dialects.ge.weights import WeightAttr, materialize
    from graph_engine.frontend_onnx.importer import import_onnx
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.pipelines.default import Phase
    from graph_engine.target_ascend.om.container import save

    warm = import_onnx(SMALL["residual"]())  # what is imported lazily
    if kind in ("simplified", "om"):
        compile_module(warm)
    memory = _Memory()
    start = time.perf_counter()
    if kind == "read":
        kept: object = [file.read_bytes() for file in _files(path)]
    elif kind == "load":
        kept = onnx.load(str(path))
    else:
        kept = module = import_onnx(path)
        if kind == "values":
            for op in module.walk():
                weight = op.properties.get("value")
                if isinstance(weight, WeightAttr):
                    materialize(weight).sum()
        elif kind == "simplified":
            compile_module(module, until=Phase.SIMPLIFIED)
        elif kind == "om":
            compile_module(module)
            save(emit_program(module), path.with_suffix(".om"))
    seconds = time.perf_counter() - start
    grown = memory.stop()
    del kept
    return [seconds, *grown]


class _Memory:
    """Watches the resident set of this process, in bytes, every 10 ms (Linux)."""

    def __init__(self) -> None:
        self._before = self._peaks = self._now()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self._look()

    def _look(self) -> None:
        total, own = self._now()
        self._peaks = max(self._peaks[0], total), max(self._peaks[1], own)

    def stop(self) -> tuple[int, int]:
        """By how much the whole set and its part that is no mapped file grew at most."""
        self._done.set()
        self._thread.join()
        self._look()
        return self._peaks[0] - self._before[0], self._peaks[1] - self._before[1]

    @staticmethod
    def _now() -> tuple[int, int]:
        fields: dict[str, int] = {}
        for line in Path("/proc/self/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if value.endswith(" kB"):
                fields[name] = int(value.split()[0]) * 1024
        return fields["VmRSS"], fields["RssAnon"]


if __name__ == "__main__":
    raise SystemExit(main())
