"""Models whose inputs keep unknown extents: imported once, right at several sizes, and nothing assumed of what may differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from models.small import GraphBuilder
from onnx import helper

from graph_engine.dialects.ge.evaluate import evaluate_block
from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.extents import Extents, UnknownExtent, combined, largest, smallest
from graph_engine.frontend_onnx.importer import import_onnx

Array = np.ndarray[Any, np.dtype[Any]]
I64 = np.int64


class Graph(GraphBuilder):
    """A graph whose nodes are written as calls."""

    def node(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{op_type.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def __init__(self, opset: int = 17) -> None:
        super().__init__(opset=opset)
        self.nodes: list[onnx.NodeProto] = []
        self.count = 0

    def ints(self, *values: int) -> str:
        self.count += 1
        return self.constant(f"c{self.count}", np.array(values, I64))

    def extent(self, x: str, axis: int) -> str:
        """Extent `axis` of a tensor, as a vector of one element."""
        return self.node("Gather", self.node("Shape", x), self.ints(axis))


def finished(graph: Graph, *outputs: str) -> onnx.ModelProto:
    model = graph.model(*outputs)
    model.graph.node.extend(graph.nodes)
    return model


def check(model: onnx.ModelProto, sizes: Sequence[Mapping[str, Sequence[int]]], **dtypes: Any) -> list[str]:
    """Agreement with onnxruntime at all sizes, from one import; gives the operators used, constants left out."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    module = import_onnx(model)
    module.verify()
    (function,) = module.body.block.ops
    block = function.regions[0].block
    random = np.random.default_rng(5)
    for shapes in sizes:
        feeds = {
            name: (random.integers(0, 3, shape) if name in dtypes else random.standard_normal(shape)).astype(
                dtypes.get(name, np.float32)
            )
            for name, shape in shapes.items()
        }
        expected = session.run(None, feeds)
        for got, wanted in zip(evaluate_block(block, list(feeds.values())), expected, strict=True):
            assert got.shape == wanted.shape
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    names = [op.name.removeprefix("ge.") for op in block.ops if op.name.startswith("ge.")]
    return [name for name in names if name != "constant"]


def test_heads_are_split_at_unknown_batch_and_length() -> None:
    g = Graph()
    x = g.input("x", ["N", "L", 12])
    shape = g.node("Concat", g.extent(x, 0), g.extent(x, 1), g.ints(3), g.ints(4), axis=0)
    heads = g.node("Transpose", g.node("Reshape", x, shape), perm=[0, 2, 1, 3])
    back = g.node("Transpose", heads, perm=[0, 2, 1, 3])
    y = g.node("Reshape", back, g.node("Concat", g.extent(x, 0), g.extent(x, 1), g.ints(-1), axis=0))
    used = check(finished(g, y), [{"x": (2, 5, 12)}, {"x": (1, 1, 12)}])
    assert used.count("reshape_to") == 2


def test_blocks_of_images_of_any_size() -> None:
    """Both extents are new, N times the block: a reshape for each."""
    for mode in ("DCR", "CRD"):
        g = Graph()
        x = g.input("x", ["N", 8, "H", "W"])
        wide = g.node("DepthToSpace", x, blocksize=2, mode=mode)
        y = g.node("SpaceToDepth", wide, blocksize=2)
        sizes: list[Mapping[str, Sequence[int]]] = [{"x": (1, 8, 3, 5)}, {"x": (2, 8, 4, 1)}]
        check(finished(g, wide, y), sizes)


def test_blocks_of_images_of_known_height_are_plain_reshapes() -> None:
    g = Graph()
    y = g.node("DepthToSpace", g.input("x", [1, 8, 3, "W"]), blocksize=2)
    assert check(finished(g, y), [{"x": (1, 8, 3, 5)}]) == ["reshape", "transpose", "reshape"]


@pytest.mark.parametrize("kv", [1, 2, 4])
def test_attention_of_any_batch_and_length(kv: int) -> None:
    g = Graph(opset=23)
    q, k = g.input("q", ["N", "Q", 16]), g.input("k", ["N", "K", 4 * kv])
    mask = g.input("m", ["N", 1, "Q", "K"])
    y = g.node("Attention", q, k, k, mask, q_num_heads=4, kv_num_heads=kv)
    sizes = [
        {"q": (2, 3, 16), "k": (2, 5, 4 * kv), "m": (2, 1, 3, 5)},
        {"q": (1, 1, 16), "k": (1, 7, 4 * kv), "m": (1, 1, 1, 7)},
    ]
    check(finished(g, y), sizes)


