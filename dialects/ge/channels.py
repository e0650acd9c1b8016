"""Channels put in another order."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from graph_engine.dialects.ge.core import DYNAMIC, TENSOR, GeOp, Tensor, Trait, int_prop, shape_of, typed
from graph_engine.dialects.ge.interning import int_attr


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


CHANNELS = [ChannelShuffleOp]
