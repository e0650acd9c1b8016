"""Writes a kernel in program order: buffers, counted loops, instructions, no flags.

A mixed kernel is written once for each core of a team (`parts`), in the same words; of each text stays what its core does.

The builder keeps an insertion point; `blocks` and `loop` are context managers that move it. Offsets are `Expr`
in elements. `tiles` peels the tail: it yields the full tiles inside a loop, then the rest.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StridedLayoutAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from graph_engine.dialects.ascend import vec
from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.cube import FixpipeOp, MmadBiasOp, MmadOp, RequantiseOp
from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.kernel import BlocksOp, KernelOp, LoopOp
from graph_engine.dialects.ascend.memory import AllocOp, ViewOp
from graph_engine.dialects.ascend.mte import CopyOp, Load2dOp, Load3dOp
from graph_engine.dialects.ascend.scalar import LoadOp
from graph_engine.dialects.ascend.spaces import SPACE_ATTRS, dtype_of, row_major, shape_of, space_of, strides_of
from graph_engine.dialects.ge.interning import element_type, numpy_dtype
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.target_ascend.isa.model import TEAM, CoreKind, DType, Part, Pipe, Space

Offset: TypeAlias = "Expr | SSAValue | int"


@dataclass(frozen=True)
class Arg:
    """A launch argument: a tensor's physical shape, its element type, and "r" or "w"."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    access: str


@dataclass(frozen=True)
class Buf:
    """A buffer of the kernel being written; `offset`: where it begins in what `value` names, in elements."""

    value: SSAValue
    shape: tuple[int, ...]
    dtype: DType
    space: Space
    offset: Expr = field(default_factory=Expr)

    @property
    def strides(self) -> tuple[int, ...]:
        """Row-major strides in elements."""
        return row_major(self.shape)


@cache
def _memref(shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: DType, space: Space) -> MemRefType:
    layout: Attribute | None = StridedLayoutAttr(strides, None) if strides is not None else None
    element = element_type(dtype.mlir)
    if layout is None:
        return MemRefType(element, shape, memory_space=SPACE_ATTRS[space])
    return MemRefType(element, shape, layout, SPACE_ATTRS[space])


_VECTOR: dict[str, type[InstructionOp]] = {
    op.name.removeprefix("ascend.vec."): op for op in vec.VECTOR_OPS if issubclass(op, InstructionOp)
}


LONGS = (DType.I64, DType.U64)
SIGNED = {DType.U16: DType.I16, DType.U32: DType.I32}
"""What UB holds the bits of unsigned numbers as, where the Vector unit computes the signed ones alone."""


EXCHANGE_VERSIONS, EXCHANGE_ALIGNMENT = 2, 512
"""Of what cores of a team exchange: one is filled while the other is read; moves at full rate begin at such bytes."""


def brain_bits(value: float) -> int:
    """The 16-bit pattern of the bf16 nearest to a number."""
    import numpy as np

    return int(np.array([value]).astype(numpy_dtype("bf16")).view(np.uint16)[0])


def keep_own(region: BlocksOp, others: Container[Operation] = ()) -> None:
    """Leaves of a body what its part of a team does; what cores exchange stays, since both sides keep its order, but what
    `others` alone have in that place."""
    for op in reversed(list(region.walk())):
        if isinstance(op, InstructionOp):
            dropped = _on_cube(op) != (region.part is Part.CUBE)
        elif isinstance(op, LoopOp):
            dropped = op.body.block.is_empty
        else:
            exchanged = isinstance(op, AllocOp) and space_of(op.memory) is Space.GM and op not in others
            dropped = isinstance(op, AllocOp | ViewOp) and not exchanged and not op.results[0].uses.get_length()
        if dropped:
            op.detach()
            op.erase()


def _on_cube(op: InstructionOp) -> bool:
    """Whether the Cube core of a team has the instruction."""
    if op.pipe is Pipe.MTE2:
        return space_of(op.dst) is Space.L1
    return op.pipe in (Pipe.M, Pipe.MTE1, Pipe.FIX)


class _Before:
    """A place in front of an operator, to be written to as to the end of a block."""

    def __init__(self, op: Operation):
        self.op = op

    def add_op(self, op: Operation) -> None:
        block = self.op.parent_block()
        assert block is not None
        block.insert_op_before(op, self.op)


