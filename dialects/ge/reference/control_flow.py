"""Control flow on the host: a body is a program, plain data, whose steps are operators of this package.

A program is `{"steps": [{"op", "inputs", "attributes", "results"}], "yields": [...]}`. Values are numbered: its arguments
first, then the results of the steps in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from graph_engine.dialects.ge.reference.rounding import Array

Program: TypeAlias = Mapping[str, Any]


def run_program(program: Program, arguments: Sequence[Array]) -> list[Array]:
    """What the program yields on these arguments."""
    from graph_engine.dialects.ge.reference import evaluate

    values = list(arguments)
    for step in program["steps"]:
        results = evaluate(step["op"], [values[i] for i in step["inputs"]], step["attributes"])
        values += results[: step["results"]]
    return [values[i] for i in program["yields"]]


def if_(condition: Array, *captured: Array, then: Program, otherwise: Program) -> list[Array]:
    """What one of two bodies yields."""
    return run_program(then if condition.reshape(()).item() else otherwise, captured)


def loop(trips: Array, condition: Array, *values: Array, carried: int, body: Program) -> list[Array]:
    """ONNX's Loop: the last `carried` values, then what each iteration yields beside them, stacked.

    The body takes the number of the iteration, the condition, the carried and the captured values; it yields a condition,
    the carried values and one element of each stack.
    """
    state, captured = list(values[:carried]), list(values[carried:])
    limit = int(trips.reshape(()).item())
    going = np.asarray(condition).reshape(())
    stacks: list[list[Array]] = []
    number = 0
    while number < limit and going.item():
        going, *yielded = run_program(body, [np.asarray(number, np.int64), going, *state, *captured])
        going = going.reshape(())
        state = yielded[:carried]
        stacks.append(yielded[carried:])
        number += 1
    if not stacks:  # no iteration tells what one would have given
        shapes = body.get("stacks", [])
        return [*state, *(_nothing(shape, dtype) for shape, dtype in shapes)]
    return [*state, *(np.stack(column) for column in zip(*stacks, strict=True))]


def _nothing(shape: Sequence[int], dtype: str) -> Array:
    from graph_engine.dialects.ge.reference.element_types import numpy_dtype

    return np.zeros([0, *(max(extent, 0) for extent in shape)], numpy_dtype(dtype))


def scan(
    *values: Array,
    states: int,
    scanned: int,
    body: Program,
    input_axes: Sequence[int],
    input_reverse: Sequence[int],
    output_axes: Sequence[int],
    output_reverse: Sequence[int],
) -> list[Array]:
    """ONNX's Scan: the last states, then what each iteration yields beside them, stacked along `output_axes`.

    The body takes the states, one slice of each scanned value along `input_axes`, and the captured values.
    """
    state, captured = list(values[:states]), list(values[states + scanned :])
    sequences = [
        np.flip(np.moveaxis(x, axis, 0), 0) if reverse else np.moveaxis(x, axis, 0)
        for x, axis, reverse in zip(values[states : states + scanned], input_axes, input_reverse, strict=True)
    ]
    stacks: list[list[Array]] = []
    for slices in zip(*sequences, strict=True):
        yielded = run_program(body, [*state, *slices, *captured])
        state = yielded[:states]
        stacks.append(yielded[states:])
    if not stacks:
        outputs = [_nothing(shape, dtype) for shape, dtype in body.get("stacks", [])]
    else:
        outputs = [np.stack(column) for column in zip(*stacks, strict=True)]
    return [
        *state,
        *(
            np.moveaxis(np.flip(y, 0) if reverse else y, 0, axis)
            for y, axis, reverse in zip(outputs, output_axes, output_reverse, strict=True)
        ),
    ]
