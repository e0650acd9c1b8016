"""Movement kernels: TransData between any two strided formats, transpose, concat, slice, constant pad, repetition, cast.

Every storage format that is a strided form of the logical axes, possibly with an axis cut into blocks of c0, is
described by `storage`; a conversion is then a list of boxes that both sides can stride over. What stays in NC1HWC0:
`channel_blocks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.channels import ChannelShuffleOp, DepthToSpaceOp
from graph_engine.dialects.ge.core import GeOp, shape_of
from graph_engine.dialects.ge.heads import MergeHeadsOp, SplitHeadsOp
from graph_engine.dialects.ge.repetition import ExpandOp, TileOp
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp, TransposeOp
from graph_engine.dialects.ge.upsampling import MOST_COPIES, repetitions
from graph_engine.dialects.layout import NC1HWC0, NC1HWC0C04, TransDataOp, encoding_of, is_plain, physical_shape
from graph_engine.lowering.kernels.channel_shuffle import ShuffleShape, build_channel_shuffle
from graph_engine.lowering.kernels.elementwise import Elementwise, build_elementwise
from graph_engine.lowering.kernels.interleave import Planes, build_interleave
from graph_engine.lowering.kernels.movement import Movement, Part, build_movement, normalise
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.kernels.streams import Stream
from graph_engine.lowering.kernels.vector_steps import takes
from graph_engine.lowering.selection.boxes import Axis, boxes, joins_blocks, lanes_last, padding, storage
from graph_engine.lowering.selection.channel_blocks import feature_map_parts
from graph_engine.lowering.selection.choice import Choice, ConstantArgument, dtype_of_tensor, require_static, tensor
from graph_engine.target_ascend.isa.model import DType

TYPES = {
    "layout.transdata": "TransData",
    "ge.transpose": "TransposeD",
    "ge.split_heads": "ConfusionTransposeD",
    "ge.merge_heads": "ConfusionTransposeD",
    "ge.concat": "ConcatD",
    "ge.pad": "PadD",
    "ge.slice": "SliceD",
    "ge.tile": "TileD",
    "ge.expand": "ExpandD",
    "ge.resize": "ResizeNearestNeighborV2",
    "ge.channel_shuffle": "ShuffleChannel",
    "ge.depth_to_space": "DepthToSpace",
}
"""Operators that `select_movement` serves, and the profile's names of them."""
MOVEMENT_OPERATORS = tuple(TYPES)


