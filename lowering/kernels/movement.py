"""Data movement between two strided forms of a tensor: TransData, transpose, concat, slice, pad, cast.

A kernel is a list of parts; a part copies a box of elements whose two sides are strided, converting the element
type on the way and filling what the source does not have. Where the innermost axis is the same on both sides the
DMA moves runs of it; otherwise a tile turns around in UB in 16 x 16 blocks (vnchwconv):

    GM (q rows of p) -> UB -> [convert] -> [transpose] -> UB -> GM (p rows of q)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isqrt, prod

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.shares import block_dim, deal
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc


@dataclass(frozen=True)
class Dim:
    """One axis of a part: `read` elements come from the source, `write` >= `read` are written; element strides."""

    read: int
    write: int
    src: int
    dst: int


@dataclass(frozen=True)
class Part:
    """A box copied from argument `source` (None: only filled) at `src_offset` to the result at `dst_offset`."""

    source: int | None
    src_offset: int
    dst_offset: int
    dims: tuple[Dim, ...]


@dataclass(frozen=True)
class Movement:
    """A movement kernel: argument shapes and types, result shape and type, parts, value of what is filled.

    `shared`: parts write to different lanes of one block; the axis of this stride in the result is dealt to the cores
    alike for all of them, so that no two cores write to one 32-byte granule. `words`: the chip turns elements of 32 bits.
    """

    sources: tuple[tuple[tuple[int, ...], DType], ...]
    shape: tuple[int, ...]
    dtype: DType
    parts: tuple[Part, ...]
    fill: float = 0.0
    shared: int = 0
    words: bool = False


def normalise(dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """Axes of the box, outermost first by the result's stride, neighbours merged where both sides allow it."""
    kept = sorted((d for d in dims if d.write > 1), key=lambda d: (-d.dst, -d.src))
    merged: list[Dim] = []
    for dim in kept:
        if merged:
            last = merged[-1]
            whole = dim.read == dim.write
            if whole and last.src == dim.src * dim.read and last.dst == dim.dst * dim.write:
                merged[-1] = Dim(last.read * dim.read, last.write * dim.write, dim.src, dim.dst)
                continue
        merged.append(dim)
    return tuple(merged) or (Dim(dims[0].read if dims else 1, 1, 1, 1),)


def build_movement(name: str, movement: Movement, soc: Soc) -> KernelOp:
    """The kernel; its arguments are the sources, then the result. Raises NoKernel where a tile does not fit."""
    movement = replace(movement, words=soc.supports("transpose", "f32"))
    args = [Arg(f"x{i}", shape, dtype, "r") for i, (shape, dtype) in enumerate(movement.sources)]
    parts, room = list(movement.parts), soc.buffers["ub"]
    for _ in range(2):  # an end that comes apart may need a slot of its own
        kinds = len({_kind(part, movement) for part in parts})
        room = soc.buffers["ub"] // kinds
        pieces = [piece for part in movement.parts for piece in _pieces(part, movement, room)]
        parts = [end for piece in pieces for end in _ends_apart(piece, movement, room, soc.vector_cores)]
    plans = [_plan(part, movement, room, soc.vector_cores) for part in parts]
    extents = [plan.dims[plan.dealt].write for plan in plans]
    granules = [plan.granule for plan in plans]
    kb = KernelBuilder(
        name, [*args, Arg("y", movement.shape, movement.dtype, "w")], block_dim(extents, soc.vector_cores, granules)
    )
    for share in deal(extents, soc.vector_cores, granules):
        with kb.blocks(share.lo, share.hi) as blk:
            for plan, size, step in zip(plans, share.sizes, share.steps, strict=True):
                if size:
                    at = blk * step if share.hi - share.lo > 1 else Expr(share.lo * step)
                    _Writer(kb, movement, plan).axes(0, Expr(), Expr(), at, size)
    return kb.kernel


@dataclass(frozen=True)
class _Plan:
    """How a part is tiled: `dims` outermost first; axes before `split` are looped, axis `split` is cut into tiles
    of `tile`, axes behind it are whole. `p`, `q`: the axes contiguous in the source and in the result. `dealt`:
    the axis that is dealt to the cores, in multiples of `granule` elements."""

    part: Part
    dims: tuple[Dim, ...]
    split: int
    tile: int
    turned: bool
    dealt: int
    granule: int


