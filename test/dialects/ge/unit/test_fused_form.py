"""ge.fused built in memory: types, cost, evaluation, traits."""

import numpy as np
import pytest
from xdsl.dialects import test as xdsl_test
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import Cost, Trait
from graph_engine.dialects.ge.elementwise import AddOp, ExpOp, ReluOp
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.fused import FusedOp, YieldOp
from graph_engine.dialects.ge.interning import tensor_type

X, W, Y = (tensor_type(s, "f32") for s in ((1, 3, 6, 6), (4, 3, 3, 3), (1, 4, 4, 4)))


def conv_add_relu() -> FusedOp:
    outer = xdsl_test.TestOp(result_types=[X, W, Y])
    block = Block(arg_types=[X, W, Y])
    conv = Conv2dOp(block.args[0], block.args[1])
    add = AddOp(conv, block.args[2])
    relu = ReluOp(add)
    block.add_ops([conv, add, relu, YieldOp(relu)])
    return FusedOp(outer.results, Region(block), anchor="ge.conv2d")


def test_results_are_what_the_region_yields() -> None:
    op = conv_add_relu()
    op.verify()
    assert [v.type for v in op.results] == [Y]
    assert op.infer() == (Y,)
    assert isinstance(op.anchor_op, Conv2dOp)
    assert Trait.HEAVY in op.traits_ge


def test_cost_adds_arithmetic_and_counts_only_outer_bytes() -> None:
    assert conv_add_relu().cost() == Cost(
        macs=64 * 27, vector_ops=64 + 64, bytes_read=4 * (108 + 108 + 64), bytes_written=4 * 64
    )


def test_evaluation_runs_the_region() -> None:
    rng = np.random.default_rng(0)
    x, w, r = (rng.standard_normal(s).astype(np.float32) for s in ((1, 3, 6, 6), (4, 3, 3, 3), (1, 4, 4, 4)))
    expected = np.zeros((1, 4, 4, 4))
    for o in range(4):
        for i in range(4):
            for j in range(4):
                expected[0, o, i, j] = np.sum(x[0, :, i : i + 3, j : j + 3].astype(np.float64) * w[o])
    [got] = evaluate_op(conv_add_relu(), [x, w, r])
    np.testing.assert_allclose(got, np.maximum(expected + r, 0), rtol=1e-5, atol=1e-5)


def test_zero_padding_survives_only_if_every_operator_keeps_it() -> None:
    op = conv_add_relu()
    assert op.keeps_zero_pad()
    relu = op.terminator.prev_op
    assert isinstance(relu, ReluOp)
    exp = ExpOp(relu)
    op.block.insert_op_before(exp, op.terminator)
    op.terminator.operands = [exp.result]
    assert not op.keeps_zero_pad()


def test_a_region_must_end_in_a_yield() -> None:
    with pytest.raises(VerifyException, match="must end in ge.yield"):
        FusedOp([], Region(Block()), anchor="ge.relu")
