"""Random cuts and joins of one tensor: whatever merges, the numpy reference gives the same elements."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from graph_engine.dialects.ge.core import shape_of
from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.shape import ConcatOp, SliceOp
from graph_engine.transforms.driver import apply_patterns
from graph_engine.transforms.ge_canonicalize import PATTERNS

SIDE = 6


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_elements_stay(data: st.DataObject) -> None:
    block = Block(arg_types=[tensor_type((SIDE, SIDE), "f32")])
    values: list[SSAValue] = [block.args[0]]
    bound = st.integers(-SIDE - 2, SIDE + 2)
    for _ in range(data.draw(st.integers(2, 7))):
        axis = data.draw(st.sampled_from([0, 0, 1, -1, -2]))
        if data.draw(st.booleans()):
            x = data.draw(st.sampled_from(values))
            step = data.draw(st.sampled_from([1, 1, 1, 2, -1, -2]))
            op = SliceOp(x, starts=[data.draw(bound)], ends=[data.draw(bound)], axes=[axis], steps=[step])
        else:
            other = 1 - axis % 2
            first = data.draw(st.sampled_from(values))
            fitting = [v for v in values if shape_of(v)[other] == shape_of(first)[other]]
            op = ConcatOp([first, *data.draw(st.lists(st.sampled_from(fitting), max_size=2))], axis=axis)
        block.add_op(op)
        values.append(op.result)
    results = data.draw(st.lists(st.sampled_from(values[1:]), min_size=1, max_size=3))
    block.add_op(ReturnOp(*results))
    module = ModuleOp([FuncOp("main", ([block.args[0].type], [value.type for value in results]), Region(block))])
    feeds = [np.arange(SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)]
    before = evaluate_block(block, feeds)
    apply_patterns(module, [pattern() for pattern in PATTERNS])
    module.verify()
    for old, new in zip(before, evaluate_block(block, feeds), strict=True):
        np.testing.assert_array_equal(old, new)
