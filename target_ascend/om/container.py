"""The OM file: a header, a table of sections, and the sections, each with its SHA-256.

`save` writes beside the target and renames, so that a reader never sees half a file and a failure leaves the old
one. `load` checks every digest, refuses what is truncated, damaged, foreign or newer, and maps the weights instead
of reading them. docs/om.md describes the bytes. Imports neither xdsl nor onnx nor numpy.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.encoding import Decoded, decode_kernel, encode_kernel
from graph_engine.target_ascend.isa.model import Kernel
from graph_engine.target_ascend.om import vendor
from graph_engine.target_ascend.om.atomic_write import write_atomically
from graph_engine.target_ascend.om.program import AicpuCall, EntryPoint, Launch, Program
from graph_engine.target_ascend.om.program_json import (
    attributes_from_json,
    entry_points_from_json,
    model_to_json,
    tasks_to_json,
)

MAGIC = b"\x89GEOM\r\n\x1a"
"""First byte above 127, then CR LF: a transfer in text mode breaks the magic and not something later."""
VERSION = 1
HEADER_BYTES = 96
REQUIRED_FEATURES = 0
"""Feature bits that this release understands. None exist yet; a file with another bit set is refused."""

MODEL_DEF = "MODEL_DEF"
TASK_INFO = "TASK_INFO"
TBE_KERNELS = "TBE_KERNELS"
CUST_AICPU_KERNELS = "CUST_AICPU_KERNELS"
WEIGHTS_DATA = "WEIGHTS_DATA"
SECTIONS = (MODEL_DEF, TASK_INFO, TBE_KERNELS, CUST_AICPU_KERNELS, WEIGHTS_DATA)

_HEADER = struct.Struct("<8sIIQQQII16x32s")
_ENTRY = struct.Struct("<32sQQ16x32s")
_ITEM = struct.Struct("<4sIQ")
_ITEM_MAGIC = b"GEKI"
_ALIGN = 4096
_CHUNK = 1 << 22
_MAX_SECTIONS = 1024


@dataclass(frozen=True)
class Section:
    """A row of the section table: place and size in the file, in bytes, and the digest of the content."""

    name: str
    offset: int
    bytes: int
    sha256: str


def save(program: Program, path: str | os.PathLike[str]) -> None:
    """Writes `program` to `path`, replacing it at once or not at all.

    Equal programs give equal files. Weights are streamed. Raises GraphEngineError if the program does not fit the
    encoding or the file cannot be written.
    """
    kernels = [(name, encode_kernel(kernel)) for name, kernel in program.kernels.items()]
    contents: list[tuple[str, Iterable[bytes | memoryview]]] = [
        (MODEL_DEF, [_json_bytes(model_to_json(program))]),
        (TASK_INFO, [_json_bytes(tasks_to_json(program.entry_points))]),
        (TBE_KERNELS, _items(kernels)),
        (CUST_AICPU_KERNELS, _items((op, b"") for op in aicpu_operators(program))),
        (WEIGHTS_DATA, _weight_chunks(program)),
    ]
    write_atomically(path, lambda file: _write(file, contents))


def load(path: str | os.PathLike[str], *, verify: bool = True) -> Program:
    """The program in the file `path`; its weights are a read-only map of the file.

    `verify=False` skips the digest of the weights (the others are always checked). Raises GraphEngineError if the
    file cannot be read, is foreign, damaged, cut short or newer, or if a task refers to a kernel that it lacks.
    """
    data = _map(path)
    sections = read_sections(data, path)
    missing = [name for name in SECTIONS if name not in sections]
    if missing:
        raise GraphEngineError(f"{path}: the OM file has no section {', '.join(missing)}")
    content = {name: _content(data, row, path, verify or name != WEIGHTS_DATA) for name, row in sections.items()}
    try:
        model = json.loads(bytes(content[MODEL_DEF]))
        entry_points = entry_points_from_json(model, json.loads(bytes(content[TASK_INFO])))
        decoded: Decoded = {}
        kernels = {name: decode_kernel(binary, decoded) for name, binary in _read_items(content[TBE_KERNELS])}
        program = Program(
            model["name"],
            model["soc"],
            entry_points,
            kernels,
            content[WEIGHTS_DATA],
            model["producer"],
            attributes_from_json(model["attributes"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, struct.error) as problem:
        raise GraphEngineError(f"{path}: the OM file is inconsistent ({_reason(problem)})") from problem
    except GraphEngineError as problem:
        raise GraphEngineError(f"{path}: {problem}") from problem
    _check_kernels(entry_points, kernels, path)
    return program


def read_sections(data: memoryview, path: str | os.PathLike[str]) -> dict[str, Section]:
    """The section table of an OM file by name. Raises GraphEngineError unless header and table are sound."""
    _refuse_foreign(data, path)
    if len(data) < HEADER_BYTES:
        raise GraphEngineError(f"{path}: the OM file is cut short: {len(data)} bytes do not hold its header")
    _, version, header_bytes, required, _, size, count, _, digest = _HEADER.unpack_from(data)
    if version > VERSION:
        raise GraphEngineError(
            f"{path}: OM format {version} is newer than format {VERSION}, the newest that this release reads"
        )
    unknown = required & ~REQUIRED_FEATURES
    if unknown:
        raise GraphEngineError(f"{path}: the OM file needs features that this release lacks (bits 0x{unknown:x})")
    if size != len(data):
        state = "cut short" if len(data) < size else "damaged"
        raise GraphEngineError(f"{path}: the OM file is {state}: {len(data)} of {size} bytes")
    table_end = header_bytes + count * _ENTRY.size
    if header_bytes != HEADER_BYTES or count > _MAX_SECTIONS or table_end > size:
        raise GraphEngineError(f"{path}: the OM file is damaged: its section table does not fit")
    if _table_digest(data[:table_end]) != digest:
        raise GraphEngineError(f"{path}: the OM file is damaged: header and section table do not match their SHA-256")
    rows = (_ENTRY.unpack_from(data, header_bytes + i * _ENTRY.size) for i in range(count))
    return {
        (name := raw.rstrip(b"\0").decode("ascii", "replace")): Section(name, offset, length, sha.hex())
        for raw, offset, length, sha in rows
    }


def aicpu_operators(program: Program) -> list[str]:
    """Names of the `ge` operators that the program runs on the AICPU, sorted."""
    calls = (task for entry in program.entry_points for stream in entry.streams for task in stream.tasks)
    return sorted({task.op for task in calls if isinstance(task, AicpuCall)})


def is_om(head: bytes) -> bool:
    """Whether a file that starts with `head` (8 bytes are enough) is an OM file, ours or a vendor's."""
    return head.startswith((MAGIC, vendor.MAGIC))


