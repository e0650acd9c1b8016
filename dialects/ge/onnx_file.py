"""ONNX files: parsed without their large weights, which stay where they are in the file.

Protobuf's Python runtime copies every `raw_data` when it parses a file, and again at each access. So the file is mapped
into memory, its wire format is walked down to the tensors (tag, length, payload; nothing is decoded), and protobuf parses
the rest: a large tensor arrives as one whose data is external, in the model file itself (`HERE`).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    from onnx import ModelProto

HERE = "<model file>"
"""Location of the external data of tensors that lie in the model file."""
LARGE = 4096
"""Bytes from which a weight is left in the file."""
LIMIT = 2**31 - 1
"""Bytes of the largest protobuf message."""

# Interface facts of onnx.proto: which field of which message is which message, and the fields of a tensor.
_MESSAGES = {
    "Model": {7: "Graph"},
    "Graph": {1: "Node", 5: "Tensor"},
    "Node": {5: "Attribute"},
    "Attribute": {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph"},
}
_DATA_TYPE, _RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION, _LAST_OF_MODEL = 2, 9, 13, 14, 26
_WHOLE_BYTES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16})
"""Element types whose raw data is an array in memory."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def read_model(path: Path) -> ModelProto:
    """The model in a file, without external data. Raises GraphEngineError with what is wrong with the file."""
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    data = _mapped(path)
    try:
        content = b"".join(_slim("Model", data, 0, len(data)))
    except _Malformed as error:
        raise GraphEngineError(f"'{path}' is not an ONNX model{error}") from None
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except (DecodeError, ValueError):
        raise GraphEngineError(f"'{path}' is not an ONNX model: its protobuf is damaged") from None
    if not model.HasField("graph"):
        raise GraphEngineError(f"'{path}' is not an ONNX model: it has no graph")
    return model


def _mapped(path: Path) -> memoryview:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            if size > LIMIT:
                raise GraphEngineError(
                    f"'{path}' has {size} bytes, a protobuf file ends at {LIMIT}: "
                    "save the model with its weights as external data"
                )
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")
    except OSError as error:
        raise GraphEngineError(f"cannot read '{path}': {error.strerror}") from None


class _Malformed(Exception):
    """The bytes are no protobuf message; the text goes behind "is not an ONNX model"."""


def _slim(message: str, data: memoryview, begin: int, end: int) -> Iterator[bytes | memoryview]:
    """The message at `begin`..`end` of the file, in pieces, without the data of its large tensors."""
    kinds = _MESSAGES[message]
    done = begin
    for number, start, payload, stop in _fields(data, begin, end, of_file=message == "Model"):
        kind = kinds.get(number)
        if kind is None or stop - payload < LARGE:
            continue
        pieces = _slim_tensor(data, payload, stop) if kind == "Tensor" else list(_slim(kind, data, payload, stop))
        yield data[done:start]
        yield _varint_of(number << 3 | _BYTES) + _varint_of(sum(map(len, pieces)))
        yield from pieces
        done = stop
    yield data[done:end]


def _slim_tensor(data: memoryview, begin: int, end: int) -> list[bytes | memoryview]:
    kind = 0
    raw: list[tuple[int, int, int]] = []
    for number, start, payload, stop in _fields(data, begin, end):
        if number == _DATA_TYPE:
            kind = _varint(data, payload, stop)[0]
        elif number == _RAW_DATA:
            raw.append((start, payload, stop))
    if kind not in _WHOLE_BYTES or len(raw) != 1 or raw[0][2] - raw[0][1] < LARGE:
        return [data[begin:end]]
    ((start, payload, stop),) = raw
    entries = {"location": HERE, "offset": str(payload), "length": str(stop - payload)}
    place = b"".join(
        _bytes_field(_EXTERNAL_DATA, _bytes_field(1, key.encode()) + _bytes_field(2, value.encode()))
        for key, value in entries.items()
    )
    return [data[begin:start], data[stop:end], place, bytes([_DATA_LOCATION << 3 | _VARINT, 1])]


def _fields(data: memoryview, begin: int, end: int, *, of_file: bool = False) -> Iterator[tuple[int, int, int, int]]:
    """Number, start, begin of the payload and end of every field of a message."""
    position = begin
    while position < end:
        start = position
        tag, position = _varint(data, position, end)
        wire = tag & 7
        if wire == _BYTES:
            length, position = _varint(data, position, end)
            stop = position + length
        elif wire == _VARINT:
            stop = _varint(data, position, end)[1]
        elif wire in (_FIXED64, _FIXED32):
            stop = position + (8 if wire == _FIXED64 else 4)
        else:
            raise _Malformed("")
        if stop > end:
            if of_file and wire == _BYTES and tag >> 3 in range(1, _LAST_OF_MODEL + 1):
                raise _Malformed(
                    f" or is truncated: a part at byte {start} needs {stop - position} bytes, "
                    f"{end - position} follow; export or copy it again"
                )
            raise _Malformed(": its protobuf is damaged")
        yield tag >> 3, start, position, stop
        position = stop


def _varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    """A variable-length integer and the position behind it."""
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise _Malformed(" or is truncated: it ends inside a number; export or copy it again" if shift < 70 else "")


def _varint_of(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _bytes_field(number: int, payload: bytes) -> bytes:
    return _varint_of(number << 3 | _BYTES) + _varint_of(len(payload)) + payload
