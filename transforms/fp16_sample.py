"""What rounding to fp16 costs each operator by itself, measured on one sample of the inputs.

Every operator is evaluated in fp32, in fp16 on the fp32 numbers rounded, and in fp16 on what the operators before it
give of such numbers. So a loss is told where it arises, not where it is seen, and also at an operator that magnifies what
the one before lost. What magnifies the losses of a whole graph is found by `fp16_propagation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.core import GeOp, element_of, shape_of
from graph_engine.dialects.ge.evaluate import evaluate_op
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.errors import GraphEngineError
from graph_engine.transforms.force_fp16 import stays
from graph_engine.transforms.value_ranges import LARGEST

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]


def sample_inputs(block: Block, path: str) -> dict[SSAValue, Any]:
    """The arrays of an .npz file for the inputs of a graph, by name. Raises GraphEngineError if one is missing."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (OSError, ValueError) as problem:
        raise GraphEngineError(f"sample: cannot read '{path}': {problem}") from None
    function = block.parent_op()
    assert isinstance(function, FuncOp)
    found: dict[SSAValue, Any] = {}
    for index, argument in enumerate(block.args):
        entry = None if function.arg_attrs is None else function.arg_attrs.data[index]
        named = entry.data.get("ge.name") if isinstance(entry, DictionaryAttr) else None
        name = named.data if isinstance(named, StringAttr) else str(index)
        if name not in arrays or arrays[name].shape != shape_of(argument):
            raise GraphEngineError(f"sample: '{path}' has no array '{name}' of shape {list(shape_of(argument))}")
        found[argument] = arrays[name]
    return found


@dataclass(frozen=True)
class Loss:
    """What an operator loses: the largest error as a part of its result's range, and the largest number in it."""

    op: GeOp
    share: float
    largest: float
    reads_beyond: bool = False
    """Whether an operand is beyond fp16 already, so that the loss is not of its making."""

    @property
    def overflows(self) -> bool:
        """Whether the result has numbers that fp16 does not."""
        return self.largest > LARGEST["f16"]


def losses(block: Block, inputs: Mapping[SSAValue, Array], halved: Iterable[GeOp]) -> Iterator[Loss]:
    """The losses of the operators `halved`, in program order."""
    import numpy as np

    chosen = set(halved)
    values: dict[SSAValue, Array] = dict(inputs)
    once: dict[SSAValue, Array] = {}
    """What the operator that makes a value gives in fp16 of fp32 numbers."""
    with np.errstate(all="ignore"):
        for op in flat(block, values, once):
            operands = [values[value] for value in op.operands]
            results = evaluate_op(op, operands)
            values.update(zip(op.results, results, strict=True))
            if isinstance(op, GeOp) and op in chosen and element_of(op.results[0]) == f32:
                rounds = [element_of(value) == f32 and not stays(op, i) for i, value in enumerate(op.operands)]
                halves = [half(x) if yes else x for yes, x in zip(rounds, operands, strict=True)]
                made = [once.get(v, x) if yes else x for v, yes, x in zip(op.operands, rounds, halves, strict=True)]
                if any(np.isinf(x).any() for x in halves if x.dtype.kind == "f"):
                    yield Loss(op, 0.0, float(np.abs(results[0]).max(initial=0)), reads_beyond=True)
                else:
                    alone = half(evaluate_op(op, halves)[0])
                    behind = half(evaluate_op(op, made)[0])
                    # What only moves or limits numbers hands on what the one before lost.
                    once[op.results[0]] = behind if np.array_equal(alone, half(results[0])) else alone
                    yield _loss(op, results[0], behind)


def half(x: Array) -> Array:
    """fp32 numbers rounded to fp16, still as fp32; infinite beyond it."""
    import numpy as np

    return x.astype(np.float16).astype(np.float32)


def _loss(op: GeOp, right: Array, rounded: Array) -> Loss:
    import numpy as np

    finite = np.isfinite(right)
    if not finite.any():
        return Loss(op, 0.0, 0.0)
    wide = right[finite].astype(np.float64)
    error = np.nan_to_num(np.abs(rounded[finite] - wide), nan=np.inf).max()
    return Loss(op, float(error / (np.ptp(wide) or np.abs(wide).max() or 1.0)), float(np.abs(wide).max()))


def flat(block: Block, *kept: dict[SSAValue, Array]) -> Iterator[Operation]:
    """The operators of a block, those inside kernels too; `kept` passes their borders and forgets what is read last."""
    last = {value: op for op in block.ops for value in op.operands}
    for op in tuple(block.ops)[:-1]:
        if isinstance(op, FusedOp):
            for values in kept:
                values.update((i, values[o]) for i, o in zip(op.block.args, op.operands, strict=True) if o in values)
            yield from flat(op.block, *kept)
            for values in kept:
                pairs = zip(op.results, op.terminator.operands, strict=True)
                values.update((outer, values[inner]) for outer, inner in pairs if inner in values)
        else:
            yield op
        for value in op.operands:
            if last[value] is op:
                for values in kept:
                    values.pop(value, None)
