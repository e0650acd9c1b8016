"""The operands of an instruction as checking mode sees them: where they lie, what they touch, who reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from graph_engine.target_ascend.chip.footprint import Footprint
from graph_engine.target_ascend.chip.operands import Core, Locator, Site, coalesce, locator
from graph_engine.target_ascend.isa.model import Operand, Space
from graph_engine.target_ascend.isa.specs import SPECS


@dataclass(slots=True)
class Access:
    """An operand of a checked instruction."""

    core: Core
    operand: Operand
    buffer: int
    name: str
    space: Space
    argument: int
    where: Locator | int
    buffer_offset: Locator | int
    buffer_bytes: int
    buffer_versions: int
    versions: int
    footprint: Footprint
    write: bool
    read: bool


def in_step(target: Operand, source: Operand) -> bool:
    """Whether element by element, both from the same byte on, no element is written before the one there is read."""
    if target.dtype.bytes > source.dtype.bytes:
        return False
    if target.sizes == source.sizes and target.strides == source.strides:
        return target.dtype.bytes == source.dtype.bytes or _dense(target)
    return _dense(target) and _dense(source)


def _dense(operand: Operand) -> bool:
    axes = [(n, s) for n, s in zip(operand.sizes, operand.strides, strict=True) if n > 1]
    return coalesce([n for n, _ in axes], [[s for _, s in axes]])[1] == [(1,)]


def describe(site: Site, index: int) -> Access:
    """Operand number `index` of an instruction."""
    operand = site.instr.operands[index]
    buffer = site.buffers[operand.buffer]
    on_chip = buffer.space is not Space.GM
    accumulates = SPECS[site.instr.opcode].group == "cube" and site.instr.first_of != ()
    writes = index == 0 and SPECS[site.instr.opcode].writes
    return Access(
        site.core,
        operand,
        operand.buffer,
        buffer.name,
        buffer.space,
        -1 if on_chip else buffer.address,
        locator(operand, buffer.address if on_chip else 0, buffer.bytes),
        locator(operand, 0, 0),
        buffer.bytes,
        buffer.versions,
        operand.rotate.count if operand.rotate is not None else 1,
        Footprint(operand),
        write=writes,
        read=not writes or accumulates,
    )
