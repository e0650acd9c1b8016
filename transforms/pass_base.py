"""What every pass is: a frozen dataclass of options over xDSL's `ModulePass`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from graph_engine.errors import GraphEngineError


class OperatorError(GraphEngineError):
    """A rule that an operator breaks, so that a tool can print where the operator stands."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


FP16_SHARE = 0.01
"""The fp16 bound: how far rounding to 16 bits may move a tensor, as a share of its range."""


@dataclass(frozen=True)
class Numerics:
    """How far a pass may move a tensor of the graph, as a share of the tensor's range."""

    title: str
    share: float
    share_16: float
    """The same in a graph that computes in 16-bit floats."""

    def bound(self, has_16_bits: bool) -> float:
        """The share that holds for a graph with or without 16-bit floats."""
        return self.share_16 if has_16_bits else self.share


EXACT = Numerics("exact", 0.0, 0.0)
"""Every bit stays, up to the sign of zero: structure, formats, views, equal operators."""
ROUNDING = Numerics("rounding", 1e-5, FP16_SHARE)
"""The same formula in another order: factors folded into weights, sums cut otherwise."""


def APPROXIMATE(share: float) -> Numerics:
    """Another formula, or a narrower type, within `share` of the range."""
    return Numerics("approximate", share, max(share, FP16_SHARE))


@dataclass(frozen=True)
class GePass(ModulePass):
    """A pass of this project.

    `numerics` declares how far it may move numbers; `--validate-each` and `ge-bisect` hold it to that.

    The name of the pass is the name of its file with dashes. Options are dataclass fields; give each a default
    and `field(metadata={"help": "one line"})`, which `ge-opt --help-pass=NAME` prints.
    """

    numerics: ClassVar[Numerics] = EXACT
