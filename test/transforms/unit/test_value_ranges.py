"""Bounds of values are sound: what the reference computes lies inside, whatever the graph and the inputs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.random_networks import networks
from xdsl.dialects.builtin import f64
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge import activation, elementwise, normalization, reduction, shape, unary_math
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.logic import SelectOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.pooling import AvgPoolOp, MaxPoolOp
from graph_engine.dialects.ge.weights import constant_attr
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.planning.bounds import Bounds
from graph_engine.transforms.fusion import graphs
from graph_engine.transforms.value_ranges import Ranges

SHAPE = (2, 4, 6, 6)
UNARY: list[Callable[[SSAValue], Operation]] = [
    *(op for op in elementwise.ELEMENTWISE if issubclass(op, elementwise.UnaryOp) and op is not elementwise.CastOp),
    *(op for op in unary_math.UNARY_MATH if op.name != "ge.not"),
    *(op for op in activation.ACTIVATION if issubclass(op, elementwise.UnaryOp)),
    lambda x: elementwise.ClipOp(x, min=-0.5, max=2.0),
    lambda x: activation.GeluOp(x, approximate="tanh"),
    lambda x: activation.EluOp(x, alpha=-0.7, scale=1.3, input_scale=0.5),
    lambda x: activation.SwishOp(x, alpha=-1.7),
    lambda x: activation.HardSigmoidOp(x, alpha=-0.3, beta=0.4),
    lambda x: elementwise.LeakyReluOp(x, alpha=-2.0),
    lambda x: normalization.SoftmaxOp(x, axis=1),
    lambda x: normalization.LrnOp(x, size=3, bias=0.5),
    lambda x: shape.PadOp(shape.SliceOp(x, starts=[1], ends=[5], axes=[3], steps=[1]), pads=[0, 0, 0, 1, 0, 0, 0, 1]),
    lambda x: reduction.CumSumOp(x, axis=2, exclusive=True, reverse=True),
    lambda x: MaxPoolOp(x, kernel=[3, 3], pads=[1, 1, 1, 1]),
    lambda x: AvgPoolOp(x, kernel=[3, 3], pads=[1, 1, 1, 1], count_include_pad=True),
]
BINARY: list[Callable[[SSAValue, SSAValue], Operation]] = [
    *(op for op in elementwise.ELEMENTWISE if issubclass(op, elementwise.BinaryOp)),
    activation.PReluOp,
    lambda a, b: MatmulOp(a, b),
    lambda a, b: MatmulOp(normalization.SoftmaxOp(a), b),
    lambda a, b: MatmulOp(a, b, transpose_b=True),
]
REDUCTIONS = [op for op in reduction.REDUCTION if issubclass(op, reduction.ReduceOp)]


def constant(values: Any) -> ConstantOp:
    array = np.asarray(values, np.float64)
    return ConstantOp(constant_attr(array, "c"), result_type=tensor_type(array.shape, f64))


def sound(block: Block, inputs: list[np.ndarray[Any, Any]]) -> None:
    """Evaluates `block` and checks every value, with inputs bounded by what they are and with inputs unbounded."""
    given_bounds = {argument: Bounds.of([x.min(), x.max()]) for argument, x in zip(block.args, inputs, strict=True)}
    analyses = [Ranges(block), Ranges(block, given_bounds)]
    values: dict[SSAValue, Any] = dict(zip(block.args, inputs, strict=True))
    with np.errstate(all="ignore"):
        for op in block.ops:
            if op.name in ("func.return", "ge.yield"):
                break
            for result, array in zip(op.results, evaluate_op(op, [values[v] for v in op.operands]), strict=True):
                values[result] = array
                numbers = array[~np.isnan(array)].astype(np.float64)
                for ranges in analyses if numbers.size else ():
                    bounds = ranges[result]
                    slack = (
                        1e-5 * max([abs(end) for end in (bounds.low, bounds.high) if np.isfinite(end)], default=0)
                        + 1e-6
                    )
                    assert bounds.low - slack <= numbers.min(), (op.name, bounds, numbers.min())
                    assert numbers.max() <= bounds.high + slack, (op.name, bounds, numbers.max())


class Case:
    """A graph with one input and numbers for it; prints as the operators' names."""

    def __init__(self, block: Block, x: np.ndarray[Any, Any]):
        self.block, self.x = block, x

    def __repr__(self) -> str:
        names = [op.name + str(op.attribute_values()) for op in self.block.ops if isinstance(op, GeOp)]
        return f"{self.x.min()}..{self.x.max()}: {names}"


