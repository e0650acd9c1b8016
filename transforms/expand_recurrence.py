"""Write out recurrent layers: one product for what the sequence contributes to the gates, then a few operators a step.

    %y, %h, %c = ge.lstm %x, %w, %r, ... : (tensor<9x1x64xf32>, tensor<1x384x64xf32>, tensor<1x384x96xf32>, ...)
    // becomes, %h and %c starting with the given states,
    %g = ge.matmul %x, %w, %b : ... -> tensor<9x384xf32>
    // and nine times
    %total = ge.add (ge.matmul %h, %r), %g[t] : ... -> tensor<1x1x384xf32>
    %c = sigmoid(%total[f]) * %c + sigmoid(%total[i]) * tanh(%total[c]);  %h = sigmoid(%total[o]) * tanh(%c)

The sum leaves with the product of the step, and the last line is one Vector task. Where a core has a Cube and a Vector unit, an
LSTM or GRU of the usual functions, without peepholes, lengths and clip, keeps its steps: one kernel loops over them.

    %y, %last = ge.recurrent_steps %g, %r, %states {cell = "lstm"} : ... -> (tensor<9x1x1x96xf32>, tensor<2x1x1x96xf32>)

Units are filled up to whole blocks of
the Cube, where weights are constants: then the gates of a step are views. Their weights are zero, so nothing reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge import activation, elementwise
from graph_engine.dialects.ge.core import DYNAMIC, element_of, shape_of
from graph_engine.dialects.ge.interning import element_name, numpy_dtype
from graph_engine.dialects.ge.logic import CompareOp, SelectOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.recurrence import GruOp, LstmOp, RecurrentOp, RnnOp
from graph_engine.dialects.ge.recurrent_steps import RecurrentStepsOp
from graph_engine.dialects.ge.repetition import ExpandOp
from graph_engine.dialects.ge.shape import PadOp
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.made_operators import Made
from graph_engine.transforms.pass_base import ROUNDING, GePass
from graph_engine.transforms.recipes import known
from graph_engine.transforms.remarks import missed, passed

BLOCK = 16
"""Units of a gate are filled up to a multiple of it: the columns of a fractal."""
MOST_STEPS = 1024
"""Steps of all directions that are written out; a longer layer stays one operator."""
STEP_TASKS = 3
"""Of a step that is written out: a product, and one or two of the Vector unit."""
ZERO_AT_ZERO = frozenset({"tanh", "sigmoid", "hard_sigmoid", "relu", "leaky_relu", "elu", "softsign"})
"""Activations under which a unit without weights stays zero, or bounded, so that its zero weights hide it."""


def _activate(graph: Made, name: str, alpha: float, beta: float, x: SSAValue) -> SSAValue:
    """A function of a gate."""
    put = graph.put
    match name:
        case "affine":
            scaled = put(elementwise.MulOp(x, graph.number(alpha, x)))
            return put(elementwise.AddOp(scaled, graph.number(beta, x)))
        case "leaky_relu":
            return put(elementwise.LeakyReluOp(x, alpha=alpha))
        case "thresholded_relu":
            above = put(CompareOp(x, graph.number(alpha, x), predicate="gt"))
            return put(SelectOp(above, x, graph.number(0.0, x)))
        case "scaled_tanh":
            inner = put(elementwise.TanhOp(put(elementwise.MulOp(x, graph.number(beta, x)))))
            return put(elementwise.MulOp(inner, graph.number(alpha, x)))
        case "hard_sigmoid":
            return put(activation.HardSigmoidOp(x, alpha=alpha, beta=beta))
        case "elu":
            return put(activation.EluOp(x, alpha=alpha))
        case "softsign":
            below = put(elementwise.AddOp(put(elementwise.AbsOp(x)), graph.number(1.0, x)))
            return put(elementwise.DivOp(x, below))
        case "softplus":
            return put(activation.SoftplusOp(x))
        case _:
            plain: dict[str, type[elementwise.UnaryOp]] = {
                "tanh": elementwise.TanhOp,
                "sigmoid": elementwise.SigmoidOp,
                "relu": elementwise.ReluOp,
            }
            return put(plain[name](x))


@dataclass
class _Layer:
    """One direction of a layer: its operands as the Cube wants them, and its functions."""

    graph: Made
    op: RecurrentOp
    direction: int

    def __post_init__(self) -> None:
        self.hidden = shape_of(self.op.r)[2]
        constant = all(known(value) is not None for value in (self.op.w, self.op.r, self.op.b))
        filled = constant and all(name in ZERO_AT_ZERO for name in self.names)
        self.units = -(-self.hidden // BLOCK) * BLOCK if filled else self.hidden
        gates, graph, n = self.op.GATES, self.graph, self.units
        width = shape_of(self.op.w)[2]
        self.w = self._gates(self._own(self.op.w), (gates, self.hidden, width), (gates, n, width), (gates * n, width))
        self.r = self._gates(self._own(self.op.r), (gates, self.hidden, self.hidden), (gates, n, n), (gates * n, n))
        both = self._gates(self._own(self.op.b), (2, gates, self.hidden), (2, gates, n), (2, gates * n))
        self.input_bias, self.state_bias = (graph.shaped(graph.part(both, 0, i), (gates * n,)) for i in range(2))

    @property
    def names(self) -> list[str]:
        """Its activations."""
        return self._of_direction("activations")

    def _of_direction(self, name: str) -> list[Any]:
        values = self.op.attribute_values()[name]
        return values[self.direction * self.op.FUNCTIONS : (self.direction + 1) * self.op.FUNCTIONS]

    def _own(self, value: SSAValue) -> SSAValue:
        """The part of a weight that belongs to the direction, without the axis of directions."""
        return self.graph.shaped(self.graph.part(value, 0, self.direction), shape_of(value)[1:])

    def _gates(self, x: SSAValue, cut: Sequence[int], filled: Sequence[int], shape: Sequence[int]) -> SSAValue:
        return self.graph.shaped(self.graph.filled(self.graph.shaped(x, cut), filled), shape)

    def state(self, value: SSAValue, batch: int) -> SSAValue | None:
        """An initial state (1, batch, units), None if it is zero."""
        own = self.graph.part(value, 0, self.direction)
        constant = known(own)
        if constant is not None and not constant.numbers().any():
            return None
        if shape_of(own)[1] != batch:
            own = self.graph.put(ExpandOp(own, shape=(1, batch, self.hidden)))
        return self.graph.filled(own, (1, batch, self.units))

    def function(self, index: int, x: SSAValue, *, clipped: bool = True) -> SSAValue:
        """Activation `index` of x."""
        clip = float(self.op.attribute_values()["clip"])
        if clip > 0 and clipped:
            x = self.graph.put(elementwise.ClipOp(x, min=-clip, max=clip))
        alpha, beta = (float(self._of_direction(name)[index]) for name in ("alphas", "betas"))
        return _activate(self.graph, self.names[index], alpha, beta, x)

    def gate(self, x: SSAValue, index: int, count: int = 1) -> SSAValue:
        """The columns of `count` gates."""
        return self.graph.part(x, 2, index * self.units, count * self.units)

    def times(self, h: SSAValue, first: int, count: int, bias: SSAValue | None = None) -> SSAValue:
        """h times the recurrent weights of `count` gates from `first` on."""
        rows = self.graph.part(self.r, 0, first * self.units, count * self.units)
        return self.affine(h, rows, bias)

    def affine(self, x: SSAValue, w: SSAValue, bias: SSAValue | None) -> SSAValue:
        """x wT + bias; the Cube starts its sums with a bias that is a constant."""
        if bias is None or known(bias) is not None:
            return self.graph.put(MatmulOp(x, w, bias, transpose_b=True))
        return self.graph.put(elementwise.AddOp(self.graph.put(MatmulOp(x, w, transpose_b=True)), bias))

    def sum(self, *values: SSAValue | None) -> SSAValue | None:
        """The sum of what is there."""
        there = [value for value in values if value is not None]
        total = there[0] if there else None
        for value in there[1:]:
            assert total is not None
            total = self.graph.put(elementwise.AddOp(total, value))
        return total

    def product(self, a: SSAValue, b: SSAValue | None) -> SSAValue | None:
        """a * b, None if b is zero."""
        return None if b is None else self.graph.put(elementwise.MulOp(a, b))


States = tuple["SSAValue | None", ...]
Cell = Callable[[_Layer, SSAValue, States], tuple[SSAValue, ...]]
"""One step: what the sequence contributes, the states before (None is zero), the states behind."""


def _rnn(layer: _Layer, given: SSAValue, states: States) -> tuple[SSAValue, ...]:
    (h,) = states
    total = given if h is None else layer.sum(layer.times(h, 0, 1), given)
    assert total is not None
    return (layer.function(0, total),)


def _lstm(layer: _Layer, given: SSAValue, states: States) -> tuple[SSAValue, ...]:
    op, graph = layer.op, layer.graph
    assert isinstance(op, LstmOp)
    h, c = states
    total = given if h is None else layer.sum(layer.times(h, 0, 4), given)
    assert total is not None
    constant = known(op.p)
    peepholes = None
    if constant is None or constant.numbers().any():
        p = graph.shaped(graph.part(op.p, 0, layer.direction), (3, layer.hidden))
        peepholes = graph.filled(p, (3, layer.units))

    def through(index: int, column: int, cell: SSAValue | None) -> SSAValue:
        """A gate that also sees the cell."""
        gate = layer.gate(total, column)
        if peepholes is not None and cell is not None:
            weight = graph.shaped(graph.part(peepholes, 0, index), (layer.units,))
            seen = layer.sum(gate, layer.product(cell, weight))
            assert seen is not None
            return seen
        return gate

    i = layer.function(0, through(0, 0, c))
    kept = None
    if c is not None:
        one = graph.number(1.0, i)
        forget = graph.put(elementwise.SubOp(one, i)) if op.input_forget.value.data else None
        kept = layer.product(layer.function(0, through(2, 2, c)) if forget is None else forget, c)
    new = layer.sum(kept, layer.product(i, layer.function(1, layer.gate(total, 3))))
    assert new is not None
    o = layer.function(0, through(1, 1, new))
    h = layer.product(o, layer.function(2, new, clipped=False))
    assert h is not None
    return h, new


def _gru(layer: _Layer, given: SSAValue, states: States) -> tuple[SSAValue, ...]:
    op, graph, units = layer.op, layer.graph, layer.units
    assert isinstance(op, GruOp)
    (h,) = states
    inner = graph.part(layer.state_bias, 0, 2 * units, units)
    linear = bool(op.linear_before_reset.value.data)
    gates = layer.gate(given, 0, 2)
    hidden: SSAValue | None = inner
    if h is not None and linear:
        bias = graph.filled(graph.put(PadOp(inner, pads=[2 * units, 0])), (3 * units,))
        products = layer.times(h, 0, 3, bias)
        gates, hidden = layer.sum(gates, layer.gate(products, 0, 2)), layer.gate(products, 2)
    elif h is not None:
        gates = layer.sum(gates, layer.times(h, 0, 2))
    assert gates is not None
    both = layer.function(0, gates)
    z, reset = layer.gate(both, 0), layer.gate(both, 1)
    if linear:
        hidden = layer.product(reset, hidden)
    elif h is not None:
        kept = layer.product(reset, h)
        assert kept is not None
        hidden = layer.times(kept, 2, 1, inner)
    total = layer.sum(hidden, layer.gate(given, 2))
    assert total is not None
    new = layer.function(1, total)
    if h is None or linear:
        rest = graph.put(elementwise.SubOp(graph.number(1.0, z), z))
        result = layer.sum(layer.product(rest, new), layer.product(z, h))
    else:  # the new values leave with the product; the rest is one task in this form
        result = layer.sum(new, layer.product(z, graph.put(elementwise.SubOp(h, new))))
    assert result is not None
    return (result,)


def _apart(op: RecurrentOp, soc: Soc, alive: SSAValue | None) -> tuple[str, str] | None:
    """Why steps are tasks of their own (a word, a sentence); None where one kernel has them all."""
    values = op.attribute_values()
    usual = {"ge.lstm": ["sigmoid", "tanh", "tanh"], "ge.gru": ["sigmoid", "tanh"]}.get(op.name)
    directions, rows, hidden = shape_of(op.r)
    units = -(-hidden // BLOCK) * BLOCK
    if soc.has("split"):
        return "chip", "no core has both a Cube and a Vector unit"
    if alive is not None:
        return "lengths", "sequences may end early"
    if any(known(value) is None for value in (op.w, op.r, op.b)):
        return "constant", "weights are none"
    same = usual is not None and values["activations"] == usual * directions and not values["clip"]
    if isinstance(op, LstmOp):
        peepholes = known(op.p)
        same = same and peepholes is not None and not peepholes.numbers().any()
        same = same and not values["input_forget"] and not values["quantize_state"]
    elif isinstance(op, GruOp):
        same = same and values["linear_before_reset"]
    if not same:
        return "cell", f"the cell is not the usual one of an LSTM, or of a GRU with linear_before_reset ({op.name})"
    weights = 2 * units * units * (rows // hidden)
    if weights + 4 * BLOCK * units > soc.buffers["l1"]:
        return "size", f"{weights} bytes of recurrent weights do not fit L1"
    # Nothing hides the weights, which one core loads; step by step each task has a launch.
    loading_us = weights / soc.path("gm", "l1", "ddr").bytes_per_cycle / soc.freq_mhz.cube
    launches_us = shape_of(op.x)[0] * directions * STEP_TASKS * soc.overheads.kernel_task_us
    if loading_us >= launches_us:
        return (
            "cost",
            f"a core takes {loading_us:.0f} us to load the recurrent weights, launches of all steps {launches_us:.0f}",
        )
    return None


def _one_loop(graph: Made, op: RecurrentOp) -> list[SSAValue]:
    """The product for the whole sequence, and an operator that has all steps."""
    length, batch, width = shape_of(op.x)
    directions = shape_of(op.r)[0]
    layers = [_Layer(graph, op, d) for d in range(directions)]
    units, hidden = layers[0].units, layers[0].hidden

    def stacked(values: Sequence[SSAValue]) -> SSAValue:
        return graph.joined([graph.shaped(value, (1, *shape_of(value))) for value in values], 0)

    bias = [layer.sum(layer.input_bias, _outer_bias(layer)) for layer in layers]
    w = graph.joined([layer.w for layer in layers], 0)
    joined_bias = graph.joined([value for value in bias if value is not None], 0)
    rows = layers[0].affine(graph.shaped(op.x, (length * batch, width)), w, joined_bias)
    given = graph.shaped(rows, (length, batch, shape_of(rows)[-1]))
    zero = graph.numbers(np.zeros((1, batch, units), numpy_dtype(element_name(element_of(op.x)))), "state")
    begun = [graph.joined([layer.state(value, batch) or zero for layer in layers], 0) for _, value in op.states()]
    inner = None
    if isinstance(op, GruOp):
        inner = stacked([graph.part(layer.state_bias, 0, 2 * units, units) for layer in layers])
    r = stacked([layer.r for layer in layers])
    steps = RecurrentStepsOp(
        given, r, stacked(begun), inner, cell=op.name.removeprefix("ge."), direction=op.attribute_values()["direction"]
    )
    y, last = graph.put_all(steps)
    lasts = [graph.shaped(graph.part(last, 0, k), (directions, batch, units)) for k in range(len(begun))]
    return [graph.part(value, len(shape_of(value)) - 1, 0, hidden) for value in (y, *lasts)]


CELLS: dict[type[RecurrentOp], Cell] = {RnnOp: _rnn, LstmOp: _lstm, GruOp: _gru}


def _steps(layer: _Layer, cell: Cell, alive: SSAValue | None) -> tuple[SSAValue, list[SSAValue]]:
    """y (steps, 1, batch, hidden) of one direction, and the last states (1, batch, hidden)."""
    op, graph = layer.op, layer.graph
    length, batch, width = shape_of(op.x)
    bias = layer.sum(layer.input_bias, _outer_bias(layer))
    # Each step is a matrix of its own, as its other products are stored; single rows need not be, and fill the Cube.
    rows = graph.shaped(op.x, (length, batch, width) if batch > 1 else (length, width))
    product = layer.affine(rows, layer.w, bias)
    given = graph.shaped(product, (length, batch, shape_of(product)[-1]))
    backwards = op.attribute_values()["direction"] == "reverse" or layer.direction == 1
    states: States = tuple(layer.state(value, batch) for _, value in op.states())
    results: list[SSAValue] = []
    for t in reversed(range(length)) if backwards else range(length):
        new = cell(layer, graph.part(given, 0, t), states)
        results.append(new[0])
        if alive is not None:
            mask, zero = graph.part(alive, 0, t), graph.number(0.0, new[0])
            results[-1] = graph.put(SelectOp(mask, new[0], zero))
            old = [zero if state is None else state for state in states]
            new = tuple(graph.put(SelectOp(mask, a, b)) for a, b in zip(new, old, strict=True))
        states = new
    y = graph.part(graph.joined(results[::-1] if backwards else results, 0), 2, 0, layer.hidden)
    lasts = [graph.part(state, 2, 0, layer.hidden) for state in states if state is not None]
    if alive is None:
        lasts[0] = graph.part(y, 0, 0 if backwards else length - 1)
    return graph.shaped(y, (length, 1, batch, layer.hidden)), lasts


def _outer_bias(layer: _Layer) -> SSAValue:
    """The part of the recurrent bias that meets no reset gate: it joins what the sequence contributes."""
    if not isinstance(layer.op, GruOp):
        return layer.state_bias
    outer = layer.graph.part(layer.state_bias, 0, 0, 2 * layer.units)
    return layer.graph.filled(outer, (3 * layer.units,))


class ExpandRecurrence(Pattern):
    """A recurrent layer of floats and known extents -> products and elementwise operators."""

    name = "expand-recurrence"
    root: ClassVar[tuple[type[Operation], ...]] = (RnnOp, LstmOp, GruOp)

    def __init__(self, soc: Soc):
        self.soc = soc

    def rewrite(self, op: RecurrentOp, rewriter: CountedRewriter) -> bool:
        shape, directions = shape_of(op.x), shape_of(op.r)[0]
        if DYNAMIC in shape or 0 in shape or element_name(element_of(op.x)) not in ("f16", "f32"):
            return False
        graph = Made()
        alive = _alive(graph, op, shape[0], shape[1])
        if (reason := _apart(op, self.soc, alive)) is None:
            results = _one_loop(graph, op)
            passed("StepsInOneKernel", op, f"one kernel loops over {shape[0]} steps", steps=shape[0])
            rewriter.replace(op, graph.needed(results), results)
            return True
        if shape[0] * directions > MOST_STEPS or (isinstance(op, LstmOp) and op.quantize_state.value.data):
            graph.needed([])
            return False
        guard, why = reason
        missed("StepsApart", op, f"each of {shape[0]} steps is tasks of its own: {why}", guard=guard)
        runs = [_steps(_Layer(graph, op, d), CELLS[type(op)], alive) for d in range(directions)]
        results = [graph.joined([y for y, _ in runs], 1)]
        results += [graph.joined(lasts, 0) for lasts in zip(*(lasts for _, lasts in runs), strict=True)]
        rewriter.replace(op, graph.needed(results), results)
        return True


def _alive(graph: Made, op: RecurrentOp, length: int, batch: int) -> SSAValue | None:
    """Which entries of the batch have not ended at a step (steps, batch, 1), None if all last to the end."""
    lengths = op.operands[-1] if len(op.operands) > 5 + 2 * isinstance(op, LstmOp) else None
    if lengths is None or ((constant := known(lengths)) is not None and (constant.numbers() >= length).all()):
        return None
    counter = np.arange(length, dtype=np.int32)[:, None, None]
    ends = graph.shaped(lengths, (1, batch, 1))
    return graph.put(CompareOp(graph.numbers(counter, "steps"), ends, predicate="lt"))


@dataclass(frozen=True)
class ExpandRecurrencePass(GePass):
    """Applies the pattern above."""

    name = "expand-recurrence"
    numerics = ROUNDING

    soc: str = field(default="Ascend310P3", metadata={"help": "chip whose kernels may loop over steps"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ExpandRecurrence(load_soc(self.soc))])
