"""Channels put in another order, or side by side as pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import DYNAMIC, TENSOR, GeOp, Tensor, Trait, shape_of, typed
from graph_engine.dialects.ge.interning import int_attr, ints_attr, string_attr
from graph_engine.dialects.ge.properties import int_prop, ints_prop, string_prop


@irdl_op_definition
class ChannelShuffleOp(GeOp):
    """x[N, C, ...] with the channels of `groups` groups dealt in turn: channel k * (C / groups) + c goes to c * groups + k.

    ShuffleNet's shuffle (Zhang et al. 2018): a reshape to (groups, C / groups), a transpose, a reshape back.
    """

    name = "ge.channel_shuffle"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    groups = int_prop()

    def __init__(self, x: SSAValue | Operation, *, groups: int, result_type: Tensor | None = None):
        self.init((x,), {"groups": int_attr(groups)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        shape, groups = shape_of(self.x), self.groups.value.data
        if len(shape) < 2 or groups < 1 or (shape[1] != DYNAMIC and shape[1] % groups):
            raise self.fail(f"{self.operand_shapes()} has no channels for {groups} groups")
        return typed(shape, self.x)


@irdl_op_definition
class DepthToSpaceOp(GeOp):
    """x[N, sh * sw * C, H, W] -> y[N, C, H * sh, W * sw], `blocks` = [sh, sw] (ONNX DepthToSpace, PixelShuffle).

    y[c, h * sh + i, w * sw + j] is x[(i * sw + j) * C + c, h, w] in mode "DCR", x[(c * sh + i) * sw + j, h, w] in "CRD".
    """

    name = "ge.depth_to_space"
    TRAITS: ClassVar[frozenset[Trait]] = frozenset({Trait.MOVEMENT})
    VECTOR_OPS: ClassVar[int] = 0

    x = operand_def(TENSOR)
    blocks = ints_prop()
    mode = string_prop("DCR")

    def __init__(
        self,
        x: SSAValue | Operation,
        *,
        blocks: Sequence[int],
        mode: str = "DCR",
        result_type: Tensor | None = None,
    ):
        self.init((x,), {"blocks": ints_attr(blocks), "mode": string_attr(mode)}, result_type)

    def infer(self) -> tuple[Tensor, ...]:
        n, channels, h, w = self.require_rank(self.x, 4, "x")
        rows, columns = self.require_length("blocks", 2)
        if min(rows, columns) < 1 or self.mode.data not in ("DCR", "CRD"):
            raise self.fail(f"blocks must be positive and the mode DCR or CRD, found {self.mode.data}")
        if channels != DYNAMIC and channels % (rows * columns):
            raise self.fail(f"{self.operand_shapes()} has no channels for blocks of {rows} x {columns}")

        def times(extent: int, factor: int) -> int:
            return extent if extent == DYNAMIC else extent * factor

        depth = channels if channels == DYNAMIC else channels // (rows * columns)
        return typed((n, depth, times(h, rows), times(w, columns)), self.x)


CHANNELS = [ChannelShuffleOp, DepthToSpaceOp]
