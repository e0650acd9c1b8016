"""Vector kernels: elementwise groups, row reductions, window reductions."""

from __future__ import annotations

from xdsl.ir import Operation

from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import Choice

VECTOR_OPERATORS: tuple[str, ...] = ()
"""Operators (or anchors of `ge.fused`) that `select_vector` serves."""


def select_vector(op: Operation) -> Choice:
    """The kernel of a vector operator. Raises NoKernel with the reason if there is none."""
    raise NoKernel(f"no vector kernel serves {op.name}")
