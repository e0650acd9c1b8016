"""Attention of domain com.microsoft: packed projections, masks in several forms, keys and values of the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.elementwise import AddOp
from graph_engine.dialects.ge.indexing import GatherOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.quantization import DequantizeSumsOp
from graph_engine.dialects.ge.shape import ConcatOp, SliceOp, TransposeOp
from graph_engine.frontend_onnx.activation import number
from graph_engine.frontend_onnx.attention import Bias, attend, join_heads, rotate, split_heads
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, shape_of, static_dim
from graph_engine.frontend_onnx.quantization import integer_product, zeros_like
from graph_engine.frontend_onnx.windows import reshape

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def _parts(node: Node, x: SSAValue, sizes: Sequence[int], axis: int) -> list[SSAValue]:
    """x cut along an axis."""
    parts: list[SSAValue] = []
    start = 0
    for size in sizes:
        parts.append(node.emit(SliceOp(x, starts=[start], ends=[start + size], axes=[axis])))
        start += size
    return parts


def _one_of(node: Node, x: SSAValue, axis: int, place: int) -> SSAValue:
    """x at one place of an axis, which vanishes."""
    shape = shape_of(x)
    part = node.emit(SliceOp(x, starts=[place], ends=[place + 1], axes=[axis]))
    return reshape(node, part, (*shape[:axis], *shape[axis + 1 :]))


def _mask(node: Node, bias: Bias, mask: SSAValue, keys: int) -> None:
    """A mask of ones and zeros [B,keys], [B,queries,keys] or [B,1,queries,keys], or lengths [B]: zeros get a low number."""
    import numpy as np

    low = node.float("mask_filter_value", -10000.0)
    shape = shape_of(mask)
    if len(shape) == 1:
        if shape[0] != shape_of(bias.like)[0]:
            raise Unsupported("a mask of starts and ends; lengths or a full mask are supported")
        places = np.arange(static_dim(keys, "the number of keys"), dtype=numpy_dtype(dtype_of(mask)))
        lengths = reshape(node, mask, (shape[0], 1, 1, 1))
        kept = node.emit(CompareOp(node.keep_constant(places, f"{node.name}.places"), lengths, predicate="lt"))
    else:
        if shape[-1] != keys:
            raise Unsupported(f"a mask of {shape[-1]} keys does not fit {keys}")
        full = {2: (shape[0], 1, 1, keys), 3: (shape[0], 1, *shape[1:]), 4: shape}.get(len(shape))
        if full is None:
            raise Unsupported(f"a mask of rank {len(shape)}")
        mask = reshape(node, mask, full)
        kept = node.emit(CompareOp(mask, number(node, 0, mask), predicate="gt"))
    zero = number(node, 0.0, bias.like)
    bias.added.append(node.emit(SelectOp(kept, zero, number(node, low, bias.like))))


def _causal(bias: Bias, queries: int, keys: int, past: int, window: int = -1) -> None:
    """Query i, at place past + i, attends no later key, and with a `window` only that many up to itself."""
    import numpy as np

    queries, keys = static_dim(queries, "the number of queries"), static_dim(keys, "the number of keys")
    ahead = np.arange(keys) - np.arange(queries)[:, None] - static_dim(past, "the number of past keys")
    bias.require(ahead <= 0)
    if window > 0:
        bias.require(ahead > -window)


def _scale(node: Node, width: int) -> float:
    return node.float("scale", 0.0) or float(static_dim(width, "the features of a head")) ** -0.5


def attention(node: Node) -> list[SSAValue | None]:
    """A projection, then products, softmax, additions."""
    if node.int("do_rotary", 0) or node.int("past_present_share_buffer", 0):
        raise Unsupported("do_rotary and past_present_share_buffer")
    w = node.operand(1)
    width = static_dim(shape_of(w)[1], "the width of the weights")
    sizes = node.ints("qkv_hidden_sizes", [width // 3] * 3)
    packed = node.emit(MatmulOp(node.operand(0), w, node.optional(2)))
    return _self_attention(node, packed, sizes, mask=3, past=4, added=5)


def quantised_attention(node: Node) -> list[SSAValue | None]:
    """A projection in i32 as reals, then products, softmax, additions."""
    if node.int("do_rotary", 0) or node.int("past_present_share_buffer", 0):
        raise Unsupported("do_rotary and past_present_share_buffer")
    x, w, b, x_scale, w_scale = (node.operand(index) for index in range(5))
    x_zero, w_zero = (node.optional(6 + i) or zeros_like(node, value) for i, value in enumerate((x, w)))
    packed = node.emit(DequantizeSumsOp(integer_product(node, x, w, x_zero, w_zero), x_scale, w_scale))
    width = static_dim(shape_of(w)[1], "the width of the weights")
    return _self_attention(node, node.emit(AddOp(packed, b)), [width // 3] * 3, mask=5, past=8, added=9)


def _self_attention(
    node: Node, packed: SSAValue, sizes: Sequence[int], *, mask: int, past: int, added: int
) -> list[SSAValue | None]:
    """Attention of queries, keys and values that stand side by side; `mask`, `past`, `added` are places of inputs."""
    heads = node.int("num_heads")
    q, k, v = (split_heads(node, part, heads) for part in _parts(node, packed, sizes, 2))
    before = 0
    if node.has(past):
        old = node.operand(past)
        before = shape_of(old)[3]
        k = node.emit(ConcatOp([_one_of(node, old, 0, 0), k], axis=2))
        v = node.emit(ConcatOp([_one_of(node, old, 0, 1), v], axis=2))
    queries, keys = shape_of(q)[2], shape_of(k)[2]
    bias = Bias(node, q)
    if node.has(mask):
        _mask(node, bias, node.operand(mask), keys)
    if node.has(added):
        bias.added.append(node.operand(added))
    if node.int("unidirectional", 0):
        _causal(bias, queries, keys, before)
    y, _ = attend(node, q, k, v, bias, scale=_scale(node, shape_of(q)[3]))
    present: SSAValue | None = None
    if node.result_used(1):
        both = [reshape(node, value, (1, *shape_of(value))) for value in (k, v)]
        present = node.emit(ConcatOp(both, axis=0))
    return [join_heads(node, y), present]


def _heads_of(node: Node, index: int, heads: int, bias: SSAValue | None) -> SSAValue:
    """Input `index` [B,S,width] or [B,heads,S,features] by heads, a bias added to the former."""
    x = node.operand(index)
    if len(shape_of(x)) == 4:
        return x
    return split_heads(node, x if bias is None else node.emit(AddOp(x, bias)), heads)


def multi_head_attention(node: Node) -> list[SSAValue | None]:
    """Products, softmax, additions; queries, keys and values apart or packed."""
    heads = node.int("num_heads")
    x = node.operand(0)
    if len(shape_of(x)) == 5 or (node.has(1) and len(shape_of(node.operand(1))) == 5):
        q, k, v = _unpacked(node, heads)
    else:
        if not node.has(1) or not node.has(2):
            raise Unsupported("queries without keys and values")
        biases: list[SSAValue | None] = [None, None, None]
        if node.has(3):
            width, total = shape_of(x)[2], shape_of(node.operand(3))[0]
            biases = [*_parts(node, node.operand(3), [width, width, total - 2 * width], 0)]
        q, k, v = (_heads_of(node, index, heads, bias) for index, bias in enumerate(biases))
    past = 0
    if node.has(6):
        past = shape_of(node.operand(6))[2]
        k = node.emit(ConcatOp([node.operand(6), k], axis=2))
        v = node.emit(ConcatOp([node.operand(7), v], axis=2))
    queries, keys = shape_of(q)[2], shape_of(k)[2]
    bias = Bias(node, q)
    if node.has(4):
        _mask(node, bias, node.operand(4), keys)
    if node.has(5):
        bias.added.append(node.operand(5))
    if node.int("unidirectional", 0):
        _causal(bias, queries, keys, past)
    y, scores = attend(node, q, k, v, bias, scale=_scale(node, shape_of(q)[3]))
    return [join_heads(node, y), k, v, scores.biased]


def _unpacked(node: Node, heads: int) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Queries, keys and values [B,S,heads,3,features] in one tensor, or keys and values [B,S,heads,2,features]."""
    if node.has(3):
        raise Unsupported("a bias of packed queries, keys and values")

    def part(x: SSAValue, place: int) -> SSAValue:
        return node.emit(TransposeOp(_one_of(node, x, 3, place), perm=(0, 2, 1, 3)))

    x = node.operand(0)
    if len(shape_of(x)) == 5:
        return part(x, 0), part(x, 1), part(x, 2)
    both = node.operand(1)
    return split_heads(node, x, heads), part(both, 0), part(both, 1)


