"""Running `ge` operators and functions on numpy arrays through the reference.

Arrays are logical: an encoding changes how a tensor is stored, not its value, so `layout.transdata` is at most a
cast here and packed constants are unpacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, Tensor
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.reference import evaluate
from graph_engine.dialects.ge.weights import logical_value
from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


Observer: TypeAlias = "Callable[[Operation, Sequence[Array]], None]"
"""Is told every operator with its results, those inside a `ge.fused` before the `ge.fused` itself."""


def evaluate_op(op: Operation, inputs: Sequence[Array], observer: Observer | None = None) -> list[Array]:
    """The results of one operator on logical arrays. Raises GraphEngineError if it has no reference."""
    match op:
        case ConstantOp():
            return [logical_value(op.value, op.result.type)]
        case FusedOp():
            return evaluate_block(op.block, inputs, observer)
        case GeOp():
            return evaluate(op.name, list(inputs), op.attribute_values())[: len(op.results)]
        case _ if op.name == "layout.transdata":
            target = element_name(cast(Tensor, op.results[0].type).element_type)
            return evaluate("ge.cast", list(inputs), {"to": target})
        case _:
            raise GraphEngineError(f"{op.name} has no numpy reference")


def evaluate_block(block: Block, inputs: Sequence[Array], observer: Observer | None = None) -> list[Array]:
    """What the terminator of a straight-line block receives. A value is dropped after its last use.

    Every array is row-major: numpy sums in the order of memory, so that a transposed view would round differently.
    """
    import numpy as np

    ops = list(block.ops)
    last_use = {value: i for i, op in enumerate(ops) for value in op.operands}
    values: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    for i, op in enumerate(ops[:-1]):
        results = evaluate_op(op, [values[v] for v in op.operands], observer)
        results = [np.asarray(result, order="C") for result in results]
        if observer is not None:
            observer(op, results)
        values.update(zip(op.results, results, strict=True))
        for value in op.operands:
            if last_use[value] == i:
                values.pop(value, None)
    return [values[v] for v in ops[-1].operands]
