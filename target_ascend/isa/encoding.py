"""Binary encoding of a kernel: counted loops stay loops, addresses stay affine, every field is checked on the way in.

docs/isa.md describes the same bytes one by one. All integers are little endian and unpadded; a record starts with
its opcode and its length, so that a reader can step over what it does not want to see.

Encoding and decoding are inverse: `decode_kernel(encode_kernel(k)) == k` for every kernel that `encode_kernel`
accepts, and equal kernels have equal bytes (kernels are compared and stored by their bytes).
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TypeAlias

from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import (
    FIRST_REGISTER,
    Affine,
    Blocks,
    Buffer,
    CoreKind,
    DType,
    Instr,
    Kernel,
    Loop,
    Node,
    Opcode,
    Operand,
    Part,
    Pipe,
    Rotate,
    Space,
)
from graph_engine.target_ascend.isa.specs import SPECS

MAGIC = b"GEKN"
VERSION = 1

LOOP = 0xF0
"""Record code of a counted loop; codes from 0xF0 are structure, all below are `Opcode`s."""
BLOCKS = 0xF1
"""Record code of a range of blocks."""

HAS_IMMEDIATE = 1 << 0
HAS_FIRST_OF = 1 << 1
HAS_ROTATE = 1 << 2
_FLAGS = HAS_IMMEDIATE | HAS_FIRST_OF | HAS_ROTATE

MAX_DEPTH = 64
"""Deepest nesting of loops that a reader follows: a guard against hand-made files, far above any kernel."""

_HEADER = struct.Struct("<4sHBBIIHHHH")
_BUFFER = struct.Struct("<BBHIQQ")
_RECORD = struct.Struct("<BBBBI")
_LOOP = struct.Struct("<I")
_BLOCKS = struct.Struct("<II")
_COUNTS = struct.Struct("<BB")
_OPERAND = struct.Struct("<HBBB")
_AFFINE = struct.Struct("<qB")
_TERM = struct.Struct("<Bq")
_F64 = struct.Struct("<d")
_U16 = struct.Struct("<H")

_ACCESS = {"r": 1, "w": 2, "rw": 3}
_ACCESS_NAME = {code: name for name, code in _ACCESS.items()}


def encode_kernel(kernel: Kernel) -> bytes:
    """The bytes of `kernel`. Raises GraphEngineError if a field does not fit or an instruction breaks `SPECS`."""
    name = kernel.name.encode()
    out = bytearray(_HEADER.size)
    out += name
    try:
        for buffer in kernel.buffers:
            label = buffer.name.encode()
            out += _BUFFER.pack(buffer.space, 0, len(label), buffer.versions, buffer.address, buffer.bytes)
            out += label
        out += bytes(_ACCESS[access] for access in kernel.arg_access)
        _put_body(out, kernel.body, kernel, 0)
        _HEADER.pack_into(
            out, 0, MAGIC, VERSION, kernel.core_kind, 0, kernel.block_dim, len(out),
            len(name), len(kernel.buffers), len(kernel.arg_access), 0,
        )  # fmt: skip
    except (struct.error, KeyError, ValueError, OverflowError) as problem:
        raise GraphEngineError(f"kernel '{kernel.name}' cannot be encoded: {problem}") from problem
    return bytes(out)


def _put_body(out: bytearray, body: tuple[Node, ...], kernel: Kernel, depth: int) -> None:
    for node in body:
        start = len(out)
        out += bytes(_RECORD.size)
        code, pipe, flags, part = 0, 0, 0, 0
        if isinstance(node, Instr):
            code, pipe = int(node.opcode), int(node.pipe)
            flags = _put_instruction(out, node, len(kernel.buffers), depth)
        elif isinstance(node, Loop):
            code = LOOP
            out += _LOOP.pack(node.trip)
            _put_body(out, node.body, kernel, depth + 1)
        else:
            if depth:
                raise ValueError("a range of blocks below a loop")
            code, part = BLOCKS, int(node.part)
            out += _BLOCKS.pack(node.lo, node.hi)
            _put_body(out, node.body, kernel, depth)
        _RECORD.pack_into(out, start, code, pipe, flags, part, len(out) - start)


def _put_instruction(out: bytearray, instr: Instr, buffers: int, depth: int) -> int:
    """Appends the fields of one instruction; returns the flags that say which optional ones are there."""
    _check_counts(instr.opcode, len(instr.operands), len(instr.params))
    out += _COUNTS.pack(len(instr.operands), len(instr.params))
    flags = 0
    # Compared as bytes: -0.0 equals 0.0 but is another number for maxs and dup.
    immediate = _F64.pack(instr.immediate)
    if any(immediate):
        flags |= HAS_IMMEDIATE
        out += immediate
    if instr.first_of is not None:
        flags |= HAS_FIRST_OF
        out += bytes((len(instr.first_of), *instr.first_of))
        _check_slots(instr.first_of, depth)
    if instr.event_rotate is not None:
        flags |= HAS_ROTATE
        _put_rotate(out, instr.event_rotate, depth)
    for operand in instr.operands:
        if operand.buffer >= buffers:
            raise ValueError(f"operand refers to buffer {operand.buffer} of {buffers}")
        if len(operand.sizes) != len(operand.strides):
            raise ValueError(f"operand has {len(operand.sizes)} sizes but {len(operand.strides)} strides")
        rank = len(operand.sizes)
        out += _OPERAND.pack(operand.buffer, operand.dtype, rank, operand.rotate is not None)
        out += struct.pack(f"<{rank}I{rank}q", *operand.sizes, *operand.strides)
        _put_affine(out, operand.offset, depth)
        if operand.rotate is not None:
            _put_rotate(out, operand.rotate, depth)
    for param in instr.params:
        _put_affine(out, param, depth)
    return flags


def _put_rotate(out: bytearray, rotate: Rotate, depth: int) -> None:
    out += _U16.pack(rotate.count)
    _put_affine(out, rotate.index, depth)


def _put_affine(out: bytearray, affine: Affine, depth: int) -> None:
    out += _AFFINE.pack(affine.const, len(affine.terms))
    for slot, coef in affine.terms:
        out += _TERM.pack(slot, coef)
    _check_slots(tuple(slot for slot, _ in affine.terms), depth)


def _check_slots(slots: tuple[int, ...], depth: int) -> None:
    deepest = max((slot for slot in slots if slot < FIRST_REGISTER), default=0)
    if deepest > depth:
        raise ValueError(f"an address uses counter {deepest} at loop depth {depth}")


def _check_counts(opcode: Opcode, operands: int, params: int) -> None:
    spec = SPECS[opcode]
    if operands != spec.operands or params != len(spec.params):
        raise ValueError(
            f"'{spec.mnemonic}' takes {spec.operands} operands and {len(spec.params)} parameters, not {operands} and {params}"
        )


Decoded: TypeAlias = dict[tuple[int, int, bytes], Instr]
"""Instructions by loop depth, number of buffers and bytes, so that equal ones are decoded once and shared."""


def decode_kernel(data: bytes | memoryview, decoded: Decoded | None = None) -> Kernel:
    """The kernel in `data`, which must hold it exactly. `decoded` shares instructions between kernels.

    Raises GraphEngineError naming the byte where the data stops making sense: a wrong magic, a newer version, an
    unknown opcode, a reference outside the buffer table or the enclosing loops, a length that does not add up.
    """
    reader = _Reader(bytes(data), {} if decoded is None else decoded)
    try:
        return reader.kernel()
    except (struct.error, ValueError, KeyError, IndexError) as problem:
        raise GraphEngineError(f"damaged kernel at byte {reader.at} of {len(reader.data)}: {problem}") from problem


_OPCODES = {int(opcode): opcode for opcode in Opcode}
_PIPES = {int(pipe): pipe for pipe in Pipe}
_DTYPES = {int(dtype): dtype for dtype in DType}


@lru_cache(maxsize=16)
def _view_struct(rank: int) -> struct.Struct:
    return struct.Struct(f"<{rank}I{rank}q")


class _Reader:
    """A cursor over the bytes of one kernel. Equal instructions and affine expressions are shared: most kernels repeat few."""

    def __init__(self, data: bytes, decoded: Decoded) -> None:
        self.data, self.decoded = data, decoded
        self.at = 0
        self.buffers = 0
        self.affines: dict[bytes, Affine] = {}

    def take(self, layout: struct.Struct) -> tuple[int, ...]:
        values = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return values

    def text(self, length: int) -> str:
        raw = self.data[self.at : self.at + length]
        if len(raw) != length:
            raise ValueError("a name runs past the end")
        self.at += length
        return raw.decode()

    def kernel(self) -> Kernel:
        magic, version, core_kind, _, block_dim, total, name_length, buffers, args, _ = _HEADER.unpack_from(self.data)
        if magic != MAGIC:
            raise ValueError(f"expected {MAGIC!r}, found {magic!r}")
        if version > VERSION:
            raise ValueError(f"encoding version {version} is newer than {VERSION}, the newest that is known")
        if total != len(self.data):
            raise ValueError(f"the header declares {total} bytes")
        self.at = _HEADER.size
        name = self.text(name_length)
        table = tuple(self.buffer() for _ in range(buffers))
        access = tuple(_ACCESS_NAME[code] for code in self.data[self.at : self.at + args])
        if len(access) != args:
            raise ValueError("the access list runs past the end")
        self.at += args
        self.buffers = buffers
        body = self.body(total, 0, 0)
        return Kernel(name, block_dim, table, body, access, CoreKind(core_kind))

    def buffer(self) -> Buffer:
        space, _, length, versions, address, size = self.take(_BUFFER)
        return Buffer(self.text(length), Space(space), address, size, versions)

    def body(self, end: int, depth: int, nesting: int) -> tuple[Node, ...]:
        if nesting > MAX_DEPTH:
            raise ValueError(f"loops nest deeper than {MAX_DEPTH}")
        nodes: list[Node] = []
        while self.at < end:
            start = self.at
            code, pipe, flags, part, length = self.take(_RECORD)
            stop = start + length
            if not self.at <= stop <= end:
                raise ValueError(f"a record of {length} bytes does not fit into its {end - start}")
            if code == LOOP:
                (trip,) = self.take(_LOOP)
                nodes.append(Loop(trip, self.body(stop, depth + 1, nesting + 1)))
            elif code == BLOCKS:
                if depth:
                    raise ValueError("a range of blocks below a loop")
                lo, hi = self.take(_BLOCKS)
                nodes.append(Blocks(lo, hi, self.body(stop, depth, nesting + 1), Part(part)))
            elif code in _OPCODES:
                key = depth, self.buffers, self.data[start:stop]
                instr = self.decoded.get(key)
                if instr is None:
                    instr = self.instruction(_OPCODES[code], _PIPES[pipe], flags, depth)
                    if self.at == stop:
                        self.decoded[key] = instr
                else:
                    self.at = stop
                nodes.append(instr)
            else:
                raise ValueError(f"unknown opcode 0x{code:02x}")
            if self.at != stop:
                raise ValueError(f"a record of {length} bytes was read as {self.at - start}")
        return tuple(nodes)

    def instruction(self, opcode: Opcode, pipe: Pipe, flags: int, depth: int) -> Instr:
        if flags & ~_FLAGS:
            raise ValueError(f"unknown instruction flags 0x{flags:02x}")
        operands, params = self.take(_COUNTS)
        _check_counts(opcode, operands, params)
        immediate = 0.0
        if flags & HAS_IMMEDIATE:
            (immediate,) = self.take(_F64)
        first_of: tuple[int, ...] | None = None
        if flags & HAS_FIRST_OF:
            count = self.data[self.at]
            first_of = tuple(self.data[self.at + 1 : self.at + 1 + count])
            self.at += 1 + count
            _check_slots(first_of, depth)
        rotate = self.rotate(depth) if flags & HAS_ROTATE else None
        return Instr(
            opcode,
            pipe,
            tuple(self.operand(depth) for _ in range(operands)),
            tuple(self.affine(depth) for _ in range(params)),
            immediate,
            first_of,
            rotate,
        )

    def operand(self, depth: int) -> Operand:
        buffer, dtype, rank, rotated = self.take(_OPERAND)
        if buffer >= self.buffers:
            raise ValueError(f"operand refers to buffer {buffer} of {self.buffers}")
        view = self.take(_view_struct(rank))
        offset = self.affine(depth)
        rotate = self.rotate(depth) if rotated else None
        return Operand(buffer, _DTYPES[dtype], offset, view[:rank], view[rank:], rotate)

    def rotate(self, depth: int) -> Rotate:
        (count,) = self.take(_U16)
        return Rotate(count, self.affine(depth))

    def affine(self, depth: int) -> Affine:
        start = self.at
        const, count = self.take(_AFFINE)
        stop = self.at + count * _TERM.size
        key = self.data[start:stop]
        known = self.affines.get(key)
        if known is None:
            terms: list[tuple[int, int]] = []
            for _ in range(count):
                slot, coef = self.take(_TERM)
                terms.append((slot, coef))
            known = self.affines[key] = Affine(const, tuple(terms))
        self.at = stop
        if known.terms and known.terms[-1][0] > depth:
            _check_slots(tuple(slot for slot, _ in known.terms), depth)
        return known
