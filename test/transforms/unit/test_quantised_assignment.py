"""The choice of formats of quantised networks, against all choices: the bound is below the best one, and the choice no worse
than it says or than GE's spread."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnx
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models.small import GraphBuilder
from xdsl.ir import Block, Operation

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.compile import compile_module
from graph_engine.pipelines.default import Phase
from graph_engine.transforms.formats import FormatRules
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.heavy_spread import heavy_spread
from graph_engine.transforms.layout_assignment import assign_layouts, cost_of
from graph_engine.transforms.stored_values import Family

RULES = FormatRules.for_soc("Ascend310P3")
MOST_FREE = 9


class Quantised(GraphBuilder):
    """Feature maps [1, C, 6, 6] whose numbers pass through 8 bits."""

    def steps(self, x: str, scale: float = 0.05) -> str:
        """x in 8 bits, as floats."""
        numbers = self.numbers(scale, 3)
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, *numbers]), *numbers])

    def conv8(self, x: str, c_in: int, c_out: int) -> str:
        weights = self._rng.integers(-99, 99, (c_out, c_in, 3, 3)).astype(np.int8)
        w = self.constant(f"q{len(self._weights)}", weights)
        return self.node("Conv", [x, self.node("DequantizeLinear", [w, *self.numbers(0.01, 0)])], pads=[1] * 4)

    def numbers(self, scale: float, zero: int) -> tuple[str, str]:
        """Names of a scale and a zero point."""
        count = len(self._weights)
        return self.constant(f"s{count}", np.float32(scale)), self.constant(f"z{count}", np.int8(zero))


@st.composite
def networks(draw: st.DrawFn) -> onnx.ModelProto:
    """Convolutions in 8 bits and in floats, sums, pools, activations; some values leave the model on the way."""
    b = Quantised(draw(st.integers(0, 9)))
    c = draw(st.sampled_from([8, 32]))
    values = [(b.steps(b.input("x", (1, c, 6, 6))), c)]
    for _ in range(draw(st.integers(2, 5))):
        x, c = draw(st.sampled_from(values[-3:]))
        kind = draw(st.sampled_from(["conv8", "conv8", "conv", "add", "pool", "sigmoid", "softmax"]))
        if kind == "conv8":
            wide = draw(st.sampled_from([8, 32]))
            y, c = b.steps(b.conv8(x, c, wide)), wide
        elif kind == "conv":
            y = b.conv(x, c, c)
        elif kind == "add":
            y = b.steps(b.node("Add", [x, draw(st.sampled_from([v for v, n in values if n == c]))]))
        elif kind == "pool":
            y = b.node("MaxPool", [x], kernel_shape=[3, 3], pads=[1] * 4)
        elif kind == "sigmoid":
            y = b.steps(b.node("Sigmoid", [x]), 0.01)
        else:
            y = b.node("Softmax", [x], axis=1)
        values.append((y, c))
    leaving = {values[-1][0], *draw(st.lists(st.sampled_from([v for v, _ in values[1:]]), max_size=2))}
    return b.model(*sorted(leaving))


def all_costs(block: Block) -> list[int]:
    """The cost of every choice that binds operators to what they ask for."""
    ops: list[Operation] = []
    labels: list[list[Family | None]] = []
    for op in block.ops:
        if isinstance(op, ConstantOp) or not RULES.can_move(op):
            continue
        wish = RULES.own_family(op)
        forms = [family for family in Family if RULES.has_form(op, family)]
        ops.append(op)
        labels.append([wish] if wish in forms else [None] if wish is not None else [None, *forms])
    assume(sum(len(own) > 1 for own in labels) <= MOST_FREE)
    return [
        cost_of(block, {op: family for op, family in zip(ops, choice, strict=True) if family is not None}, RULES)
        for choice in product(*labels)
    ]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(networks())
def test_no_choice_is_below_the_bound(model: onnx.ModelProto) -> None:
    module = import_onnx(model)
    compile_module(module, until=Phase.PRECISION)
    for block in graphs(module):
        found, every = assign_layouts(block, RULES), all_costs(block)
        assert found.lower_bound <= min(every) <= found.cost
        assert found.cost <= cost_of(block, heavy_spread(block, RULES), RULES)
        if found.proved_optimal:
            assert found.cost == min(every)