@st.composite
def graphs_of_operators(draw: Any) -> Case:
    """A chain with joins of operators of every family on feature maps, constants and inputs of any size."""
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    low, high = sorted(draw(st.tuples(*[st.sampled_from((-1e4, -30.0, -1.0, -0.1, 0.0, 1e-7, 0.5, 2.0, 100.0))] * 2)))
    block = Block(arg_types=[tensor_type(SHAPE, f64)])
    values: list[SSAValue] = [block.args[0]]

    def add(op: Operation) -> None:
        for value in op.operands:
            if isinstance(value.owner, Operation) and value.owner.parent is None:
                add(value.owner)
        block.add_op(op)

    for _ in range(draw(st.integers(1, 6))):
        x = values[draw(st.integers(max(0, len(values) - 3), len(values) - 1))]
        match draw(st.sampled_from(("unary", "binary", "constant", "reduce", "conv", "norm", "join"))):
            case "unary":
                op = draw(st.sampled_from(UNARY))(x)
            case "binary":
                op = draw(st.sampled_from(BINARY))(x, values[draw(st.integers(0, len(values) - 1))])
            case "constant":
                other = constant(
                    random.normal(
                        0, draw(st.sampled_from((1e-3, 1.0, 50.0))), draw(st.sampled_from(((), (6, 6), SHAPE)))
                    )
                )
                op = draw(st.sampled_from(BINARY[:-3]))(x, other.result)
            case "reduce":
                axes = draw(st.sampled_from(([3], [1, 2], [0, 1, 2, 3])))
                reduced = draw(st.sampled_from(REDUCTIONS))(x, axes=axes)
                op = elementwise.SubOp(x, reduced.result)
            case "conv":
                w = constant(random.normal(0, 0.3, (4, 2, 3, 3)))
                op = Conv2dOp(x, w.result, constant(random.normal(0, 1, 4)).result, pads=[1, 1, 1, 1], group=2)
            case "norm":
                scale, bias = (constant(random.normal(0, 1, 6)).result for _ in range(2))
                op = normalization.LayerNormOp(x, scale, bias)
            case _:
                condition = elementwise.CastOp(x, "i1")
                op = SelectOp(condition.result, x, values[draw(st.integers(0, len(values) - 1))])
        add(op)
        if op.results[0].type == block.args[0].type:
            values.append(op.results[0])
    return Case(block, random.uniform(low, high, SHAPE))


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graphs_of_operators())
def test_random_operators(case: Case) -> None:
    sound(case.block, [case.x])


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(networks())
def test_random_networks(model: Any) -> None:
    (block,) = graphs(import_onnx(model))
    sound(block, [np.random.default_rng(3).normal(0, 3, (2, 8, 4, 4)).astype(np.float32)])


def bounds_of(block: Block) -> Bounds:
    assert block.last_op is not None
    return Ranges(block)[block.last_op.results[0]]


def chain(*makers: Callable[[SSAValue], Operation]) -> Block:
    """A block with one input and operators in a row."""
    block = Block(arg_types=[tensor_type((4, 64), f64)])
    value: SSAValue = block.args[0]
    for make in makers:
        op = make(value)
        for operand in op.operands:
            if isinstance(operand.owner, ConstantOp) and operand.owner.parent is None:
                block.add_op(operand.owner)
        block.add_op(op)
        value = op.results[0]
    return block


WEIGHTS = np.where(np.arange(64)[:, None] < 16, -2.0, 1.0) * np.ones((1, 3))
TIGHT = [
    # by hand: 16 weights of -2 and 48 of 1, on numbers in [0, 1]
    ([elementwise.SigmoidOp, lambda x: MatmulOp(x, constant(WEIGHTS).result)], (-32.0, 48.0)),
    ([elementwise.TanhOp, lambda x: reduction.ReduceSumOp(x, axes=[1])], (-64.0, 64.0)),
    ([elementwise.TanhOp, lambda x: reduction.ReduceL2Op(x, axes=[1])], (0.0, 8.0)),
    ([elementwise.SigmoidOp, lambda x: elementwise.MulOp(x, x)], (0.0, 1.0)),
    ([elementwise.TanhOp, lambda x: elementwise.MulOp(x, x)], (0.0, 1.0)),
    ([lambda x: normalization.RmsNormOp(x, constant(np.full(64, 0.5)).result)], (-4.0, 4.0)),
    ([elementwise.SigmoidOp, lambda x: elementwise.AddOp(x, constant(1e-6).result), elementwise.ReciprocalOp], (1 / 1.000001, 1e6)),
    ([lambda x: elementwise.ClipOp(x, min=-3.0, max=5.0), lambda x: elementwise.PowOp(x, constant(3.0).result)], (-27.0, 125.0)),
]  # fmt: skip


@pytest.mark.parametrize(("makers", "expected"), TIGHT)
def test_tight(makers: list[Callable[[SSAValue], Operation]], expected: tuple[float, float]) -> None:
    """As narrow as by hand."""
    bounds = bounds_of(chain(*makers))
    assert (bounds.low, bounds.high) == pytest.approx(expected, rel=1e-5)
