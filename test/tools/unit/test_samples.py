"""Every .mlir file of the test tree and every phase of a compiled model round-trips through both forms, and mlir-opt
accepts the generic form where it is installed.

Line comments that expect errors mark pieces that are wrong on purpose; those are left out.
"""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from models.small import SMALL
from xdsl.dialects.builtin import ModuleOp

from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.printing import to_text
from graph_engine.pipelines.source import Chunk, SourceError, parse, split
from graph_engine.pipelines.verification import InvalidOperation, verify

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*.mlir"))
MLIR_OPT = next(filter(None, map(shutil.which, ("mlir-opt", "mlir-opt-22", "/usr/lib/llvm-22/bin/mlir-opt"))), None)


@cache
def modules(sample: str) -> list[ModuleOp]:
    context = make_context()
    found: list[ModuleOp] = []
    for chunk in split(sample, (ROOT / sample).read_text(), by_separator=True):
        try:
            module = parse(context, chunk)
            verify(module)
            found.append(module)
        except (SourceError, InvalidOperation):
            assert "invalid" in sample or "expected-error" in chunk.text, f"{sample}: a piece does not parse or verify"
    return found


@cache
def phases() -> dict[str, ModuleOp]:
    """A convolution, fused, and an operator for the AI CPU, at the end of each phase."""
    module = import_onnx(SMALL["lrn"]())
    found: dict[str, ModuleOp] = {}
    for phase in Phase:
        compile_module(module, until=phase)
        found[phase.title] = module.clone()
    return found


def check_round_trip(module: ModuleOp) -> None:
    for generic in (False, True):
        text = to_text(module, generic=generic)
        again = parse(make_context(), Chunk("text", text))
        verify(again)
        assert module.is_structurally_equivalent(again), text
        assert to_text(again, generic=generic) == text


@pytest.mark.parametrize("sample", SAMPLES)
def test_round_trip(sample: str):
    for module in modules(sample):
        check_round_trip(module)


@pytest.mark.parametrize("phase", [phase.title for phase in Phase])
def test_round_trip_of_every_phase(phase: str):
    check_round_trip(phases()[phase])


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt (Debian's mlir-22-tools) is not installed")
@pytest.mark.parametrize("phase", [phase.title for phase in Phase])
def test_every_phase_is_accepted_by_mlir_opt(phase: str):
    check_by_mlir_opt([phases()[phase]])


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt (Debian's mlir-22-tools) is not installed")
@pytest.mark.parametrize("sample", SAMPLES)
def test_generic_form_is_accepted_by_mlir_opt(sample: str):
    check_by_mlir_opt(modules(sample))


def check_by_mlir_opt(found: list[ModuleOp]) -> None:
    assert MLIR_OPT is not None
    text = "// -----\n".join(to_text(module, generic=True) for module in found)
    run = subprocess.run(
        [MLIR_OPT, "--allow-unregistered-dialect", "--split-input-file", "-o", "/dev/null"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
