"""Integer chains of the exporter (Shape, Gather, Concat, ...) computed while importing, so that shapes are static.

Exporters write `x.view(x.size(0), -1)` as Shape -> Gather -> Unsqueeze -> Concat -> Reshape. Such values live as small
numpy arrays; an extent that is not known is an `UnknownExtent` in an array of objects, which passes through and may be
computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from graph_engine.frontend_onnx.extents import Extent, UnknownExtent, combined, elements, has_unknown, largest, smallest
from graph_engine.frontend_onnx.node import Node, Unsupported

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]
    Fold: TypeAlias = Callable[[Node, Sequence[Array | None]], Array]

MAX_ELEMENTS = 1024
"""Larger values are tensors of the graph, never folded here."""


def known_shape(shape: Sequence[Extent], start: int = 0, end: int | None = None) -> Array:
    """What ONNX's Shape gives for a tensor of `shape`."""
    import numpy as np

    unknown = any(isinstance(extent, UnknownExtent) for extent in shape[start:end])
    return np.array(shape[start:end], dtype=object if unknown else np.int64)


def _given(arrays: Sequence[Array | None], index: int) -> Array:
    value = arrays[index] if index < len(arrays) else None
    if value is None:
        raise Unsupported(f"input {index} is missing")
    return value


def _ints(arrays: Sequence[Array | None], index: int) -> list[int]:
    value = _given(arrays, index)
    if has_unknown(value):
        raise Unsupported("a computed index depends on an unknown extent; give input shapes")
    return [int(v) for v in value.reshape(-1).tolist()]


def _arithmetic(function: Callable[..., Any], *, of_unknown: bool = False) -> Fold:
    """Element by element; a function that does not know of unknown extents is taken at their sample points."""

    def fold(node: Node, arrays: Sequence[Array | None]) -> Array:
        import numpy as np

        values = [_given(arrays, i) for i in range(len(arrays))]
        result_type = np.result_type(*(v.dtype for v in values))

        def element(*items: Any) -> Any:
            return function(*items) if of_unknown else combined(function, *items)

        total = values[0]
        if len(values) == 1:
            total = np.asarray(np.frompyfunc(element, 1, 1)(total), dtype=object)
        for value in values[1:]:
            total = np.asarray(np.frompyfunc(element, 2, 1)(total, value), dtype=object)
        return total if has_unknown(total) or result_type.hasobject else _wrapped(total, result_type)

    return fold


def _wrapped(numbers: Array, dtype: Any) -> Array:
    """Numbers of Python in an element type; whole ones wrap round at its ends."""
    import numpy as np

    if dtype.kind not in "iu":
        return numbers.astype(dtype)
    span = 1 << 8 * dtype.itemsize
    return np.asarray(np.frompyfunc(lambda n: int(n) % span, 1, 1)(numbers)).astype(f"u{dtype.itemsize}").view(dtype)


def _divide(a: Any, b: Any) -> Any:
    """ONNX Div: integers divide towards zero."""
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _gather(node: Node, arrays: Sequence[Array | None]) -> Array:
    import numpy as np

    indices = _given(arrays, 1)
    if has_unknown(indices):
        raise Unsupported("indices depend on an unknown extent; give input shapes")
    try:
        return np.asarray(np.take(_given(arrays, 0), indices.astype(np.int64), axis=node.int("axis", 0)))
    except IndexError as error:
        raise Unsupported(str(error)) from None


def _concat(node: Node, arrays: Sequence[Array | None]) -> Array:
    import numpy as np

    return np.concatenate([_given(arrays, i) for i in range(len(arrays))], axis=node.int("axis", 1))


def _slice(node: Node, arrays: Sequence[Array | None]) -> Array:
    x = _given(arrays, 0)
    if node.opset < 10:
        starts, ends = node.ints("starts"), node.ints("ends")
        axes, steps = node.ints("axes", range(len(starts))), [1] * len(starts)
    else:
        starts, ends = _ints(arrays, 1), _ints(arrays, 2)
        axes = _ints(arrays, 3) if node.has(3) else list(range(len(starts)))
        steps = _ints(arrays, 4) if node.has(4) else [1] * len(starts)
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        index[axis] = slice(start, end, step)
    return x[tuple(index)]


