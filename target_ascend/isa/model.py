"""The instruction set as data: spaces, pipes, element types, instructions, kernels.

Everything downstream of the compiler (binary encoding, functional engine, timing engine, checker) reads
these classes and the table of opcodes (`specs.py`); nothing here imports xdsl, onnx or numpy.

A kernel is a tree: `Blocks` (which of the launch's blocks run a body), `Loop` (static trip count, counter from
0 in steps of 1) and `Instr`. Addresses are affine in the counters. Counter *slot* 0 is the block index, slot d
the counter of the enclosing loop at depth d (the outermost loop is slot 1). The slots from `FIRST_REGISTER` on are
registers of the scalar unit: `load_scalar` fills them from UB, and an offset with such a term is indirect.

Engine, pipe, event and memory names are those of the HIVM dialect of AscendNPU-IR (Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias


class Space(IntEnum):
    """Memory spaces. GM is the device's global memory; L2 is a cache of the timing model, not a space."""

    GM = 0
    L1 = 1
    L0A = 2
    L0B = 3
    L0C = 4
    UB = 5
    BT = 6
    FB = 7


class Pipe(IntEnum):
    """Instruction queues of a core; instructions of one pipe run in order."""

    S = 0
    V = 1
    M = 2
    MTE1 = 3
    MTE2 = 4
    MTE3 = 5
    FIX = 6
    ALL = 7


class CoreKind(IntEnum):
    """Kind of core that a kernel is compiled for; of a mixed kernel each block is run by a team of them (`Part`)."""

    AI_CORE = 0
    CUBE_CORE = 1
    VECTOR_CORE = 2
    MIXED = 3


class Part(IntEnum):
    """Who of a team runs a body: of a mixed kernel a Cube core and two Vector cores, of others one core all of it."""

    WHOLE = 0
    CUBE = 1
    VECTOR_0 = 2
    VECTOR_1 = 3


TEAM = (Part.CUBE, Part.VECTOR_0, Part.VECTOR_1)
"""The cores of a team of a mixed kernel."""

MOST_RAISED = 15
"""How often a cross-core flag may be raised before it is waited for: it counts in four bits."""


class DType(IntEnum):
    """Element types; the numbers are GE's C++ `DataType` (public interface fact, BF16 as in ACL)."""

    F32 = 0
    F16 = 1
    I8 = 2
    I32 = 3
    U8 = 4
    I16 = 6
    U16 = 7
    U32 = 8
    I64 = 9
    U64 = 10
    F64 = 11
    BOOL = 12
    BF16 = 27

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return _DTYPE_BYTES[self]

    @property
    def numpy(self) -> str:
        """Name of the numpy dtype with the same bytes (`uint16` for BF16, which numpy lacks)."""
        return _DTYPE_NUMPY[self]

    @property
    def mlir(self) -> str:
        """The MLIR spelling (`f16`, `i8`, `ui8`, ...)."""
        return _DTYPE_MLIR[self]

    @staticmethod
    def from_mlir(name: str) -> DType:
        """Inverse of `mlir`. Raises KeyError for a type the instruction set does not know."""
        return _MLIR_DTYPE[name]


_DTYPE_TABLE: dict[DType, tuple[int, str, str]] = {
    DType.F32: (4, "float32", "f32"),
    DType.F16: (2, "float16", "f16"),
    DType.I8: (1, "int8", "i8"),
    DType.I32: (4, "int32", "i32"),
    DType.U8: (1, "uint8", "ui8"),
    DType.I16: (2, "int16", "i16"),
    DType.U16: (2, "uint16", "ui16"),
    DType.U32: (4, "uint32", "ui32"),
    DType.I64: (8, "int64", "i64"),
    DType.U64: (8, "uint64", "ui64"),
    DType.F64: (8, "float64", "f64"),
    DType.BOOL: (1, "bool", "i1"),
    DType.BF16: (2, "uint16", "bf16"),
}
_DTYPE_BYTES = {d: row[0] for d, row in _DTYPE_TABLE.items()}
_DTYPE_NUMPY = {d: row[1] for d, row in _DTYPE_TABLE.items()}
_DTYPE_MLIR = {d: row[2] for d, row in _DTYPE_TABLE.items()}
_MLIR_DTYPE = {row[2]: d for d, row in _DTYPE_TABLE.items()}


