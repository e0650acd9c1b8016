"""Which weights `share-constants` takes for equal, and how much of them it reads to know."""

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.weights import WeightAttr, WeightRef
from graph_engine.transforms.share_constants import digests, share_constants


def constant(name: str, array: np.ndarray) -> ConstantOp:
    return ConstantOp(WeightAttr(WeightRef.of(name, array)), result_type=tensor_type(array.shape, f32))


def shared(constants: list[ConstantOp]) -> int:
    """How many of a graph's constants go."""
    body = Block([*constants, ReturnOp(*(op.result for op in constants))])
    types = [op.result.type for op in constants]
    share_constants(ModuleOp([FuncOp("main", ([], types), Region(body))]))
    return len(constants) - sum(isinstance(op, ConstantOp) for op in body.ops)


def test_equal_contents_are_stored_once_whatever_their_names() -> None:
    weight = np.arange(1000, dtype=np.float32)
    assert shared([constant("encoder", weight), constant("decoder", weight.copy()), constant("other", weight + 1)]) == 1


def test_one_element_makes_the_difference_wherever_it_stands() -> None:
    """Also one that is not among those looked at first."""
    weight = np.zeros(1000, np.float32)
    for place in (0, 1, 499, 999):
        other = weight.copy()
        other[place] = 1
        assert shared([constant("a", weight), constant("b", other)]) == 0


def test_layers_that_differ_at_once_are_not_read_to_the_end() -> None:
    layers = [constant(f"layer{i}", np.full(1000, i, np.float32)) for i in range(8)]
    alone = constant("alone", np.zeros((10, 100), np.float32))
    assert digests([*layers, alone]) == {}
