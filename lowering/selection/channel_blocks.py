"""Movements of feature maps that stay in NC1HWC0: slices, concats, pads, repetitions, channels that become pixels.

Pixels are copied as they are stored, C0 lanes at a time, padding included. Channels that do not start at a multiple of
C0 change lanes: a run of them falls into boxes of lanes that lie in one block on both sides.

    concat of 24 + 24 channels:  0..15 -> 0..15   16..23 -> 16..23   0..7 -> 24..31   8..15 -> 32..39   16..23 -> 40..47
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from graph_engine.dialects.ge.channels import DepthToSpaceOp
from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp
from graph_engine.dialects.ge.upsampling import repetitions
from graph_engine.lowering.kernels.movement import Dim, Part, normalise
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.boxes import Axis, padding, storage
from graph_engine.lowering.selection.choice import tensor


@dataclass(frozen=True)
class Run:
    """`count` channels from `start` on in the source, from `at` on in the result."""

    start: int
    at: int
    count: int


def feature_map_parts(op: GeOp) -> tuple[list[Part], int]:
    """The parts of a movement whose operands and result are all NC1HWC0, and what `Movement.shared` is.

    Raises NoKernel for an operator that does not serve here.
    """
    target = storage(tensor(op.results[0]))
    parts: list[Part] = []
    match op:
        case SliceOp():
            parts += _slice(op, storage(tensor(op.x)), target)
        case ConcatOp():
            parts += _concat(op, target)
        case PadOp():
            parts += _pad(op, storage(tensor(op.x)), target)
        case ResizeOp():
            parts += _repeat(op, storage(tensor(op.x)), target)
        case DepthToSpaceOp():
            parts += _depth_to_space(op, storage(tensor(op.x)), target)
        case _:
            raise NoKernel(f"{op.name} has no NC1HWC0 kernel")
    if all(part.dims[-1].write == target[1].block for part in parts):
        return parts, 0
    if isinstance(op, DepthToSpaceOp):
        rows, columns = op.ints("blocks")
        by_rows = rows > 1 and tensor(op.x).get_shape()[2] > 1
        return parts, target[2].stride * rows if by_rows else target[3].stride * columns
    pixels = target[2].size * target[3].size
    return parts, target[1].block if pixels > 1 else -1


def _move(
    source: int, src: Sequence[Axis], dst: Sequence[Axis], run: Run, src_at: int = 0, dst_at: int = 0
) -> list[Part]:
    """Channels of all pixels of `src`, axes as (n, c, h, w)."""
    axes = [Dim(s.size, s.size, s.stride, d.stride) for s, d in zip(src, dst, strict=True)]
    pixels = normalise(axes[2:])
    return [
        Part(source, s + src_at, d + dst_at, (axes[0], blocks, *pixels, lanes))
        for s, d, blocks, lanes in _boxes(src[1], dst[1], run)
    ]


def _boxes(src: Axis, dst: Axis, run: Run) -> list[tuple[int, int, Dim, Dim]]:
    """(source offset, result offset, blocks, lanes) of the boxes that make up a run.

    The one that ends the result inside a block takes along the source's padding if lanes stay in their places and the
    source ends there as well; else the rest of the block is filled.
    """
    block = src.block
    places: dict[tuple[int, int, int, int], list[int]] = {}
    done = 0
    while done < run.count:
        s, d = (run.start + done) % block, (run.at + done) % block
        read = written = min(block - s, block - d, run.count - done)
        if done + read == run.count and run.at + run.count == dst.size:
            written = block - d
            read = written if s == d and run.start + run.count == src.size else read
        places.setdefault((s, d, read, written), []).append(done)
        done += read
    return [
        (
            (run.start + first[0]) // block * src.outer + s,
            (run.at + first[0]) // block * dst.outer + d,
            Dim(len(first), len(first), src.outer, dst.outer),
            Dim(read, written, 1, 1),
        )
        for (s, d, read, written), first in places.items()
    ]


def _slice(op: SliceOp, x: list[Axis], target: list[Axis]) -> list[Part]:
    offset, start, axes = 0, 0, list(x)
    for axis, begin, end, step in zip(*(op.ints(key) for key in ("axes", "starts", "ends", "steps")), strict=True):
        axis %= len(x)
        taken = range(*slice(begin, end, step).indices(x[axis].size))
        if step < 0 or not taken or (axis == 1 and step != 1):
            raise NoKernel("a slice with a negative step, without elements, or with a step over channels")
        if axis == 1:
            start = taken[0]
            continue
        offset += taken[0] * x[axis].stride
        axes[axis] = Axis(len(taken), x[axis].stride * step, len(taken))
    return _move(0, axes, target, Run(start, 0, target[1].size), offset)


def _concat(op: ConcatOp, target: list[Axis]) -> list[Part]:
    axis = op.axis.value.data % len(target)
    parts: list[Part] = []
    at = 0
    for i, value in enumerate(op.operands):
        x = storage(tensor(value))
        if axis == 1:
            parts += _move(i, x, target, Run(0, at, x[1].size))
        else:
            parts += _move(i, x, target, Run(0, 0, x[1].size), dst_at=at * target[axis].stride)
        at += x[axis].size
    return parts


def _repeat(op: ResizeOp, x: list[Axis], target: list[Axis]) -> list[Part]:
    times = repetitions(op)
    if times is None or times[:2] != (1, 1):
        raise NoKernel("a resize that does more than to repeat pixels")
    axes = [Dim(x[0].size, x[0].size, x[0].stride, target[0].stride)]
    for s, d, n in zip(x[2:], target[2:], times[2:], strict=True):
        axes += [Dim(s.size, s.size, s.stride, d.stride * n), Dim(n, n, 0, d.stride)]
    lanes = x[1].block
    blocks = -(-x[1].size // lanes)
    return [Part(0, 0, 0, (*axes, Dim(blocks, blocks, x[1].outer, target[1].outer), Dim(lanes, lanes, 1, 1)))]


def _depth_to_space(op: DepthToSpaceOp, x: list[Axis], target: list[Axis]) -> list[Part]:
    """The channels of each pixel of a block, spread over every block."""
    if op.mode.data != "DCR":
        raise NoKernel("the channels of a pixel do not lie side by side")
    rows, columns = op.ints("blocks")
    n, channels, h, w = target
    apart = [n, channels, Axis(x[2].size, h.stride * rows, 0), Axis(x[3].size, w.stride * columns, 0)]
    parts: list[Part] = []
    for i, j in product(range(rows), range(columns)):
        run = Run((i * columns + j) * channels.size, 0, channels.size)
        parts += _move(0, x, apart, run, dst_at=i * h.stride + j * w.stride)
    return parts


def _pad(op: PadOp, x: list[Axis], target: list[Axis]) -> list[Part]:
    """Borders of the plane: whole blocks of channels, padding lanes included, so that pixels move in rows."""
    n, c, h, w, *ends = op.ints("pads")
    if c or ends[1]:
        raise NoKernel("padding of the blocked channel axis")
    pads = [n, 0, h, w, 0, ends[0], 0, ends[2], ends[3], 0]
    return padding(pads, _stored(x), _stored(target))


def _stored(axes: list[Axis]) -> list[Axis]:
    """The axes in the order of the format: n, c1, h, w, c0."""
    n, channel, h, w = axes
    blocks = -(-channel.size // channel.block)
    return [
        n,
        Axis(blocks, channel.outer, blocks),
        h,
        w,
        Axis(channel.block, channel.stride, channel.block),
    ]
