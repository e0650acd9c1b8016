"""Model inputs that the user fixes to a value (`--bind-input`): they become constants, as initialisers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.onnx_tensors import ConstantTensor
from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    import numpy as np
    from onnx import ValueInfoProto

    Array = np.ndarray[Any, Any]


def bound_inputs(bindings: Mapping[str, Any], inputs: Sequence[ValueInfoProto]) -> dict[str, ConstantTensor]:
    """The constants that take the place of model inputs, in the declared element types and shapes.

    A value is an array, a number or nested lists of numbers; one with as many elements as the declared shape takes that
    shape. Raises GraphEngineError with every name that the model lacks and every value that does not fit.
    """
    declared = {value.name: value for value in inputs}
    problems: list[str] = []
    found: dict[str, ConstantTensor] = {}
    for name, value in bindings.items():
        if name not in declared:
            near = get_close_matches(name, declared, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"the model has {', '.join(map(repr, declared)) or 'none'}"
            problems.append(f"the model has no input '{name}'; {hint}")
            continue
        try:
            found[name] = _constant(declared[name], value)
        except ValueError as error:
            problems.append(f"input '{name}': {error}")
    if problems:
        raise GraphEngineError("\n  ".join(["inputs cannot be bound:", *problems] if problems[1:] else problems))
    return found


def _constant(declared: ValueInfoProto, value: Any) -> ConstantTensor:
    """Raises ValueError if the value does not fit the declaration."""
    import numpy as np
    from onnx.helper import tensor_dtype_to_np_dtype

    tensor = declared.type.tensor_type
    if not declared.type.HasField("tensor_type"):
        raise ValueError("it is no tensor")
    dtype = tensor_dtype_to_np_dtype(tensor.elem_type)
    given = np.asarray(value)
    if dtype.kind != "O" and given.dtype.kind not in "biufV":
        raise ValueError(f"{value!r} holds no numbers")
    array = given.astype(dtype)
    if dtype.kind in "biu" and not np.array_equal(array.astype(given.dtype), given):
        raise ValueError(f"{given.tolist()} cannot be {dtype}")
    if tensor.HasField("shape"):
        shape = [d.dim_value if d.HasField("dim_value") else DYNAMIC for d in tensor.shape.dim]
        fits = len(shape) == array.ndim and all(d in (DYNAMIC, e) for d, e in zip(shape, array.shape, strict=True))
        if not fits and DYNAMIC not in shape and int(np.prod(shape)) == array.size:
            array = array.reshape(shape)
        elif not fits and array.ndim == 0 and shape in ([1], [DYNAMIC]):
            array = array.reshape(1)
        elif not fits:
            text = ", ".join("?" if d == DYNAMIC else str(d) for d in shape)
            raise ValueError(f"a value of shape {list(array.shape)} does not fit the declared [{text}]")
    return ConstantTensor(declared.name, tensor.elem_type, array.shape, lambda: array)
