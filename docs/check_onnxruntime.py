"""Is a module as good as the model in onnxruntime? A check for `ge-bisect --check-script`.

    ge-bisect model.onnx --check-script 'python check_onnxruntime.py model.onnx 0.001'

Exits with 0 if every output of the .mlir (last argument) is within the share of its range (default 0.01), else with 1.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime


def main() -> int:
    model, *tolerance, module = sys.argv[1:]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    feeds = {
        value.name: rng.standard_normal([dim if isinstance(dim, int) else 1 for dim in value.shape], np.float32)
        for value in session.get_inputs()
    }
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/inputs.npz", **feeds)
        ge_run = Path(sys.executable).with_name("ge-run")
        flags = ["--engine", "reference", "--input", f"{folder}/inputs.npz", "--output", folder]
        subprocess.run([ge_run, "--model", module, *flags], check=True, stdout=sys.stderr)
        for index, right in enumerate(session.run(None, feeds)):
            found = np.load(f"{folder}/{Path(module).stem}_output_{index}.npy")
            if np.abs(found - right).max() > float(*tolerance or ["0.01"]) * np.ptp(right):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
