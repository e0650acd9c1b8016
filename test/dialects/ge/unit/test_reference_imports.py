"""The reference package runs on a machine (or in a runtime) that has numpy only."""

import subprocess
import sys

PROGRAM = """
import sys
import graph_engine.dialects.ge.reference as reference
assert "numpy" not in sys.modules, "the package itself imports nothing"
import numpy as np
for module in sorted({module for module, _ in reference.FUNCTIONS.values()}):
    __import__(f"graph_engine.dialects.ge.reference.{module}")
[y] = reference.evaluate("ge.relu", [np.float32([-1, 2])], {})
assert y.tolist() == [0, 2]
print(sorted(name for name in sys.modules if name.split(".")[0] in ("xdsl", "onnx", "onnxruntime")))
"""


def test_reference_pulls_in_neither_xdsl_nor_onnx() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
