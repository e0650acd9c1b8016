"""Movement kernels: TransData between any two strided formats, transpose, concat, slice, constant pad, repetition, cast.

Every storage format that is a strided form of the logical axes, possibly with an axis cut into blocks of c0, is
described by `storage`; a conversion is then a list of boxes that both sides can stride over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.memory import row_major
from graph_engine.dialects.ge.core import GeOp, Tensor
from graph_engine.dialects.ge.repetition import ExpandOp, TileOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp, TransposeOp
from graph_engine.dialects.layout import (
    NC1HWC0,
    FractalNZ,
    FractalZ,
    FractalZKN,
    TransDataOp,
    encoding_of,
    is_plain,
    physical_shape,
)
from graph_engine.lowering.kernels.movement import Dim, Movement, Part, build_movement
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import Choice, ConstantArgument, dtype_of_tensor, require_static, tensor

MOVEMENT_OPERATORS = ("layout.transdata", "ge.transpose", "ge.concat", "ge.pad", "ge.slice", "ge.tile", "ge.expand")
"""Operators that `select_movement` serves."""
MOST_COPIES = 16
"""A tensor that is repeated more often than this gets no movement kernel: each copy is a part of its own."""


@dataclass(frozen=True)
class Axis:
    """A logical axis as stored: `size` elements `stride` apart; or, with `block`, blocks of that many elements,
    `outer` apart, elements `stride` apart inside. `padded`: elements that are stored, blocks aside."""

    size: int
    stride: int
    padded: int
    block: int = 0
    outer: int = 0


def storage(ty: Tensor) -> list[Axis]:
    """The logical axes of a stored tensor. Raises NoKernel for a format that is no strided form of them."""
    shape = ty.get_shape()
    if is_plain(ty):
        return [Axis(n, s, n) for n, s in zip(shape, row_major(shape), strict=True)]
    encoding = encoding_of(ty)
    stored = physical_shape(ty)
    strides = row_major(stored)
    if isinstance(encoding, NC1HWC0):
        channel = Axis(shape[1], 1, 0, stored[-1], strides[1])
        rest = [Axis(n, s, n) for n, s in zip(shape[2:], strides[2:4], strict=False)]
        return [Axis(shape[0], strides[0], shape[0]), channel, *rest]
    rows, columns = stored[-3] * 16, stored[-1]
    if isinstance(encoding, FractalNZ) and len(shape) >= 2:
        batch = [Axis(n, s, n) for n, s in zip(shape[:-2], strides, strict=False)]
        return [*batch, Axis(shape[-2], columns, rows), Axis(shape[-1], 1, 0, columns, strides[-4])]
    if isinstance(encoding, FractalZ | FractalZKN) and len(shape) == 2:
        k = Axis(shape[0 if isinstance(encoding, FractalZKN) else 1], 1, 0, columns, strides[0])
        n = Axis(shape[1 if isinstance(encoding, FractalZKN) else 0], columns, rows)
        return [k, n] if isinstance(encoding, FractalZKN) else [n, k]
    raise NoKernel(f"{encoding.FORM.name} is no strided form of the logical axes")


def boxes(src: Sequence[Axis], dst: Sequence[Axis]) -> list[tuple[int, int, tuple[Dim, ...]]]:
    """(source offset, result offset, dims) of the boxes that make up a conversion, axis by axis."""
    choices: list[list[tuple[int, int, tuple[Dim, ...]]]] = []
    for s, d in zip(src, dst, strict=True):
        blocks = {axis.block for axis in (s, d) if axis.block}
        if not blocks:
            choices.append([(0, 0, (Dim(s.size, d.padded, s.stride, d.stride),))])
            continue
        if len(blocks) > 1:
            raise NoKernel("the two formats cut an axis into blocks of different sizes")
        block = blocks.pop()
        s_outer, d_outer = (axis.outer if axis.block else axis.stride * block for axis in (s, d))
        full, tail = divmod(s.size, block)
        options: list[tuple[int, int, tuple[Dim, ...]]] = []
        if full:
            options.append((0, 0, (Dim(full, full, s_outer, d_outer), Dim(block, block, s.stride, d.stride))))
        if tail:
            written = block if d.block else tail
            options.append((full * s_outer, full * d_outer, (Dim(tail, written, s.stride, d.stride),)))
        choices.append(options)
    found: list[tuple[int, int, tuple[Dim, ...]]] = []
    for combination in product(*choices):
        dims = tuple(dim for option in combination for dim in option[2])
        found.append((sum(o[0] for o in combination), sum(o[1] for o in combination), dims))
    return found


def select_movement(op: Operation) -> Choice:
    """The kernel of a movement operator. Raises NoKernel with the reason if there is none."""
    require_static(*(tensor(v) for v in (*op.operands, *op.results)))
    y = tensor(op.results[0])
    values = op.attribute_values() if isinstance(op, GeOp) else {}
    fill = 0.0
    parts: list[Part] = []

    def add(source: int, src: Sequence[Axis], dst: Sequence[Axis], src_at: int = 0, dst_at: int = 0) -> None:
        for s, d, dims in boxes(src, dst):
            parts.append(Part(source, s + src_at, d + dst_at, dims))

    target = storage(y)
    x = storage(tensor(op.operands[0]))
    match op:
        case TransDataOp():
            add(0, x, target)
        case TransposeOp():
            add(0, [x[i] for i in values["perm"]], target)
        case ConcatOp():
            _concat(op, values["axis"] % len(target), target, add)
        case SliceOp():
            axes, offset = _slice(values, x, target)
            add(0, axes, target, offset)
        case TileOp() | ExpandOp():
            _repeat(x, target, add)
        case PadOp():
            fill = float(values["value"])
            parts.extend(_padding(values["pads"], x, target))
        case _:
            raise NoKernel(f"{op.name} is no movement")
    sources = tuple((physical_shape(tensor(v)), dtype_of_tensor(tensor(v))) for v in op.operands)
    movement = Movement(sources, physical_shape(y), dtype_of_tensor(y), tuple(parts), fill)
    if any(d is not movement.dtype for _, d in sources) and not isinstance(op, TransDataOp):
        raise NoKernel("a movement other than TransData keeps the element type")
    inputs: list[SSAValue | ConstantArgument] = list(op.operands)
    kind = op.name.split(".")[1]
    profile = {
        "transdata": "TransData",
        "transpose": "TransposeD",
        "concat": "ConcatD",
        "pad": "PadD",
        "slice": "SliceD",
        "tile": "TileD",
        "expand": "ExpandD",
    }
    return Choice(
        ("movement", movement), kind, profile[kind], lambda name, soc: build_movement(name, movement, soc), inputs
    )


def _concat(op: ConcatOp, axis: int, target: list[Axis], add: Callable[..., None]) -> None:
    at = 0
    block = target[axis].block
    for i, value in enumerate(op.operands):
        part = storage(tensor(value))
        size = part[axis].size
        if block and (at % block or (size % block and i + 1 < len(op.operands))):
            raise NoKernel(f"a part does not start at a multiple of {block} on the concatenated axis")
        offset = at // block * target[axis].outer if block else at * target[axis].stride
        piece = list(target)
        own = target[axis]
        piece[axis] = Axis(size, own.stride, size if not block else 0, block, own.outer)
        add(i, part, piece, 0, offset)
        at += size


def _slice(values: dict[str, list[int]], x: list[Axis], target: list[Axis]) -> tuple[list[Axis], int]:
    offset = 0
    axes = list(x)
    for axis, start, end, step in zip(*(values[key] for key in ("axes", "starts", "ends", "steps")), strict=True):
        axis %= len(x)
        own = x[axis]
        taken = range(*slice(start, end, step).indices(own.size))
        if own.block:
            raise NoKernel("a slice of the blocked channel axis")
        if step < 0 or not taken:
            raise NoKernel("a slice with a negative step or without elements")
        offset += taken[0] * own.stride
        axes[axis] = Axis(len(taken), own.stride * step, len(taken))
    return axes, offset


def _repeat(x: list[Axis], target: list[Axis], add: Callable[..., None]) -> None:
    """One box for every copy of x in the result."""
    x = [Axis(1, 1, 1)] * (len(target) - len(x)) + x
    if any(t.block and t.size != s.size for s, t in zip(x, target, strict=True)):
        raise NoKernel("a repetition of the blocked channel axis")
    repeats = [t.size // max(s.size, 1) for s, t in zip(x, target, strict=True)]
    if not 0 < prod(repeats) <= MOST_COPIES:
        raise NoKernel(f"a repetition {prod(repeats)} times; up to {MOST_COPIES} copies are moved")
    piece = [t if n == 1 else Axis(s.size, t.stride, s.size) for s, t, n in zip(x, target, repeats, strict=True)]
    for copy in product(*map(range, repeats)):
        add(0, x, piece, 0, sum(k * s.size * t.stride for k, s, t in zip(copy, x, target, strict=True)))


def _padding(pads: list[int], x: list[Axis], target: list[Axis]) -> list[Part]:
    """Fills the borders, axis by axis, then copies the interior; the boxes do not overlap."""
    rank = len(x)
    before, after = pads[:rank], pads[rank:]
    if any(p < 0 for p in pads):
        raise NoKernel("negative pads")
    if any(axis.block and (before[i] or after[i]) for i, axis in enumerate(target)):
        raise NoKernel("padding of the blocked channel axis")
    parts: list[Part] = []
    ranges = [(0, axis.size) for axis in target]
    for i, axis in enumerate(target):
        for lo, hi in ((0, before[i]), (axis.size - after[i], axis.size)):
            if hi > lo:
                box = [*ranges[:i], (lo, hi), *ranges[i + 1 :]]
                pieces = [Axis(b - a, t.stride, b - a, t.block, t.outer) for (a, b), t in zip(box, target, strict=True)]
                at = sum(a * t.stride for (a, _), t in zip(box, target, strict=True) if not t.block)
                parts += [Part(None, 0, at + d, dims) for _, d, dims in boxes(pieces, pieces)]
        ranges[i] = (before[i], axis.size - after[i])
    inner = [Axis(b - a, t.stride, b - a, t.block, t.outer) for (a, b), t in zip(ranges, target, strict=True)]
    at = sum(a * t.stride for (a, _), t in zip(ranges, target, strict=True) if not t.block)
    return parts + [Part(0, s, at + d, dims) for s, d, dims in boxes(x, inner)]