def group_query_attention(node: Node) -> list[SSAValue | None]:
    """Heads that share keys as rows of one product; causal, optionally in a window and with rotary embedding."""
    heads, kv_heads = node.int("num_heads"), node.int("kv_num_heads")
    if any(node.has(index) for index in range(9, len(node.inputs))):
        raise Unsupported("position ids, biases and sinks")
    if node.has(1):
        q, k, v = (
            split_heads(node, node.operand(0), heads),
            *(split_heads(node, node.operand(index), kv_heads) for index in (1, 2)),
        )
    else:
        width = static_dim(shape_of(node.operand(0))[2], "the width of the input") // (heads + 2 * kv_heads)
        sizes = [heads * width, kv_heads * width, kv_heads * width]
        parts = _parts(node, node.operand(0), sizes, 2)
        q, k, v = (split_heads(node, x, n) for x, n in zip(parts, (heads, kv_heads, kv_heads), strict=True))
    queries = static_dim(shape_of(q)[2], "the sequence length")
    past = shape_of(node.operand(3))[2] if node.has(3) else 0
    total = node.constant_ints(6, "total_sequence_length")[0]
    if past == DYNAMIC or total != past + queries:
        raise Unsupported(f"{total} keys in all, {past} of the past and {queries} new: buffers with free room")
    if node.int("do_rotary", 0):
        places = slice(past, past + queries)
        interleaved = bool(node.int("rotary_interleaved", 0))
        q, k = (_turned(node, x, places, node.operand(7), node.operand(8), interleaved) for x in (q, k))
    if past:
        k = node.emit(ConcatOp([node.operand(3), k], axis=2))
        v = node.emit(ConcatOp([node.operand(4), v], axis=2))
    bias = Bias(node, q)
    window = node.int("local_window_size", -1)
    _causal(bias, queries, past + queries, past, window)
    softcap = node.float("softcap", 0.0)
    y, _ = attend(node, q, k, v, bias, scale=_scale(node, shape_of(q)[3]), softcap=softcap)
    return [join_heads(node, y), k, v]


