"""Pooling in NC1HWC0: one window that covers the plane, or windows that slide over it.

A plane is one (n, c1): h x w positions of 16 channels. Means are summed in fp32.
"""

from __future__ import annotations

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.pool_planes import build_planes
from graph_engine.lowering.kernels.pool_shape import PoolShape
from graph_engine.lowering.kernels.pool_windows import build_windows
from graph_engine.target_ascend.soc.soc import Soc


def build_pool(name: str, shape: PoolShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are x, [table of means], y. Raises `NoKernel` if no tile fits."""
    return build_planes(name, shape, soc) if shape.whole_plane else build_windows(name, shape, soc)
