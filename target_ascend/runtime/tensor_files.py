"""Model inputs from files and model outputs to files, as `ge-run` takes and names them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from graph_engine.dialects.ge.reference.element_types import numpy_dtype
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.om.atomic_write import write_atomically
from graph_engine.target_ascend.om.program import TensorDesc

Array = np.ndarray[Any, np.dtype[Any]]

FILLS = ("zero", "random")
FORMATS = ("NPY", "BIN", "TXT")


@dataclass(frozen=True)
class Port:
    """An input or output of a model as its user sees it: logical `shape` (-1 = any size) and numpy dtype."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @staticmethod
    def of(tensor: TensorDesc) -> Port:
        """The port of an input or output of a compiled program."""
        return Port(tensor.name, numpy_dtype(tensor.dtype.mlir), tensor.shape)

    def describe(self) -> str:
        """`float32[1, 3, 224, 224]`, with `?` for any size."""
        return _form(self.dtype, self.shape)


def fill_inputs(ports: Sequence[Port], fill: str, seed: int) -> list[Array]:
    """Inputs without files: zeros, or seeded random values: standard normal floats, 0 to 127 in the types of 8 bits.

    Other integers are 0 or 1, which are in the range of whatever they may count or index: tokens, types of tokens, masks.
    A dimension of any size becomes 1.
    """
    rng = np.random.default_rng(seed)
    arrays: list[Array] = []
    for port in ports:
        shape = tuple(1 if dim < 0 else dim for dim in port.shape)
        if fill == "zero":
            arrays.append(np.zeros(shape, port.dtype))
        elif port.dtype.kind == "f" or port.dtype.name == "bfloat16":
            arrays.append(rng.standard_normal(shape, np.float32).astype(port.dtype))
        else:
            high = 128 if port.dtype.kind in "iu" and port.dtype.itemsize == 1 else 2
            arrays.append(rng.integers(0, high, shape).astype(port.dtype))
    return arrays


def read_inputs(ports: Sequence[Port], argument: str) -> list[Array]:
    """The arrays that `--input` names: an .npz, a directory, or .npy and .bin files joined by commas.

    An .npz goes by name (by order if its arrays are named arr_0, arr_1, ...), a directory by file name if all of
    its files are named like inputs and else in the order of the names, a list by order. Raises GraphEngineError
    with both sides where count, name, dtype, shape or size differ. Numpy's files have no name for bf16: 16-bit patterns, as
    uint16 or as what `np.save` makes of ml_dtypes.bfloat16, stand for it.
    """
    path = Path(argument)
    if path.is_dir():
        return _check(ports, _read_directory(ports, path))
    if path.suffix == ".npz":
        return _check(ports, _read_npz(ports, path))
    files = [Path(item) for item in argument.split(",")]
    if len(files) != len(ports):
        raise GraphEngineError(f"--input names {_count(len(files), 'file')}, the model has {_signature(ports)}")
    return _check(ports, [(str(file), _read_file(file, port)) for file, port in zip(files, ports, strict=True)])


def write_outputs(directory: str, model: str, outputs: Sequence[Array], form: str) -> list[Path]:
    """Writes `<model>_output_<i>.npy`, `.bin` (raw bytes) or `.txt` (one line a row); returns the paths. An .npy of bf16
    holds its 16-bit patterns as uint16."""
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise GraphEngineError(f"cannot create {directory}: {problem.strerror}") from problem
    paths: list[Path] = []
    for index, output in enumerate(outputs):
        path = folder / f"{model}_output_{index}.{form.lower()}"
        write_atomically(path, lambda file, output=output: _write_array(file, output, form))
        paths.append(path)
    return paths


def _write_array(file: BinaryIO, array: Array, form: str) -> None:
    if form == "NPY":
        np.save(file, array.view(np.uint16) if array.dtype.name == "bfloat16" else array, allow_pickle=False)
    elif form == "BIN":
        file.write(np.ascontiguousarray(array).tobytes())
    else:
        rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
        rows = rows.astype(np.float32) if array.dtype.name == "bfloat16" else rows
        # 9 digits tell all fp32 values apart.
        np.savetxt(file, rows, fmt="%.9g" if rows.dtype.kind == "f" else "%d")


