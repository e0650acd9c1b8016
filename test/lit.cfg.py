"""lit configuration: the tools of the Python that runs lit, FileCheck in Python, mlir-opt where it is installed."""

# ruff: noqa: F821  (lit passes `config` in)
import os
import shutil
import sys

import lit.formats

config.name = "graph-engine"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["unit", "models"]
config.test_source_root = os.path.dirname(__file__)

commands = os.path.dirname(sys.executable)
config.environment["PATH"] = os.pathsep.join((commands, os.environ.get("PATH", "")))
config.environment.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
for tool in ("ge-opt", "ge-translate", "ge-run", "ge-bisect"):
    config.substitutions.append((rf"\b{tool}\b(?=\s)", os.path.join(commands, tool)))
config.substitutions.append((r"\bFileCheck\b", os.path.join(commands, "filecheck")))

# A lane of its own: `REQUIRES: mlir-opt` tests report UNSUPPORTED, visibly, where Debian's mlir-22-tools is absent.
mlir_opt = shutil.which("mlir-opt") or shutil.which("mlir-opt-22") or shutil.which("/usr/lib/llvm-22/bin/mlir-opt")
if mlir_opt:
    config.available_features.add("mlir-opt")
    config.substitutions.append((r"\bmlir-opt\b(?=\s)", mlir_opt))
else:
    lit_config.note("mlir-opt is not installed: the foreign-parser tests are skipped")
