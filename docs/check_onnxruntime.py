"""Is a module as good as the model in onnxruntime? A check for `ge-bisect --check-script`.

    ge-bisect model.onnx --check-script 'python check_onnxruntime.py model.onnx 0.001'

Exits with 0 if every output of the .mlir (last argument) is within the share of its range (default 0.01), with 1 if one
is not, and with 125, which tells nothing, if the .mlir has other inputs or outputs: ge-bisect also asks about parts of a
graph, which read and give what the model computes inside.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


def main() -> int:
    model, *tolerance, module = sys.argv[1:]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    feeds = {}
    for value in session.get_inputs():
        numbers = rng.standard_normal([dim if isinstance(dim, int) else 1 for dim in value.shape], np.float32)
        integer = INTEGERS.get(value.type)
        feeds[value.name] = numbers if integer is None else np.abs(numbers).astype(integer)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/inputs.npz", **feeds)
        ge_run = Path(sys.executable).with_name("ge-run")
        flags = ["--engine", "reference", "--input", f"{folder}/inputs.npz", "--output", folder]
        done = subprocess.run([ge_run, "--model", module, *flags], capture_output=True, text=True)
        names = [value.name for value in session.get_outputs()]
        if done.returncode or any(f"output {i} '{name}'" not in done.stdout for i, name in enumerate(names)):
            return 125
        for index, right in enumerate(session.run(None, feeds)):
            found = np.load(f"{folder}/{Path(module).stem}_output_{index}.npy")
            if np.abs(found - right).max() > float(*tolerance or ["0.01"]) * np.ptp(right):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