def test_attention_of_heads_of_unknown_width_is_refused() -> None:
    """Its scale is the width's."""
    g = Graph(opset=23)
    x = g.input("x", [1, 2, 3, "D"])
    with pytest.raises(GraphEngineError, match="features of a head must be known"):
        import_onnx(finished(g, g.node("Attention", x, x, x)))


def test_an_axis_is_added_to_no_elements() -> None:
    g = Graph()
    y = g.node("Unsqueeze", g.input("x", ["N", 0]), g.ints(1))
    check(finished(g, y), [{"x": (3, 0)}, {"x": (1, 0)}])


def test_one_unknown_extent_stays_a_plain_reshape() -> None:
    g = Graph()
    x = g.input("x", ["N", 6, 4])
    y = g.node("Reshape", x, g.node("Concat", g.extent(x, 0), g.ints(-1), axis=0))
    assert check(finished(g, y), [{"x": (3, 6, 4)}, {"x": (1, 6, 4)}]) == ["reshape"]


def test_another_tensors_extent_is_not_taken_for_this_ones() -> None:
    """2N rows in the shape [N, 2, -1]: the unknown extent of the rows is not N."""
    g = Graph()
    x = g.input("x", ["N", 2, 6])
    rows = g.node("Reshape", x, g.ints(-1, 6))
    y = g.node("Reshape", rows, g.node("Concat", g.extent(x, 0), g.ints(2, -1), axis=0))
    assert check(finished(g, y), [{"x": (3, 2, 6)}, {"x": (1, 2, 6)}]) == ["reshape", "reshape"]


def test_a_table_is_cut_at_the_length_but_not_beyond_its_end() -> None:
    g = Graph()
    x, table = g.input("x", [1, "L"]), g.constant("table", np.arange(8, dtype=np.float32)[None])
    y = g.node("Slice", table, g.ints(0), g.extent(x, 1), g.ints(1))
    assert check(finished(g, y), [{"x": (1, 5)}, {"x": (1, 20)}]) == ["shape_of", "slice", "slice_at"]


def test_a_slice_up_to_the_own_extent_is_the_tensor() -> None:
    g = Graph()
    x = g.input("x", ["N", "L"])
    whole = g.node("Slice", x, g.ints(0), g.extent(x, 1), g.ints(1))
    y = g.node("Relu", whole)
    assert check(finished(g, y), [{"x": (1, 5)}, {"x": (4, 2)}]) == ["relu"]


def test_fixed_bounds_may_cut_less_than_they_say() -> None:
    g = Graph()
    x = g.input("x", ["N", 2])
    first = g.node("Slice", x, g.ints(0), g.ints(4), g.ints(0))
    y = g.node("Reshape", first, g.node("Concat", g.extent(first, 0), g.ints(1, 2), axis=0))
    check(finished(g, y), [{"x": (9, 2)}, {"x": (3, 2)}])


@pytest.mark.parametrize("pick", ["Min", "Max"])
def test_the_smaller_of_a_length_and_a_limit(pick: str) -> None:
    g = Graph()
    x = g.input("x", ["L", 3])
    limit = g.node(pick, g.extent(x, 0), g.ints(4))
    y = g.node("Slice", x, g.ints(0), limit, g.ints(0))
    check(finished(g, y), [{"x": (9, 3)}, {"x": (2, 3)}])


def test_a_comparison_with_a_size_is_made_at_run_time() -> None:
    g = Graph()
    x = g.input("x", ["L", 3])
    same = g.node("Equal", g.extent(x, 0), g.ints(4))
    y = g.node("Where", same, x, g.node("Neg", x))
    assert "compare" in check(finished(g, y), [{"x": (4, 3)}, {"x": (2, 3)}])


def test_positions_and_masks_of_unknown_length() -> None:
    g = Graph()
    x = g.input("x", ["N", "L"])
    length = g.extent(x, 1)
    scalar = g.node("Squeeze", length)
    zero, one = (g.constant(name, np.array(v, I64)) for name, v in (("zero", 0), ("one", 1)))
    positions = g.node("Range", zero, scalar, one)
    row, column = g.node("Unsqueeze", positions, g.ints(0)), g.node("Unsqueeze", positions, g.ints(1))
    mask = g.node("Expand", g.node("Less", row, column), g.node("Concat", g.extent(x, 0), length, length, axis=0))
    zeros = g.node("ConstantOfShape", g.node("Shape", mask))
    y = g.node("Add", g.node("Cast", mask, to=1), zeros)
    used = check(finished(g, y), [{"x": (2, 5)}, {"x": (1, 1)}])
    assert {"range", "expand_to", "fill"} <= set(used)


