"""Cube kernels: convolution and matrix product, alone or as the anchor of a `ge.fused` with an elementwise tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.attention import Attention, attention_of, heads_of_windows, reads_heads, side_kind
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp, Conv3dOp
from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.gated import beside
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import SliceOp
from graph_engine.dialects.ge.weights import constant_attr, fold_attr
from graph_engine.dialects.layout import (
    NC1HWC0,
    NC1HWC0C04,
    NDC1HWC0,
    FractalNZ,
    FractalZ,
    FractalZ3D,
    FractalZC04,
    FractalZKN,
    encoding_of,
    is_plain,
    physical_shape,
)
from graph_engine.lowering.kernels.attention import LOWEST, build_attention
from graph_engine.lowering.kernels.attention_tiling import AttentionShape, ScoreInput
from graph_engine.lowering.kernels.conv2d import build_conv2d
from graph_engine.lowering.kernels.conv_shape import ConvShape, Depth
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueInput
from graph_engine.lowering.kernels.matmul import MatmulShape, Side, build_matmul
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.kernels.vector_steps import computed
from graph_engine.lowering.kernels.vector_tiling import merge_axes
from graph_engine.lowering.kernels.window_attention import WindowAttentionShape, build_window_attention
from graph_engine.lowering.selection.choice import (
    Choice,
    ConstantArgument,
    Region,
    dtype_of_tensor,
    elementwise_step,
    is_channel_vector,
    is_column_vector,
    region_of,
    require_encoding,
    require_static,
    tensor,
)
from graph_engine.lowering.selection.groups import blocks_of_groups
from graph_engine.lowering.selection.split_k import split_fractals
from graph_engine.lowering.views import is_view
from graph_engine.target_ascend.isa.model import DType
from graph_engine.transforms.cuts_and_joins import part_of


def select_cube(op: Operation) -> Choice:
    """The kernel of a convolution or matrix product. Raises NoKernel with the reason if there is none."""
    region = region_of(op)
    require_static(*(tensor(v) for v in (*op.operands, *op.results)))
    if len(region.yielded) != 1:
        raise NoKernel("a Cube kernel has one result")
    if isinstance(region.anchor, Conv2dOp | Conv3dOp):
        return _convolution(region, region.anchor)
    if (attention := attention_of(op)) is not None:
        return _attention(region, attention)
    if isinstance(region.anchor, MatmulOp):
        return _matmul(region, region.anchor)
    raise NoKernel(f"{region.anchor.name} is no Cube operator")


def epilogue_of(region: Region, anchors: Sequence[Operation], sides: list[SSAValue]) -> Epilogue:
    """Steps after the anchors; appends the side operands outside to `sides`."""
    result = tensor(anchors[0].results[0])
    number_of: dict[SSAValue, int] = {anchor.results[0]: number for number, anchor in enumerate(anchors)}
    first = len(anchors)
    kinds: list[EpilogueInput] = []
    rest = [op for op in region.rest if op not in anchors]
    for op in rest:
        for value in op.operands:
            outside = region.outside(value)
            if outside is None or value in number_of:
                continue
            ty = tensor(value)
            if ty.get_shape() == result.get_shape() and physical_shape(ty) == physical_shape(result):
                kind = "tile"
            elif is_channel_vector(ty, result) or is_column_vector(ty, result):
                kind = "channel"
            elif prod(ty.get_shape()) == 1:
                kind = "scalar"
            else:
                raise NoKernel(f"a side operand of shape {list(ty.get_shape())} does not broadcast in the epilogue")
            number_of[value] = first + len(kinds)
            kinds.append(EpilogueInput(kind, dtype_of_tensor(ty)))
            sides.append(outside)
    steps: list[Step] = []
    for op in rest:
        if any(v not in number_of for v in op.operands):
            raise NoKernel(f"{op.name} stands before the anchor")
        steps.append(elementwise_step(op, number_of))
        number_of[op.results[0]] = first - 1 + len(kinds) + len(steps)
    out = region.yielded[0]
    if number_of.get(out) != first - 1 + len(kinds) + len(steps) and steps:
        raise NoKernel("the result is not that of the last operator")
    return Epilogue(tuple(steps), tuple(kinds), dtype_of_tensor(result), dtype_of_tensor(tensor(out)), first)


def outside_values(region: Region, values: Sequence[SSAValue]) -> list[SSAValue]:
    """The values outside that operands of the anchor stand for. Raises NoKernel if one is computed inside."""
    found: list[SSAValue] = []
    for value in values:
        outside = region.outside(value)
        if outside is None:
            raise NoKernel("an operand of the anchor is computed inside the region")
        found.append(outside)
    return found


def bias_argument(value: SSAValue, channels: int) -> SSAValue | ConstantArgument:
    """The bias in fp32, one value a stored channel: padded with zeros by a recipe where channels are padded."""
    ty: Tensor = tensor(value)
    owner = value.owner
    if ty.element_type == f32 and ty.get_shape() == (channels,):
        return value
    if not isinstance(owner, ConstantOp) or len(ty.get_shape()) != 1:
        raise NoKernel("the bias is no constant vector")
    attribute, count = owner.value, ty.get_shape()[0]
    if ty.element_type != f32:
        ty = tensor_type((count,), f32)
        attribute = fold_attr("ge.cast", [attribute], {"to": "f32"}, ty)
    if count != channels:
        ty = tensor_type((channels,), f32)
        attribute = fold_attr("ge.pad", [attribute], {"pads": [0, channels - count], "value": 0.0}, ty)
    return ConstantArgument(attribute, ty)


def _convolution(region: Region, op: Conv2dOp | Conv3dOp) -> Choice:
    x, w, y = tensor(op.x), tensor(op.w), tensor(op.results[0])
    volumes = isinstance(op, Conv3dOp)
    small = isinstance(encoding_of(x), NC1HWC0C04)
    if is_plain(x) and dtype_of_tensor(x) is DType.F32:  # propagate-layout gives those blocks that a Cube multiplies
        raise NoKernel("the Cube of the chip does not multiply fp32")
    for ty in (y,) if small else (x, y):
        require_encoding(ty, NDC1HWC0 if volumes else NC1HWC0)
    if not isinstance(encoding_of(w), FractalZ3D if volumes else FractalZC04 if small else FractalZ):
        raise NoKernel("the filter is not stored as fractals")
    dtype = multiplied_type(op.x, op.w)
    attributes = op.attribute_values()
    n, c, *deep, h, wd = x.get_shape()
    (ho, wo), (kh, kw) = y.get_shape()[-2:], w.get_shape()[-2:]
    strides, dilations, pads = (attributes[key] for key in ("strides", "dilations", "pads"))
    group: int = attributes["group"]
    blocks = blocks_of_groups(w.get_shape(), group, 32 // dtype.bytes)
    depth = None
    if volumes:
        depth = Depth(deep[0], y.get_shape()[2], w.get_shape()[2], strides[0], dilations[0], pads[0])
        n *= depth.outputs
        if blocks.last is not None and depth.taps > 1:
            raise NoKernel("the last block of groups is smaller, and its channels are not the first of K")
    top, left, bottom, right = (pads[i] for i in (-2 - op.SPATIAL, -1 - op.SPATIAL, -2, -1))
    sides: list[SSAValue] = []
    epilogue = epilogue_of(region, [op], sides)
    shape = ConvShape(
        n, blocks.count, blocks.c1, h, wd, blocks.n1, ho, wo, (kh, kw), tuple(strides[-2:]), tuple(dilations[-2:]),
        (top, left, bottom, right), op.b is not None, dtype, last=blocks.last, depth=depth,
        small=physical_shape(x)[-1] if small else 0, half=dtype.bytes == 4 and -(-y.get_shape()[1] // 8) % 2 == 1,
    )  # fmt: skip
    if shape.half and any(side.kind == "channel" for side in epilogue.inputs):
        raise NoKernel("a row of channels behind the Cube ends within a block of 16")
    inputs: list[SSAValue | ConstantArgument] = list(outside_values(region, [op.x, op.w]))
    if op.b is not None:
        inputs.append(bias_argument(outside_values(region, [op.b])[0], shape.out_blocks * 16))
    return Choice(
        ("conv2d", shape, epilogue),
        _stem("conv3d" if volumes else "conv2d", epilogue),
        "Conv3D" if volumes else "DepthwiseConv2D" if group > 1 and group == c else "Conv2D",
        lambda name, soc: build_conv2d(name, shape, epilogue, soc),
        [*inputs, *sides],
        _in_place(epilogue, len(inputs)),
    )


def multiplied_type(*operands: SSAValue) -> DType:
    """The floating type of the operands of a product. Raises NoKernel where no Cube multiplies it."""
    types = {dtype_of_tensor(tensor(value)) for value in operands}
    if types not in ({DType.F16}, {DType.BF16}, {DType.F32}):
        raise NoKernel("the Cube kernel multiplies fp16, bf16 and fp32")
    return types.pop()


def _matmul(region: Region, op: MatmulOp) -> Choice:
    a, b, y = tensor(op.a), tensor(op.b), tensor(op.results[0])
    for ty in (a, y):
        require_encoding(ty, FractalNZ)
    dtype = multiplied_type(op.a, op.b)
    if dtype is DType.F32:
        raise NoKernel("a product of fractals multiplies fp16 and bf16; one of fp32 is stored row by row")
    transpose_a, transpose_b = bool(op.transpose_a.value.data), bool(op.transpose_b.value.data)
    right = encoding_of(b)
    if not isinstance(right, FractalNZ | (FractalZ if transpose_b else FractalZKN)):
        raise NoKernel("the right side is stored neither as FRACTAL_Z nor as FRACTAL_NZ")
    outer, inner = physical_shape(a)[-4:-2]
    m1, k1 = (outer, inner) if transpose_a else (inner, outer)
    right_k_rows = isinstance(right, FractalNZ) and not transpose_b
    outer, inner = physical_shape(b)[-4:-2]
    n1 = outer if right_k_rows else inner
    batch, (left_steps, right_steps) = batch_steps(y.get_shape()[:-2], a.get_shape()[:-2], b.get_shape()[:-2])
    anchors = [op, *(other for other in region.rest if isinstance(other, MatmulOp))]
    if any(not beside(op, other) for other in anchors):
        raise NoKernel("one of two products has another input, or another form")
    sides: list[SSAValue] = []
    epilogue = epilogue_of(region, anchors, sides)
    left_side, right_side = Side(left_steps, transpose_a), Side(right_steps, right_k_rows)
    shape = MatmulShape(m1, k1, n1, op.bias is not None, batch, left_side, right_side, dtype)
    inputs: list[SSAValue | ConstantArgument] = list(outside_values(region, [op.a, *(anchor.b for anchor in anchors)]))
    biases = outside_values(region, [anchor.bias for anchor in anchors if anchor.bias is not None])
    inputs += [bias_argument(bias, n1 * 16) for bias in biases]
    return Choice(
        ("matmul", shape, epilogue),
        _stem("matmul", epilogue),
        "MatMulV2",
        lambda name, soc: build_matmul(name, shape, epilogue, soc),
        [*inputs, *sides],
        _in_place(epilogue, len(inputs)),
        split=lambda choice, soc: split_fractals(shape, epilogue, choice, soc),
    )


def _attention(region: Region, attention: Attention) -> Choice:
    if attention.partitions:
        return _window_attention(region, attention)
    q, k, v = attention.scores.a, attention.scores.b, attention.result.b
    scores = attention.scores.result
    for value in (q, k, v, attention.result.result):
        require_encoding(tensor(value), FractalNZ)
    outside = outside_values(region, [q, k, v, *attention.sides])
    parts = [heads_within(value) for value in outside[:3]]
    inputs: list[SSAValue | ConstantArgument] = [*(part.source for part in parts), *outside[3:]]
    dtype = attention_type(q, k, v, *attention.sides)
    kinds = [side_kind(value, scores) for value in attention.sides]
    batches = [
        tensor(value).get_shape()[:-2] if kind != "number" else ()
        for value, kind in zip((q, k, v, *attention.sides), ("", "", "", *kinds), strict=True)
    ]
    stored = [tensor(part.source).get_shape()[:-2] for part in parts] + batches[3:]
    batch, steps = batch_steps(tensor(scores).get_shape()[:-2], *batches, stored=stored)
    chain = score_steps(attention)
    d1, m1 = physical_shape(tensor(q))[-4:-2]
    keys, e1 = tensor(k).get_shape()[-2], physical_shape(tensor(v))[-4]
    scored = tuple(ScoreInput(str(kind), steps) for kind, steps in zip(kinds, steps[3:], strict=True))
    sides = (
        Side(steps[0], start=parts[0].start),
        Side(steps[1], start=parts[1].start),
        Side(steps[2], k_rows=True, start=parts[2].start),
    )
    shape = AttentionShape(m1, d1, e1, keys, batch, *sides, scored, chain, dtype)
    inputs += behind_the_last_key(shape)
    return Choice(
        ("attention", shape),
        "attention",
        "FlashAttentionScore",
        lambda name, soc: build_attention(name, shape, soc),
        inputs,
    )


def attention_type(*values: SSAValue) -> DType:
    """The element type of all operands of attention. Raises NoKernel where its kernels do not work in it."""
    dtypes = {dtype_of_tensor(tensor(value)) for value in values}
    if dtypes not in ({DType.F16}, {DType.BF16}):
        raise NoKernel("the attention kernel works in fp16 and bf16")
    return dtypes.pop()


def score_steps(attention: Attention) -> tuple[Step, ...]:
    """What happens between the products and the softmax; values are the scores and the sides in their order."""
    sides = attention.sides
    number_of: dict[SSAValue, int] = {value: i for i, value in enumerate([attention.scores.result, *sides])}
    chain: list[Step] = []
    for op in attention.steps:
        step = elementwise_step(op, number_of)
        chain.append(replace(step, dtype=computed(step.dtype)))
        number_of[op.results[0]] = len(sides) + len(chain)
    return tuple(chain)


def behind_the_last_key(shape: AttentionShape) -> list[ConstantArgument]:
    """What is added to the scores of the last block of keys, where it is not full."""
    if not shape.rest:
        return []
    behind = np.where(np.arange(16) < shape.rest, 0, LOWEST).astype(np.float32)
    return [ConstantArgument(constant_attr(behind, "behind the last key"), tensor_type((16,), f32))]


def _window_attention(region: Region, attention: Attention) -> Choice:
    """Of windows in matrices of whole maps: batch axes are maps, rows of windows, windows in a row, heads."""
    cuts = [heads_of_windows(v) for v in (attention.scores.a, attention.scores.b, attention.result.b)]
    cut = [one for one in cuts if one is not None]
    placed = [(op.ints("grid"), op.ints("window"), op.ints("shift")) for op in attention.partitions]
    merge = attention.merge
    if merge is not None:
        placed.append((merge.ints("grid"), merge.ints("window"), merge.ints("shift")))
    if len(cut) < 3 or merge is None or any(other != placed[0] for other in placed[1:]):
        raise NoKernel("queries, keys and values are not heads of the same windows")
    (maps, height, width), (h, w), shift = placed[0]
    sources = [partition.x for partition, _ in cut]
    outside = outside_values(region, [*sources, *attention.sides])
    for value in (*sources, region.yielded[0]):
        require_encoding(tensor(value), FractalNZ)
    dtype = attention_type(*sources, *attention.sides)
    batch = (maps, height // h, width // w, tensor(attention.scores.result).get_shape()[1])
    scored: list[ScoreInput] = []
    for value in attention.sides:
        kind = str(side_kind(value, attention.scores.result))
        windows, heads = ((1, 1, *tensor(value).get_shape()[:-2]) if kind != "number" else (1, 1))[-2:]
        step = heads if windows > 1 else 0
        steps = (step * batch[1] * batch[2], step * batch[2], step, int(heads > 1))
        scored.append(ScoreInput(kind, steps))
    widths = [
        tensor(value).get_shape()[-1] // 16 for value in (attention.scores.a, attention.scores.b, attention.result.b)
    ]
    inner = AttentionShape(
        -(-h * w // 16), widths[0], widths[2], h * w, batch, Side(), Side(start=1), Side(k_rows=True), tuple(scored),
        score_steps(attention), dtype,
    )  # fmt: skip
    heads_of = [
        (which.start, tensor(partition.x).get_shape()[-1] // (16 * columns))
        for (partition, which), columns in zip(cut, widths, strict=True)
    ]
    whole = WindowAttentionShape(inner, (maps, height, width), (h, w), (shift[0], shift[1]), tuple(heads_of))
    return Choice(
        ("window_attention", whole),
        "window_attention",
        "FlashAttentionScore",
        lambda name, soc: build_window_attention(name, whole, soc),
        [*outside, *behind_the_last_key(inner)],
    )


@dataclass(frozen=True)
class Heads:
    """Matrices of an operand of attention: those of `source` from number `start` on."""

    source: SSAValue
    start: int = 0


def heads_within(value: SSAValue) -> Heads:
    """Some heads of each batch of a tensor in FRACTAL_NZ where they lie, instead of a copy; or `value` as it is."""
    op, rank = value.owner, len(tensor(value).get_shape())
    if not isinstance(op, SliceOp) or is_view(op) or rank < 3:
        return Heads(value)
    part = part_of(value, rank - 3)
    stored = encoding_of(tensor(op.x))
    if part is None or not isinstance(stored, FractalNZ) or stored != encoding_of(tensor(value)):
        return Heads(value)
    return Heads(op.x, part[1].start)


def reads_in_place(op: Operation) -> bool:
    """Whether a slice takes heads that attention alone reads, where they lie: no task of its own."""
    if not isinstance(op, SliceOp) or heads_within(op.result).source is not op.x or not op.result.uses:
        return False
    return all(reads_heads(use) for use in op.result.uses)


def batch_steps(
    result: Sequence[int], *sides: Sequence[int], stored: Sequence[Sequence[int]] | None = None
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Batch axes, joined where all sides allow it, and for each side the matrices from neighbour to neighbour.

    `stored`: the batches that the sides are parts of, if they are parts.
    """
    steps: list[tuple[int, ...]] = []
    for side, whole in zip(sides, sides if stored is None else stored, strict=True):
        steps.append(matrix_steps(result, side, whole))
    return merge_axes(tuple(result), steps)


def matrix_steps(result: Sequence[int], batch: Sequence[int], stored: Sequence[int]) -> tuple[int, ...]:
    """Matrices from neighbour to neighbour along the batch axes of a result, of a side of `batch` that is a part of `stored`."""
    own, whole = ((1,) * (len(result) - len(each)) + tuple(each) for each in (batch, stored))
    return tuple(step if extent > 1 else 0 for step, extent in zip(row_major(whole), own, strict=True))


def _in_place(epilogue: Epilogue, first: int) -> tuple[int, ...]:
    """Side operands of the result's shape and type: a tile of one is read before the result's tile is written."""
    return tuple(
        first + i for i, side in enumerate(epilogue.inputs) if side.kind == "tile" and side.dtype is epilogue.out_dtype
    )


def _stem(kind: str, epilogue: Epilogue) -> str:
    return "_".join([*epilogue.accumulators * [kind], *(step.op.removeprefix("ge.") for step in epilogue.steps)])
