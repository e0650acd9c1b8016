"""Recurrent layers. What a node leaves out (bias, states, peepholes) is zeros; a batch-first layout is transposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.quantization import DequantizeOp, DynamicQuantizeOp
from graph_engine.dialects.ge.recurrence import GruOp, LstmOp, RnnOp
from graph_engine.dialects.ge.shape import TransposeOp
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, shape_of
from graph_engine.frontend_onnx.windows import reshape

_FUNCTIONS: dict[str, tuple[str, float | None, float | None]] = {
    "tanh": ("tanh", None, None),
    "sigmoid": ("sigmoid", None, None),
    "relu": ("relu", None, None),
    "affine": ("affine", 1.0, 0.0),
    "leakyrelu": ("leaky_relu", 0.01, None),
    "thresholdedrelu": ("thresholded_relu", 1.0, None),
    "scaledtanh": ("scaled_tanh", 1.0, 1.0),
    "hardsigmoid": ("hard_sigmoid", 0.2, 0.5),
    "elu": ("elu", 1.0, None),
    "softsign": ("softsign", None, None),
    "softplus": ("softplus", None, None),
}
"""ONNX's name in lower case -> ours, and defaults of alpha and beta where the function has them."""


def _activations(node: Node, default: Sequence[str], directions: int) -> dict[str, Any]:
    """Names and parameters; ONNX lists alpha and beta only for the functions that have them."""
    names = [name.lower() for name in node.strings("activations")] or [*default] * directions
    if len(names) != len(default) * directions:
        raise Unsupported(f"activations {names} should be {len(default) * directions}")
    unknown = [name for name in names if name not in _FUNCTIONS]
    if unknown:
        raise Unsupported(f"activation {unknown[0]} is not known")
    found: dict[str, Any] = {"activations": [_FUNCTIONS[name][0] for name in names]}
    for key, attribute, place in (("alphas", "activation_alpha", 1), ("betas", "activation_beta", 2)):
        given = iter(node.floats(attribute) if node.has_attribute(attribute) else [])
        found[key] = [0.0 if (standard := _FUNCTIONS[name][place]) is None else next(given, standard) for name in names]
    return found


def _recurrent(
    node: Node,
    gates: int,
    functions: Sequence[str],
    build: Callable[..., GeOp],
    extra: Callable[[Callable[[int, Sequence[int], str], SSAValue], int, int], list[SSAValue]],
    given: Sequence[SSAValue] = (),
    **options: Any,
) -> list[SSAValue | None]:
    """The layer on the node's inputs, or on `given` instead of the first three."""
    import numpy as np

    x, w, r = given or [node.operand(i) for i in range(3)]
    direction = node.string("direction", "forward")
    directions, hidden = 2 if direction == "bidirectional" else 1, shape_of(r)[2]
    batch_first = bool(node.int("layout", 0))

    def given_or_zeros(index: int, shape: Sequence[int], what: str) -> SSAValue:
        value = node.optional(index)
        if value is None:
            zeros = np.zeros(tuple(shape), numpy_dtype(dtype_of(x)))
            return node.keep_constant(zeros, f"{node.name}.{what}")
        return node.emit(TransposeOp(value, perm=(1, 0, 2))) if batch_first and len(shape_of(value)) == 3 else value

    b = given_or_zeros(3, (directions, 2 * gates * hidden), "bias")
    h = given_or_zeros(5, (directions, 1, hidden), "state")
    op = build(
        node.emit(TransposeOp(x, perm=(1, 0, 2))) if batch_first else x,
        w,
        r,
        b,
        h,
        *extra(given_or_zeros, directions, hidden),
        node.optional(4),
        direction=direction,
        clip=node.float("clip", 0.0),
        **_activations(node, functions, directions),
        **options,
    )
    y, *lasts = node.emit_all(op)
    if not batch_first:
        return [y, *lasts]
    return [
        node.emit(TransposeOp(y, perm=(2, 0, 1, 3))),
        *(node.emit(TransposeOp(last, perm=(1, 0, 2))) for last in lasts),
    ]


def rnn(node: Node) -> list[SSAValue | None]:
    """`ge.rnn`."""
    return _recurrent(node, 1, ["tanh"], RnnOp, lambda *_: [])


def gru(node: Node) -> list[SSAValue | None]:
    """`ge.gru`."""
    linear = bool(node.int("linear_before_reset", 0))
    return _recurrent(node, 3, ["sigmoid", "tanh"], GruOp, lambda *_: [], linear_before_reset=linear)


def lstm(node: Node) -> list[SSAValue | None]:
    """`ge.lstm`."""
    return _lstm(node)


def _lstm(node: Node, given: Sequence[SSAValue] = (), quantize_state: bool = False) -> list[SSAValue | None]:
    def extra(
        given_or_zeros: Callable[[int, Sequence[int], str], SSAValue], directions: int, hidden: int
    ) -> list[SSAValue]:
        cell = given_or_zeros(6, (directions, 1, hidden), "cell")
        return [cell, given_or_zeros(7, (directions, 3 * hidden), "peepholes")]

    forget = bool(node.int("input_forget", 0))
    functions = ["sigmoid", "tanh", "tanh"]
    return _recurrent(node, 4, functions, LstmOp, extra, given, input_forget=forget, quantize_state=quantize_state)


def dynamic_quantize_lstm(node: Node) -> list[SSAValue | None]:
    """`ge.lstm` on real weights; the sequence, and at every step the state, go through 8 bits."""
    steps = shape_of(node.operand(0))[0]
    if node.has(4) and any(length != steps for length in node.constant(4, "the lengths of sequences").tolist()):
        raise Unsupported(
            "sequences that end early, whose ends set the range of 8 bits too; sequences of one length are"
        )
    x, scale, zero_point = node.emit_all(DynamicQuantizeOp(node.operand(0)))
    x = node.emit(DequantizeOp(x, scale, zero_point))
    return _lstm(node, [x, _real_weights(node, 1, 8), _real_weights(node, 2, 10)], quantize_state=True)


def _real_weights(node: Node, index: int, scale_index: int) -> SSAValue:
    """Weights [D,I,G*H] with a scale a direction [D], or one a gate's unit [D,G*H], as reals [D,G*H,I]."""
    weights = node.emit(TransposeOp(node.operand(index), perm=(0, 2, 1)))
    scale, zero_point = node.operand(scale_index), node.operand(scale_index + 1)
    if len(shape_of(scale)) == 1:
        return node.emit(DequantizeOp(weights, scale, zero_point, axis=0))
    directions, rows, columns = shape_of(weights)
    flat = reshape(node, weights, (directions * rows, columns))
    scale, zero_point = (reshape(node, value, (directions * rows,)) for value in (scale, zero_point))
    return reshape(node, node.emit(DequantizeOp(flat, scale, zero_point, axis=0)), (directions, rows, columns))


CONVERTERS: dict[str, Converter] = {
    "RNN": rnn,
    "GRU": gru,
    "LSTM": lstm,
    "com.microsoft:DynamicQuantizeLSTM": dynamic_quantize_lstm,
}
