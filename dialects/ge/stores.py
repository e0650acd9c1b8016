"""Large tensors by content: references, and the store files that hold them. Knows nothing of IR.

The content address covers element type, extents and row-major little-endian bytes, and is computed when first
printed or saved. A store is a `.safetensors` file whose keys are addresses, memory-mapped, or the `.onnx` file that a
model came from, whose initialisers are found by name and checked by address.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from typing_extensions import override

from graph_engine.dialects.ge.onnx_file import read_model
from graph_engine.dialects.ge.onnx_tensors import TensorReader
from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    import numpy as np
    from onnx import TensorProto

    Array = np.ndarray[Any, np.dtype[Any]]

SAFETENSORS_TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}


def digest(array: Array) -> str:
    """The content address of a tensor: sha256 over `<dtype>:<extents>:` and the row-major little-endian bytes."""
    hasher = hashlib.sha256(f"{array.dtype}:{','.join(map(str, array.shape))}:".encode())
    if array.size:
        hasher.update(_bytes(array))
    return hasher.hexdigest()


def _bytes(array: Array) -> memoryview:
    import numpy as np

    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


class WeightRef:
    """A tensor by name and content: `dtype` is numpy's name; `loader` gives the array (a view where possible).

    A reference that was parsed knows only `name` and `sha256`; the registered stores know the rest. `origin` is the
    store file that holds the tensor, None if it exists in memory only.
    """

    def __init__(
        self,
        name: str,
        dtype: str = "",
        shape: Sequence[int] = (),
        loader: Callable[[], Array] | None = None,
        *,
        sha256: str = "",
        origin: Path | None = None,
    ):
        self.name = name
        self._dtype = dtype
        self._shape = tuple(shape)
        self._loader = loader
        self._sha256 = sha256
        self._origin = origin

    @staticmethod
    def of(name: str, array: Array) -> WeightRef:
        """A reference to an array in memory, which must not be written to from now on."""
        return WeightRef(name, str(array.dtype), array.shape, lambda: array)

    @property
    def known(self) -> bool:
        """Whether shape and type are known without asking the stores."""
        return self._loader is not None

    @property
    def sha256(self) -> str:
        """The content address, computed at the first use."""
        if not self._sha256:
            self._sha256 = digest(self.load())
            holders = _in_memory.setdefault(self._sha256, [])
            holders[:] = [*(held for held in holders if held() is not None), weakref.ref(self)]
        return self._sha256

    @property
    def dtype(self) -> str:
        """numpy's name of the element type."""
        self._resolve()
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape."""
        self._resolve()
        return self._shape

    @property
    def bytes(self) -> int:
        """Bytes of the plain row-major tensor."""
        from graph_engine.dialects.ge.reference.element_types import dtype_named

        return prod(self.shape) * dtype_named(self.dtype).itemsize

    @property
    def origin(self) -> Path | None:
        """The store file that holds the tensor, None if there is none yet."""
        self._resolve()
        return self._origin

    def load(self) -> Array:
        """The tensor, read-only by agreement. Raises GraphEngineError if no open store has it."""
        self._resolve()
        assert self._loader is not None
        return self._loader()

    def moved_to(self, path: Path) -> None:
        """Notes that the store at `path` holds the tensor from now on."""
        self._origin = path

    def _resolve(self) -> None:
        if self._loader is None:
            found = _find(self.name, self._sha256)
            self._dtype, self._shape = found._dtype, found._shape
            self._loader, self._origin = found._loader, found._origin

    @override
    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, WeightRef) and self.name == other.name and self.sha256 == other.sha256

    @override
    def __hash__(self) -> int:
        return hash(self.name)  # not the address: hashing must not read the tensor

    @override
    def __repr__(self) -> str:
        return f"WeightRef({self.name!r})"


_in_memory: dict[str, list[weakref.ref[WeightRef]]] = {}
"""All tensors in memory by content: of two alike, the one may go while the other is still needed."""


class Store(Protocol):
    """A file of tensors."""

    stamp: tuple[int, int]

    def find(self, name: str, sha256: str) -> WeightRef | None:
        """The tensor with this address (and, where the file has no addresses, this name)."""
        ...


class SafetensorsStore:
    """A `.safetensors` file whose keys are addresses; tensors are views of the mapped file."""

    def __init__(self, path: Path):
        self.path = path
        self.stamp = _stamp(path)
        self.entries, self._start = _read_header(path)
        self._map: Array | None = None

    def find(self, name: str, sha256: str) -> WeightRef | None:
        entry = self.entries.get(sha256)
        if entry is None:
            return None
        dtype, shape, begin, end = entry
        return WeightRef(
            name, dtype, shape, lambda: self._view(dtype, shape, begin, end), sha256=sha256, origin=self.path
        )

    def references(self) -> Iterator[WeightRef]:
        """All tensors."""
        for key in self.entries:
            found = self.find(key, key)
            assert found is not None
            yield found

    def _view(self, dtype: str, shape: tuple[int, ...], begin: int, end: int) -> Array:
        import numpy as np

        from graph_engine.dialects.ge.reference.element_types import dtype_named

        if begin == end:
            return np.empty(shape, dtype_named(dtype))
        if self._map is None:
            self._map = np.asarray(np.memmap(self.path, np.uint8, "r", self._start))
        return self._map[begin:end].view(dtype_named(dtype)).reshape(shape)


class OnnxStore:
    """An `.onnx` file: initialisers and Constant nodes by name; large ones are views of the mapped files."""

    def __init__(self, path: Path):
        self.path = path
        self.stamp = _stamp(path)
        self._tensors: dict[str, TensorProto] | None = None
        self._reader = TensorReader(path.parent, path)

    def find(self, name: str, sha256: str) -> WeightRef | None:
        tensor = self._by_name().get(name)
        if tensor is None:
            return None
        load = self._reader.read(tensor).load
        array = load()
        if digest(array) != sha256:
            return None
        return WeightRef(name, str(array.dtype), array.shape, load, sha256=sha256, origin=self.path)

    def _by_name(self) -> dict[str, TensorProto]:
        if self._tensors is None:
            graph = read_model(self.path).graph
            self._tensors = {t.name: t for t in graph.initializer}
            for node in graph.node:
                if node.op_type == "Constant":
                    for attribute in node.attribute:
                        if attribute.name == "value":
                            self._tensors[node.output[0]] = attribute.t
        return self._tensors


_stores: dict[Path, Store] = {}


def register_store(path: str | Path) -> Path:
    """Makes the tensors of a `.safetensors` or `.onnx` file available to parsed references; returns its full path.

    Raises GraphEngineError if the file is missing or no store.
    """
    full = Path(path).resolve()
    if not full.is_file():
        raise GraphEngineError(f"weights store {path} does not exist")
    known = _stores.pop(full, None)
    if known is None or known.stamp != _stamp(full):
        known = OnnxStore(full) if full.suffix == ".onnx" else SafetensorsStore(full)
    _stores[full] = known
    return full


def forget_stores() -> None:
    """Closes all stores; references that were resolved before keep their tensors."""
    _stores.clear()


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _find(name: str, sha256: str) -> WeightRef:
    """Looks in the stores, those of the latest module first, then among tensors in memory, which no file may hold."""
    for store in reversed(_stores.values()):
        if (found := store.find(name, sha256)) is not None:
            return found
    for holder in _in_memory.get(sha256, ()):
        if (held := holder()) is not None:
            return held
    searched = ", ".join(str(path) for path in _stores) or "none is open"
    raise GraphEngineError(f"weight '{name}' (sha256 {sha256[:16]}...) is in no weights store; searched: {searched}")


def _read_header(path: Path) -> tuple[dict[str, tuple[str, tuple[int, ...], int, int]], int]:
    names = {v: k for k, v in SAFETENSORS_TYPES.items()}
    size = path.stat().st_size
    with path.open("rb") as file:
        length = struct.unpack("<Q", file.read(8).ljust(8, b"\xff"))[0]
        if length > size - 8:
            raise GraphEngineError(f"{path} is no safetensors file or is cut short")
        try:
            header: dict[str, Any] = json.loads(file.read(length))
            entries: dict[str, tuple[str, tuple[int, ...], int, int]] = {}
            for key, entry in header.items():
                if key != "__metadata__":
                    begin, end = entry["data_offsets"]
                    entries[key] = (names[entry["dtype"]], tuple(entry["shape"]), begin, end)
        except (ValueError, KeyError, TypeError) as error:
            raise GraphEngineError(f"{path} has a damaged safetensors header: {error}") from None
    if any(end > size - 8 - length for *_, end in entries.values()):
        raise GraphEngineError(f"{path} is cut short: tensors end behind the file")
    return entries, 8 + length


def write_store(path: Path, references: Mapping[str, WeightRef]) -> None:
    """Writes tensors keyed by address to a `.safetensors` file, one after another; the file appears only when whole."""
    from graph_engine.dialects.ge.reference.element_types import dtype_named

    # Wide elements first keeps every tensor aligned: the format allows no gaps.
    order = sorted(references, key=lambda key: -dtype_named(references[key].dtype).itemsize)
    header: dict[str, Any] = {}
    offset = 0
    for key in order:
        reference = references[key]
        end = offset + reference.bytes
        header[key] = {
            "dtype": SAFETENSORS_TYPES[reference.dtype],
            "shape": list(reference.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for key in order:
                if references[key].bytes:
                    file.write(_bytes(references[key].load()))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
