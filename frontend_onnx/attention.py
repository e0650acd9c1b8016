"""Scaled dot-product attention as matrix products, softmax and additions; rotary position embedding.

Tensors are [batch, heads, sequence, features]. Heads of queries that share one of keys stand one after another, so that
they become rows of one matrix product instead of copies of keys and values. What may not be attended gets the bias -inf;
a query that may attend nothing gets zeros, as ONNX has it, not nan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import mul
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.activation import SwishOp
from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.elementwise import AddOp, CastOp, MaximumOp, MulOp, SubOp, TanhOp
from graph_engine.dialects.ge.indexing import GatherOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.logic import AndOp, CompareOp, SelectOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.ge.recurrence import LinearAttentionOp
from graph_engine.dialects.ge.reduction import ReduceMaxOp
from graph_engine.dialects.ge.shape import ConcatOp, PadOp, SliceOp, TransposeOp
from graph_engine.frontend_onnx.activation import number
from graph_engine.frontend_onnx.control_flow import used_in
from graph_engine.frontend_onnx.convolve import convolve
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.extents import combined
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, shape_of, static_dim
from graph_engine.frontend_onnx.runtime_shape import with_shape
from graph_engine.frontend_onnx.values import BranchValues
from graph_engine.frontend_onnx.windows import reshape

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_LOWEST = {"f16": -65504.0, "bf16": -3.3895313892515355e38}
"""The smallest finite number of types with a smaller range or precision than fp32."""


def split_heads(node: Node, x: SSAValue, heads: int) -> SSAValue:
    """[batch, sequence, heads * features] as [batch, heads, sequence, features]."""
    batch, length, width = shape_of(x)
    if heads < 1 or width % heads:
        raise Unsupported(f"{width} features are no multiple of {heads} heads")
    return node.emit(TransposeOp(reshape(node, x, (batch, length, heads, width // heads)), perm=(0, 2, 1, 3)))


def join_heads(node: Node, x: SSAValue) -> SSAValue:
    """[batch, heads, sequence, features] as [batch, sequence, heads * features]."""
    batch, heads, length, width = shape_of(x)
    return reshape(node, node.emit(TransposeOp(x, perm=(0, 2, 1, 3))), (batch, length, heads * width))


@dataclass
class Bias:
    """What is added to the scores: float masks, and -inf where one of the conditions does not hold."""

    node: Node
    like: SSAValue
    """A tensor of the scores' element type."""
    added: list[SSAValue] = field(default_factory=list[SSAValue])
    conditions: list[SSAValue] = field(default_factory=list[SSAValue])
    known: Array | None = None
    """A condition that is known now: one row a query, one column a key."""

    def require(self, condition: Array) -> None:
        """Allows only what a known condition allows."""
        self.known = condition if self.known is None else self.known & condition

    def mask(self, mask: SSAValue, keys: int) -> None:
        """Takes in a mask, boolean or added, whose keys may end early: later ones are not attended."""
        boolean = dtype_of(mask) == "i1"
        shape = shape_of(mask)
        if shape[-1] != keys and shape[-1] > 1 and keys != DYNAMIC:
            pads = [0] * (2 * len(shape) - 1) + [keys - shape[-1]]
            mask = self.node.emit(PadOp(mask, pads=pads, value=0.0 if boolean else float("-inf")))
        (self.conditions if boolean else self.added).append(mask)

    def value(self) -> SSAValue | None:
        """The whole bias as one tensor that broadcasts onto the scores; None if nothing is masked."""
        import numpy as np

        node, dtype = self.node, numpy_dtype(dtype_of(self.like))
        added = list(self.added)
        if self.known is not None and not self.known.all():
            bias = np.where(self.known, 0.0, -np.inf).astype(dtype)
            added.append(node.keep_constant(bias, f"{node.name}.mask"))
        if self.conditions:
            both = self._all_conditions()
            zero, lowest = number(node, 0.0, self.like), number(node, float("-inf"), self.like)
            added.append(node.emit(SelectOp(both, zero, lowest)))
        if not added:
            return None
        total = added[0]
        for value in added[1:]:
            total = node.emit(AddOp(total, value))
        return total

    def _all_conditions(self) -> SSAValue:
        both = self.conditions[0]
        for condition in self.conditions[1:]:
            both = self.node.emit(AndOp(both, condition))
        return both

    def attends(self, bias: SSAValue) -> SSAValue:
        """1 for every query that attends something, else 0; `bias` is what `value` gave.

        Of conditions alone it does not take the infinities of `bias`, which fp16 on a chip that saturates has not.
        """
        import numpy as np

        node, dtype = self.node, dtype_of(bias)
        if self.added or not self.conditions:
            largest = node.emit(ReduceMaxOp(bias, axes=[-1]))
            return node.emit(CastOp(node.emit(CompareOp(largest, number(node, -np.inf, bias), predicate="gt")), dtype))
        allowed = self._all_conditions()
        if self.known is not None:
            allowed = node.emit(AndOp(allowed, node.keep_constant(self.known, f"{node.name}.known")))
        return node.emit(ReduceMaxOp(node.emit(CastOp(allowed, dtype)), axes=[-1]))

    def may_mask_all(self) -> bool:
        """Whether there may be a query that attends nothing."""
        if self.added or self.conditions:
            return True
        return self.known is not None and not self.known.any(axis=-1).all()