def select_movement(op: Operation) -> Choice:
    """The kernel of a movement operator. Raises NoKernel with the reason if there is none."""
    require_static(*(tensor(v) for v in (*op.operands, *op.results)))
    y = tensor(op.results[0])
    if isinstance(op, TileOp | ExpandOp) and is_plain(y) and is_plain(tensor(op.operands[0])):
        times = repeated(op)
        if prod(times) > MOST_COPIES:
            return _broadcast(op, times)
    if isinstance(op, ChannelShuffleOp) and not is_plain(y):
        return _shuffle(op)
    if isinstance(op, TransDataOp) and isinstance(encoding_of(y), NC1HWC0C04) and is_plain(tensor(op.x)):
        return _interleave(op)
    values = op.attribute_values() if isinstance(op, GeOp) else {}
    fill = float(values["value"]) if isinstance(op, PadOp) else 0.0
    shared = 0
    parts: list[Part] = []

    def add(source: int, src: Sequence[Axis], dst: Sequence[Axis], src_at: int = 0, dst_at: int = 0) -> None:
        for s, d, dims in boxes(src, dst):
            parts.append(Part(source, s + src_at, d + dst_at, dims))

    target = storage(y)
    x = storage(tensor(op.operands[0]))
    match op:
        case GeOp() if all(isinstance(encoding_of(v.type), NC1HWC0) for v in (*op.operands, *op.results)):
            parts, shared = feature_map_parts(op)
        case TransDataOp():
            add(0, x, target)
            if joins_blocks(x, target):  # their lanes come last; pixels are dealt, which are 32 bytes apart
                parts[:] = [replace(p, dims=(*normalise(p.dims[:-1]), p.dims[-1])) for p in map(lanes_last, parts)]
                shared = target[-1].stride
        case TransposeOp():
            add(0, [x[i] for i in values["perm"]], target)
        case SplitHeadsOp():
            *batch, rows, columns = x
            add(0, [*batch, *_cut(columns, op.heads.value.data, rows)], target)
        case MergeHeadsOp():
            *batch, rows, columns = target
            add(0, x, [*batch, *_cut(columns, shape_of(op.x)[-3], rows)])
        case ChannelShuffleOp():
            groups, each = op.groups.value.data, x[1].size // op.groups.value.data
            cut = [Axis(groups, x[1].stride * each, groups), Axis(each, x[1].stride, each)]
            dealt = [Axis(groups, target[1].stride, groups), Axis(each, target[1].stride * groups, each)]
            add(0, [x[0], *cut, *x[2:]], [target[0], *dealt, *target[2:]])
        case DepthToSpaceOp():
            rows, columns = op.ints("blocks")
            places = (("i", rows), ("j", columns), ("c", target[1].size))
            places = places if op.mode.data == "DCR" else (*places[2:], *places[:2])
            cut = dict(zip((name for name, _ in places), _split(x[1], [size for _, size in places]), strict=True))
            spread = [_split(target[2], [x[2].size, rows]), _split(target[3], [x[3].size, columns])]
            add(0, [x[0], cut["c"], x[2], cut["i"], x[3], cut["j"]], [*target[:2], *spread[0], *spread[1]])
        case ConcatOp():
            _concat(op, values["axis"] % len(target), target, add)
        case SliceOp():
            axes, offset = _slice(values, x, target)
            add(0, axes, target, offset)
        case TileOp() | ExpandOp():
            _repeat(x, target, add)
        case ResizeOp():
            _spread(op, x, target, add)
        case PadOp():
            parts.extend(padding(values["pads"], x, target))
        case _:
            raise NoKernel(f"{op.name} is no movement")
    sources = tuple((physical_shape(tensor(v)), dtype_of_tensor(tensor(v))) for v in op.operands)
    movement = Movement(sources, physical_shape(y), dtype_of_tensor(y), tuple(parts), fill, shared)
    if any(d is not movement.dtype for _, d in sources) and not isinstance(op, TransDataOp):
        raise NoKernel("a movement other than TransData keeps the element type")
    inputs: list[SSAValue | ConstantArgument] = list(op.operands)
    name = op.name.split(".")[1]
    return Choice(
        ("movement", movement), name, TYPES[op.name], lambda name, soc: build_movement(name, movement, soc), inputs
    )


def _cut(columns: Axis, heads: int, rows: Axis) -> tuple[Axis, Axis, Axis]:
    """Heads, rows, and the columns of one head."""
    if columns.block:
        raise NoKernel("heads of fractals that are not whole blocks")
    each = columns.size // heads
    return Axis(heads, each * columns.stride, heads), rows, Axis(each, columns.stride, each)


def _split(axis: Axis, sizes: Sequence[int]) -> list[Axis]:
    """A plain axis as several, the last one innermost."""
    if axis.block:
        raise NoKernel("pixels of channels that are cut into blocks")
    return [Axis(n, axis.stride * step, n) for n, step in zip(sizes, row_major(sizes), strict=True)]


def _shuffle(op: ChannelShuffleOp) -> Choice:
    """Of a feature map in NC1HWC0."""
    x, y = tensor(op.x), tensor(op.result)
    if dtype_of_tensor(x) is not DType.F16 or not all(isinstance(encoding_of(v), NC1HWC0) for v in (x, y)):
        raise NoKernel("the shuffle of channels works on fp16 in NC1HWC0")
    shape = ShuffleShape(physical_shape(x), x.get_shape()[1], op.groups.value.data)
    return Choice(
        ("channel_shuffle", shape),
        "channel_shuffle",
        TYPES[op.name],
        lambda name, soc: build_channel_shuffle(name, shape, soc),
        [op.x],
    )