def test_lists_of_places_of_unknown_number() -> None:
    """NonZero, then shape arithmetic on its number: what index_put and masked_select export to."""
    g = Graph()
    x = g.input("x", ["N", 3])
    places = g.node("Transpose", g.node("NonZero", x))
    chosen = g.node("GatherND", x, places)
    count = g.node("Shape", chosen)
    twice = g.node("Tile", chosen, g.ints(2))
    y = g.node("Reshape", twice, g.node("Concat", g.ints(2), count, axis=0))
    check(finished(g, y), [{"x": (4, 3)}, {"x": (1, 3)}])


def test_signals_of_unknown_length_and_batch() -> None:
    g = Graph()
    x, w = g.input("x", ["N", 1, "T"]), g.constant("w", np.ones((4, 1, 3), np.float32))
    padded = g.node("Pad", x, g.ints(0, 0, 2, 0, 0, 2), mode="reflect")
    y = g.node("Squeeze", g.node("Unsqueeze", g.node("Conv", padded, w, strides=[2]), g.ints(1)), g.ints(1))
    used = check(finished(g, y), [{"x": (2, 1, 9)}, {"x": (1, 1, 20)}])
    assert {"pad_by", "conv2d"} <= set(used)


def test_flatten_and_tile_with_unknown_extents() -> None:
    g = Graph()
    x = g.input("x", ["N", "C", 4])
    flat = g.node("Flatten", x)
    y = g.node("Tile", flat, g.node("Concat", g.ints(1), g.extent(x, 0), axis=0))
    assert "tile_by" in check(finished(g, y), [{"x": (2, 3, 4)}, {"x": (1, 1, 4)}])


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_images_resized_to_the_size_of_another_one(mode: str) -> None:
    g = Graph()
    x, like = g.input("x", [1, 2, "H", "W"]), g.input("like", [1, 3, "P", "Q"])
    sizes = g.node("Concat", g.ints(1, 2), g.node("Slice", g.node("Shape", like), g.ints(2), g.ints(4)), axis=0)
    resized = g.node("Resize", x, "", "", sizes, mode=mode, coordinate_transformation_mode="half_pixel")
    y = g.node("Add", resized, g.node("ReduceMean", like, axes=[1]))
    used = check(finished(g, y), [{"x": (1, 2, 4, 5), "like": (1, 3, 8, 7)}, {"x": (1, 2, 6, 3), "like": (1, 3, 6, 3)}])
    assert "resize" in used


def test_images_of_unknown_size_in_another_size() -> None:
    g = Graph()
    x = g.input("x", [1, 2, "H", "W"])
    y = g.node("Resize", x, "", "", g.ints(1, 2, 7, 9), mode="linear")
    z = g.node("Resize", x, "", g.constant("s", np.array([1, 1, 2, 2], np.float32)), mode="linear")
    check(finished(g, y, z), [{"x": (1, 2, 4, 5)}, {"x": (1, 2, 8, 3)}])


def test_as_many_of_the_largest_as_there_are() -> None:
    g = Graph()
    x = g.input("x", [2, "L"])
    values, places = g.node("TopK", x, g.node("Min", g.extent(x, 1), g.ints(4)), outputs=2)
    check(finished(g, values, places), [{"x": (2, 9)}, {"x": (2, 3)}])


def test_extents_are_compared_by_what_they_are() -> None:
    extents = Extents()
    n, m = extents.symbol("N"), extents.symbol("M")
    assert n == extents.symbol("N") and n != m and extents.symbol("") != extents.symbol("")
    twice: Callable[[int], int] = lambda v: 2 * v  # noqa: E731
    assert combined(lambda a, b: a - b, combined(twice, n), combined(lambda a: a + a, n)) == 0
    assert isinstance(combined(lambda a, b: a - b, n, m), UnknownExtent)
    assert largest(n, 1) == n and smallest(n, 1) == 1
    assert isinstance(smallest(n, 512), UnknownExtent) and smallest(n, 512) == smallest(n, 512) != n
    assert smallest(n, combined(lambda v: v + 1, n)) == n


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("axis", range(5))
def test_pool_over_three_axes_of_which_one_is_unknown(op_type: str, axis: int) -> None:
    known = [2, 3, 4, 5, 6]
    g = Graph()
    x = g.input("x", [*known[:axis], "D", *known[axis + 1 :]])
    y = g.node(op_type, x, kernel_shape=[2, 2, 3], strides=[1, 2, 1])
    check(finished(g, y), [{"x": [*known[:axis], size, *known[axis + 1 :]]} for size in (3, 7)])
