"""What every pass is: a frozen dataclass of options over xDSL's `ModulePass`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from graph_engine.errors import GraphEngineError


class OperatorError(GraphEngineError):
    """A rule that an operator breaks, so that a tool can print where the operator stands."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


@dataclass(frozen=True)
class GePass(ModulePass):
    """A pass of this project.

    The name of the pass is the name of its file with dashes. Options are dataclass fields; give each a default
    and `field(metadata={"help": "one line"})`, which `ge-opt --help-pass=NAME` prints.
    """