def _interleave(op: TransDataOp) -> Choice:
    """Of planes to pixels of four channels."""
    x, y = tensor(op.x), tensor(op.y)
    if dtype_of_tensor(x) not in (DType.F32, DType.F16) or dtype_of_tensor(y) is not DType.F16:
        raise NoKernel("pixels of four channels are fp16, of fp16 or fp32")
    n, c, h, w = x.get_shape()
    planes = Planes(n, c, h * w, dtype_of_tensor(x))
    return Choice(
        ("interleave", planes),
        "transdata",
        TYPES[op.name],
        lambda name, soc: build_interleave(name, planes, soc),
        [op.x],
    )


def _concat(op: ConcatOp, axis: int, target: list[Axis], add: Callable[..., None]) -> None:
    own = target[axis]
    if own.block:
        raise NoKernel("a concatenation of a blocked axis")
    at = 0
    for i, value in enumerate(op.operands):
        part = storage(tensor(value))
        size = part[axis].size
        add(i, part, [*target[:axis], Axis(size, own.stride, size), *target[axis + 1 :]], 0, at * own.stride)
        at += size


def _slice(values: dict[str, list[int]], x: list[Axis], target: list[Axis]) -> tuple[list[Axis], int]:
    offset = 0
    axes = list(x)
    for axis, start, end, step in zip(*(values[key] for key in ("axes", "starts", "ends", "steps")), strict=True):
        axis %= len(x)
        own = x[axis]
        taken = range(*slice(start, end, step).indices(own.size))
        if own.block:
            first, size = taken.start, len(taken)
            if step != 1 or first % own.block or (size % own.block and first + size != own.size):
                raise NoKernel("a slice that cuts a block")
            offset += first // own.block * own.outer
            axes[axis] = replace(own, size=size)
            continue
        if not taken:
            raise NoKernel("a slice without elements")
        offset += taken[0] * own.stride
        axes[axis] = Axis(len(taken), own.stride * step, len(taken))
    return axes, offset


def repeated(op: TileOp | ExpandOp) -> list[int]:
    """How often x stands in the result along each of its axes."""
    result = shape_of(op.results[0])
    x = (1,) * (len(result) - len(shape_of(op.operands[0]))) + shape_of(op.operands[0])
    return [new // max(old, 1) for new, old in zip(result, x, strict=True)]


def _broadcast(op: TileOp | ExpandOp, times: list[int]) -> Choice:
    """Many copies of a plain tensor: read with stride 0 along an axis of copies in front of every axis."""
    x = tensor(op.operands[0])
    dtype = dtype_of_tensor(x)
    if not takes("ge.cast", [dtype], dtype):
        raise NoKernel(f"the Vector copies no elements of type {dtype.mlir}")
    shape = (1,) * (len(times) - len(shape_of(op.operands[0]))) + shape_of(op.operands[0])
    space = tuple(n for pair in zip(times, shape, strict=True) for n in pair)
    strides = tuple(n for step in row_major(shape) for n in (0, step))
    group = Elementwise.of(
        [Stream(physical_shape(x), dtype, strides)], space, dtype, [Step("ge.cast", (0,), (), dtype)]
    )
    return Choice(
        ("elementwise", group),
        op.name.removeprefix("ge."),
        TYPES[op.name],
        lambda name, soc: build_elementwise(name, group, soc),
        list(op.operands),
    )


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


def _spread(op: ResizeOp, x: list[Axis], target: list[Axis], add: Callable[..., None]) -> None:
    """One box for every copy of x, whose elements lie as far apart in the result as they are repeated."""
    times = repetitions(op)
    if times is None or prod(times) > MOST_COPIES:
        raise NoKernel(f"a resize that does more than to repeat elements up to {MOST_COPIES} times")
    piece = [Axis(s.size, t.stride * n, s.size) for s, t, n in zip(x, target, times, strict=True)]
    for copy in product(*map(range, times)):
        add(0, x, piece, 0, sum(k * t.stride for k, t in zip(copy, target, strict=True)))