FIRST_REGISTER, SLOTS = 240, 256
"""The first slot that is a register, and the number of slots."""

PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")
"""What `cmp` compares by; the number in its parameter is the place here."""

ACTIVATIONS = ("none", "relu", "leaky_relu", "clip")
"""What `fixpipe` does on the way; the number in its parameter is the place here."""

FACTOR_BITS, OFFSET_SHIFT, OFFSET_BITS, SIGNED_BIT = 0xFFFFE000, 37, 9, 46
"""The 64-bit word by which `requantise` scales a channel: in its lower half an fp32 factor, of which these bits count (a
mantissa of 10 bits); a signed offset of so many bits from a bit on; whether the result is signed."""


@dataclass(frozen=True, slots=True)
class Affine:
    """`const + sum(coef * counter[slot])`, slots ascending, no zero coefficients."""

    const: int = 0
    terms: tuple[tuple[int, int], ...] = ()

    def at(self, counters: Sequence[int]) -> int:
        """Value at the given counters (index = slot)."""
        value = self.const
        for slot, coef in self.terms:
            value += coef * counters[slot]
        return value

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.const + other, self.terms)
        sums = dict(self.terms)
        for slot, coef in other.terms:
            sums[slot] = sums.get(slot, 0) + coef
        return Affine(self.const + other.const, tuple(sorted((s, c) for s, c in sums.items() if c)))

    @property
    def indirect(self) -> bool:
        """Whether a register takes part."""
        return bool(self.terms) and self.terms[-1][0] >= FIRST_REGISTER

    def __mul__(self, factor: int) -> Affine:
        if factor == 0:
            return Affine()
        return Affine(self.const * factor, tuple((s, c * factor) for s, c in self.terms))


@dataclass(frozen=True, slots=True)
class Rotate:
    """Rotation through `count` versions: version number is `index mod count`."""

    count: int
    index: Affine


@dataclass(frozen=True, slots=True)
class Buffer:
    """One row of a kernel's buffer table.

    For GM, `address` is the index of the launch argument and `bytes` the extent that the kernel may touch; for
    on-chip spaces it is the byte address in the space. `versions` copies of `bytes` lie one after another.
    """

    name: str
    space: Space
    address: int
    bytes: int
    versions: int = 1


@dataclass(frozen=True, slots=True)
class Operand:
    """A strided view of a buffer.

    `offset` and `strides` are in elements of `dtype`; a stride of 0 repeats an element. The byte address of
    element (i0, i1, ...) is buffer.address + version * buffer.bytes + (offset + sum(i*stride)) * dtype.bytes.
    """

    buffer: int
    dtype: DType
    offset: Affine
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    rotate: Rotate | None = None


class Opcode(IntEnum):
    """Operation codes; the numbers are the encoding."""

    # movement
    COPY = 0x10
    LOAD2D = 0x11
    LOAD3D = 0x12
    LOAD_SCALAR = 0x13
    # cube
    MMAD = 0x20
    MMAD_BIAS = 0x21
    # the way out of L0C
    FIXPIPE = 0x80
    REQUANTISE = 0x81
    # vector: conversion and movement
    VCONV = 0x30
    VDUP = 0x31
    VTRANS = 0x32
    VCONVF = 0x33
    VCONVC = 0x34
    VCONVZ = 0x35
    VSEL = 0x36
    VGATHER = 0x37
    # vector: two sources
    VADD = 0x40
    VSUB = 0x41
    VMUL = 0x42
    VDIV = 0x43
    VMAX = 0x44
    VMIN = 0x45
    VCMP = 0x46
    VAND = 0x47
    VOR = 0x48
    # vector: source and immediate
    VADDS = 0x50
    VMULS = 0x51
    VMAXS = 0x52
    VMINS = 0x53
    VLRELU = 0x54
    # vector: one source
    VRELU = 0x60
    VEXP = 0x61
    VLN = 0x62
    VSQRT = 0x63
    VRSQRT = 0x64
    VREC = 0x65
    VABS = 0x66
    # vector: reduction of the innermost axis
    VCADD = 0x70
    VCMAX = 0x71
    VCMIN = 0x72
    # synchronisation
    SET_FLAG = 0x01
    WAIT_FLAG = 0x02
    BARRIER = 0x03
    BLOCK_SET = 0x04
    BLOCK_WAIT = 0x05