def _axes(node: Node, arrays: Sequence[Array | None]) -> list[int] | None:
    if node.opset >= 13:
        return _ints(arrays, 1) if node.has(1) else None
    return node.ints("axes") if node.has_attribute("axes") else None


def _squeeze(node: Node, arrays: Sequence[Array | None]) -> Array:
    axes = _axes(node, arrays)
    return _given(arrays, 0).squeeze(None if axes is None else tuple(axes))


def _unsqueeze(node: Node, arrays: Sequence[Array | None]) -> Array:
    import numpy as np

    return np.expand_dims(_given(arrays, 0), tuple(_axes(node, arrays) or ()))


def _cast(node: Node, arrays: Sequence[Array | None]) -> Array:
    import numpy as np
    from onnx.helper import tensor_dtype_to_np_dtype

    x = _given(arrays, 0)
    dtype = tensor_dtype_to_np_dtype(node.int("to"))
    if has_unknown(x):
        kind = {"f": float, "b": bool}.get(dtype.kind, int)
        return np.asarray(np.frompyfunc(lambda value: combined(kind, value), 1, 1)(x), dtype=object)
    with np.errstate(invalid="ignore"):  # what an integer makes of inf or nan is open
        return x.astype(dtype)


def _reshape(node: Node, arrays: Sequence[Array | None]) -> Array:
    x, shape = _given(arrays, 0), _ints(arrays, 1)
    return x.reshape([x.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)])


def _identity(node: Node, arrays: Sequence[Array | None]) -> Array:
    return _given(arrays, 0)


def _range(node: Node, arrays: Sequence[Array | None]) -> Array:
    import numpy as np

    start, limit, delta = (_ints(arrays, i)[0] for i in range(3))
    return np.arange(start, limit, delta, dtype=_given(arrays, 0).dtype)


def _where(node: Node, arrays: Sequence[Array | None]) -> Array:
    import numpy as np

    condition, x, y = (_given(arrays, i) for i in range(3))
    if has_unknown(condition):
        raise Unsupported("a condition depends on an unknown extent; give input shapes")
    return np.where(condition.astype(bool), x, y)


def _equal(node: Node, arrays: Sequence[Array | None]) -> Array:
    """An unknown extent is a size: it never equals a marker such as -1. Whether it equals a size is known at run time."""
    import numpy as np

    def same(a: Any, b: Any) -> bool:
        apart = combined(lambda a, b: a - b, a, b)
        if not isinstance(apart, UnknownExtent):
            return apart == 0
        if all(isinstance(x, UnknownExtent) or x > 0 for x in (a, b)):
            raise Unsupported("a comparison depends on an unknown extent; give input shapes")
        return False

    lhs, rhs = _given(arrays, 0), _given(arrays, 1)
    if not has_unknown(lhs) and not has_unknown(rhs):
        return np.equal(lhs, rhs)
    return np.asarray(np.frompyfunc(same, 2, 1)(lhs, rhs)).astype(bool)


def _product(node: Node, arrays: Sequence[Array | None]) -> Array:
    import numpy as np

    x = _given(arrays, 0)
    if has_unknown(x):
        return np.full((1,) * x.ndim if node.int("keepdims", 1) else (), elements(x.reshape(-1).tolist()), dtype=object)
    return np.asarray(np.prod(x, keepdims=bool(node.int("keepdims", 1))), dtype=x.dtype)


FOLDS: dict[str, Fold] = {
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Cast": _cast,
    "Reshape": _reshape,
    "Identity": _identity,
    "Range": _range,
    "Where": _where,
    "Equal": _equal,
    "ReduceProd": _product,
    "Add": _arithmetic(lambda a, b: a + b),
    "Sub": _arithmetic(lambda a, b: a - b),
    "Mul": _arithmetic(lambda a, b: a * b),
    "Div": _arithmetic(_divide),
    "Max": _arithmetic(largest, of_unknown=True),
    "Min": _arithmetic(smallest, of_unknown=True),
    "Neg": _arithmetic(lambda a: -a),
    "Floor": _arithmetic(lambda a: float(a // 1)),
    "Ceil": _arithmetic(lambda a: float(-(-a // 1))),
}