class KernelBuilder:
    """Writes one kernel."""

    def __init__(self, name: str, args: Sequence[Arg], block_dim: int):
        types = [_memref(a.shape, None, a.dtype, Space.GM) for a in args]
        self.kernel = KernelOp(name, types, [a.access for a in args], block_dim)
        self.args: list[Buf] = []
        for arg, value in zip(args, self.kernel.body.block.args, strict=True):
            value.name_hint = arg.name
            self.args.append(Buf(value, arg.shape, arg.dtype, Space.GM))
        self._block: Block | _Before = self.kernel.body.block
        self._part = Part.WHOLE
        self._index = Expr()
        self._exchanged: dict[str, int] = {}
        self._others: list[Operation] = []

    @classmethod
    def before(cls, op: Operation) -> KernelBuilder:
        """Writes in front of an operator of a kernel that is there already; `kernel` and `args` are nobody's."""
        builder = cls("", [], 1)
        builder._block = _Before(op)
        return builder

    @contextmanager
    def _inside(self, block: Block) -> Generator[None]:
        outer, self._block = self._block, block
        try:
            yield
        finally:
            self._block = outer

    def parts(self, *, mixed: bool) -> Iterator[Part]:
        """Those who run a block, for each of whom the blocks are to be written."""
        if mixed:
            self.kernel.set_core(CoreKind.MIXED)
        for part in TEAM if mixed else (Part.WHOLE,):
            self._part = part
            yield part
        self._part = Part.WHOLE

    def own_share(self, extent: int) -> tuple[int, int]:
        """(start, size) of what the core that is written for has of an axis that the Vector cores of a team halve."""
        half = -(-extent // 2)
        return {Part.VECTOR_0: (0, half), Part.VECTOR_1: (half, extent - half)}.get(self._part, (0, extent))

    @contextmanager
    def blocks(self, lo: int, hi: int) -> Generator[Expr]:
        """The body of the blocks lo <= index < hi; yields the block index."""
        op = BlocksOp(lo, hi, self._part)
        self._block.add_op(op)
        counter = op.body.block.args[0]
        counter.name_hint = "blk"
        self._index = Expr.of(counter)
        with self._inside(op.body.block):
            yield self._index
        if self._part is not Part.WHOLE:
            keep_own(op, self._others)
            self._others.clear()

    @contextmanager
    def loop(self, trip: int, name: str = "i") -> Generator[Expr]:
        """A counted loop; yields its counter. A single trip needs no loop and yields 0."""
        if trip == 1:
            yield Expr()
            return
        op = LoopOp(trip)
        self._block.add_op(op)
        counter = op.body.block.args[0]
        counter.name_hint = name
        with self._inside(op.body.block):
            yield Expr.of(counter)

    def tiles(self, extent: int, tile: int, name: str = "i") -> Iterator[tuple[Expr, int]]:
        """(start, size) of the tiles of 0..extent: full ones in a loop, then the tail peeled.

        Raises NoKernel for a tile of nothing: what its kernel works on at once does not fit the chip.
        """
        if tile < 1:
            raise NoKernel("no tile of it fits the chip's buffers")
        full, tail = divmod(extent, tile)
        if full:
            with self.loop(full, name) as i:
                yield i * tile, tile
        if tail:
            yield Expr(full * tile), tail

    def alloc(self, slot: str, space: Space, shape: Sequence[int], dtype: DType) -> Buf:
        """On-chip storage for one run of the current body."""
        op = AllocOp(slot, _memref(tuple(shape), None, dtype, space))
        self._block.add_op(op)
        return Buf(op.memory, tuple(shape), dtype, space)

    def exchange(self, slot: str, shape: Sequence[int], dtype: DType, most: int, *, by: CoreKind | None = None) -> Buf:
        """Global memory for what cores of a team exchange in one run of the current body, `most` elements at the most.

        Each block has a place of its own in an argument of the slot's, which stands behind all others. It is filled and read
        in one body, or there only `by` one kind of core, and by the other kind elsewhere, as often and in the same order.
        """
        room = -(-most * dtype.bytes // EXCHANGE_ALIGNMENT) * EXCHANGE_ALIGNMENT // dtype.bytes
        blocks = self.kernel.block_dim.value.data
        if slot not in self._exchanged:
            whole = _memref((EXCHANGE_VERSIONS, blocks, room), None, dtype, Space.GM)
            self._exchanged[slot] = self.kernel.add_argument(slot, whole, "rw")
        op = AllocOp(slot, _memref((blocks, room), None, dtype, Space.GM))
        op.address = IntegerAttr(self._exchanged[slot], 64)
        op.bytes = IntegerAttr(blocks * room * dtype.bytes, 64)
        self._block.add_op(op)
        if by is not None and (by is CoreKind.CUBE_CORE) != (self._part is Part.CUBE):
            self._others.append(op)
        return Buf(op.memory, tuple(shape), dtype, Space.GM, self._index * room)

    def view(
        self,
        buf: Buf,
        offset: Offset = 0,
        sizes: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
    ) -> SSAValue:
        """A window of `buf`; the whole of it by default, the buffer's own strides if only sizes are given."""
        sizes = buf.shape if sizes is None else tuple(sizes)
        strides = buf.strides[len(buf.shape) - len(sizes) :] if strides is None else tuple(strides)
        at = buf.offset + Expr.of(offset) if buf.space is Space.GM else offset
        op = ViewOp(buf.value, at, _memref(sizes, strides, buf.dtype, buf.space))
        self._block.add_op(op)
        return op.result

    def restride(self, view: SSAValue, sizes: Sequence[int], strides: Sequence[int], offset: int = 0) -> SSAValue:
        """Another window of the buffer of `view`, which begins `offset` elements behind it."""
        op = view.owner
        assert isinstance(op, ViewOp)
        ty = _memref(tuple(sizes), tuple(strides), dtype_of(view.type), space_of(view))
        new = ViewOp(op.source, op.expr + offset, ty)
        self._block.add_op(new)
        return new.result

    def as_type(self, view: SSAValue, dtype: DType) -> SSAValue:
        """The same bytes as elements of another type of that width."""
        op = view.owner
        assert isinstance(op, ViewOp)
        new = ViewOp(op.source, op.expr, _memref(shape_of(view), strides_of(op.result.type), dtype, space_of(view)))
        self._block.add_op(new)
        return new.result

    def halves(self, view: SSAValue) -> SSAValue:
        """Words as pairs of int16, which the bitwise instructions take; pairs are an innermost axis."""
        op = view.owner
        assert isinstance(op, ViewOp)
        strides = (*(2 * s for s in strides_of(op.result.type)), 1)
        new = ViewOp(op.source, op.expr * 2, _memref((*shape_of(view), 2), strides, DType.I16, Space.UB))
        self._block.add_op(new)
        return new.result

    def words(self, view: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The low and the high int32 of 64 bits: of elements in device memory, or of a value in two planes of UB."""
        op = view.owner
        assert isinstance(op, ViewOp)
        if space_of(view) is Space.UB:
            planes = op.source.type
            assert isinstance(planes, MemRefType)
            high = ViewOp(op.source, op.expr + planes.get_shape()[-1], op.result.type)
            self._block.add_op(high)
            return view, high.result
        ty = _memref(op.result.type.get_shape(), tuple(2 * s for s in strides_of(op.result.type)), DType.I32, Space.GM)
        halves = [ViewOp(op.source, op.expr * 2 + word, ty) for word in range(2)]
        for half in halves:
            self._block.add_op(half)
        return halves[0].result, halves[1].result

    def alloc_value(self, slot: str, extents: Sequence[int], dtype: DType) -> Buf:
        """A UB buffer of a value: dense, unsigned numbers as signed ones of their bits (but bytes); of 64 bits the low
        words in one plane, the high ones in a second, both aligned."""
        if dtype not in LONGS:
            return self.alloc(slot, Space.UB, extents, SIGNED.get(dtype, dtype))
        return self.alloc(slot, Space.UB, (2, -(-prod(extents) // 8) * 8), DType.I32)

    def copy_value(self, dst: SSAValue, src: SSAValue, dtype: DType) -> None:
        """A move of a value to or from UB, 64 bits word by word."""
        pairs = [(dst, src)]
        if dtype in LONGS:
            pairs = list(zip(self.words(dst), self.words(src), strict=True))
        elif dtype in SIGNED:
            pairs = [tuple(v if space_of(v) is Space.UB else self.as_type(v, SIGNED[dtype]) for v in (dst, src))]
        for target, source in pairs:
            self.copy(target, source)

    def buffer_of(self, view: SSAValue, shape: Sequence[int]) -> Buf:
        """The buffer that `view` is taken of, as one of `shape`."""
        op = view.owner
        assert isinstance(op, ViewOp)
        return Buf(op.source, tuple(shape), dtype_of(view.type), space_of(view))

    def copy(self, dst: SSAValue, src: SSAValue) -> None:
        """A move between spaces."""
        self._block.add_op(CopyOp([src], dst))

    def load2d(self, dst: SSAValue, src: SSAValue, *, transpose: bool = False) -> None:
        """Fractals from L1 to L0A or L0B, each transposed if asked."""
        op = Load2dOp([src], dst)
        if transpose:
            op.transpose = UnitAttr()
        self._block.add_op(op)

    def load3d(
        self, dst: SSAValue, src: SSAValue, geometry: Sequence[int], m: Offset, k: Offset, padding: float = 0.0
    ) -> None:
        """Img2col; `geometry` in the order of `LOAD3D_STATIC`."""
        self._block.add_op(Load3dOp(src, dst, geometry, Expr.of(m), Expr.of(k), padding))

    def mmad(
        self,
        c: SSAValue,
        a: SSAValue,
        b: SSAValue,
        mkn: Sequence[int],
        first_of: Sequence[Expr] | None,
        bias: Buf | None = None,
    ) -> None:
        """Matrix multiply-accumulate; overwrites where all counters of `first_of` are 0, None accumulates. What is
        overwritten starts with `bias`, rows of BT."""
        counters = [counter for expr in first_of or () for counter in expr.counters]
        if bias is not None and first_of is not None:
            self._block.add_op(MmadBiasOp([a, b, self.view(bias)], c, mkn, first_of=counters))
            return
        self._block.add_op(MmadOp([a, b], c, mkn, first_of=counters, accumulate=first_of is None))

    def fixpipe(self, dst: SSAValue, src: SSAValue, activation: str = "", number: float = 1.0) -> None:
        """What leaves L0C through FixPipe: converted, through one of `ACTIVATIONS` with its number."""
        op = FixpipeOp([src], dst, immediate=number)
        if activation:
            op.activation = StringAttr(activation)
        self._block.add_op(op)

    def requantise(self, dst: SSAValue, src: SSAValue, words: SSAValue, *, relu: bool) -> None:
        """Sums that leave L0C through FixPipe as 8 bits, scaled by words of FB, not below their offsets if `relu`."""
        op = RequantiseOp([src, words], dst)
        if relu:
            op.activation = StringAttr("relu")
        self._block.add_op(op)

    def compare(self, predicate: str, dst: SSAValue, a: SSAValue, b: SSAValue) -> None:
        """dst (i1) = a predicate b."""
        self._block.add_op(vec.CmpOp([a, b], dst, predicate))

    def load_scalar(self, src: SSAValue, extent: int) -> Expr:
        """An index of an axis of `extent`, one i32 in UB, for use in offsets; counted from the end if it is negative."""
        op = LoadOp(src, extent)
        self._block.add_op(op)
        return Expr.of(op.register)

    def vec(self, mnemonic: str, dst: SSAValue, *sources: SSAValue, imm: float | None = None) -> None:
        """A vector instruction by mnemonic ("add", "conv", ...); what only moves bf16 moves its bits."""
        moved = mnemonic in ("transpose", "dup") or (mnemonic == "conv" and dtype_of(sources[0].type) is DType.BF16)
        if moved and dtype_of(dst.type) is DType.BF16:
            dst, sources = self.as_type(dst, DType.U16), tuple(self.as_type(view, DType.U16) for view in sources)
            imm = None if imm is None else float(brain_bits(imm))
        self._block.add_op(_VECTOR[mnemonic](sources, dst, immediate=imm))
