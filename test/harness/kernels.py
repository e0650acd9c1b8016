"""Runs one built kernel on the functional engine: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graph_engine.dialects.ascend.kernel import BlocksOp, KernelOp
from graph_engine.lowering.cross_flags import insert_cross_flags
from graph_engine.lowering.double_buffer import double_buffer
from graph_engine.lowering.encode_kernel import encode_kernel
from graph_engine.lowering.insert_sync import insert_sync
from graph_engine.lowering.plan_onchip_buffers import plan_onchip_buffers
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.model import CoreKind, Kernel
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.target_ascend.soc.soc import Soc, load_soc

SOC = load_soc("Ascend310P3")


def compile_kernel(kernel: KernelOp, soc: Soc = SOC, *, events: int | None = None, doubled: bool = True) -> Kernel:
    """All passes of the kernels phase, then the data model; `events` event numbers a pair of pipes."""
    kernel.verify()
    if doubled:
        double_buffer(kernel, soc)
    plan_onchip_buffers(kernel, soc)
    for region in list(kernel.body.block.ops):
        assert isinstance(region, BlocksOp)
        insert_sync(region, soc.sync.event_ids if events is None else events)
    insert_cross_flags(kernel, soc.sync.cross_flags)
    kernel.verify()
    return encode_kernel(kernel)


def exchanged(kernel: Kernel, gm: GlobalMemory) -> list[Location]:
    """Places in the workspace for what cores of a team exchange, the last arguments of a mixed kernel."""
    count = kernel.arg_access.count("rw") if kernel.core_kind is CoreKind.MIXED else 0
    arguments = kernel.buffers[len(kernel.arg_access) - count : len(kernel.arg_access)]
    for number, buffer in enumerate(arguments):
        gm.add(Segment.WORKSPACE, number, buffer.bytes)
    return [Location(Segment.WORKSPACE, number, 0) for number in range(count)]


def run_kernel(kernel: Kernel, inputs: Sequence[np.ndarray[Any, Any]], shape: tuple[int, ...], dtype: Any,
               soc: Soc = SOC, checker: Any = None, real_bytes: bool = False) -> np.ndarray[Any, Any]:  # fmt: skip
    """The last argument's content after a launch on `inputs`; it starts as NaN."""
    gm = GlobalMemory(real_bytes=real_bytes)
    locations: list[Location] = []
    for i, array in enumerate(inputs):
        gm.add(Segment.INPUT, i, np.ascontiguousarray(array))
        locations.append(Location(Segment.INPUT, i, 0))
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    start = np.full(count // np.dtype(dtype).itemsize, np.nan).astype(dtype)
    gm.add(Segment.OUTPUT, 0, start)
    out = Location(Segment.OUTPUT, 0, 0)
    engine = FunctionalEngine(soc, gm, real_bytes=real_bytes, checker=checker)
    engine.launch(kernel, (*locations, out, *exchanged(kernel, gm)))
    return gm.read(out, count).view(dtype).reshape(shape)
