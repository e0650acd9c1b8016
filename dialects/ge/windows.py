"""Rows of maps grouped by windows, as shifted-window attention (Swin) reads them, and put back.

A matrix of `maps` * H * W rows, the pixels of each map row by row, falls into windows of h x w pixels. With a shift the
maps are rolled first: the window at (i, j) holds the pixels (i * h + shift_h + r) mod H, (j * w + shift_w + c) mod W.
Sequences of S rows are windows of 1 x S in maps of 1 x S.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import DYNAMIC, TENSOR, GeOp, Tensor, Trait, shape_of, shape_text, typed
from graph_engine.dialects.ge.interning import ints_attr
from graph_engine.dialects.ge.properties import ints_prop


class WindowOp(GeOp):
    """What both directions share: `grid` (maps, H, W), `window` (h, w), `shift` (of both axes, less than the window)."""

    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    grid = ints_prop()
    window = ints_prop()
    shift = ints_prop()

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        grid: Sequence[int],
        window: Sequence[int],
        shift: Sequence[int] = (0, 0),
        result_type: Tensor | None = None,
    ):
        properties = {"grid": ints_attr(grid), "window": ints_attr(window), "shift": ints_attr(shift)}
        self.init((x,), properties, result_type)

    def sizes(self) -> tuple[int, int, int]:
        """Windows, rows of each, rows in all. Raises VerifyException where the maps do not fall into windows."""
        maps, height, width = self.require_length("grid", 3)
        h, w = self.require_length("window", 2)
        shift = self.require_length("shift", 2)
        if min(h, w) < 1 or height % h or width % w or not (0 <= shift[0] < h and 0 <= shift[1] < w):
            raise self.fail(
                f"maps of {height} x {width} do not fall into windows of {h} x {w} shifted by {list(shift)}"
            )
        return maps * (height // h) * (width // w), h * w, maps * height * width


@irdl_op_definition
class WindowPartitionOp(WindowOp):
    """x[maps * H * W, C] as [windows, h * w, C]."""

    name = "ge.window_partition"

    def infer(self) -> tuple[Tensor, ...]:
        shape, (windows, rows, total) = shape_of(self.x), self.sizes()
        if len(shape) != 2 or shape[0] not in (total, DYNAMIC):
            raise self.fail(f"{shape_text(shape)} is no matrix of {total} rows")
        return typed([windows, rows, shape[1]], self.x)


@irdl_op_definition
class WindowMergeOp(WindowOp):
    """x[windows, h * w, C] as [maps * H * W, C]."""

    name = "ge.window_merge"

    def infer(self) -> tuple[Tensor, ...]:
        shape, (windows, rows, total) = shape_of(self.x), self.sizes()
        if len(shape) != 3 or shape[0] not in (windows, DYNAMIC) or shape[1] not in (rows, DYNAMIC):
            raise self.fail(f"{shape_text(shape)} are no {windows} windows of {rows} rows")
        return typed([total, shape[2]], self.x)


WINDOWS = [WindowPartitionOp, WindowMergeOp]
