"""Constant tensors of an ONNX model, held by reference until somebody needs their values.

A tensor lies in the ModelProto, in the model file or in an external data file (both memory-mapped; place and size are
checked before use), or is one value repeated (ConstantOfShape).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_engine.dialects.ge.onnx_file import HERE
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
    """A tensor of one repeated value. Raises GraphEngineError for a negative extent."""
    import numpy as np

    _check_extents(name, shape)
    return ConstantTensor(name, data_type, shape, lambda: np.full(shape, value))


class TensorReader:
    """Makes `ConstantTensor`s of TensorProtos; external files are looked for beside the model, in `base`.

    `model_file` is where the tensors lie that `read_model` left there.
    """

    def __init__(self, base: Path | None, model_file: Path | None = None) -> None:
        self._base = base
        self._model_file = model_file
        self._files: dict[Path, np.ndarray[Any, Any]] = {}

    def read(self, proto: TensorProto, name: str = "") -> ConstantTensor:
        """The tensor. Raises GraphEngineError if its data cannot be there or does not fit its shape."""
        name = name or proto.name
        _check_extents(name, proto.dims)
        load = self._external(proto, name) if proto.data_location == EXTERNAL else _inline(proto, name)
        return ConstantTensor(name, proto.data_type, tuple(proto.dims), load)

    def _external(self, proto: TensorProto, name: str) -> Callable[[], np.ndarray[Any, Any]]:
        import numpy as np
        from onnx.helper import tensor_dtype_to_np_dtype

        entries = {entry.key: entry.value for entry in proto.external_data}
        location = entries.get("location", "")
        path = self._resolve(location, name)
        try:
            dtype = tensor_dtype_to_np_dtype(proto.data_type)
        except KeyError:
            raise GraphEngineError(f"tensor '{name}' has element type {proto.data_type}, which ONNX lacks") from None
        shape = tuple(proto.dims)
        size = prod(shape) * dtype.itemsize
        try:
            offset, length = int(entries.get("offset") or 0), int(entries.get("length") or size)
        except ValueError:
            raise GraphEngineError(f"tensor '{name}': offset or length of its external data is no number") from None
        if location == HERE:
            _check_size(name, shape, size, length)
        if length != size or offset < 0:
            raise GraphEngineError(
                f"tensor '{name}': {length} bytes at offset {offset} of '{location}' for {size} bytes of values; "
                "copy the data again, or export the model again"
            )
        available = path.stat().st_size
        if offset + length > available:
            raise GraphEngineError(
                f"tensor '{name}': '{location}' is truncated: {available} bytes, {offset + length} are needed; "
                "copy it again"
            )

        def load() -> np.ndarray[Any, Any]:
            if path not in self._files:
                self._files[path] = np.memmap(path, np.uint8, "r") if available else np.zeros(0, np.uint8)
            return np.frombuffer(self._files[path].data, dtype, prod(shape), offset).reshape(shape)

        return load

    def _resolve(self, location: str, name: str) -> Path:
        """The external file; a place outside the model's folder is refused, as onnx does."""
        if location == HERE and self._model_file is not None:
            return self._model_file
        if self._base is None:
            raise GraphEngineError(f"tensor '{name}' lies in '{location}', but the model's folder is not known")
        base = os.path.realpath(self._base)
        path = os.path.realpath(os.path.join(base, location))
        if not location or os.path.isabs(location) or os.path.commonpath([base, path]) != base:
            raise GraphEngineError(f"tensor '{name}': '{location}' is not a place in the model's folder")
        if not os.path.isfile(path):
            raise GraphEngineError(f"tensor '{name}': file '{location}' is missing beside the model")
        return Path(path)


def _inline(proto: TensorProto, name: str) -> Callable[[], np.ndarray[Any, Any]]:
    shape = tuple(proto.dims)
    _check_inline(proto, name, shape)

    def load() -> np.ndarray[Any, Any]:
        from onnx import numpy_helper

        try:
            return numpy_helper.to_array(proto)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise GraphEngineError(f"tensor '{name}' of shape {list(shape)} cannot be read: {error}") from None

    return load


def _check_inline(proto: TensorProto, name: str, shape: tuple[int, ...]) -> None:
    """Raises GraphEngineError unless as many values are there as the shape takes."""
    from onnx.helper import tensor_dtype_to_field, tensor_dtype_to_np_dtype

    bits = _PACKED.get(proto.data_type)
    try:
        bits = bits or 8 * tensor_dtype_to_np_dtype(proto.data_type).itemsize
        values = tensor_dtype_to_field(proto.data_type)
    except KeyError:
        raise GraphEngineError(f"tensor '{name}' has element type {proto.data_type}, which ONNX lacks") from None
    if proto.HasField("raw_data"):
        needed, whole = (prod(shape) * bits + 7) // 8, proto.ByteSize()
        # The length alone costs a copy of the data: of large tensors only a lack shows before they are loaded.
        _check_size(name, shape, needed, len(proto.raw_data) if whole < UNSEEN or whole < needed else needed)
    elif bits >= 8:
        found = len(getattr(proto, values)) // (2 if proto.data_type in _COMPLEX else 1)
        if found != prod(shape):
            raise GraphEngineError(
                f"tensor '{name}' of shape {list(shape)} takes {prod(shape)} values, {found} are there; "
                "export the model again"
            )


def _check_extents(name: str, shape: Sequence[int]) -> None:
    if any(extent < 0 for extent in shape):
        raise GraphEngineError(f"tensor '{name}' has shape {list(shape)}: extents are 0 or more")


def _check_size(name: str, shape: tuple[int, ...], needed: int, found: int) -> None:
    if needed != found:
        raise GraphEngineError(
            f"tensor '{name}' of shape {list(shape)} takes {needed} bytes, {found} are there; export the model again"
        )


UNSEEN = 1 << 20
"""Bytes from which a tensor in a ModelProto is not looked at before it is used."""
# Of TensorProto.DataType: bits of an element of less than a byte, and numbers that are two values.
_PACKED = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}
_COMPLEX = frozenset({14, 15})
