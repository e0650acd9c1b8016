"""Mutated models through the front half of the compiler: each is compiled or refused in words, nothing else.

    python bench/fuzz_import.py [--minutes 5] [--seed 0] [--out DIR]
    python bench/fuzz_import.py --file DIR/seed0_case17.onnx

The models that mutations (`mutations.py`) start from are the small models of `test/models` and the node tests of ONNX's
suite. Each mutant is imported, simplified and fused as the tools do it. Whatever is raised but GraphEngineError, an error
without words, a pass that leaves an invalid module, and more than 10 s of CPU are findings. Of every place in the code
the first one is made small (edits, then nodes and declarations are dropped while it still fails there) and written to
DIR; exit code 1. Case N of a seed is the same in every run.
"""

from __future__ import annotations

import argparse
import faulthandler
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from mutations import changed_bytes, changed_model

ROOT = Path(__file__).resolve().parent.parent
CASE_SECONDS = 10
"""CPU time of a case: one that takes longer is a finding as well."""
MEMORY = 4 << 30
"""Bytes of address space: a model that asks for more is to be refused, not to take the machine down."""
LARGEST_SEED = 4000
"""Bytes of a node test's model that serves as a seed."""
Edit = tuple[Callable[[bytes, Random], bytes], str]
"""What changes a file, and the seed of its random numbers."""


def main() -> int:
    """Runs cases until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="time budget (default 5)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where findings go (default: a fresh temporary folder)")
    parser.add_argument("--file", type=Path, help="run this file only, with its traceback")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "test"))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _too_long)
    faulthandler.enable()
    warnings.simplefilter("ignore", RuntimeWarning)  # of numpy, at values like 1e38
    if options.file is not None:
        print(outcome(options.file))
        return 0
    out: Path = options.out or Path(tempfile.mkdtemp(prefix="fuzz_import_"))
    out.mkdir(parents=True, exist_ok=True)
    sources = source_models()
    counts: Counter[str] = Counter()
    found: dict[str, Path] = {}
    end = time.monotonic() + 60 * options.minutes
    case = 0
    while time.monotonic() < end:
        path = out / f"seed{options.seed}_case{case}.onnx"
        random = Random(f"{options.seed}/{case}")
        content = random.choice(sources)
        edits = _edits(random)
        path.write_bytes(edited(content, edits))  # first of all: a crash of the process leaves it there
        result, place = tried(path)
        counts[result] += 1
        if place and place not in found:
            print(f"\n{place}\n{traceback_of(path)}", flush=True)
            path.write_bytes(smallest(content, edits, place, path))
            found[place] = path
        else:
            path.unlink()
        case += 1
    print(f"seed {options.seed}: {case} models: {', '.join(f'{n} {what}' for what, n in counts.most_common())}")
    for place, path in found.items():
        print(f"finding: {place}: {path}")
    return 1 if found else 0


def source_models() -> list[bytes]:
    """The models that mutations start from."""
    from models.small import SMALL  # pyright: ignore[reportMissingImports]
    from onnx.backend.test.loader import load_model_tests

    models = [build().SerializeToString() for build in SMALL.values()]
    for case in load_model_tests(kind="node"):
        if case.model is not None and case.model.ByteSize() < LARGEST_SEED:
            models.append(case.model.SerializeToString())
    return models


def _edits(random: Random) -> list[Edit]:
    kinds = [changed_bytes] if random.random() < 0.3 else [changed_model]
    return [(random.choice(kinds), str(random.random())) for _ in range(random.choice([1, 1, 1, 2, 3, 5]))]


def edited(content: bytes, edits: Sequence[Edit]) -> bytes:
    """The file after all edits."""
    for change, seed in edits:
        content = change(content, Random(seed))
    return content


def outcome(path: Path) -> str:
    """Imports a file, then simplifies and fuses it: "compiled" or "refused"."""
    from graph_engine.errors import GraphEngineError
    from graph_engine.frontend_onnx.importer import import_onnx
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.pipelines.default import Phase
    from graph_engine.pipelines.printing import to_text

    signal.setitimer(signal.ITIMER_VIRTUAL, CASE_SECONDS)
    step = "imported"
    try:
        module = import_onnx(path, warn=lambda _: None)
        to_text(module)
        step = "compiled"
        for phase in (Phase.SIMPLIFIED, Phase.FUSED):
            compile_module(module, until=phase)
        to_text(module)
    except GraphEngineError as error:
        text = str(error)
        if not text.strip() or text.startswith("after pass") or " crashed: " in text:
            raise error.__cause__ or AssertionError(f"an error of our own making: {text}") from None
        return "refused" if step == "imported" else "refused by a pass"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return "compiled"


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {CASE_SECONDS} s")


def tried(path: Path) -> tuple[str, str]:
    """The outcome, and the place in the code where it went wrong, if it did."""
    try:
        return outcome(path), ""
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "graph_engine" in frame.filename] or frames
        last = ours[-1]
        return "FOUND", f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno} ({last.name})"


def traceback_of(path: Path) -> str:
    """The traceback of a file that fails, its end."""
    try:
        return outcome(path)
    except Exception:
        return "".join(traceback.format_exc()[-1500:])


def smallest(content: bytes, edits: list[Edit], place: str, path: Path) -> bytes:
    """A file that fails at `place` with as few edits, then as few parts, as single steps reach."""

    def fails(candidate: bytes) -> bool:
        path.write_bytes(candidate)
        return tried(path)[1] == place

    for edit in list(edits):
        fewer = [other for other in edits if other is not edit]
        if fails(edited(content, fewer)):
            edits = fewer
    best = edited(content, edits)
    for part in ("node", "initializer", "input", "value_info", "output"):
        count = len(_parts(best, part))
        for index in reversed(range(count)):
            candidate = _without(best, part, index)
            if candidate is not None and fails(candidate):
                best = candidate
    return best


def _parts(content: bytes, part: str) -> Sequence[Any]:
    from google.protobuf.message import Error
    from onnx import ModelProto

    try:
        return getattr(ModelProto.FromString(content).graph, part)
    except Error:
        return []


def _without(content: bytes, part: str, index: int) -> bytes | None:
    from onnx import ModelProto

    model = ModelProto.FromString(content)
    del getattr(model.graph, part)[index]
    return model.SerializeToString()


if __name__ == "__main__":
    raise SystemExit(main())