@dataclass(frozen=True)
class Scores:
    """Intermediate results, each [batch, heads, queries, keys]."""

    product: SSAValue
    capped: SSAValue
    biased: SSAValue
    probabilities: SSAValue


def attend(
    node: Node,
    q: SSAValue,
    k: SSAValue,
    v: SSAValue,
    bias: Bias | None = None,
    *,
    scale: float,
    softcap: float = 0.0,
    softmax_type: str = "",
) -> tuple[SSAValue, Scores]:
    """softmax(softcap(scale * q kT) + bias) v, computed in `softmax_type` from the scores to the probabilities."""
    scores = product = _products(node, q, k, scale)
    if softcap:
        tanh = node.emit(TanhOp(node.emit(MulOp(scores, number(node, 1 / softcap, scores)))))
        scores = node.emit(MulOp(tanh, number(node, softcap, scores)))
    capped = biased = scores
    kept: SSAValue | None = None
    shift = None if bias is None else bias.value()
    if bias is not None and shift is not None:
        biased = scores = node.emit(AddOp(scores, shift))
        if bias.may_mask_all():
            kept = bias.attends(shift)
            lowest = _LOWEST.get(dtype_of(scores), -3.4028234663852886e38)
            scores = node.emit(MaximumOp(scores, number(node, lowest, scores)))  # no row of -inf alone
    original = dtype_of(scores)
    if softmax_type and softmax_type != original:
        scores = node.emit(CastOp(scores, softmax_type))
    probabilities = node.emit(SoftmaxOp(scores))
    if dtype_of(probabilities) != original:
        probabilities = node.emit(CastOp(probabilities, original))
    if kept is not None:
        probabilities = node.emit(MulOp(probabilities, kept))
    return _weighted(node, probabilities, v), Scores(product, capped, biased, probabilities)


