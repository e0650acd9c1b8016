"""Compilers with one fault each, to show that the agreement check of the light networks would see it.

A mutant patches one function of the compiler. `nth` limits it to that use of the function, for faults that hit a single
operator of a network and must still show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graph_engine.dialects import layout
from graph_engine.dialects.ge.weights import fold_attr
from graph_engine.lowering import assign_addresses, emit_program, plan_buffers
from graph_engine.lowering.kernels.epilogue import Epilogue
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.selection import cube
from graph_engine.lowering.selection.choice import ConstantArgument
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.transforms import fuse_conv_bn_relu

Patch = pytest.MonkeyPatch
Mutate = Callable[[Any], Any]


def _results(patch: Patch, owner: Any, name: str, mutate: Mutate, nth: int | None) -> None:
    """Lets `mutate` change what function `name` returns, or only its `nth` result that `mutate` would change."""
    original, changed = getattr(owner, name), 0

    def mutated(*args: Any, **keywords: Any) -> Any:
        nonlocal changed
        result = original(*args, **keywords)
        mutant = mutate(result)
        if mutant is result:
            return result
        changed += 1
        return mutant if nth is None or changed == nth + 1 else result

    patch.setattr(owner, name, mutated)


def swapped_channels(patch: Patch, nth: int | None = None) -> None:
    """Input channels 1 and 2 of filters (and columns of matrices) change places where weights are packed."""

    def swap(stored: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if stored.ndim != 4 or stored.shape[-1] != 16:
            return stored
        stored = stored.copy()
        stored[..., [1, 2]] = stored[..., [2, 1]]
        return stored

    _results(patch, layout, "pack", swap, nth)


def swapped_filters(patch: Patch, nth: int | None = None) -> None:
    """Output channels 0 and 5 change places where filters are packed."""

    def swap(stored: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if stored.ndim != 4 or stored.shape[-2:] != (16, 16):
            return stored
        stored = stored.copy()
        stored[:, 0, [0, 5]] = stored[:, 0, [5, 0]]
        return stored

    _results(patch, layout, "pack", swap, nth)


def dropped_bias(patch: Patch, nth: int | None = None) -> None:
    """The bias of a convolution or classifier is read as zeros."""

    def zeros(bias: Any) -> Any:
        value, ty = (bias.value, bias.type) if isinstance(bias, ConstantArgument) else (bias.owner.value, bias.type)
        return ConstantArgument(fold_attr("ge.sub", [value, value], {}, ty), ty)

    _results(patch, cube, "bias_argument", zeros, nth)


def dropped_shift(patch: Patch, nth: int | None = None) -> None:
    """Folding a BatchNorm into a convolution forgets its shift."""
    original, done = fuse_conv_bn_relu._replace_conv, 0

    def mutated(rewriter: Any, op: Any, conv: Any, factor: Any, shift: Any) -> None:
        nonlocal done
        done += shift is not None
        forget = factor is not None and shift is not None and nth in (None, done - 1)
        original(rewriter, op, conv, factor, None if forget else shift)

    patch.setattr(fuse_conv_bn_relu, "_replace_conv", mutated)


def wrong_pad(patch: Patch, nth: int | None = None) -> None:
    """A padded convolution takes its image one row lower."""

    def shift(shape: Any) -> Any:
        top, left, bottom, right = shape.pads
        return replace(shape, pads=(top - 1, left, bottom + 1, right)) if top else shape

    _results(patch, cube, "ConvShape", shift, nth)


def _epilogue_steps(change: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> Mutate:
    def mutate(epilogue: Epilogue) -> Epilogue:
        steps = change(epilogue.steps)
        return epilogue if steps == epilogue.steps else replace(epilogue, steps=steps)

    return mutate


def dropped_residual(patch: Patch, nth: int | None = None) -> None:
    """The epilogue adds nothing to the convolution's result before the ReLU."""

    def without_add(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(Step("ge.relu", (0,)) if step.op == "ge.add" else step for step in steps)

    _results(patch, cube, "epilogue_of", _epilogue_steps(without_add), nth)


def dropped_relu(patch: Patch, nth: int | None = None) -> None:
    """A ReLU behind a convolution, with or without a residual, is left out."""

    def without_relu(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        if not steps or steps[-1].op != "ge.relu":
            return steps
        kept = steps[:-1]
        return kept or (Step("ge.maximum", (0, 0)),)

    _results(patch, cube, "epilogue_of", _epilogue_steps(without_relu), nth)


def shifted_offset(patch: Patch, nth: int | None = None) -> None:
    """A kernel is told an address 32 bytes behind that of its weights."""

    def shift(location: Location) -> Location:
        moved = Location(location.segment, location.index, location.offset + 32)
        return moved if location.segment is Segment.WEIGHT and location.offset == 0 else location

    _results(patch, emit_program, "_location", shift, nth)


def early_reuse(patch: Patch, nth: int | None = None) -> None:
    """Memory of a tensor counts as free from its last use but one task on."""
    original = plan_buffers.Interval

    def shorter(start: int, end: int, *rest: Any) -> Any:
        return original(start, max(start + 1, end - 1), *rest)

    patch.setattr(plan_buffers, "Interval", shorter)


def tight_weights(patch: Patch, nth: int | None = None) -> None:
    """The size of a constant is taken for that of its logical shape, so that packed ones overlap the next."""
    from graph_engine.dialects.layout import with_encoding

    original = assign_addresses.storage_bytes
    patch.setattr(assign_addresses, "storage_bytes", lambda ty: original(with_encoding(ty, None)))


MUTANTS: dict[str, Callable[..., None]] = {
    mutant.__name__: mutant
    for mutant in (
        swapped_channels,
        swapped_filters,
        dropped_bias,
        dropped_shift,
        wrong_pad,
        dropped_residual,
        dropped_relu,
        shifted_offset,
        early_reuse,
        tight_weights,
    )
}
