"""Padding in front of a window, or inside it: the numpy reference gives the same numbers."""

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from graph_engine.dialects.ge.convolution import Conv2dOp
from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.pooling import AvgPoolOp, MaxPoolOp
from graph_engine.dialects.ge.shape import PadOp
from graph_engine.transforms.driver import apply_patterns
from graph_engine.transforms.fold_pads import FoldPadIntoConv, FoldPadIntoPool

SHAPES = [(1, 2, 9, 11), (2, 2, 3, 3)]
LOWEST = float("-inf")
Window = Callable[[SSAValue, SSAValue], GeOp]
WINDOWS: list[tuple[float, Window]] = [
    (0.0, lambda x, w: Conv2dOp(x, w, strides=(2, 1), dilations=(1, 2))),
    (0.0, lambda x, w: Conv2dOp(x, w, pads=(1, 0, 0, 1))),
    (0.0, lambda x, w: AvgPoolOp(x, kernel=(3, 5), strides=(2, 2))),
    (0.0, lambda x, w: AvgPoolOp(x, kernel=(3, 5), strides=(2, 2), ceil_mode=True)),
    (0.0, lambda x, w: AvgPoolOp(x, kernel=(5, 5), pads=(1, 1, 0, 2), count_include_pad=True)),
    (0.0, lambda x, w: AvgPoolOp(x, kernel=(3, 3), pads=(1, 1, 1, 1))),
    (LOWEST, lambda x, w: MaxPoolOp(x, kernel=(3, 3), strides=(2, 2), ceil_mode=True)),
    (LOWEST, lambda x, w: MaxPoolOp(x, kernel=(3, 3), pads=(0, 1, 0, 1), dilations=(2, 2))),
    (0.0, lambda x, w: MaxPoolOp(x, kernel=(3, 3), strides=(2, 2))),
]


@pytest.mark.parametrize("value, window", WINDOWS)
@pytest.mark.parametrize("pads", [(1, 1, 1, 1), (0, 2, 1, 0), (2, 0, 0, 1), (1, 2, 2, 2), (3, 0, 0, 0), (0, 0, 0, 5)])
def test_numbers_stay(value: float, window: Window, pads: tuple[int, int, int, int]) -> None:
    block = Block(arg_types=[tensor_type(shape, "f32") for shape in SHAPES])
    pad = PadOp(block.args[0], pads=(0, 0, *pads[:2], 0, 0, *pads[2:]), value=value)
    op = window(pad.result, block.args[1])
    block.add_ops([pad, op, ReturnOp(op.result)])
    module = ModuleOp([FuncOp("main", ([a.type for a in block.args], [op.result.type]), Region(block))])
    feeds = [np.random.default_rng(i).standard_normal(shape).astype(np.float32) for i, shape in enumerate(SHAPES)]
    (before,) = evaluate_block(block, feeds)
    apply_patterns(module, [FoldPadIntoConv(), FoldPadIntoPool()])
    module.verify()
    (after,) = evaluate_block(block, feeds)
    if isinstance(op, Conv2dOp):  # BLAS may sum the zeros in another order
        np.testing.assert_allclose(after, before, atol=1e-5)
    else:
        np.testing.assert_array_equal(after, before)
