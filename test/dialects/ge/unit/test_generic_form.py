"""The generic form of every operator in ops_*.mlir is plain MLIR: mlir-opt reads it, and we read back its answer."""

from __future__ import annotations

import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from xdsl.parser import Parser
from xdsl.printer import Printer

from graph_engine.dialects.ge.dialect import GE
from graph_engine.pipelines.context import make_context

FILES = sorted(Path(__file__).parents[1].glob("ops_*.mlir"))
MLIR_OPT = shutil.which("mlir-opt") or shutil.which("mlir-opt-22") or shutil.which("/usr/lib/llvm-22/bin/mlir-opt")


def reprinted(text: str, generic: bool) -> str:
    """The text parsed, verified and printed again."""
    module = Parser(make_context(), text).parse_module()
    module.verify()
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_both_forms_hold_the_same(path: Path) -> None:
    custom = reprinted(path.read_text(), generic=False)
    generic = reprinted(custom, generic=True)
    assert reprinted(generic, generic=False) == custom
    assert reprinted(generic, generic=True) == generic


def test_every_operator_appears_in_a_round_trip_file() -> None:
    text = "\n".join(path.read_text() for path in FILES)
    missing = [op.name for op in GE.operations if f"{op.name} " not in text]
    assert not missing


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt (Debian mlir-22-tools) is not installed")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_mlir_opt_reads_the_generic_form(path: Path) -> None:
    assert MLIR_OPT is not None
    text = path.read_text()
    command = [MLIR_OPT, "--allow-unregistered-dialect", "--mlir-print-op-generic"]
    done = subprocess.run(command, input=reprinted(text, generic=True), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, after = reprinted(text, generic=False), reprinted(done.stdout, generic=False)
    assert [_without_names(line) for line in after.splitlines()] == [
        _without_names(line) for line in before.splitlines()
    ]


def _without_names(line: str) -> str:
    """mlir-opt renames values: compare the rest."""
    return re.sub(r"%\w+", "%", line)
