"""What `lower-to-kernels` tells about its choices: the kernel and its engine, regions that fall apart, the AI CPU."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.memory import AllocOp
from graph_engine.dialects.ascend.spaces import dtype_of, shape_of, space_of
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.lowering.selection.choice import Choice
from graph_engine.transforms.remarks import Kind, analysis, missed, wanted


def kernel_chosen(op: Operation, choice: Choice, kernel: KernelOp) -> None:
    """Which kernel does the work of `op`, on which engine, in how many blocks, with how much on the chip."""
    if not wanted(Kind.ANALYSIS):
        return
    families = {inner.name.rpartition(".")[0] for inner in kernel.walk()}
    engine = next((engine for engine in ("cube", "vec") if f"ascend.{engine}" in families), "mte")
    buffers = _on_chip_bytes(kernel)
    name, blocks = kernel.sym_name.data, kernel.block_dim.value.data
    held = ", ".join(f"{size} bytes of {space}" for space, size in buffers.items())
    message = f"@{name} on {_ENGINES[engine]}: {f'{blocks} blocks, each' if blocks > 1 else '1 block'} with {held}"
    analysis(
        "Kernel", op, message, kernel=name, type=choice.type, engine=engine, block_dim=blocks, buffers=buffers
    )  # fmt: skip


_ENGINES = {"cube": "the Cube", "vec": "the Vector unit", "mte": "the move engines alone"}


def _on_chip_bytes(kernel: KernelOp) -> dict[str, int]:
    """Bytes by memory space, one version of each slot."""
    slots: dict[tuple[str, str], int] = {}
    for op in kernel.walk():
        if isinstance(op, AllocOp):
            key = space_of(op.memory).name.lower(), op.slot.data
            size = prod(shape_of(op.memory)) * dtype_of(op.memory.type).bytes
            slots[key] = max(slots.get(key, 0), size)
    found: dict[str, int] = {}
    for (space, _), size in sorted(slots.items()):
        found[space] = found.get(space, 0) + size
    return found


def fell_apart(op: FusedOp, reason: str) -> None:
    """A fused region without a kernel: its operators get kernels one by one."""
    if wanted(Kind.MISSED):
        names = [part.name for part in op.block.ops if part is not op.terminator]
        missed("SplitFused", op, f"no kernel does {', '.join(names)} at once: {reason}", reason=reason, operators=names)


def runs_on_aicpu(op: Operation, reason: str) -> None:
    """An operator without a kernel."""
    missed("AiCpu", op, f"{op.name} runs on the AI CPU: {reason}", reason=reason)