@dataclass(frozen=True, slots=True)
class Instr:
    """One instruction.

    `operands`: destination first, then sources. `params`: integers in the order of `SPECS[opcode].params`,
    each affine in the counters. `immediate`: the float of scalar vector operations, the padding of LOAD3D.
    `first_of` (cube): slots whose counters must all be 0 for the accumulator to be overwritten instead of
    added to; an empty tuple overwrites always, None accumulates always.
    `event_rotate` (flags): rotates the event id from the base in `params`.
    """

    opcode: Opcode
    pipe: Pipe
    operands: tuple[Operand, ...] = ()
    params: tuple[Affine, ...] = ()
    immediate: float = 0.0
    first_of: tuple[int, ...] | None = ()
    event_rotate: Rotate | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """Runs `body` `trip` times; its counter takes the next free slot."""

    trip: int
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Runs `body` in the blocks lo <= block index < hi, on one core of their teams. Only at the top of a kernel."""

    lo: int
    hi: int
    body: tuple[Node, ...]
    part: Part = Part.WHOLE


Node: TypeAlias = Instr | Loop | Blocks


@dataclass(frozen=True, slots=True)
class Kernel:
    """A compiled kernel: `body` is a sequence of `Blocks`. `args` GM buffers come first in `buffers`.

    `arg_access[i]` is "r", "w" or "rw" for launch argument i. In a mixed kernel the parts of a team's `Blocks` run at the
    same time and meet at cross-core flags; what they exchange lies in arguments that are "rw".
    """

    name: str
    block_dim: int
    buffers: tuple[Buffer, ...]
    body: tuple[Node, ...]
    arg_access: tuple[str, ...] = ()
    core_kind: CoreKind = CoreKind.AI_CORE

    @property
    def parts(self) -> tuple[Part, ...]:
        """Who runs a block."""
        return TEAM if self.core_kind is CoreKind.MIXED else (Part.WHOLE,)


MOVE_PIPES: dict[tuple[Space, Space], Pipe] = {
    (Space.GM, Space.L1): Pipe.MTE2,
    (Space.GM, Space.UB): Pipe.MTE2,
    (Space.L1, Space.L0A): Pipe.MTE1,
    (Space.L1, Space.L0B): Pipe.MTE1,
    (Space.L1, Space.UB): Pipe.MTE1,
    (Space.L1, Space.BT): Pipe.MTE1,
    (Space.L1, Space.FB): Pipe.FIX,
    (Space.UB, Space.GM): Pipe.MTE3,
    (Space.UB, Space.L1): Pipe.MTE3,
    (Space.UB, Space.UB): Pipe.V,
    (Space.L0C, Space.UB): Pipe.V,
}
"""Which pipe moves data from one space to another; what leaves L0C by `fixpipe` does so on FIX."""


@dataclass(slots=True)
class Walker:
    """Expands the loops of one block of a kernel in program order, of a mixed kernel those of one part."""

    kernel: Kernel
    block: int
    counters: list[int] = field(default_factory=list[int])
    part: Part = Part.WHOLE

    def __iter__(self) -> Iterator[tuple[Instr, list[int]]]:
        """Yields (instruction, counters); the list is reused, so copy what must outlive the step."""
        self.counters = [self.block]
        for node in self.kernel.body:
            if isinstance(node, Blocks):
                if node.lo <= self.block < node.hi and node.part is self.part:
                    yield from self._walk(node.body)
            else:
                yield from self._walk((node,))

    def _walk(self, body: tuple[Node, ...]) -> Iterator[tuple[Instr, list[int]]]:
        for node in body:
            if isinstance(node, Instr):
                yield node, self.counters
            elif isinstance(node, Loop):
                self.counters.append(0)
                for i in range(node.trip):
                    self.counters[-1] = i
                    yield from self._walk(node.body)
                self.counters.pop()
