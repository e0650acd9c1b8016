"""Operators whose result at one step of a sequence depends on the step before: RNN, GRU, LSTM, linear attention.

Sequences run along the first axis: x[S,B,I]. D is 2 for `direction` "bidirectional", else 1; "reverse" goes from the end.
An initial state may have batch 1. `activations` name one function a gate and direction: tanh, sigmoid, relu, affine,
leaky_relu, thresholded_relu, scaled_tanh, hard_sigmoid, elu, softsign, softplus; `alphas` and `betas` are their
parameters. `clip` > 0 bounds what goes into those of gates. With `lengths` [B] (i32) a sequence ends early: its y is 0 behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from graph_engine.dialects.ge.core import (
    DYNAMIC,
    TENSOR,
    Cost,
    GeOp,
    Tensor,
    bytes_of,
    element_of,
    elements_of,
    shape_of,
    shape_text,
    shapes_agree,
    typed,
)
from graph_engine.dialects.ge.interning import bool_attr, float_attr, int_attr, string_attr, tensor_type
from graph_engine.dialects.ge.properties import (
    bool_prop,
    float_prop,
    floats_attr,
    floats_prop,
    int_prop,
    string_prop,
    strings_prop,
)

DIRECTIONS = ("forward", "reverse", "bidirectional")
ACTIVATIONS = (
    *("tanh", "sigmoid", "relu", "affine", "leaky_relu", "thresholded_relu", "scaled_tanh"),
    *("hard_sigmoid", "elu", "softsign", "softplus"),
)


class RecurrentOp(GeOp):
    """Shared by the recurrent layers: w[D,G*H,I], r[D,G*H,H], b[D,2*G*H] (input, then recurrent), h[D,B,H].

    Results: y[S,D,B,H], the last h [D,B,H], and of an LSTM the last cell.
    """

    GATES: ClassVar[int]
    FUNCTIONS: ClassVar[int]
    """Activations of one direction."""

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    b = operand_def(TENSOR)
    h = operand_def(TENSOR)
    result = result_def(TENSOR)
    last = result_def(TENSOR)

    def infer(self) -> tuple[Tensor, ...]:
        direction = self.properties["direction"]
        names = self.properties["activations"]
        if direction not in [string_attr(name) for name in DIRECTIONS]:
            raise self.fail(f"direction must be one of {', '.join(DIRECTIONS)}")
        directions = 2 if direction == string_attr("bidirectional") else 1
        known = [string_attr(name) for name in ACTIVATIONS]
        functions = list(names)  # pyright: ignore
        if len(functions) != directions * self.FUNCTIONS or any(name not in known for name in functions):
            raise self.fail(f"activations must be {directions * self.FUNCTIONS} of {', '.join(ACTIVATIONS)}")
        for parameters in ("alphas", "betas"):
            if len(list(self.properties[parameters])) != len(functions):  # pyright: ignore
                raise self.fail(f"{parameters} must have one value an activation")
        length, batch, width = self.require_rank(self.x, 3, "x")
        hidden = self.require_rank(self.r, 3, "r")[2]
        self.require_shape("w", self.w, (directions, self.GATES * hidden, width))
        self.require_shape("r", self.r, (directions, self.GATES * hidden, hidden))
        self.require_shape("b", self.b, (directions, 2 * self.GATES * hidden))
        states = self.states()
        for name, value in states:
            shape = self.require_rank(value, 3, name)
            self.require_shape(name, value, (directions, 1 if shape[1] == 1 else batch, hidden))
        for value in (self.w, self.r, self.b, *(value for _, value in states)):
            if element_of(value) != element_of(self.x):
                raise self.fail(f"operands must have one element type, got {element_of(self.x)}, {element_of(value)}")
        last = typed((directions, batch, hidden), self.x)
        return (*typed((length, directions, batch, hidden), self.x), *(last * len(states)))

    def states(self) -> list[tuple[str, SSAValue]]:
        """The initial states, by name."""
        return [("h", self.h)]

    def require_shape(self, name: str, value: SSAValue, shape: Sequence[int]) -> None:
        """Raises if `value` has another shape."""
        if not shapes_agree(shape_of(value), shape):
            raise self.fail(f"{name} must be {shape_text(shape)} (operands {self.operand_shapes()})")

    def cost(self) -> Cost:
        steps = max(1, shape_of(self.x)[0]) * max(1, shape_of(self.x)[1])
        return Cost(
            steps * (elements_of(self.w) + elements_of(self.r)),
            elements_of(self.result) * self.GATES * 4,
            sum(map(bytes_of, self.operands)),
            sum(map(bytes_of, self.results)),
        )


def _common(
    direction: str, activations: Sequence[str], alphas: Sequence[float], betas: Sequence[float], clip: float
) -> dict[str, Attribute]:
    return {
        "direction": string_attr(direction),
        "activations": ArrayAttr([string_attr(name) for name in activations]),
        "alphas": floats_attr(alphas or (0.0,) * len(activations)),
        "betas": floats_attr(betas or (0.0,) * len(activations)),
        "clip": float_attr(clip),
    }


@irdl_op_definition
class RnnOp(RecurrentOp):
    """h' = f(x wT + h rT + b) (ONNX RNN)."""

    name = "ge.rnn"
    GATES: ClassVar[int] = 1
    FUNCTIONS: ClassVar[int] = 1

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    b = operand_def(TENSOR)
    h = operand_def(TENSOR)
    lengths = opt_operand_def(TENSOR)
    result = result_def(TENSOR)
    last = result_def(TENSOR)
    direction = string_prop("forward")
    activations = strings_prop(("tanh",))
    alphas = floats_prop((0.0,))
    betas = floats_prop((0.0,))
    clip = float_prop(0.0)

    def __init__(
        self,
        x: SSAValue | Operation,
        w: SSAValue | Operation,
        r: SSAValue | Operation,
        b: SSAValue | Operation,
        h: SSAValue | Operation,
        lengths: SSAValue | Operation | None = None,
        *,
        direction: str = "forward",
        activations: Sequence[str] = ("tanh",),
        alphas: Sequence[float] = (),
        betas: Sequence[float] = (),
        clip: float = 0.0,
        result_type: Sequence[Tensor] | None = None,
    ):
        self.init((x, w, r, b, h, lengths), _common(direction, activations, alphas, betas, clip), result_type)


