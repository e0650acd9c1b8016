"""Recurrent layers. What a node leaves out (bias, states, peepholes) is zeros; a batch-first layout is transposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.interning import numpy_dtype
from graph_engine.dialects.ge.recurrence import GruOp, LstmOp, RnnOp
from graph_engine.dialects.ge.shape import TransposeOp
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, shape_of

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
    **options: Any,
) -> list[SSAValue | None]:
    import numpy as np

    x, w, r = (node.operand(i) for i in range(3))
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

    def extra(
        given_or_zeros: Callable[[int, Sequence[int], str], SSAValue], directions: int, hidden: int
    ) -> list[SSAValue]:
        cell = given_or_zeros(6, (directions, 1, hidden), "cell")
        return [cell, given_or_zeros(7, (directions, 3 * hidden), "peepholes")]

    forget = bool(node.int("input_forget", 0))
    return _recurrent(node, 4, ["sigmoid", "tanh", "tanh"], LstmOp, extra, input_forget=forget)


CONVERTERS: dict[str, Converter] = {"RNN": rnn, "GRU": gru, "LSTM": lstm}
