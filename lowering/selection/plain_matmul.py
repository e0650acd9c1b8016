"""Matrix products of plain tensors, for chips whose libraries prefer ND; those of fractals are `cube.py`'s."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.attention import Attention, attention_of, side_kind
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_type, numpy_dtype, tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.weights import constant_attr, fold_attr
from graph_engine.dialects.layout import fractal_nz, is_plain, with_encoding
from graph_engine.lowering.kernels.attention_tiling import AttentionShape, ScoreInput
from graph_engine.lowering.kernels.matmul import Side
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.plain_matmul import (
    BLOCK,
    FractalSide,
    PlainProduct,
    PlainSide,
    Rows,
    build_plain_matmul,
)
from graph_engine.lowering.kernels.team_attention import PlainAttention, build_team_attention
from graph_engine.lowering.kernels.vector_tiling import ceil_div, merge_axes, round_up
from graph_engine.lowering.selection.choice import (
    Choice,
    ConstantArgument,
    Region,
    dtype_of_tensor,
    region_of,
    require_static,
    tensor,
)
from graph_engine.lowering.selection.cube import (
    attention_type,
    behind_the_last_key,
    bias_argument,
    epilogue_of,
    matrix_steps,
    multiplied_type,
    outside_values,
    score_steps,
    select_cube,
)
from graph_engine.lowering.selection.plain_heads import Placed, merging, placed, written
from graph_engine.lowering.selection.split_k import split_rows
from graph_engine.target_ascend.isa.model import DType


def select_matmul(op: Operation) -> Choice:
    """The kernel of a matrix product, by how its operands are stored. Raises NoKernel with the reason if there is none."""
    region = region_of(op)
    anchor = region.anchor
    if (attention := attention_of(op)) is not None and not attention.partitions:
        values = (*op.operands[:2], attention.result.b, op.results[0])
        if all(is_plain(region.outer.get(value, value).type) for value in values):
            return _attention(region, attention, merging(op))
    if isinstance(anchor, MatmulOp) and all(is_plain(v.type) for v in (anchor.a, anchor.b, anchor.results[0])):
        require_static(*(tensor(v) for v in (*op.operands, *op.results)))
        return _plain(region, anchor, op.results[0], merging(op))
    return select_cube(op)


def _plain(region: Region, op: MatmulOp, result: SSAValue, readers: tuple[Operation, ...]) -> Choice:
    a, b, y = (tensor(value).get_shape() for value in (op.a, op.b, op.results[0]))
    multiplied = multiplied_type(op.a, op.b)
    sides: list[SSAValue] = []
    epilogue = epilogue_of(region, [op], sides)
    if sides and readers:
        raise NoKernel("side operands lie in other places than the result")
    transpose_a, transpose_b = bool(op.transpose_a.value.data), bool(op.transpose_b.value.data)
    places = [*map(placed, outside_values(region, [op.a, op.b])), written(result, readers)]
    steps = [_steps(y[:-2], shape[:-2], place) for shape, place in zip((a, b, y), places, strict=True)]
    batch, merged = merge_axes(y[:-2], steps)
    left, right, out = (Rows(own, p.pitch, p.extent, p.start) for own, p in zip(merged, places, strict=True))
    dtype = dtype_of_tensor(tensor(op.results[0]))
    inputs: list[SSAValue | ConstantArgument] = [place.source for place in places[:2]]
    right_side: PlainSide | FractalSide = PlainSide(right, not transpose_b)
    if tuple(b) == tensor(places[1].source).get_shape() and (packed := packed_weight(places[1].source)) is not None:
        rows, columns = (round_up(extent, BLOCK) for extent in b)
        right_side = FractalSide(rows, columns, 32 // multiplied.bytes, not transpose_b, right.steps)
        inputs[1] = packed
    product = PlainProduct(
        y[-2], a[-2 if transpose_a else -1], y[-1], batch,
        PlainSide(left, transpose_a), right_side, out, dtype, op.bias is not None, multiplied,
    )  # fmt: skip
    if product.needs_zeros:
        inputs.append(_zeros(multiplied))
    if op.bias is not None:
        inputs.append(bias_argument(outside_values(region, [op.bias])[0], round_up(product.n, BLOCK)))
    return Choice(
        ("plain matmul", product, epilogue),
        "_".join(["matmul", *(step.op.removeprefix("ge.") for step in epilogue.steps)]),
        "MatMulV2",
        lambda name, soc: build_plain_matmul(name, product, epilogue, soc),
        [*inputs, *sides],
        instead_of=readers,
        split=lambda choice, soc: split_rows(product, epilogue, choice, soc),
    )


def packed_weight(value: SSAValue) -> ConstantArgument | None:
    """A constant matrix in FRACTAL_NZ, if nothing but products reads it: its parts are whole lines of device memory then."""
    ty = tensor(value)
    if not isinstance(value.owner, ConstantOp) or len(ty.get_shape()) != 2:
        return None
    c0, columns = 32 // dtype_of_tensor(ty).bytes, ty.get_shape()[1]
    if round_up(columns, c0) != round_up(columns, BLOCK):
        return None
    readers = (use.operation for use in value.uses)
    if not all(isinstance(op.anchor_op if isinstance(op, FusedOp) else op, MatmulOp) for op in readers):
        return None
    packed = with_encoding(ty, fractal_nz(c0))
    return ConstantArgument(fold_attr("layout.transdata", [value.owner.value], {}, packed), packed)


def _attention(region: Region, attention: Attention, readers: tuple[Operation, ...]) -> Choice:
    scores, sides = attention.scores.result, attention.sides
    heads = (attention.scores.a, attention.scores.b, attention.result.b)
    outside = outside_values(region, [*heads, *sides])
    require_static(*map(tensor, (*outside, region.yielded[0])))
    dtype = attention_type(*heads, *sides)
    shape = tensor(scores).get_shape()
    places = [*map(placed, outside[:3]), written(region.yielded[0], readers)]
    steps = [
        _steps(shape[:-2], tensor(value).get_shape()[:-2], place)
        for value, place in zip((*heads, scores), places, strict=True)
    ]
    kinds = [str(side_kind(value, scores)) for value in sides]
    own = [tensor(value).get_shape()[:-2] if kind != "number" else () for value, kind in zip(sides, kinds, strict=True)]
    steps += [matrix_steps(shape[:-2], batch, batch) for batch in own]
    batch, merged = merge_axes(shape[:-2], steps)
    q, k, v, out = (Rows(each, p.pitch, p.extent, p.start) for each, p in zip(merged[:4], places, strict=True))
    (m, d), e = tensor(heads[0]).get_shape()[-2:], tensor(heads[2]).get_shape()[-1]
    scored = tuple(ScoreInput(kind, each) for kind, each in zip(kinds, merged[4:], strict=True))
    m1, d1, e1 = (ceil_div(size, BLOCK) for size in (m, d, e))
    sides_in_blocks = Side(), Side(), Side(k_rows=True)
    inner = AttentionShape(m1, d1, e1, shape[-1], batch, *sides_in_blocks, scored, score_steps(attention), dtype)
    whole = PlainAttention(inner, m, d, e, q, k, v, out)
    inputs: list[SSAValue | ConstantArgument] = [place.source for place in places[:3]]
    inputs += [*outside[3:], *behind_the_last_key(inner)]
    if whole.needs_zeros:
        inputs.append(_zeros(dtype))
    return Choice(
        ("team attention", whole),
        "attention",
        "FlashAttentionScore",
        lambda name, soc: build_team_attention(name, whole, soc),
        inputs,
        instead_of=readers,
    )


def _zeros(dtype: DType) -> ConstantArgument:
    zeros = constant_attr(np.zeros(BLOCK, numpy_dtype(dtype.mlir)), "zeros behind the last of K")
    return ConstantArgument(zeros, tensor_type((BLOCK,), element_type(dtype.mlir)))


def _steps(result: Sequence[int], batch: Sequence[int], place: Placed) -> tuple[int, ...]:
    """Elements from matrix to matrix along the batch axes of the result, 0 where one matrix serves them all."""
    missing = len(result) - len(batch)
    own = (step if extent > 1 else 0 for step, extent in zip(place.steps, batch, strict=True))
    return (0,) * missing + tuple(own)
