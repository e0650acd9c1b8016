"""Tensors that repeat or generate elements: Expand, Tile, Range, EyeLike, and the random ones, which have no meaning here."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.interning import element_name, numpy_dtype
from graph_engine.dialects.ge.repetition import ExpandOp, TileOp
from graph_engine.dialects.ge.runtime_shape import RangeOp, TileByOp
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.extents import Extent
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, dtype_of, shape_of, static_dim
from graph_engine.frontend_onnx.runtime_shape import expanded_at_run_time, vector_operand


def expand(node: Node) -> SSAValue:
    """`ge.expand`, nothing if the shape stays as it is; with a shape that is computed at run time, `ge.expand_to`."""
    x = node.operand(0)
    source = shape_of(x)
    target = None if node.known(1) is None else _kept(node.extents(1, "the shape"), node.shape(x))
    if target is None:
        return expanded_at_run_time(node)
    x_like = (1,) * (len(target) - len(source)) + tuple(source)
    if len(target) <= len(source) and all(n in (1, x_like[i - len(target)]) for i, n in enumerate(target)):
        return x
    return node.emit(ExpandOp(x, shape=target))


def _kept(target: Sequence[Extent], source: Sequence[Extent]) -> list[int] | None:
    """The target shape, where an unknown extent that x has there as well is 1: it stays as it is. None if others are unknown."""
    lead = len(target) - len(source)
    kept = [1 if i >= lead and extent == source[i - lead] else extent for i, extent in enumerate(target)]
    known = [extent for extent in kept if isinstance(extent, int)]
    return known if len(known) == len(kept) else None


def tile(node: Node) -> SSAValue:
    """`ge.tile`; as often as is computed at run time, `ge.tile_by`."""
    if not node.is_constant(1):
        return node.emit(TileByOp(node.operand(0), vector_operand(node, 1)))
    repeats = node.constant_ints(1, "repeats")
    return node.emit(TileOp(node.operand(0), repeats=repeats)) if any(n != 1 for n in repeats) else node.operand(0)


def range_(node: Node) -> SSAValue:
    """Range of constant bounds: a constant; of others `ge.range`."""
    import numpy as np

    if not all(map(node.is_constant, range(3))):
        return node.emit(RangeOp(node.operand(0), node.operand(1), node.operand(2)))
    start, limit, delta = (node.constant(index, what) for index, what in enumerate(("start", "limit", "delta")))
    count = max(0, int(np.ceil((limit.item() - start.item()) / delta.item())))
    values = start.reshape(()) + np.arange(count, dtype=start.dtype) * delta.reshape(())
    return node.keep_constant(values.astype(start.dtype), node.outputs[0])


def eye_like(node: Node) -> SSAValue:
    """EyeLike: a constant."""
    import numpy as np

    rows, columns = (static_dim(extent, "every extent of EyeLike") for extent in shape_of(node.operand(0)))
    element = dtype_of(node.operand(0))
    if node.has_attribute("dtype"):
        stated = element_of_onnx(node.int("dtype"))
        if stated is None:
            raise Unsupported(f"dtype {node.int('dtype')} of ONNX's TensorProto")
        element = element_name(stated)
    return node.keep_constant(np.eye(rows, columns, node.int("k", 0), numpy_dtype(element)), node.outputs[0])


RANDOM = "its result is random, which no two runs agree on; give the numbers as an input"


def random(node: Node) -> SSAValue:
    """Refused: its result is random."""
    raise Unsupported(RANDOM)


CONVERTERS: dict[str, Converter] = {
    "Expand": expand,
    "Tile": tile,
    "Range": range_,
    "EyeLike": eye_like,
    "Bernoulli": random,
    "Multinomial": random,
    "RandomNormal": random,
    "RandomNormalLike": random,
    "RandomUniform": random,
    "RandomUniformLike": random,
}
