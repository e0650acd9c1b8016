"""Recurrent layers and linear attention, step by step; fp16 is computed in fp32 and rounded at the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from graph_engine.dialects.ge.reference import activation, elementwise, quantization
from graph_engine.dialects.ge.reference.rounding import Array, narrow, widen

Function: TypeAlias = Callable[[Array], Array]
Cell: TypeAlias = Callable[[Array, tuple[Array, ...]], tuple[Array, ...]]
"""One step: what the input contributes to the gates, and the state; gives the new state, its first part is the result."""


def _function(name: str, alpha: float, beta: float, clip: float) -> Function:
    functions: dict[str, Function] = {
        "tanh": np.tanh,
        "sigmoid": elementwise.sigmoid,
        "relu": elementwise.relu,
        "affine": lambda v: (alpha * v + beta).astype(v.dtype),
        "leaky_relu": lambda v: elementwise.leaky_relu(v, alpha=alpha),
        "thresholded_relu": lambda v: np.where(v > alpha, v, v.dtype.type(0)),
        "scaled_tanh": lambda v: (alpha * np.tanh(beta * v)).astype(v.dtype),
        "hard_sigmoid": lambda v: activation.hard_sigmoid(v, alpha=alpha, beta=beta),
        "elu": lambda v: activation.elu(v, alpha=alpha),
        "softsign": lambda v: v / (1 + np.abs(v)),
        "softplus": activation.softplus,
    }
    function = functions[name]
    if clip <= 0:
        return function
    return lambda v: function(np.clip(v, -clip, clip).astype(v.dtype))


def _functions(
    direction: int, activations: Sequence[str], alphas: Sequence[float], betas: Sequence[float], clip: float, count: int
) -> list[Function]:
    places = range(direction * count, (direction + 1) * count)
    return [_function(activations[i], alphas[i], betas[i], clip) for i in places]


def _run(
    x: Array,
    gates: Callable[[int], tuple[Array, Cell]],
    states: Sequence[Array],
    lengths: Array | None,
    direction: str,
) -> list[Array]:
    """All directions over all steps: y, then the last states."""
    steps, batch = x.shape[:2]
    directions, _, hidden = states[0].shape
    dtype = x.dtype
    wide = widen(x)
    y = np.zeros((steps, directions, batch, hidden), wide.dtype)
    lasts = [np.empty((directions, batch, hidden), wide.dtype) for _ in states]
    ends = np.full(batch, steps) if lengths is None else lengths
    for d in range(directions):
        inputs, cell = gates(d)
        state = tuple(np.broadcast_to(widen(s)[d], (batch, hidden)) for s in states)
        backwards = direction == "reverse" or d == 1
        for t in range(steps):
            alive = t < ends
            place = np.where(alive, ends - 1 - t, 0) if backwards else np.full(batch, t)
            new = cell(inputs[place, np.arange(batch)], state)
            state = tuple(np.where(alive[:, None], a, b) for a, b in zip(new, state, strict=True))
            rows = np.flatnonzero(alive)
            y[place[rows], d, rows] = state[0][rows]
        for last, s in zip(lasts, state, strict=True):
            last[d] = s
    return [narrow(value, dtype) for value in (y, *lasts)]


def rnn(
    x: Array,
    w: Array,
    r: Array,
    b: Array,
    h: Array,
    lengths: Array | None = None,
    *,
    direction: str = "forward",
    activations: Sequence[str] = ("tanh",),
    alphas: Sequence[float] = (0.0,),
    betas: Sequence[float] = (0.0,),
    clip: float = 0.0,
) -> list[Array]:
    """h' = f(x wT + h rT + b)."""
    hidden = r.shape[2]

    def gates(d: int) -> tuple[Array, Cell]:
        (f,) = _functions(d, activations, alphas, betas, clip, 1)
        recurrent = widen(r)[d].T
        bias = widen(b)[d, :hidden] + widen(b)[d, hidden:]

        def cell(given: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
            return (f(given + state[0] @ recurrent),)

        return widen(x) @ widen(w)[d].T + bias, cell

    return _run(x, gates, [h], lengths, direction)


def gru(
    x: Array,
    w: Array,
    r: Array,
    b: Array,
    h: Array,
    lengths: Array | None = None,
    *,
    direction: str = "forward",
    activations: Sequence[str] = ("sigmoid", "tanh"),
    alphas: Sequence[float] = (0.0, 0.0),
    betas: Sequence[float] = (0.0, 0.0),
    clip: float = 0.0,
    linear_before_reset: bool = False,
) -> list[Array]:
    """Update gate z, reset gate, hidden gate; h' = (1 - z) * hidden + z * h."""
    n = r.shape[2]

    def gates(d: int) -> tuple[Array, Cell]:
        f, g = _functions(d, activations, alphas, betas, clip, 2)
        recurrent, bias = widen(r)[d].T, widen(b)[d]
        inner = bias[5 * n :]

        def cell(given: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
            old = state[0]
            both = f(given[:, : 2 * n] + old @ recurrent[:, : 2 * n])
            z, reset = both[:, :n], both[:, n:]
            if linear_before_reset:
                hidden = g(given[:, 2 * n :] + reset * (old @ recurrent[:, 2 * n :] + inner))
            else:
                hidden = g(given[:, 2 * n :] + (reset * old) @ recurrent[:, 2 * n :] + inner)
            return ((1 - z) * hidden + z * old,)

        both = np.concatenate([bias[: 2 * n] + bias[3 * n : 5 * n], bias[2 * n : 3 * n]])
        return widen(x) @ widen(w)[d].T + both, cell

    return _run(x, gates, [h], lengths, direction)


def lstm(
    x: Array,
    w: Array,
    r: Array,
    b: Array,
    h: Array,
    cell: Array,
    p: Array,
    lengths: Array | None = None,
    *,
    direction: str = "forward",
    activations: Sequence[str] = ("sigmoid", "tanh", "tanh"),
    alphas: Sequence[float] = (0.0, 0.0, 0.0),
    betas: Sequence[float] = (0.0, 0.0, 0.0),
    clip: float = 0.0,
    input_forget: bool = False,
    quantize_state: bool = False,
) -> list[Array]:
    """Gates input, output, forget, cell, with peepholes p to the first three."""
    n = r.shape[2]

    def gates(d: int) -> tuple[Array, Cell]:
        f, g, _ = _functions(d, activations, alphas, betas, clip, 3)
        k = _functions(d, activations, alphas, betas, 0.0, 3)[2]  # of the cell, which is not clipped (as onnxruntime)
        recurrent, bias, peephole = widen(r)[d].T, widen(b)[d], widen(p)[d]
        to_input, to_output, to_forget = peephole[:n], peephole[n : 2 * n], peephole[2 * n :]

        def step(given: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
            hidden, old = state
            if quantize_state:
                hidden = quantization.dequantize(*quantization.dynamic_quantize(hidden))
            total = given + hidden @ recurrent
            i = f(total[:, :n] + to_input * old)
            forget = 1 - i if input_forget else f(total[:, 2 * n : 3 * n] + to_forget * old)
            new = forget * old + i * g(total[:, 3 * n :])
            o = f(total[:, n : 2 * n] + to_output * new)
            return o * k(new), new

        return widen(x) @ widen(w)[d].T + bias[: 4 * n] + bias[4 * n :], step

    return _run(x, gates, [h, cell], lengths, direction)


def recurrent_steps(
    given: Array, r: Array, states: Array, inner: Array | None = None, *, cell: str, direction: str = "forward"
) -> list[Array]:
    """The steps of an LSTM or GRU (`linear_before_reset`) whose gates are given but for h rT: y, the last states."""
    steps, batch, _ = given.shape
    directions, width, n = r.shape
    wide = widen(given).reshape(steps, batch, directions, width)
    y = np.empty((steps, directions, batch, n), wide.dtype)
    current = widen(states).copy()
    for d in range(directions):
        recurrent = widen(r)[d].T
        for t in range(steps):
            place = steps - 1 - t if direction == "reverse" or d == 1 else t
            product, known = current[0, d] @ recurrent, wide[place, :, d]
            if cell == "lstm":
                total = known + product
                i, o, f = (elementwise.sigmoid(total[:, k * n : (k + 1) * n]) for k in range(3))
                current[1, d] = f * current[1, d] + i * np.tanh(total[:, 3 * n :])
                current[0, d] = o * np.tanh(current[1, d])
            else:
                assert inner is not None
                z, reset = (elementwise.sigmoid((known + product)[:, k * n : (k + 1) * n]) for k in range(2))
                new = np.tanh(known[:, 2 * n :] + reset * (product[:, 2 * n :] + widen(inner)[d]))
                current[0, d] = (1 - z) * new + z * current[0, d]
            y[place, d] = current[0, d]
    return [narrow(y, given.dtype), narrow(current, given.dtype)]


def linear_attention(
    q: Array,
    k: Array,
    v: Array,
    state: Array,
    decay: Array,
    beta: Array | None = None,
    *,
    heads: int,
    kv_heads: int,
    scale: float = 1.0,
) -> list[Array]:
    """A state a head, decayed, changed and read at every step, in fp32."""
    batch, steps = q.shape[:2]
    group = heads // kv_heads

    def by_head(value: Array, count: int) -> Array:
        return value.astype(np.float32).reshape(*value.shape[:2], count, -1)

    queries = by_head(q, heads).reshape(batch, steps, kv_heads, group, -1)
    keys, values = by_head(k, kv_heads), by_head(v, kv_heads)
    fading = np.broadcast_to(np.exp(by_head(decay, kv_heads)), (batch, steps, kv_heads, decay.shape[2] // kv_heads))
    rate = None if beta is None else by_head(beta, beta.shape[2])
    current = np.broadcast_to(state.astype(np.float32), (batch, *state.shape[1:]))
    y = np.empty((batch, steps, kv_heads, group, values.shape[-1]), np.float32)
    for t in range(steps):
        key, value = keys[:, t], values[:, t]
        current = current * fading[:, t][..., None]
        if rate is not None:
            value = rate[:, t] * (value - np.einsum("bhkv,bhk->bhv", current, key))
        current = current + key[..., None] * value[..., None, :]
        y[:, t] = scale * np.matmul(queries[:, t], current)
    return [narrow(y.reshape(batch, steps, -1), q.dtype), narrow(current, state.dtype)]
