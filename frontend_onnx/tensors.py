"""Constant tensors of a model, held by reference until somebody needs their values.

A tensor lies in the ModelProto, in an external data file (memory-mapped; place and size are checked before use), or is
one value repeated (ConstantOfShape).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    import numpy as np
    from onnx import TensorProto

EXTERNAL = 1
"""TensorProto.DataLocation of a tensor that lies outside the model file."""


@dataclass(frozen=True, slots=True, eq=False)
class ConstantTensor:
    """Name, element type (number of TensorProto.DataType) and shape of a tensor, and how to get its values."""

    name: str
    data_type: int
    shape: tuple[int, ...]
    load: Callable[[], np.ndarray[Any, Any]]

    @property
    def elements(self) -> int:
        """The number of elements."""
        return prod(self.shape)


def splat(name: str, value: np.ndarray[Any, Any], data_type: int, shape: tuple[int, ...]) -> ConstantTensor:
    """A tensor of one repeated value."""
    import numpy as np

    return ConstantTensor(name, data_type, shape, lambda: np.full(shape, value))


class TensorReader:
    """Makes `ConstantTensor`s of TensorProtos; external files are looked for beside the model, in `base`."""

    def __init__(self, base: Path | None) -> None:
        self._base = base
        self._files: dict[Path, np.ndarray[Any, Any]] = {}

    def read(self, proto: TensorProto, name: str = "") -> ConstantTensor:
        """The tensor. Raises GraphEngineError if its external data cannot be there."""
        name = name or proto.name
        load = self._external(proto, name) if proto.data_location == EXTERNAL else _inline(proto)
        return ConstantTensor(name, proto.data_type, tuple(proto.dims), load)

    def read_all(self, protos: Iterable[TensorProto]) -> dict[str, ConstantTensor]:
        """All tensors by name; every unusable external tensor is reported in one error."""
        found: dict[str, ConstantTensor] = {}
        problems: list[str] = []
        for proto in protos:
            try:
                found[proto.name] = self.read(proto)
            except GraphEngineError as error:
                problems.append(str(error))
        if problems:
            shown = problems[:20] + ([f"and {len(problems) - 20} more"] if len(problems) > 20 else [])
            raise GraphEngineError("\n  ".join(["external data cannot be used:", *shown]))
        return found

    def _external(self, proto: TensorProto, name: str) -> Callable[[], np.ndarray[Any, Any]]:
        import numpy as np
        from onnx.helper import tensor_dtype_to_np_dtype

        entries = {entry.key: entry.value for entry in proto.external_data}
        location = entries.get("location", "")
        path = self._resolve(location, name)
        dtype = tensor_dtype_to_np_dtype(proto.data_type)
        shape = tuple(proto.dims)
        size = prod(shape) * dtype.itemsize
        try:
            offset, length = int(entries.get("offset") or 0), int(entries.get("length") or size)
        except ValueError:
            raise GraphEngineError(f"tensor '{name}': offset or length of its external data is no number") from None
        if length != size or offset < 0:
            raise GraphEngineError(
                f"tensor '{name}': {length} bytes at offset {offset} of '{location}' for {size} bytes of values"
            )
        available = path.stat().st_size
        if offset + length > available:
            raise GraphEngineError(
                f"tensor '{name}': '{location}' is truncated: {available} bytes, {offset + length} are needed"
            )

        def load() -> np.ndarray[Any, Any]:
            if path not in self._files:
                self._files[path] = np.memmap(path, np.uint8, "r") if available else np.zeros(0, np.uint8)
            return np.frombuffer(self._files[path].data, dtype, prod(shape), offset).reshape(shape)

        return load

    def _resolve(self, location: str, name: str) -> Path:
        """The external file; a place outside the model's folder is refused, as onnx does."""
        if self._base is None:
            raise GraphEngineError(f"tensor '{name}' lies in '{location}', but the model's folder is not known")
        base = os.path.realpath(self._base)
        path = os.path.realpath(os.path.join(base, location))
        if not location or os.path.isabs(location) or os.path.commonpath([base, path]) != base:
            raise GraphEngineError(f"tensor '{name}': '{location}' is not a place in the model's folder")
        if not os.path.isfile(path):
            raise GraphEngineError(f"tensor '{name}': file '{location}' is missing beside the model")
        return Path(path)


def _inline(proto: TensorProto) -> Callable[[], np.ndarray[Any, Any]]:
    def load() -> np.ndarray[Any, Any]:
        from onnx import numpy_helper

        return numpy_helper.to_array(proto)

    return load
