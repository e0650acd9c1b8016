"""Tensors that repeat or generate elements: Expand, Tile, Range, EyeLike, and the random ones, which have no meaning here."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.interning import element_name, numpy_dtype
from graph_engine.dialects.ge.repetition import ExpandOp, TileOp
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.node import Converter, Node, UnknownExtent, Unsupported, dtype_of, shape_of, static_dim


def expand(node: Node) -> SSAValue:
    """`ge.expand`; nothing if the shape stays as it is."""
    x = node.operand(0)
    source, target = shape_of(x), _kept(node.extents(1, "the shape"), shape_of(x))
    x_like = (1,) * (len(target) - len(source)) + tuple(source)
    if len(target) <= len(source) and all(n in (1, x_like[i - len(target)]) for i, n in enumerate(target)):
        return x
    return node.emit(ExpandOp(x, shape=target))


def _kept(target: Sequence[int | UnknownExtent], source: Sequence[int]) -> list[int]:
    """The target shape, where the unknown extent of an unknown axis of x is 1: it stays as it is."""
    result: list[int] = []
    for i, extent in enumerate(target):
        if isinstance(extent, int):
            result.append(extent)
            continue
        axis = i - len(target) + len(source)
        if axis < 0 or source[axis] != DYNAMIC:
            raise Unsupported("the shape depends on an unknown extent; give input shapes")
        result.append(1)
    return result


def tile(node: Node) -> SSAValue:
    """`ge.tile`."""
    repeats = node.constant_ints(1, "repeats")
    return node.emit(TileOp(node.operand(0), repeats=repeats)) if any(n != 1 for n in repeats) else node.operand(0)


def range_(node: Node) -> SSAValue:
    """Range of constant bounds: a constant."""
    import numpy as np

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


def random(node: Node) -> SSAValue:
    """Refused: its result is random."""
    raise Unsupported("its result is random, which no two runs agree on; give the numbers as an input")


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
