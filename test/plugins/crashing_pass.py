"""Crash at the first ReLU: a mistake of a pass's author, for the documentation of reproducers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.elementwise import ReluOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.pass_base import EXACT, GePass


class AskForAnAxis(Pattern):
    """ReLU has no axis."""

    name = "ask-for-an-axis"
    root: ClassVar[tuple[type[Operation], ...]] = (ReluOp,)

    def rewrite(self, op: ReluOp, rewriter: CountedRewriter) -> bool:
        return op.attribute_values()["axis"] == 1


@dataclass(frozen=True)
class CrashingPass(GePass):
    """Crash at the first ReLU."""

    name = "crashing-pass"
    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [AskForAnAxis()])