def _bytes(*dtypes: DType) -> bool:
    """Whether elements of 8 bits are moved, which turn as fp16."""
    return all(dtype in (DType.I8, DType.U8) for dtype in dtypes)


def _turns(source: DType, result: DType, *, words: bool) -> bool:
    """Whether elements turn around in UB: with 16 bits on one side, as bytes, or as fp32 where the chip turns `words`; others are
    moved one by one."""
    return 2 in (source.bytes, result.bytes) or _bytes(source, result) or (words and source is result is DType.F32)


def _round16(n: int) -> int:
    return -(-n // 16) * 16


def _kind(part: Part, movement: Movement) -> str:
    """What the parts have in common whose tiles lie in one slot: the same pipes fill and empty it."""
    if part.source is None:
        return "fill"
    source, filled = movement.sources[part.source][1], any(d.read != d.write for d in part.dims)
    turned = _is_turned_part(part, movement)
    return f"{source.mlir}{'_turned' if turned else ''}{'_filled' if filled else ''}"


def _is_turned(dims: tuple[Dim, ...]) -> bool:
    """Whether the innermost axis of the result is another in the source."""
    return dims[-1].src != 1 and any(d.src == 1 for d in dims[:-1])


def _is_turned_part(part: Part, movement: Movement) -> bool:
    """Whether the tiles of a part turn around in UB."""
    if part.source is None or movement.shared or not _is_turned(normalise(part.dims)):
        return False
    return _turns(movement.sources[part.source][1], movement.dtype, words=movement.words)


def _width(part: Part, movement: Movement) -> int:
    """Bytes that an element of a tile takes in UB, as loaded, turned and stored."""
    source = movement.dtype if part.source is None else movement.sources[part.source][1]
    bytes_each = movement.dtype.bytes + source.bytes
    if _is_turned_part(part, movement):
        return 6 if _bytes(movement.dtype, source) else bytes_each + 2
    narrow = _bytes(movement.dtype, source) and any(d.read != d.write for d in part.dims)
    return bytes_each + 2 if narrow else bytes_each


def _pieces(part: Part, movement: Movement, room: int) -> list[Part]:
    """The part, cut along the shorter of the axes that turn where not even 16 of the longer one fit beside it."""
    dims, budget = list(normalise(part.dims)), room // (2 * _width(part, movement))
    if not _is_turned_part(part, movement):
        return [part]
    short = min(next(i for i, d in enumerate(dims) if d.src == 1), len(dims) - 1, key=lambda i: dims[i].write)
    axis = dims[short]
    if _round16(axis.write) * 16 <= budget or axis.read != axis.write:
        return [part]
    size, pieces = isqrt(budget) // 16 * 16, list[Part]()
    if not size:
        raise NoKernel("not even a square of 16 x 16 fits the unified buffer")
    for start in range(0, axis.write, size):
        count = min(size, axis.write - start)
        dims[short] = replace(axis, read=count, write=count)
        offsets = part.src_offset + start * axis.src, part.dst_offset + start * axis.dst
        pieces.append(Part(part.source, *offsets, tuple(dims)))
    return pieces


def _ends_apart(part: Part, movement: Movement, room: int, cores: int) -> list[Part]:
    """The part; where an axis that is filled up behind its end is too long for a tile, its last block a part of its own."""
    try:
        _plan(part, movement, room, cores)
        return [part]
    except NoKernel:
        dims = list(normalise(part.dims))
        at = max(range(len(dims)), key=lambda i: dims[i].read * (dims[i].read != dims[i].write))
        long, whole = dims[at], (dims[at].read - 1) // 16 * 16
        if movement.shared or part.source is None or long.read == long.write or not whole:
            return [part]
    body = replace(long, read=whole, write=whole)
    end = replace(long, read=long.read - whole, write=long.write - whole)
    start = part.src_offset + whole * long.src, part.dst_offset + whole * long.dst
    return [
        Part(part.source, part.src_offset, part.dst_offset, (*dims[:at], body, *dims[at + 1 :])),
        Part(part.source, *start, (*dims[:at], end, *dims[at + 1 :])),
    ]


def _shared_plan(part: Part, movement: Movement, room: int) -> _Plan:
    """Lanes are whole, the shared axis is cut and dealt; without one everything is one core's."""
    dims = tuple(sorted((d for d in part.dims[:-1] if d.write > 1), key=lambda d: -d.dst)) + part.dims[-1:]
    split = next((i for i, d in enumerate(dims) if d.dst == movement.shared and d.read == d.write), len(dims) - 1)
    last = split == len(dims) - 1
    row = prod([d.write for d in dims[split + 1 : -1]]) * _round16(dims[-1].write)
    same = part.source is None or movement.sources[part.source][1] is movement.dtype
    budget = room // (2 * (movement.dtype.bytes if same else _width(part, movement)))
    if any(d.read != d.write for d in dims[:-1]) or row > budget:
        raise NoKernel("one tile of the move does not fit the unified buffer")
    tile = dims[split].write if last else min(dims[split].write, budget // row)
    return _Plan(part, dims, split, tile, False, split, dims[-1].write if last else 1)


def _plan(part: Part, movement: Movement, room: int, cores: int) -> _Plan:
    """The tiles of a part in `room` bytes of the unified buffer."""
    if movement.shared:
        return _shared_plan(part, movement, room)
    dims = normalise(part.dims)
    inner = dims[-1]
    turned = _is_turned_part(part, movement)
    if turned:
        # The axes contiguous in the source and in the result come last, the longer one first: it may be cut.
        p = next(i for i, d in enumerate(dims) if d.src == 1)
        pair = sorted((dims[p], inner), key=lambda d: -d.write)
        dims = (*dims[:p], *dims[p + 1 : -1], *pair)
    budget = room // (2 * _width(part, movement))
    core = 2 if turned else 1
    sizes = [d.write for d in dims]
    rounded = [*sizes[:-2], _round16(sizes[-2]), _round16(sizes[-1])] if turned else sizes
    split = len(dims) - 1
    whole = 1
    for i in range(len(dims) - 1, -1, -1):
        split = i
        if whole * rounded[i] > budget:
            break
        whole *= rounded[i]
    split = min(split, len(dims) - core)
    if prod(rounded[split + 1 :]) * (16 if turned and split == len(dims) - core else 1) > budget:
        raise NoKernel("one tile of the move does not fit the unified buffer")
    tile = max(1, min(sizes[split], budget // prod(rounded[split + 1 :])))
    if turned and split >= len(dims) - core and tile < sizes[split]:
        tile = tile // 16 * 16
        if not tile:
            raise NoKernel("one tile of the move does not fit the unified buffer")
    if dims[split].read != dims[split].write and tile < sizes[split]:
        raise NoKernel("a filled axis has to be cut")
    granule = 1
    if dims[split].read != dims[split].write:
        granule = sizes[split]
    elif split >= len(dims) - core:
        granule = min(sizes[split], 16)
    looped = [i for i in range(split) if dims[i].read == dims[i].write]
    dealt = max([*looped, split], key=lambda i: min(cores, sizes[i] if i < split else -(-sizes[i] // granule)))
    granule = granule if dealt == split else 1
    if any(dims[i].read != dims[i].write for i in range(split)):
        raise NoKernel("a filled axis has to be looped over")
    return _Plan(part, dims, split, tile, turned, dealt, granule)


@dataclass
class _Writer:
    """Writes one part."""

    kb: KernelBuilder
    movement: Movement
    plan: _Plan

    def axes(self, axis: int, src: Expr, dst: Expr, start: Expr, count: int) -> None:
        """Loops over the axes before `split`, then the tiles of `split`; of the dealt axis start..start+count."""
        kb, plan = self.kb, self.plan
        dim = plan.dims[axis]
        own = axis == plan.dealt
        begin, extent = (start, count) if own else (Expr(), dim.write)
        if axis < plan.split:
            with kb.loop(extent, "i") as i:
                at = begin + i
                self.axes(axis + 1, src + at * dim.src, dst + at * dim.dst, start, count)
            return
        for t, size in kb.tiles(extent, plan.tile, "t"):
            at = begin + t
            cut = size < dim.write
            tile = (replace(dim, read=size if cut else dim.read, write=size), *plan.dims[axis + 1 :])
            self.tile(tile, src + at * dim.src, dst + at * dim.dst)

    def tile(self, dims: tuple[Dim, ...], src: Expr, dst: Expr) -> None:
        """One tile: load, fill, convert, turn, store."""
        kb, movement, part = self.kb, self.movement, self.plan.part
        slot = _kind(part, movement)
        reads, writes = tuple(d.read for d in dims), tuple(d.write for d in dims)
        if part.source is None:
            ub = kb.alloc(slot, Space.UB, writes, movement.dtype)
            kb.vec("dup", kb.view(ub), imm=movement.fill)
            kb.copy(kb.view(kb.args[-1], dst + part.dst_offset, writes, tuple(d.dst for d in dims)), kb.view(ub))
            return
        source = kb.args[part.source]
        if self.plan.turned:
            self.turn(slot, source, dims, src, dst)
            return
        rows = (*writes[:-1], _round16(writes[-1])) if movement.shared else writes
        ub = kb.alloc(f"{slot}_in", Space.UB, rows, source.dtype)
        late = reads != writes and self.filled_late(source.dtype)
        if reads != writes and not late:
            kb.vec("dup", kb.view(ub), imm=movement.fill)
        loaded = kb.view(source, src + part.src_offset, reads, tuple(d.src for d in dims))
        kb.copy(kb.view(ub, 0, reads, ub.strides), loaded)
        if late:
            ub = self.filled(slot, ub, reads)
        out = kb.view(kb.args[-1], dst + part.dst_offset, writes, tuple(d.dst for d in dims))
        kb.copy(out, kb.view(self.converted(slot, ub, writes), 0, writes))

    def turn(self, slot: str, source: Buf, dims: tuple[Dim, ...], src: Expr, dst: Expr) -> None:
        """A tile whose last two axes change places on the way."""
        kb, movement, part = self.kb, self.movement, self.plan.part
        *outer, p, q = dims
        if p.src != 1:
            p, q = q, p
        lead = tuple(d.write for d in outer)
        rows, columns = _round16(q.write), _round16(p.write)
        ub = kb.alloc(f"{slot}_in", Space.UB, (*lead, rows, columns), source.dtype)
        narrow = _bytes(source.dtype, movement.dtype)
        gaps = any(d.read != d.write for d in dims)
        late = narrow or (gaps and source.dtype.bytes != 2 and self.filled_late(source.dtype))
        if gaps and not late:
            kb.vec("dup", kb.view(ub), imm=movement.fill)
        reads = (*(d.read for d in outer), q.read, p.read)
        strides = (*(d.src for d in outer), q.src, p.src)
        loaded = kb.view(source, src + part.src_offset, reads, strides)
        kb.copy(kb.view(ub, 0, reads, ub.strides), loaded)
        # Turned while it has 16 bits: converted before or after.
        ready = self.converted(slot, ub) if ub.dtype.bytes != 2 and not late else ub
        if late:
            ready = self.filled(slot, ub, reads)
        turned = kb.alloc(f"{slot}_turned", Space.UB, (*lead, columns, rows), ready.dtype)
        kb.vec("transpose", kb.view(turned), kb.view(ready))
        final = self.converted(slot, turned)
        writes = (*lead, p.write, q.write)
        steps = (*(d.dst for d in outer), p.dst, q.dst)
        out = kb.view(kb.args[-1], dst + part.dst_offset, writes, steps)
        kb.copy(out, kb.view(final, 0, writes, final.strides))

    def filled_late(self, source: DType) -> bool:
        """Whether a tile is filled up as it is converted: loads wait for no filling then, and less is converted."""
        floats = DType.F16, DType.F32
        other = source is not self.movement.dtype
        return _bytes(source, self.movement.dtype) or (other and source in floats and self.movement.dtype in floats)

    def filled(self, slot: str, ub: Buf, reads: tuple[int, ...]) -> Buf:
        """The `reads` elements of a tile in the result's type, filled up; bytes as fp16, since the Vector writes no number to
        bytes but by conversion."""
        kb, narrow = self.kb, _bytes(ub.dtype, self.movement.dtype)
        name, dtype = (f"{slot}_half", DType.F16) if narrow else (f"{slot}_conv", self.movement.dtype)
        other = kb.alloc(name, Space.UB, ub.shape, dtype)
        if reads != ub.shape:
            kb.vec("dup", kb.view(other), imm=self.movement.fill)
        kb.vec("conv", kb.view(other, 0, reads, ub.strides), kb.view(ub, 0, reads, ub.strides))
        return other

    def converted(self, slot: str, ub: Buf, sizes: tuple[int, ...] | None = None) -> Buf:
        """The tile, or so much of it, in the result's element type."""
        if ub.dtype is self.movement.dtype:
            return ub
        other = self.kb.alloc(f"{slot}_conv", Space.UB, ub.shape, self.movement.dtype)
        self.kb.vec("conv", self.kb.view(other, 0, sizes), self.kb.view(ub, 0, sizes))
        return other