def _turned(node: Node, x: SSAValue, places: slice, cosines: SSAValue, sines: SSAValue, interleaved: bool) -> SSAValue:
    """x[batch, heads, sequence, features] with rotary embedding of known places."""
    tables: list[SSAValue] = []
    for table in (cosines, sines):
        rows = node.emit(SliceOp(table, starts=[places.start], ends=[places.stop], axes=[0]))
        tables.append(reshape(node, rows, (1, *shape_of(rows))))
    width = 2 * shape_of(cosines)[1]
    return rotate(node, x, tables[0], tables[1], width, interleaved=interleaved, heads_last=False)


def rotary_embedding(node: Node) -> SSAValue:
    """Two halves (or neighbours) of the features turned by cached cosines and sines; positions or their start are given."""
    import numpy as np

    x, positions, cosines, sines = (node.operand(i) for i in range(4))
    shape = shape_of(x)
    width = node.int("rotary_embedding_dim", 0) or 2 * shape_of(cosines)[1]
    if len(shape) == 4:
        length, y = shape[2], x
    else:
        length = shape[1]
        heads = node.int("num_heads", 0) or shape[2] // (2 * shape_of(cosines)[1])
        y = reshape(node, x, (*shape[:2], heads, shape[2] // heads))
    if shape_of(positions) == (1,):
        steps = np.arange(static_dim(length, "the sequence length"), dtype=np.int64)[None]
        positions = node.emit(AddOp(positions, node.keep_constant(steps, f"{node.name}.steps")))
    cosines, sines = (node.emit(GatherOp(table, positions, axis=0)) for table in (cosines, sines))
    interleaved = bool(node.int("interleaved", 0))
    y = rotate(node, y, cosines, sines, width, interleaved=interleaved, heads_last=len(shape) == 3)
    y = reshape(node, y, shape)
    factor = node.float("scale", 1.0)
    if factor != 1.0:
        raise Unsupported(f"scale is {factor}")
    return y


_OPERATORS: dict[str, Converter] = {
    "Attention": attention,
    "QAttention": quantised_attention,
    "MultiHeadAttention": multi_head_attention,
    "GroupQueryAttention": group_query_attention,
    "RotaryEmbedding": rotary_embedding,
}
CONVERTERS: dict[str, Converter] = {f"com.microsoft:{name}": convert for name, convert in _OPERATORS.items()}
