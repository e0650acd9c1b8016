"""Validity planes: one byte per byte of memory says whether its content means something.

Moves carry validity along; arithmetic gives a valid lane only from valid lanes; padding of img2col is valid
zero. What is invalid is no error by itself, only where it reaches a lane declared valid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graph_engine.target_ascend.chip.memory import Memory
from graph_engine.target_ascend.chip.moves import Img2col
from graph_engine.target_ascend.chip.operands import Counters, Site
from graph_engine.target_ascend.isa.model import Opcode, Operand
from graph_engine.target_ascend.isa.specs import SPECS

Mask: TypeAlias = npt.NDArray[np.bool_]

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_VALID = {1: 0x01, 2: 0x0101, 4: 0x01010101, 8: 0x0101010101010101}


class Plane:
    """Validity of one memory; `valid` None stands for all valid (weights take no room until written)."""

    def __init__(self, memory: Memory, valid: bool) -> None:
        self.memory = memory
        self._valid: npt.NDArray[np.uint8] | None = None if valid else np.zeros(memory.data.size, np.uint8)
        self.declared: npt.NDArray[np.uint8] | None = None
        """Bytes that must be valid once written; None: none."""

    @property
    def valid(self) -> npt.NDArray[np.uint8]:
        """The plane itself."""
        if self._valid is None:
            self._valid = np.ones(self.memory.data.size, np.uint8)
        return self._valid

    def view(self, plane: npt.NDArray[np.uint8], operand: Operand, offset: int) -> npt.NDArray[Any]:
        """The operand's elements in a plane, each as one unsigned number of its width."""
        width = operand.dtype.bytes
        strides = tuple(s * width for s in operand.strides)
        return np.ndarray(operand.sizes, _UNSIGNED[width], plane, offset, strides)

    def read(self, operand: Operand, offset: int) -> Mask:
        """Which of the operand's elements are valid in all their bytes."""
        if self._valid is None:
            return np.broadcast_to(np.True_, operand.sizes)
        return self.view(self._valid, operand, offset) == _VALID[operand.dtype.bytes]

    def write(self, operand: Operand, offset: int, mask: Mask) -> bool:
        """Stores validity; True if an invalid element lands on a byte declared valid."""
        width = operand.dtype.bytes
        self.view(self.valid, operand, offset)[...] = mask.astype(_UNSIGNED[width]) * _UNSIGNED[width](_VALID[width])
        if self.declared is None or mask.all():
            return False
        return bool((self.view(self.declared, operand, offset)[~mask] != 0).any())

    def fill(self, offset: int, count: int, valid: bool | npt.NDArray[Any]) -> None:
        """Sets the validity of a range: one value, or a mask with one entry a byte."""
        if valid is True and self._valid is None:
            return
        self.valid[offset : offset + count] = valid

    def read_bytes(self, offset: int, count: int) -> Mask:
        """Validity of the bytes of a range."""
        if self._valid is None:
            return np.broadcast_to(np.True_, (count,))
        return self._valid[offset : offset + count] != 0

    def declare(self, offset: int, count: int, mask: bool | npt.NDArray[Any]) -> None:
        """Sets which bytes of a range must be valid once written."""
        if self.declared is None:
            self.declared = np.zeros(self.memory.data.size, np.uint8)
        self.declared[offset : offset + count] = mask

    def missing(self, offset: int, count: int) -> npt.NDArray[np.intp]:
        """Offsets in the range of bytes that are declared valid and are not."""
        if self._valid is None or self.declared is None:
            return np.zeros(0, np.intp)
        span = slice(offset, offset + count)
        return np.flatnonzero((self.declared[span] != 0) & (self._valid[span] == 0))


Rule: TypeAlias = Callable[[Counters, list[Mask], Mask | None], Mask]
"""From the sources' validity, and the destination's own where it is added to, to the result's."""


def build_rule(site: Site) -> Rule:
    """How an instruction carries validity."""
    opcode = site.instr.opcode
    group = SPECS[opcode].group
    sizes = site.instr.operands[0].sizes
    if group in ("binary", "compare"):
        return lambda _c, sources, _old: sources[0] & sources[1]
    if group == "select":
        return lambda _c, sources, _old: sources[0] & sources[1] & sources[2]
    if group == "gather":
        # Whichever element an index names: all of the table must be valid.
        return lambda _c, sources, _old: sources[1] & sources[0].all()
    if group == "fill":
        return lambda _c, _sources, _old: np.broadcast_to(np.True_, sizes)
    if group == "reduce":
        return lambda _c, sources, _old: np.logical_and.reduce(sources[0], axis=-1, keepdims=True)
    if opcode is Opcode.VTRANS:
        return lambda _c, sources, _old: sources[0].swapaxes(-1, -2)
    if opcode is Opcode.LOAD2D:
        transposed = site.instr.params[0].const
        return lambda _c, sources, _old: sources[0].swapaxes(-1, -2) if transposed else sources[0]
    if group == "img2col":
        return _img2col_rule(site)
    if group == "cube":
        return _cube_rule
    return lambda _c, sources, _old: sources[0]


def _img2col_rule(site: Site) -> Rule:
    gather = Img2col(site)
    m1, k1, rows, c0 = site.instr.operands[0].sizes
    pixel = site.instr.operands[1].sizes[3]

    def rule(counters: Counters, sources: list[Mask], _old: Mask | None) -> Mask:
        index, outside, _ = gather.index(counters)
        columns = sources[0].reshape(-1, pixel).take(index, axis=0, mode="clip")
        if outside is not None:
            columns.reshape(-1, pixel)[outside] = True
        return columns.reshape(m1, rows, k1, c0).transpose(0, 2, 1, 3)

    return rule


def _cube_rule(_counters: Counters, sources: list[Mask], old: Mask | None) -> Mask:
    # L0A (m1, k1, 16, k0): rows by m1 and 16; L0B (k1, n1, 16, k0): columns by n1 and 16.
    rows: Mask = np.logical_and.reduce(sources[0], axis=(1, 3))
    columns: Mask = np.logical_and.reduce(sources[1], axis=(0, 3))
    result = columns[:, None, None, :] & rows[None, :, :, None]
    for bias in sources[2:]:  # (n1, 16)
        result = result & bias[:, None, None, :]
    return result if old is None else result & old
