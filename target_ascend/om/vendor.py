"""Recognises a vendor OM file and reads its header, so that it can be refused with a helpful answer.

The kernels in such a file are binaries for the real chip, which the modelled chip cannot run. Layout of the header
and partition table: graphengine r1.5 (Apache-2.0), inc/framework/common/types.h.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAGIC = b"IMOD"
HEADER_BYTES = 256

_HEADER = struct.Struct("<4sII64sI4B32sI32sII20sB")
_MODEL_TYPES = ("IR", "standard", "tiny", "flow", "lite")
_PARTITIONS = {
    0: "MODEL_DEF", 1: "WEIGHTS_DATA", 2: "TASK_INFO", 3: "TBE_KERNELS", 4: "CUST_AICPU_KERNELS", 5: "SO_BINS",
    6: "FLOW_MODEL", 7: "FLOW_SUBMODEL", 8: "MODEL_INOUT_INFO", 9: "STATIC_TASK_DESC", 10: "DYNAMIC_TASK_DESC",
    11: "TASK_PARAM", 12: "TILING_DATA", 20: "PRE_MODEL_DESC", 21: "PRE_MODEL_SQE", 22: "PRE_KERNEL_ARGS",
    23: "PRE_MODEL_DESC_EXTEND", 24: "BUNDLE_MODEL_INFO",
}  # fmt: skip
_MAX_PARTITIONS = 64


@dataclass(frozen=True)
class VendorHeader:
    """The fields of a vendor OM header that say something to a user; sizes in bytes."""

    name: str
    version: int
    payload_bytes: int
    model_type: str
    encrypted: bool
    ir_version: int
    models: int
    platform: str
    partitions: tuple[tuple[str, int], ...]

    def describe(self) -> str:
        """One `key: value` line per field, indented, for messages."""
        rows = [
            ("name", self.name or "(none)"),
            ("version", f"0x{self.version:08x}"),
            ("payload", f"{self.payload_bytes} bytes"),
            ("model type", self.model_type + (", encrypted" if self.encrypted else "")),
            ("IR version", str(self.ir_version)),
            ("models", str(self.models)),
            ("platform", self.platform or "(none)"),
            *((f"partition {name}", f"{size} bytes") for name, size in self.partitions),
        ]
        return "\n".join(f"  {key}: {value}" for key, value in rows)


def read_vendor_header(data: bytes | memoryview) -> VendorHeader | None:
    """The header of a vendor OM file that starts with `data`; None if it is not one or is cut short."""
    if bytes(data[:4]) != MAGIC or len(data) < HEADER_BYTES:
        return None
    (_, _, version, _, length, encrypted, _, model_type, _, name, _, _, ir_version, models, platform, _) = (
        _HEADER.unpack_from(data)
    )
    known_type = _MODEL_TYPES[model_type] if model_type < len(_MODEL_TYPES) else f"unknown ({model_type})"
    return VendorHeader(
        _text(name), version, length, known_type, bool(encrypted), ir_version, models, _text(platform), _partitions(data)
    )  # fmt: skip


def _text(raw: bytes) -> str:
    text = raw.split(b"\0", 1)[0].decode("ascii", "replace")
    return "".join(c if c.isprintable() else "?" for c in text)


def _partitions(data: bytes | memoryview) -> tuple[tuple[str, int], ...]:
    """(name, bytes) of the first model's partitions; empty when the table does not look like one."""
    if len(data) < HEADER_BYTES + 4:
        return ()
    (count,) = struct.unpack_from("<I", data, HEADER_BYTES)
    if not 0 < count <= _MAX_PARTITIONS or len(data) < HEADER_BYTES + 4 + 12 * count:
        return ()
    rows = (struct.unpack_from("<III", data, HEADER_BYTES + 4 + 12 * i) for i in range(count))
    return tuple((_PARTITIONS.get(kind, f"type {kind}"), size) for kind, _, size in rows)