def _read_directory(ports: Sequence[Port], folder: Path) -> list[tuple[str, Array]]:
    files = sorted(file for file in folder.iterdir() if file.suffix in (".npy", ".bin"))
    if len(files) != len(ports):
        raise GraphEngineError(
            f"{folder} holds {_count(len(files), '.npy or .bin file')}, the model has {_signature(ports)}"
        )
    stems = {file.stem: file for file in files}
    if stems.keys() == {port.name for port in ports}:
        files = [stems[port.name] for port in ports]
    return [(str(file), _read_file(file, port)) for file, port in zip(files, ports, strict=True)]


def _read_npz(ports: Sequence[Port], path: Path) -> list[tuple[str, Array]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as problem:
        raise GraphEngineError(f"cannot read {path}: {_reason(problem)}") from problem
    names = [port.name for port in ports]
    if arrays.keys() != set(names) and list(arrays) == [f"arr_{i}" for i in range(len(ports))]:
        names = list(arrays)
    if arrays.keys() != set(names):
        raise GraphEngineError(
            f"{path} holds {', '.join(sorted(arrays)) or 'nothing'}, the model has {_signature(ports)}"
        )
    return [(f"{path}[{name}]", arrays[name]) for name in names]


def _read_file(path: Path, port: Port) -> Array:
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".bin":
            return _shape_bytes(path, path.read_bytes(), port)
    except (OSError, ValueError, EOFError) as problem:
        raise GraphEngineError(f"cannot read {path}: {_reason(problem)}") from problem
    raise GraphEngineError(f"{path}: an input is an .npy, .bin or .npz file or a directory of them")


def _shape_bytes(path: Path, data: bytes, port: Port) -> Array:
    """The array in a raw file; one dimension of any size follows from the number of bytes."""
    known = port.dtype.itemsize
    for dim in port.shape:
        known *= dim if dim >= 0 else 1
    shape, free = list(port.shape), [axis for axis, dim in enumerate(port.shape) if dim < 0]
    if len(free) == 1 and known and len(data) % known == 0:
        shape[free[0]] = len(data) // known
    elif free or len(data) != known:
        needed = f"{known} bytes" if not free else f"a multiple of {known} bytes"
        raise GraphEngineError(
            f"{path} has {len(data)} bytes, input '{port.name}' takes {port.describe()} = {needed}"
        )  # fmt: skip
    return np.frombuffer(data, port.dtype).reshape(shape)


def _check(ports: Sequence[Port], arrays: Sequence[tuple[str, Array]]) -> list[Array]:
    checked: list[Array] = []
    for port, (origin, array) in zip(ports, arrays, strict=True):
        if port.dtype.name == "bfloat16" and array.dtype.str in ("<u2", "|V2"):
            array = np.ascontiguousarray(array).view(port.dtype)
        check_input(port, array, origin)
        checked.append(np.ascontiguousarray(array))
    return checked


def check_input(port: Port, array: Array, origin: str) -> None:
    """Raises GraphEngineError with both sides unless `array` can be fed to `port`."""
    fits = len(array.shape) == len(port.shape) and all(
        want in (-1, have) for want, have in zip(port.shape, array.shape, strict=True)
    )
    if array.dtype != port.dtype or not fits:
        raise GraphEngineError(
            f"{origin} is {_form(array.dtype, array.shape)}, input '{port.name}' takes {port.describe()}"
        )  # fmt: skip


def _form(dtype: np.dtype[Any], shape: Sequence[int]) -> str:
    return f"{dtype.name}[{', '.join('?' if dim < 0 else str(dim) for dim in shape)}]"


def _signature(ports: Sequence[Port]) -> str:
    listed = ", ".join(f"'{port.name}' {port.describe()}" for port in ports)
    return f"{_count(len(ports), 'input')}{': ' if listed else ''}{listed}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        return os.strerror(problem.errno) if problem.errno else problem.strerror
    return str(problem).splitlines()[0] if str(problem) else type(problem).__name__
