"""What sequences in the place of one vector instruction are written with: buffers of their own, and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.spaces import dtype_of, shape_of
from graph_engine.dialects.ascend.vec import VectorOp
from graph_engine.lowering.kernels.builder import KernelBuilder
from graph_engine.lowering.kernels.vector_tiling import BLOCK
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.isa.specs import SPECS

WrittenSequence: TypeAlias = Callable[["SequenceWriter", SSAValue, Sequence[SSAValue], float], None]
"""Writes what does dst = instruction(sources, immediate)."""


class SequenceWriter:
    """Writes a sequence in the place of one instruction; buffers of its own are shared by all equal sequences."""

    def __init__(self, kb: KernelBuilder, op: VectorOp):
        self.kb = kb
        self.op = op
        self.stem = SPECS[op.OPCODE].mnemonic
        self.count = 0

    def like(self, value: SSAValue, dtype: DType | None = None) -> SSAValue:
        """A buffer of the shape of `value`, rows beginning at multiples of 32 bytes."""
        shape, kind = shape_of(value), dtype or dtype_of(value.type)
        unit = BLOCK // kind.bytes
        pitch = -(-shape[-1] // unit) * unit
        buffer = self.kb.alloc(self._slot(), Space.UB, (*shape[:-1], pitch), kind)
        return self.kb.view(buffer, 0, shape, buffer.strides)

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """One number, read in the shape of `like`."""
        dtype = dtype_of(like.type)
        buffer = self.kb.alloc(self._slot(), Space.UB, (BLOCK // dtype.bytes,), dtype)
        self.kb.vec("dup", self.kb.view(buffer), imm=value)
        return self.kb.view(buffer, 0, shape_of(like), (0,) * len(shape_of(like)))

    def onto(self, x: SSAValue, mnemonic: str, *others: SSAValue, imm: float | None = None) -> SSAValue:
        """x, a buffer of the sequence's own, overwritten by an instruction on it and others."""
        self.kb.vec(mnemonic, x, x, *others, imm=imm)
        return x

    def _slot(self) -> str:
        self.count += 1
        return f"{self.stem}_tmp{self.count}"