def _json_bytes(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _reason(problem: Exception) -> str:
    return f"missing {problem}" if isinstance(problem, KeyError) else str(problem)


def _items(items: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    for name, binary in items:
        raw = name.encode()
        yield _ITEM.pack(_ITEM_MAGIC, len(raw), len(binary)) + raw + binary


def _read_items(data: memoryview) -> Iterator[tuple[str, memoryview]]:
    at = 0
    while at < len(data):
        magic, name_bytes, binary_bytes = _ITEM.unpack_from(data, at)
        at += _ITEM.size
        end = at + name_bytes + binary_bytes
        if magic != _ITEM_MAGIC or end > len(data):
            raise ValueError(f"no item at byte {at - _ITEM.size} of a kernel section")
        yield bytes(data[at : at + name_bytes]).decode(), data[at + name_bytes : end]
        at = end


def _weight_chunks(program: Program) -> Iterator[bytes | memoryview]:
    total = len(program.weights)
    for start in range(0, total, _CHUNK):
        yield program.weights[start : min(start + _CHUNK, total)]


def _write(file: BinaryIO, contents: list[tuple[str, Iterable[bytes | memoryview]]]) -> None:
    """Sections first, while their digests form; header and table, which name them, last."""
    table_end = HEADER_BYTES + len(contents) * _ENTRY.size
    file.write(bytes(table_end))
    at = table_end
    rows: list[bytes] = []
    for name, chunks in contents:
        start = -(-at // _ALIGN) * _ALIGN
        file.write(bytes(start - at))
        digest, at = hashlib.sha256(), start
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
            at += len(chunk)
        rows.append(_ENTRY.pack(name.encode(), start, at - start, digest.digest()))
    blank = _HEADER.pack(MAGIC, VERSION, HEADER_BYTES, REQUIRED_FEATURES, 0, at, len(rows), 0, bytes(32))
    head = blank + b"".join(rows)
    file.seek(0)
    file.write(head[: HEADER_BYTES - 32] + _table_digest(memoryview(head)) + head[HEADER_BYTES:])


def _table_digest(head: memoryview) -> bytes:
    """SHA-256 of header and table, with the digest's own 32 bytes left out."""
    digest = hashlib.sha256(head[: HEADER_BYTES - 32])
    digest.update(head[HEADER_BYTES:])
    return digest.digest()


def _map(path: str | os.PathLike[str]) -> memoryview:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise GraphEngineError(f"{path}: the file is empty")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise GraphEngineError(f"cannot read {path}: {reason}") from problem


def _refuse_foreign(data: memoryview, path: str | os.PathLike[str]) -> None:
    if bytes(data[:4]) == vendor.MAGIC:
        header = vendor.read_vendor_header(data)
        detail = "" if header is None else f"; its header says:\n{header.describe()}"
        raise GraphEngineError(
            f"{path} is a vendor OM file (IMOD). Its kernels are binaries of the real chip, "
            f"which the modelled chip cannot run{detail}"
        )
    if bytes(data[: len(MAGIC)]) != MAGIC:
        start = bytes(data[: len(MAGIC)])
        if len(start) < len(MAGIC) and MAGIC.startswith(start):
            raise GraphEngineError(f"{path}: the OM file is cut short: {len(start)} bytes do not hold its header")
        raise GraphEngineError(f"{path} is not an OM file: it starts with {start.hex(' ')}")


def _content(data: memoryview, row: Section, path: str | os.PathLike[str], verify: bool) -> memoryview:
    if row.offset + row.bytes > len(data):
        raise GraphEngineError(f"{path}: the OM file is damaged: section {row.name} runs past its end")
    content = data[row.offset : row.offset + row.bytes]
    if verify and hashlib.sha256(content).hexdigest() != row.sha256:
        raise GraphEngineError(f"{path}: the OM file is damaged: section {row.name} does not match its SHA-256")
    return content


def _check_kernels(
    entry_points: tuple[EntryPoint, ...], kernels: dict[str, Kernel], path: str | os.PathLike[str]
) -> None:
    for entry in entry_points:
        for stream in entry.streams:
            for task in stream.tasks:
                if isinstance(task, Launch) and task.kernel not in kernels:
                    raise GraphEngineError(f"{path}: task '{task.name}' needs kernel '{task.kernel}', which is missing")