@irdl_op_definition
class GruOp(RecurrentOp):
    """Gates in the order update z, reset r, hidden (ONNX GRU).

    z = f(x wz + h rz + bz); r = f(x wr + h rr + br); n = g(x wn + wbn + (r * h) rn + rbn), or, if
    `linear_before_reset`, g(x wn + wbn + r * (h rn + rbn)); h' = (1 - z) * n + z * h.
    """

    name = "ge.gru"
    GATES: ClassVar[int] = 3
    FUNCTIONS: ClassVar[int] = 2

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    b = operand_def(TENSOR)
    h = operand_def(TENSOR)
    lengths = opt_operand_def(TENSOR)
    result = result_def(TENSOR)
    last = result_def(TENSOR)
    direction = string_prop("forward")
    activations = strings_prop(("sigmoid", "tanh"))
    alphas = floats_prop((0.0, 0.0))
    betas = floats_prop((0.0, 0.0))
    clip = float_prop(0.0)
    linear_before_reset = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        w: SSAValue | Operation,
        r: SSAValue | Operation,
        b: SSAValue | Operation,
        h: SSAValue | Operation,
        lengths: SSAValue | Operation | None = None,
        *,
        direction: str = "forward",
        activations: Sequence[str] = ("sigmoid", "tanh"),
        alphas: Sequence[float] = (),
        betas: Sequence[float] = (),
        clip: float = 0.0,
        linear_before_reset: bool = False,
        result_type: Sequence[Tensor] | None = None,
    ):
        properties = _common(direction, activations, alphas, betas, clip)
        properties["linear_before_reset"] = bool_attr(linear_before_reset)
        self.init((x, w, r, b, h, lengths), properties, result_type)


