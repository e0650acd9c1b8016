"""Which selector serves which operator; a `ge.fused` goes by its anchor."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import Choice
from graph_engine.lowering.selection.cube import select_cube
from graph_engine.lowering.selection.indexing import INDEXING_OPERATORS, select_indexing
from graph_engine.lowering.selection.movement import MOVEMENT_OPERATORS, select_movement
from graph_engine.lowering.selection.ordering import ORDERING_OPERATORS, select_ordering
from graph_engine.lowering.selection.places import PLACE_OPERATORS, select_place
from graph_engine.lowering.selection.plain_matmul import select_matmul
from graph_engine.lowering.selection.quantised import select_integer_convolution
from graph_engine.lowering.selection.recurrent import select_recurrent_steps
from graph_engine.lowering.selection.rotary import select_rotary_mul
from graph_engine.lowering.selection.vector import VECTOR_OPERATORS, select_vector

SELECTORS: dict[str, Callable[[Operation], Choice]] = {
    "ge.conv2d": select_cube,
    "ge.conv3d": select_cube,
    "ge.matmul": select_matmul,
    "ge.conv2d_integer": select_integer_convolution,
    "ge.rotary_mul": select_rotary_mul,
    "ge.recurrent_steps": select_recurrent_steps,
    **dict.fromkeys(VECTOR_OPERATORS, select_vector),
    **dict.fromkeys(MOVEMENT_OPERATORS, select_movement),
    **dict.fromkeys(INDEXING_OPERATORS, select_indexing),
    **dict.fromkeys(ORDERING_OPERATORS, select_ordering),
    **dict.fromkeys(PLACE_OPERATORS, select_place),
}


def select(op: Operation) -> Choice:
    """The kernel of an operator. Raises NoKernel with the reason if it has none."""
    name = op.anchor.data if isinstance(op, FusedOp) else op.name
    selector = SELECTORS.get(name)
    if selector is None:
        raise NoKernel(f"no kernel builder serves {name}")
    return selector(op)