def _products(node: Node, q: SSAValue, k: SSAValue, scale: float) -> SSAValue:
    """scale * q kT, [batch, query heads, queries, keys]."""
    batch, _, queries, width = node.shape(q)
    heads, kv_heads = shape_of(q)[1], shape_of(k)[1]
    if kv_heads < 1 or heads % kv_heads:
        raise Unsupported(f"{heads} query heads are no multiple of {kv_heads} heads of keys")
    if scale != 1.0:
        q = node.emit(MulOp(q, number(node, scale, q)))
    if heads == kv_heads:
        return node.emit(MatmulOp(q, k, transpose_b=True))
    rows = combined(mul, queries, heads // kv_heads)
    scores = node.emit(MatmulOp(with_shape(node, q, (batch, kv_heads, rows, width)), k, transpose_b=True))
    return with_shape(node, scores, (batch, heads, queries, node.shape(k)[2]))


def _scale(node: Node, q: SSAValue) -> float:
    """The scale of the scores, by default 1 / sqrt(features of a head)."""
    if node.has_attribute("scale"):
        return node.float("scale")
    return float(static_dim(shape_of(q)[3], "the features of a head")) ** -0.5


def _weighted(node: Node, probabilities: SSAValue, v: SSAValue) -> SSAValue:
    """The sums of values, weighted by probabilities, [batch, query heads, queries, features]."""
    batch, _, queries, keys = node.shape(probabilities)
    heads, kv_heads = shape_of(probabilities)[1], shape_of(v)[1]
    if heads == kv_heads:
        return node.emit(MatmulOp(probabilities, v))
    rows = combined(mul, queries, heads // kv_heads)
    y = node.emit(MatmulOp(with_shape(node, probabilities, (batch, kv_heads, rows, keys)), v))
    return with_shape(node, y, (batch, heads, queries, node.shape(v)[3]))


def attention(node: Node) -> list[SSAValue | None]:
    """Matrix products, softmax, masks as additions; keys and values joined to past ones."""
    q, k, v = (node.operand(i) for i in range(3))
    packed = len(shape_of(q)) == 3
    if packed:
        heads, kv_heads = node.int("q_num_heads"), node.int("kv_num_heads")
        q, k, v = split_heads(node, q, heads), split_heads(node, k, kv_heads), split_heads(node, v, kv_heads)
    past_key, past_value = node.optional(4), node.optional(5)
    past = 0
    if past_key is not None and past_value is not None:
        past = shape_of(past_key)[2]
        k = node.emit(ConcatOp([past_key, k], axis=2))
        v = node.emit(ConcatOp([past_value, v], axis=2))
    bias = _bias(node, q, k, past)
    scale = _scale(node, q)
    y, scores = attend(
        node,
        q,
        k,
        v,
        bias,
        scale=scale,
        softcap=node.float("softcap", 0.0),
        softmax_type=_softmax_type(node),
    )
    stages = {0: scores.product, 1: scores.capped, 2: scores.biased, 3: scores.probabilities}
    stage = stages.get(node.int("qk_matmul_output_mode", 0))
    return [join_heads(node, y) if packed else y, k, v, stage]


def flex_attention(node: Node) -> SSAValue:
    """The same with its two bodies in place, on scores and on probabilities."""
    q, k, v = (node.operand(i) for i in range(3))
    scores = _products(node, q, k, _scale(node, q))
    precision = _softmax_type(node) or ("f64" if dtype_of(q) == "f64" else "f32")
    if dtype_of(scores) != precision:
        scores = node.emit(CastOp(scores, precision))
    scores = _modified(node, "score_mod", scores)
    probabilities = _modified(node, "prob_mod", node.emit(SoftmaxOp(scores)))
    if dtype_of(probabilities) != dtype_of(v):
        probabilities = node.emit(CastOp(probabilities, dtype_of(v)))
    return _weighted(node, probabilities, v)


def _modified(node: Node, body: str, value: SSAValue) -> SSAValue:
    """What a body of one input and one output makes of a tensor, in the node's place."""
    if not node.has_attribute(body):
        return value
    graph = node.graph(body)
    inner = BranchValues(node.bodies.constants(graph), used_in(graph), node.values)
    inner.bind(graph.input[0].name, value)
    node.bodies.convert(graph, inner)
    return inner.operand(graph.output[0].name)


def _softmax_type(node: Node) -> str:
    from graph_engine.dialects.ge.interning import element_name

    element = element_of_onnx(node.int("softmax_precision", 0))
    return "" if element is None else element_name(element)


def _bias(node: Node, q: SSAValue, k: SSAValue, past: int) -> Bias:
    """Mask, causality, window and the number of valid keys together."""
    queries, keys = shape_of(q)[2], shape_of(k)[2]
    bias = Bias(node, q)
    valid = node.optional(6)
    if node.has(3):
        bias.mask(node.operand(3), keys)
    left, right = node.int("left_window_size", -1), node.int("right_window_size", -1)
    if node.int("is_causal", 0):
        right = 0 if right < 0 else min(right, 0)
    counts = None
    if valid is not None:
        counts = reshape(node, valid, (shape_of(valid)[0], 1, 1, 1))
        places = _places(static_dim(keys, "the number of keys"))
        bias.conditions.append(_compare(node, places, counts, "lt"))
    if left < 0 and right < 0:
        return bias
    queries, keys = static_dim(queries, "the number of queries"), static_dim(keys, "the number of keys")
    ahead = _places(keys) - _places(queries)[:, None]  # key behind query, both counted from 0
    if counts is not None:  # query i stands at i + count - queries
        if right >= 0:
            bias.conditions.append(_compare(node, ahead + (queries - right), counts, "le"))
        if left >= 0:
            bias.conditions.append(_compare(node, ahead + (queries + left), counts, "ge"))
        return bias
    past = static_dim(past, "the number of past keys")
    if right >= 0:
        bias.require(ahead <= past + right)
    if left >= 0:
        bias.require(ahead >= past - left)
    return bias


def _places(count: int) -> Array:
    import numpy as np

    return np.arange(count, dtype=np.int64)


def _compare(node: Node, places: Array, counts: SSAValue, predicate: str) -> SSAValue:
    constant = node.keep_constant(places.astype(numpy_dtype(dtype_of(counts))), f"{node.name}.places")
    return node.emit(CompareOp(constant, counts, predicate=predicate))


def rotary_embedding(node: Node) -> SSAValue:
    """Two halves (or neighbours) of the features turned by cached cosines and sines."""
    x, cosines, sines = (node.operand(i) for i in range(3))
    shape, heads = shape_of(x), node.int("num_heads", 0)
    if len(shape) == 3 and heads < 1:
        raise Unsupported("num_heads must be given for an input of rank 3")
    if node.has(3):
        cosines, sines = (node.emit(GatherOp(table, node.operand(3), axis=0)) for table in (cosines, sines))
    if len(shape) == 3:
        y = reshape(node, x, (*shape[:2], heads, shape[2] // heads))
    else:
        y = x
    width = node.int("rotary_embedding_dim", 0) or shape_of(y)[3]
    y = rotate(node, y, cosines, sines, width, interleaved=bool(node.int("interleaved", 0)), heads_last=len(shape) == 3)
    return reshape(node, y, shape)


def rotate(
    node: Node, x: SSAValue, cosines: SSAValue, sines: SSAValue, width: int, *, interleaved: bool, heads_last: bool
) -> SSAValue:
    """The first `width` features of x turned; tables are [batch, sequence, width / 2]; x is [batch, heads, sequence,
    features], or [batch, sequence, heads, features] if `heads_last`."""
    cosines, sines = (_table(node, table, width // 2, heads_last) for table in (cosines, sines))
    if interleaved:
        first, second = _part(node, x, 0, width, 2), _part(node, x, 1, width, 2)
    else:
        first, second = _part(node, x, 0, width // 2), _part(node, x, width // 2, width)
    real = node.emit(SubOp(node.emit(MulOp(first, cosines)), node.emit(MulOp(second, sines))))
    imaginary = node.emit(AddOp(node.emit(MulOp(first, sines)), node.emit(MulOp(second, cosines))))
    shape = shape_of(x)
    if interleaved:
        pairs = [reshape(node, part, (*shape_of(part), 1)) for part in (real, imaginary)]
        turned = [reshape(node, node.emit(ConcatOp(pairs, axis=4)), (*shape[:3], width))]
    else:
        turned = [real, imaginary]
    if width < shape[3]:
        turned.append(_part(node, x, width, shape[3]))
    return turned[0] if len(turned) == 1 else node.emit(ConcatOp(turned, axis=3))


def _table(node: Node, table: SSAValue, width: int, heads_last: bool) -> SSAValue:
    batch, length, columns = shape_of(table)
    if columns != width:
        table = _part(node, table, 0, width)
    return reshape(node, table, (batch, length, 1, width) if heads_last else (batch, 1, length, width))


def _part(node: Node, x: SSAValue, start: int, end: int, step: int = 1) -> SSAValue:
    """Features `start` to `end` of the last axis."""
    return node.emit(SliceOp(x, starts=[start], ends=[end], axes=[len(shape_of(x)) - 1], steps=[step]))


def causal_conv_with_state(node: Node) -> list[SSAValue | None]:
    """A depthwise convolution of what came before, or zeros, and x; the end of that is the new state."""
    x, w = node.operand(0), node.operand(1)
    channels, _, width = shape_of(w)
    if node.has(3):
        x = node.emit(ConcatOp([node.operand(3), x], axis=2))
    elif width > 1:
        x = node.emit(PadOp(x, pads=[0, 0, width - 1, 0, 0, 0]))
    y = convolve(node, x, w, node.optional(2), strides=[1], pads=[0, 0], dilations=[1], group=channels)
    match node.string("activation", "none"):
        case "none":
            pass
        case "silu" | "swish":
            y = node.emit(SwishOp(y))
        case activation:
            raise Unsupported(f"activation {activation} is not known")
    if not node.result_used(1):
        return [y]
    length = static_dim(shape_of(x)[2], "the length")
    state = node.emit(SliceOp(x, starts=[length - width + 1], ends=[length], axes=[2]))
    return [y, state]


def linear_attention(node: Node) -> list[SSAValue | None]:
    """`ge.linear_attention`; an absent state or decay is zeros."""
    import numpy as np

    q, k, v = (node.operand(i) for i in range(3))
    heads, kv_heads = node.int("q_num_heads"), node.int("kv_num_heads")
    keys, values = shape_of(k)[2] // kv_heads, shape_of(v)[2] // kv_heads
    state, decay = node.optional(3), node.optional(4)
    if state is None:
        zeros = np.zeros((1, kv_heads, keys, values), numpy_dtype(dtype_of(q)))
        state = node.keep_constant(zeros, f"{node.name}.state")
    if decay is None:
        decay = node.keep_constant(np.zeros((1, 1, kv_heads), numpy_dtype(dtype_of(q))), f"{node.name}.decay")
    rule = node.string("update_rule", "gated_delta")
    if rule not in ("linear", "gated", "delta", "gated_delta"):
        raise Unsupported(f"update_rule {rule} is not known")
    beta = node.operand(5) if "delta" in rule else None
    scale = node.float("scale", 0.0) or keys**-0.5
    return [*node.emit_all(LinearAttentionOp(q, k, v, state, decay, beta, heads=heads, kv_heads=kv_heads, scale=scale))]


CONVERTERS: dict[str, Converter] = {
    "Attention": attention,
    "RotaryEmbedding": rotary_embedding,
    "ai.onnx.preview:FlexAttention": flex_attention,
    "LinearAttention": linear_attention,
    "CausalConvWithState": causal_conv_with_state,
}
