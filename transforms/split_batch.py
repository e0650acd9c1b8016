"""Let layers take a large batch in parts, one part through several layers before the next, so that maps stay in the L2.

    %1 = ge.conv2d %0, %w : tensor<32x...>        %a = ge.slice %0 [0:4]      %b = ge.slice %0 [4:8]    ...
    %2 = ge.conv2d %1, %v : tensor<32x...>   ->   %1 = ge.conv2d %a, %w       %3 = ge.conv2d %b, %w
                                                  %2 = ge.conv2d %1, %v       %4 = ge.conv2d %3, %v
                                                  %y = ge.concat %2, %4, ... {axis = 0}

Slices and concats along the batch are views of what lies in memory, so they cost nothing. `planning/batch_parts.py` tells
which layers, and how many parts: where the batch as a whole would move its maps through the DDR. Every image is computed
as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from graph_engine.dialects.ge.channels import ChannelShuffleOp, DepthToSpaceOp
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import DYNAMIC, GeOp, Tensor, Trait, elements_of, shape_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.normalization import LrnOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp
from graph_engine.dialects.layout import TransDataOp, storage_bytes
from graph_engine.planning.batch_parts import BatchTask, Memory, batch_parts
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import CountedRewriter, RewriteContext
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.pass_base import EXACT, GePass
from graph_engine.transforms.remarks import passed
from graph_engine.transforms.retyping import rebuilt

CUBE_SHARE = 0.7
"""Of the Cube's peak that a convolution of large maps reaches."""

STARTS = 3.0
"""A task of a part costs so many starts: with its launch, cores wait for what nothing hides, first loads and last stores."""


def images_of(op: Operation) -> int:
    """How many images `op` treats one by one, along the first axis of all that it moves; 0 where it does something else."""
    if len(op.results) != 1 or len(shape_of(op.results[0])) != 4 or op.regions and not isinstance(op, FusedOp):
        return 0
    images = shape_of(op.results[0])[0]
    moving = {value for value in op.operands if _is_map(value, images)}
    if images == DYNAMIC or not moving:
        return 0
    if not isinstance(op, FusedOp):
        return images if _by_image(op, moving, images) else 0
    inside: set[SSAValue] = {arg for arg, value in zip(op.block.args, op.inputs, strict=True) if value in moving}
    for inner in op.block.ops:
        if inner is not op.terminator and any(value in inside for value in inner.operands):
            if not _by_image(inner, inside, images):
                return 0
            inside.update(inner.results)
    return images if all(value in inside for value in op.terminator.values) else 0


def _is_map(value: SSAValue, images: int) -> bool:
    shape = shape_of(value)
    return len(shape) == 4 and shape[0] == images and not isinstance(value.owner, ConstantOp)


def _by_image(op: Operation, moving: set[SSAValue], images: int) -> bool:
    """Whether an image of the result needs the same images of `moving` alone, and whatever else there is as a whole."""
    if any(len(shape_of(value)) != 4 or shape_of(value)[0] != images for value in op.results):
        return False
    whole = [value for value in op.operands if value not in moving]
    match op:
        case Conv2dOp():
            return op.x in moving and len(whole) == len(op.operands) - 1
        case ConcatOp():
            return not whole and op.axis.value.data % 4 != 0
        case SliceOp():
            return all(axis % 4 for axis in op.ints("axes"))
        case PadOp():
            return not whole and op.ints("pads")[0] == op.ints("pads")[4] == 0
        case TransDataOp() | ChannelShuffleOp() | DepthToSpaceOp() | LrnOp():
            return True
        case GeOp():
            if op.has(Trait.POOL):
                return not whole
            return op.has(Trait.ELEMENTWISE) and all(len(shape_of(v)) < 4 or shape_of(v)[0] == 1 for v in whole)
        case _:
            return False


