"""What each operator does to the bounds of its operands; used by `value_ranges`; sums are in `sum_ranges`.

A rule gives the bounds of an operator's results in order; results behind those that it gives are unbounded, and so are
the results of an operator without a rule. Rules of functions of one variable run the operator's own reference at the
ends of the operand's range and at the places where the function turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isinf
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC, GeOp, element_of, shape_of
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.reference import evaluate
from graph_engine.planning.bounds import Bounds
from graph_engine.transforms.sum_ranges import SUM_RULES, kept_shape, standard_score

if TYPE_CHECKING:
    from graph_engine.transforms.value_ranges import Ranges

Rule: TypeAlias = "Callable[[GeOp, Ranges], Bounds | Sequence[Bounds]]"
ZERO, UNIT, SIGNED_UNIT = Bounds(0, 0), Bounds(0, 1), Bounds(-1, 1)

PICKS = (
    *("reshape", "transpose", "expand", "tile", "slice", "reverse_sequence", "reshape_to", "expand_to", "tile_by"),
    *("slice_at", "gather", "gather_elements", "gather_nd", "compress", "unique"),
    *(
        "global_max_pool",
        "global_avg_pool",
        "max_pool",
        "max_pool3d",
        "max_pool_indices",
        "reduce_max",
        "reduce_min",
        "reduce_mean",
    ),
)
"""Results are elements of the first operand, or means of them."""
JOINS = {"concat": None, "select": (1, 2), "one_hot": (1,), "fill": (1,), "tensor_scatter": (0, 1)}
"""Results are elements of these operands (None: of all)."""
CURVES = (
    *("relu", "sigmoid", "tanh", "exp", "log", "sqrt", "abs", "neg", "erf", "leaky_relu", "clip", "asin", "acos"),
    *("atan", "sinh", "cosh", "asinh", "acosh", "atanh", "ceil", "floor", "round", "sign", "elu", "gelu", "swish"),
    *("hard_sigmoid", "hard_swish", "softplus", "mish"),
)
"""Functions of one variable, monotone but for where they turn: at 0 or as `TURNS` says."""
TURNS = {"gelu": (-0.7517916, -0.7524614), "mish": (-1.1924513,), "hard_swish": (-3.0, -1.5, 3.0)}
DOMAINS = {
    **{"log": Bounds(0, inf), "sqrt": Bounds(0, inf), "acosh": Bounds(1, inf)},
    **{"asin": SIGNED_UNIT, "acos": SIGNED_UNIT, "atanh": SIGNED_UNIT},
}
"""Outside these a function has no value."""
ALWAYS = {"sin": SIGNED_UNIT, "cos": SIGNED_UNIT, "softmax": UNIT, "shape_of": Bounds(0, inf)}


def bounds_of(op: GeOp, ranges: Ranges) -> Sequence[Bounds]:
    """The bounds of the results of `op`, as far as a rule knows them."""
    rule = RULES.get(op.name)
    found = () if rule is None else rule(op, ranges)
    return (found,) if isinstance(found, Bounds) else found


def pick(op: GeOp, ranges: Ranges) -> Bounds:
    """Of nothing there is neither a mean nor an extreme, so unknown extents are unbounded."""
    if op.name.startswith("ge.reduce") and any(extent in (0, DYNAMIC) for extent in shape_of(op.operands[0])):
        return Bounds()
    return ranges[op.operands[0]]


def join(op: GeOp, ranges: Ranges) -> Bounds:
    """The hull of the operands that results come from."""
    places = JOINS[op.name.removeprefix("ge.")]
    return hull(ranges, op.operands if places is None else [op.operands[place] for place in places])


def converted(op: GeOp, ranges: Ranges) -> Bounds:
    """cast: whole numbers in an integer type; 8-bit floats may saturate anywhere."""
    element = element_name(element_of(op.results[0]))
    if element == "i1":
        return UNIT
    x = ranges[op.operands[0]]
    return x if element in ("f16", "bf16", "f32", "f64") else Bounds() if element[0] == "f" else x.whole()


def hull(ranges: Ranges, values: Sequence[SSAValue]) -> Bounds:
    """The bounds around all of `values`."""
    first, *others = [ranges[value] for value in values]
    return first.hull(*others)


def curve(op: GeOp, ranges: Ranges) -> Bounds:
    """The function at both ends and where it turns in between; no value at an end (0 times infinity) is 0."""
    import numpy as np

    x, name = ranges[op.operands[0]], op.name.removeprefix("ge.")
    if (domain := DOMAINS.get(name)) is not None:
        x = x.clamped(domain.low, domain.high)
    attributes = op.attribute_values()
    turns = TURNS.get(name, (0.0,))
    if name == "swish":
        turns = (0.0, -1.2784645 / (attributes["alpha"] or 1.0))
    places = np.array([x.low, x.high, *(turn for turn in turns if turn in x)], np.float64)
    with np.errstate(all="ignore"):
        (values,) = evaluate(op.name, [places], attributes)
    return Bounds.of(np.nan_to_num(values, nan=0.0, posinf=inf, neginf=-inf).tolist())


def extreme(op: GeOp, ranges: Ranges) -> Bounds:
    """maximum, minimum: of the ends."""
    a, b = (ranges[value] for value in op.operands)
    choose = max if op.name == "ge.maximum" else min
    return Bounds(choose(a.low, b.low), choose(a.high, b.high))


def subtracted(op: GeOp, ranges: Ranges) -> Bounds:
    """A difference; less its own maximum nothing is positive."""
    x, other = op.operands
    difference = ranges[x] - ranges[other]
    return Bounds(difference.low, min(difference.high, 0.0)) if is_maximum_of(other, x, ranges) else difference


def is_maximum_of(value: SSAValue, x: SSAValue, ranges: Ranges) -> bool:
    """Whether `value` is the maximum of `x` along some axes, or more, in the shape that lines up with `x`."""
    op, shape = ranges.definition(value), shape_of(value)
    while op is not None and op.name in ("ge.reshape", "ge.maximum"):
        op = next((ranges.definition(y) for y in op.operands if ranges.array(y) is None), None)
    return (
        isinstance(op, GeOp)
        and op.name == "ge.reduce_max"
        and ranges.same(op.operands[0], x)
        and shape == kept_shape(op)
    )


def multiplied(op: GeOp, ranges: Ranges) -> Bounds:
    """A product; a value times itself is no less than 0, and x times 1 / its deviation is a standard score."""
    a, b = op.operands
    if ranges.same(a, b):
        return ranges[a].square()
    return standard_score(op, ranges) or ranges[a] * ranges[b]


def divided(op: GeOp, ranges: Ranges) -> Bounds:
    """A quotient; integers are cut towards zero."""
    quotient = ranges[op.operands[0]] / ranges[op.operands[1]]
    return standard_score(op, ranges) or quotient.hull(quotient.whole())


def power(op: GeOp, ranges: Ranges) -> Bounds:
    """Of a base that is not negative by its corners; else only for a whole exponent."""
    base, exponent = (ranges[value] for value in op.operands)
    if base.low < 0:
        if exponent.low != exponent.high or exponent.low != int(exponent.low) or exponent.low < 0:
            return Bounds()
        even = exponent.low % 2 == 0
        ends = [_power(end, exponent.low) for end in (base.low, base.high)]
        return Bounds.of([*ends, 0.0]) if even and 0.0 in base else Bounds.of(ends)
    return Bounds.of(_power(x, e) for x in (base.low, base.high) for e in (exponent.low, exponent.high))


def _power(base: float, exponent: float) -> float:
    try:
        return base**exponent
    except ZeroDivisionError:
        return inf
    except OverflowError:
        return -inf if base < 0 and exponent % 2 else inf


def padded(op: GeOp, ranges: Ranges) -> Bounds:
    """The elements or what is padded with."""
    if op.name == "ge.pad":
        value = op.attribute_values()["value"]
        return ranges[op.operands[0]].hull(Bounds(value, value))
    return ranges[op.operands[0]].hull(*(ranges[value] for value in op.operands[2:]), ZERO)


def scattered(op: GeOp, ranges: Ranges) -> Bounds:
    """The elements and the updates; sums and products of any number of updates are unbounded."""
    joined = hull(ranges, (op.operands[0], op.operands[2]))
    return joined if op.attribute_values()["reduction"] in ("none", "max", "min") else Bounds()


def resized(op: GeOp, ranges: Ranges) -> Bounds:
    """Nearest and linear stay among the elements, or take what lies outside."""
    attributes = op.attribute_values()
    if attributes["mode"] not in ("nearest", "linear"):
        return Bounds()
    outside = attributes["extrapolation"]
    return ranges[op.operands[0]].hull(Bounds(outside, outside))


def sampled(op: GeOp, ranges: Ranges) -> Bounds:
    """Means of the elements and of zeros around them, unless by cubic curves."""
    return Bounds() if op.attribute_values().get("mode") == "cubic" else ranges[op.operands[0]].hull(ZERO)


def counted(op: GeOp, ranges: Ranges) -> Bounds:
    """arg_max, arg_min: a place along the axis."""
    attributes = op.attribute_values()
    extent = shape_of(op.operands[0])[attributes["axis"]]
    return Bounds(0, inf if extent == DYNAMIC else max(extent - 1, 0))


def ranked(op: GeOp, ranges: Ranges) -> Sequence[Bounds]:
    """top_k: elements, and their places along the axis."""
    return (ranges[op.operands[0]], counted(op, ranges))


def remainder(op: GeOp, ranges: Ranges) -> Bounds:
    """No larger than the divisor."""
    largest = ranges[op.operands[1]].largest
    return Bounds(-largest, largest)


def stepped(op: GeOp, ranges: Ranges) -> Bounds:
    """range: from the start towards the limit."""
    return hull(ranges, op.operands[:2])


def sloped(op: GeOp, ranges: Ranges) -> Bounds:
    """prelu: x where it is positive, else slope times x."""
    x, slope = (ranges[value] for value in op.operands)
    return Bounds() if isinf(x.largest) and slope.low < 0 else x.clamped(0, inf).hull(x.clamped(-inf, 0) * slope)


def dequantized(op: GeOp, ranges: Ranges) -> Bounds:
    """(x - zero point) * scale; dequantize_sums: x * first * second."""
    if op.name == "ge.dequantize":
        x, scale, zero_point = (ranges[value] for value in op.operands)
        return (x - zero_point) * scale
    x, *scales = (ranges[value] for value in op.operands)
    for scale in scales:
        x = x * scale
    return x


def gated(op: GeOp, ranges: Ranges) -> Sequence[Bounds]:
    """rnn, gru, lstm with their usual activations: outputs are between -1 and 1, or what h was at the start."""
    names = op.attribute_values()["activations"]
    if any(name not in ("sigmoid", "tanh") for name in names):
        return ()
    state = SIGNED_UNIT.hull(ranges[op.operands[4]])
    return (state, state)


def stepped_gates(op: GeOp, ranges: Ranges) -> Sequence[Bounds]:
    """recurrent_steps: h is between -1 and 1, or what it was at the start; the cell of an LSTM grows."""
    return (SIGNED_UNIT.hull(ranges[op.operands[2]]),)


def _always(op: GeOp, ranges: Ranges) -> Bounds:
    return ALWAYS[op.name.removeprefix("ge.")]


def _families(families: dict[Rule, Sequence[str]]) -> dict[str, Rule]:
    return {f"ge.{name}": rule for rule, names in families.items() for name in names}


RULES: dict[str, Rule] = SUM_RULES | _families(
    {
        pick: PICKS,
        join: tuple(JOINS),
        curve: CURVES,
        _always: tuple(ALWAYS),
        converted: ("cast",),
        extreme: ("maximum", "minimum"),
        (lambda op, ranges: ranges[op.operands[0]] + ranges[op.operands[1]]): ("add",),
        subtracted: ("sub",),
        (lambda op, ranges: Bounds(1, 1) / ranges[op.operands[0]]): ("reciprocal",),
        multiplied: ("mul",),
        divided: ("div",),
        power: ("pow",),
        remainder: ("mod",),
        padded: ("pad", "pad_by"),
        scattered: ("scatter_elements", "scatter_nd"),
        resized: ("resize",),
        sampled: ("trilu", "roi_align", "max_roi_pool", "grid_sample", "avg_pool"),
        counted: ("arg_max", "arg_min"),
        ranked: ("top_k",),
        stepped: ("range",),
        sloped: ("prelu",),
        dequantized: ("dequantize", "dequantize_sums"),
        gated: ("rnn", "gru", "lstm"),
        stepped_gates: ("recurrent_steps",),
    }
)
"""Operator name -> its rule."""
