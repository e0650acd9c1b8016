"""Model files: what is read of them, and where their large weights lie, so that nobody copies these.

Protobuf's Python runtime copies every `raw_data` when it parses a file, and again at each access. So the file is mapped
into memory, its wire format is walked down to the initialisers (tag, length, payload; nothing is decoded), and only the
rest is parsed: a large weight stays a window into the mapped file.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    from onnx import ModelProto

LARGE = 4096
"""Bytes from which a weight is left in the file."""
LIMIT = 2**31 - 1
"""Bytes of the largest protobuf message."""
# Field numbers of onnx.proto, and its TensorProto.DataType of whole bytes: interface facts.
_GRAPH, _INITIALIZER, _DATA_TYPE, _NAME, _RAW_DATA = 7, 5, 2, 8, 9
_PLAIN_TYPES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16})
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass
class ModelFile:
    """A model and, by name, the bytes of initialisers that its ModelProto lacks."""

    model: ModelProto
    weights: dict[str, memoryview] = field(default_factory=dict[str, memoryview])


def read_model(path: Path) -> ModelFile:
    """The model in a file, without external data. Raises GraphEngineError with what is wrong with the file."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if size else memoryview(b"")
    except OSError as error:
        raise GraphEngineError(f"cannot read '{path}': {error.strerror}") from None
    if size > LIMIT:
        raise GraphEngineError(
            f"'{path}' has {size} bytes, a protobuf file ends at {LIMIT}: "
            "save the model with its weights as external data"
        )
    try:
        slim, weights = _without_weights(data)
    except _Malformed as error:
        raise GraphEngineError(f"'{path}' is not an ONNX model{error}") from None
    return ModelFile(_parsed(slim, path), weights)


def _parsed(content: bytes, path: Path) -> ModelProto:
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    model = ModelProto()
    try:
        model.ParseFromString(content)
    except (DecodeError, ValueError):
        raise GraphEngineError(f"'{path}' is not an ONNX model: its protobuf is damaged") from None
    if not model.HasField("graph"):
        raise GraphEngineError(f"'{path}' is not an ONNX model: it has no graph")
    return model


class _Malformed(Exception):
    """The bytes are no protobuf message; the text goes behind "is not an ONNX model"."""


def _without_weights(data: memoryview) -> tuple[bytes, dict[str, memoryview]]:
    """The message without its large weights, and those by name; those of names that occur twice stay."""
    weights: dict[str, memoryview] = {}
    names: set[str] = set()
    content: list[bytes | memoryview] = []
    graphs = 0
    for number, start, begin, end in _fields(data, whole_file=True):
        if number != _GRAPH:
            content.append(data[start:end])
            continue
        graphs += 1
        graph: list[bytes | memoryview] = []
        for inner, inner_start, inner_begin, inner_end in _fields(data[begin:end]):
            payload = data[begin + inner_begin : begin + inner_end]
            found = _large_weight(payload) if inner == _INITIALIZER and len(payload) >= LARGE else None
            if found is None or found[0] in names:
                graph.append(data[begin + inner_start : begin + inner_end])
                continue
            name, raw_start, raw_begin, raw_end = found
            names.add(name)
            weights[name] = payload[raw_begin:raw_end]
            _append_message(graph, _INITIALIZER, [payload[:raw_start], payload[raw_end:]])
        _append_message(content, _GRAPH, graph)
    if graphs > 1:  # protobuf merges them: leave that to it
        return bytes(data), {}
    return b"".join(content), weights


def _large_weight(tensor: memoryview) -> tuple[str, int, int, int] | None:
    """Name of a tensor, and start, begin and end of its raw data; None if it has none that is large and plain."""
    name, kind = "", 0
    raw: list[tuple[int, int, int]] = []
    for number, start, begin, end in _fields(tensor):
        if number == _NAME:
            try:
                name = bytes(tensor[begin:end]).decode()
            except UnicodeDecodeError:
                return None
        elif number == _DATA_TYPE:
            kind = _varint(tensor, begin)[0]
        elif number == _RAW_DATA:
            raw.append((start, begin, end))
    if not name or kind not in _PLAIN_TYPES or len(raw) != 1 or raw[0][2] - raw[0][1] < LARGE:
        return None
    return name, *raw[0]


def _append_message(to: list[bytes | memoryview], number: int, parts: list[bytes | memoryview]) -> None:
    size = sum(map(len, parts))
    header = bytearray([number << 3 | _BYTES])
    while size > 0x7F:
        header.append(size & 0x7F | 0x80)
        size >>= 7
    header.append(size)
    to += [bytes(header), *parts]


def _fields(data: memoryview, *, whole_file: bool = False) -> Iterator[tuple[int, int, int, int]]:
    """Number, start, begin of the payload and end of every field of a message."""
    position, size = 0, len(data)
    while position < size:
        start = position
        tag, position = _varint(data, position)
        wire = tag & 7
        if wire == _BYTES:
            length, position = _varint(data, position)
            end = position + length
        elif wire == _VARINT:
            end = _varint(data, position)[1]
        elif wire in (_FIXED64, _FIXED32):
            end = position + (8 if wire == _FIXED64 else 4)
        else:
            raise _Malformed("")
        if end > size:
            if whole_file and wire == _BYTES and tag >> 3 in range(1, 26):
                raise _Malformed(
                    f" or is truncated: a part at byte {start} needs {end - position} bytes, "
                    f"{size - position} follow; export or copy it again"
                )
            raise _Malformed(": its protobuf is damaged")
        yield tag >> 3, start, position, end
        position = end


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    """A variable-length integer and the position behind it."""
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise _Malformed(" or is truncated: it ends inside a number; export or copy it again" if shift < 70 else "")
