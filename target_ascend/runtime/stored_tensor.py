"""Tensors between host arrays in logical order and device memory in their stored format.

AICPU tasks work on logical arrays; what they read is unpacked and what they write is packed, with zeros in the
padding, as the tensor's format says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graph_engine.dialects.ge.reference.element_types import numpy_dtype
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.om.program import TensorDesc

Array = np.ndarray[Any, np.dtype[Any]]


def read_tensor(memory: GlobalMemory, tensor: TensorDesc, groups: int = 1) -> Array:
    """The logical array of `tensor`; it may be a view of the memory, so copy what must outlive the next write.

    `groups` are those of a convolution's filter in FRACTAL_Z, which the tensor's description does not tell.
    """
    raw = memory.read(tensor.location, tensor.bytes)
    stored = raw.view(numpy_dtype(tensor.dtype.mlir))[: int(np.prod(tensor.physical_shape))].reshape(
        tensor.physical_shape
    )
    return (
        stored.reshape(tensor.shape) if _is_plain(tensor) else _index_map(tensor, groups).unpack(stored, tensor.shape)
    )


def write_tensor(memory: GlobalMemory, tensor: TensorDesc, array: Array, groups: int = 1) -> None:
    """Stores a logical array; `groups` as for `read_tensor`. Raises GraphEngineError unless shape and dtype are those of `tensor`."""
    dtype = numpy_dtype(tensor.dtype.mlir)
    if array.shape != tensor.shape or array.dtype != dtype:
        raise GraphEngineError(
            f"tensor '{tensor.name}' is {dtype}{list(tensor.shape)}, its task gave {array.dtype}{list(array.shape)}"
        )
    stored = array if _is_plain(tensor) else _index_map(tensor, groups).pack(array)
    memory.write(tensor.location, np.ascontiguousarray(stored))


def valid_lanes(tensor: TensorDesc) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """One flag a byte: whether the byte belongs to a logical element and not to padding. None: all do."""
    count = int(np.prod(tensor.physical_shape)) * tensor.dtype.bytes
    if int(np.prod(tensor.shape)) * tensor.dtype.bytes == tensor.bytes:
        return None
    stored = np.ones(tensor.shape, np.bool_)
    if not _is_plain(tensor):
        stored = _index_map(tensor).pack(stored)
    lanes = np.zeros(tensor.bytes, np.bool_)
    lanes[:count] = np.repeat(stored.reshape(-1), tensor.dtype.bytes)
    return lanes


def _is_plain(tensor: TensorDesc) -> bool:
    return tensor.format in ("ND", "NCHW", "NCDHW")


def _index_map(tensor: TensorDesc, groups: int = 1) -> Any:
    from graph_engine.planning.index_map import Format

    try:
        form = Format.named(tensor.format)
    except (KeyError, ValueError):
        raise GraphEngineError(f"tensor '{tensor.name}' has the unknown format {tensor.format}") from None
    index_map = form.bind(groups=groups if form.grouped is not None else 1, **form.inner_sizes(tensor.physical_shape))
    if index_map.physical_shape(tensor.shape) != tensor.physical_shape:
        raise GraphEngineError(
            f"tensor '{tensor.name}' {list(tensor.shape)} is stored as {list(tensor.physical_shape)}, "
            f"which is not {tensor.format} in {groups} group{'s' if groups > 1 else ''}"
        )
    return index_map
