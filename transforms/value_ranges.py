"""Between which real numbers every value of a graph lies: one forward walk, per tensor, linear.

Constants are known exactly; inputs hold anything that their element type can, and so does what an operator without a
rule gives. An operator's rule is in `range_rules`. What a float computation rounds away is not counted, but a bound
that the value's element type cannot hold counts as infinite (floats) or as any value of the type (integers wrap).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isnan
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, element_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import element_name
from graph_engine.dialects.ge.weights import logical_value
from graph_engine.errors import GraphEngineError
from graph_engine.planning.bounds import Bounds

if TYPE_CHECKING:
    import numpy as np

LARGEST = {"f16": 65504.0, "f32": 3.4028234663852886e38, "bf16": 3.3895313892515355e38, "f64": inf}
"""The largest finite number of an element type."""

KEPT = 4096
"""Elements of a constant whose numbers are kept during the analysis; larger ones are read again where needed."""


class Ranges:
    """The bounds of every value of one block, and of those inside its `ge.fused`.

    `given` bounds values that nothing else is known of, such as inputs.
    """

    def __init__(self, block: Block, given: Mapping[SSAValue, Bounds] | None = None):
        self._bounds: dict[SSAValue, Bounds] = dict(given or {})
        self._same: dict[SSAValue, SSAValue] = {}
        """Arguments and results of a `ge.fused` -> the value outside, or inside, that they are."""
        self._arrays: dict[SSAValue, np.ndarray[Any, Any]] = {}
        for op in block.ops:
            self._visit(op)

    def __getitem__(self, value: SSAValue) -> Bounds:
        """The bounds of `value`."""
        value = self.origin(value)
        if value not in self._bounds:
            self.array(value)
            self._bounds.setdefault(value, fitted(Bounds(), value))
        return self._bounds[value]

    def origin(self, value: SSAValue) -> SSAValue:
        """`value` itself, looked up through the borders of `ge.fused`."""
        while value in self._same:
            value = self._same[value]
        return value

    def same(self, one: SSAValue, other: SSAValue) -> bool:
        """Whether two values are one, inside and outside of `ge.fused`."""
        return self.origin(one) is self.origin(other)

    def definition(self, value: SSAValue) -> Operation | None:
        """The operator that makes `value`, whether inside a `ge.fused` or not."""
        owner = self.origin(value).owner
        return owner if isinstance(owner, Operation) else None

    def array(self, value: SSAValue) -> np.ndarray[Any, Any] | None:
        """The numbers of a constant, None for anything else and for a weight that no store has; small ones are kept."""
        value = self.origin(value)
        if not isinstance(value.owner, ConstantOp):
            return None
        if value in self._arrays:
            return self._arrays[value]
        try:
            array = logical_value(value.owner.value, value.owner.result.type)
        except GraphEngineError:
            return None
        self._bounds.setdefault(value, fitted(Bounds.of(_ends(array)), value))
        if array.size <= KEPT:
            self._arrays[value] = array
        return array

    def _visit(self, op: Operation) -> None:
        from graph_engine.transforms.range_rules import bounds_of

        if isinstance(op, FusedOp):
            self._same.update(zip(op.block.args, op.operands, strict=True))
            for inner in op.block.ops:
                self._visit(inner)
            self._same.update(zip(op.results, op.terminator.operands, strict=True))
        elif isinstance(op, GeOp) and not isinstance(op, ConstantOp):
            for result, bounds in zip(op.results, bounds_of(op, self), strict=False):
                self._bounds[result] = fitted(bounds, result)


def fitted(bounds: Bounds, value: SSAValue) -> Bounds:
    """`bounds` as the element type of `value` can hold them."""
    name = element_name(element_of(value))
    if name in LARGEST:
        largest = LARGEST[name]
        return Bounds(
            bounds.low if bounds.low >= -largest else -inf,
            bounds.high if bounds.high <= largest else inf,
        )
    every = integers(name)
    return bounds if every is None or bounds.within(every) else every


def integers(name: str) -> Bounds | None:
    """All values of an integer type: `i1`, `i8`, `ui8`, ...; None for another type."""
    bits = name.removeprefix("u").removeprefix("i")
    if not bits.isdigit() or name[0] not in "ui":
        return None
    if name == "i1":
        return Bounds(0, 1)
    return (
        Bounds(0, 2 ** int(bits) - 1) if name[0] == "u" else Bounds(-(2 ** (int(bits) - 1)), 2 ** (int(bits) - 1) - 1)
    )


def _ends(array: np.ndarray[Any, Any]) -> tuple[float, ...]:
    """The smallest and largest number of an array, none of an empty one."""
    import numpy as np

    if not array.size or array.dtype.kind not in "fiub":
        return ()
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    low, high = float(array.min()), float(array.max())
    if isnan(low):
        return float(np.fmin.reduce(array, axis=None)), float(np.fmax.reduce(array, axis=None))
    return low, high