def work_us(op: Operation, soc: Soc) -> float:
    """About the microseconds that the engines work: Cube, Vector, or moves through the L2."""
    inner = list(op.block.ops)[:-1] if isinstance(op, FusedOp) else [op]
    tile_m, tile_k, tile_n = soc.cube.tile["f16"]
    products = 0
    for conv in inner:
        if isinstance(conv, Conv2dOp):
            taps, inputs, group = prod(shape_of(conv.w)[2:]), shape_of(conv.w)[1], conv.group.value.data
            fewest = tile_k if group > 1 else 1  # groups share fractals
            products += -(-elements_of(conv.results[0]) // tile_n) * taps * -(-max(inputs, fewest) // tile_k) // tile_m
    cube = products / CUBE_SHARE
    vector = (4 + len(inner)) * elements_of(op.results[0]) * 4 / soc.vector.repeat_bytes
    moved = sum(map(_bytes, {*op.operands, *op.results})) / soc.l2.total_bytes_per_cycle
    return max(cube / soc.cores.aic, vector / soc.cores.aic, moved) / soc.freq_mhz.cube


def _bytes(value: SSAValue) -> int:
    return storage_bytes(cast(Tensor, value.type))


def _described(ops: Sequence[Operation], soc: Soc) -> tuple[list[BatchTask], list[int]]:
    """The operators as tasks over numbered maps, and the bytes of the maps."""
    numbers: dict[SSAValue, int] = {}
    sizes: list[int] = []

    def number(value: SSAValue) -> int:
        if value not in numbers:
            numbers[value] = len(sizes)
            sizes.append(_bytes(value))
        return numbers[value]

    tasks: list[BatchTask] = []
    for op in ops:
        constants = {value for value in op.operands if isinstance(value.owner, ConstantOp)}
        reads = tuple(number(value) for value in dict.fromkeys(op.operands) if value not in constants)
        writes = tuple(map(number, op.results))
        images = images_of(op)
        tasks.append(BatchTask(reads, writes, sum(map(_bytes, constants)), work_us(op, soc) if images else 0.0, images))
    return tasks, sizes


def split(rewriter: CountedRewriter, run: Sequence[Operation], count: int) -> None:
    """Replaces a run of operators by `count` copies of it, each on its part of the images."""
    images = images_of(run[0])
    size = images // count
    members = set(run)
    made = [value for op in run for value in op.results]
    parts: dict[SSAValue, list[SSAValue]] = {
        value: [] for value in made if any(use.operation not in members for use in value.uses)
    }
    for begin in range(0, images, size):
        values: dict[SSAValue, SSAValue] = {}
        for op in run:
            for value in op.operands:
                if value not in values and value.owner not in members and _is_map(value, images):
                    cut = SliceOp(
                        value, starts=[begin], ends=[begin + size], axes=[0], steps=[1], result_type=_of(value, size)
                    )
                    cut.location = op.location
                    rewriter.insert(cut)
                    values[value] = cut.result
            operands = [values.get(value, value) for value in op.operands]
            copy = rebuilt(op, operands, lambda inner, new: _types(inner, new, size))
            rewriter.insert(copy)
            values.update(zip(op.results, copy.results, strict=True))
        for value, found in parts.items():
            found.append(values[value])
    for value, found in parts.items():
        whole = ConcatOp(found, axis=0, result_type=cast(Tensor, value.type))
        whole.location = cast(Operation, value.owner).location
        rewriter.insert(whole)
        value.replace_all_uses_with(whole.result)
    for op in reversed(run):
        rewriter.erase(op)


def _types(op: Operation, operands: Sequence[SSAValue], size: int) -> Sequence[Attribute]:
    """Result types of an operator of whose operands some are parts."""
    moved = any(new.type != old.type for new, old in zip(operands, op.operands, strict=True))
    return [_of(value, size) if moved else value.type for value in op.results]


def _of(value: SSAValue, images: int) -> Tensor:
    """The type of so many images of a map."""
    ty = cast(Tensor, value.type)
    return tensor_type((images, *shape_of(value)[1:]), ty.element_type, ty.encoding)


def _static(ops: Iterable[Operation]) -> bool:
    return all(
        DYNAMIC not in shape_of(value) for value in chain.from_iterable((*op.operands, *op.results) for op in ops)
    )


@dataclass(frozen=True)
class SplitBatch(GePass):
    """Let layers take a large batch in parts, one part through several layers before the next, so that maps stay in the L2."""

    name = "split-batch"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose L2 and DDR decide"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        soc, context = load_soc(self.soc), RewriteContext.current()
        memory = Memory(soc.buffers["l2"], soc.ddr.total_bytes_per_s / 1e6, STARTS * soc.overheads.kernel_task_us)
        for block in graphs(op):
            self._split_graph(block, soc, memory, context)

    def _split_graph(self, block: Block, soc: Soc, memory: Memory, context: RewriteContext) -> None:
        ops = [op for op in block.ops if not isinstance(op, ConstantOp | ReturnOp)]
        if not _static(ops):
            return
        tasks, sizes = _described(ops, soc)
        if sum(sizes) <= memory.l2 or not any(task.images > 1 for task in tasks):
            return
        for parts in batch_parts(tasks, sizes, memory):
            run = ops[parts.begin : parts.end]
            if context.exhausted or not context.allows(self.name):
                return
            passed("Parts", run[0], f"{len(run)} layers take {tasks[parts.begin].images} images in {parts.count} parts")
            with context.rewrite(self.name, [run[-1], *run[:-1]]) as rewriter:
                split(rewriter, run, parts.count)