@irdl_op_definition
class LstmOp(RecurrentOp):
    """Gates in the order input i, output o, forget f, cell c; peephole weights p[D,3*H] of i, o, f (ONNX LSTM).

    i = f(x wi + h ri + bi + pi * c); f = f(... + pf * c), or 1 - i if `input_forget`; c' = f * c + i * g(x wc + h rc + bc);
    o = f(x wo + h ro + bo + po * c'); h' = o * k(c'). `cell` [D,B,H] is the initial cell; the third result is the last.
    With `quantize_state` h goes through 8 bits, as `ge.dynamic_quantize` has them, before it meets r.
    """

    name = "ge.lstm"
    GATES: ClassVar[int] = 4
    FUNCTIONS: ClassVar[int] = 3

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    b = operand_def(TENSOR)
    h = operand_def(TENSOR)
    cell = operand_def(TENSOR)
    p = operand_def(TENSOR)
    lengths = opt_operand_def(TENSOR)
    result = result_def(TENSOR)
    last = result_def(TENSOR)
    last_cell = result_def(TENSOR)
    direction = string_prop("forward")
    activations = strings_prop(("sigmoid", "tanh", "tanh"))
    alphas = floats_prop((0.0, 0.0, 0.0))
    betas = floats_prop((0.0, 0.0, 0.0))
    clip = float_prop(0.0)
    input_forget = bool_prop(False)
    quantize_state = bool_prop(False)

    def __init__(
        self,
        x: SSAValue | Operation,
        w: SSAValue | Operation,
        r: SSAValue | Operation,
        b: SSAValue | Operation,
        h: SSAValue | Operation,
        cell: SSAValue | Operation,
        p: SSAValue | Operation,
        lengths: SSAValue | Operation | None = None,
        *,
        direction: str = "forward",
        activations: Sequence[str] = ("sigmoid", "tanh", "tanh"),
        alphas: Sequence[float] = (),
        betas: Sequence[float] = (),
        clip: float = 0.0,
        input_forget: bool = False,
        quantize_state: bool = False,
        result_type: Sequence[Tensor] | None = None,
    ):
        properties = _common(direction, activations, alphas, betas, clip)
        properties |= {"input_forget": bool_attr(input_forget), "quantize_state": bool_attr(quantize_state)}
        self.init((x, w, r, b, h, cell, p, lengths), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        types = super().infer()
        directions, _, hidden = shape_of(self.r)
        self.require_shape("p", self.p, (directions, 3 * hidden))
        return types

    def states(self) -> list[tuple[str, SSAValue]]:
        return [("h", self.h), ("cell", self.cell)]


@irdl_op_definition
class LinearAttentionOp(GeOp):
    """A state S[keys, values] a head that every step changes and reads (ONNX LinearAttention).

    S = exp(decay) * S; S = S + k outer v, or with `beta` S + k outer beta * (v - ST k); y = `scale` * ST q.

    q[B,T,heads*K], k[B,T,kv_heads*K], v[B,T,kv_heads*V], state[B,kv_heads,K,V], decay[B,T,kv_heads or kv_heads*K],
    beta[B,T,kv_heads or 1]; batch and step of state and decay may be 1. Results: y[B,T,heads*V], the last state.
    """

    name = "ge.linear_attention"

    q = operand_def(TENSOR)
    k = operand_def(TENSOR)
    v = operand_def(TENSOR)
    state = operand_def(TENSOR)
    decay = operand_def(TENSOR)
    beta = opt_operand_def(TENSOR)
    result = result_def(TENSOR)
    last = result_def(TENSOR)
    heads = int_prop()
    kv_heads = int_prop()
    scale = float_prop(1.0)

    def __init__(
        self,
        q: SSAValue | Operation,
        k: SSAValue | Operation,
        v: SSAValue | Operation,
        state: SSAValue | Operation,
        decay: SSAValue | Operation,
        beta: SSAValue | Operation | None = None,
        *,
        heads: int,
        kv_heads: int,
        scale: float = 1.0,
        result_type: Sequence[Tensor] | None = None,
    ):
        properties = {"heads": int_attr(heads), "kv_heads": int_attr(kv_heads), "scale": float_attr(scale)}
        self.init((q, k, v, state, decay, beta), properties, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        heads, kv_heads = self.heads.value.data, self.kv_heads.value.data
        batch, steps, queries = self.require_rank(self.q, 3, "q")
        keys, values = self.require_rank(self.k, 3, "k")[2], self.require_rank(self.v, 3, "v")[2]
        if min(heads, kv_heads) < 1 or heads % kv_heads or DYNAMIC in (queries, keys, values):
            raise self.fail(f"{heads} heads must be a multiple of {kv_heads}, features known ({self.operand_shapes()})")
        if queries * kv_heads != keys * heads or keys % kv_heads or values % kv_heads:
            raise self.fail(f"heads do not divide the features (operands {self.operand_shapes()})")
        state = (batch, kv_heads, keys // kv_heads, values // kv_heads)
        if not shapes_agree(self.require_rank(self.state, 4, "state")[1:], state[1:]):
            raise self.fail(f"state must be {shape_text(state)} (operands {self.operand_shapes()})")
        if self.require_rank(self.decay, 3, "decay")[2] not in (kv_heads, keys):
            raise self.fail(f"decay must have {kv_heads} or {keys} features (operands {self.operand_shapes()})")
        if self.beta is not None and self.require_rank(self.beta, 3, "beta")[2] not in (1, kv_heads):
            raise self.fail(f"beta must have 1 or {kv_heads} features (operands {self.operand_shapes()})")
        y = typed((batch, steps, values // kv_heads * heads), self.q)
        return (*y, tensor_type(state, element_of(self.state)))

    def cost(self) -> Cost:
        steps = max(1, shape_of(self.q)[0]) * max(1, shape_of(self.q)[1])
        work = steps * elements_of(self.state)
        return Cost(0, 6 * work, sum(map(bytes_of, self.operands)), sum(map(bytes_of, self.results)))


RECURRENCE = [RnnOp, GruOp, LstmOp, LinearAttentionOp]
