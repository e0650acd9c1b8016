"""A small builder of kernels by hand, over the instruction set's dataclasses, for tests of the chip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graph_engine.target_ascend.isa.model import (
    MOVE_PIPES,
    Affine,
    Blocks,
    Buffer,
    DType,
    Instr,
    Kernel,
    Loop,
    Node,
    Opcode,
    Operand,
    Pipe,
    Rotate,
    Space,
)
from graph_engine.target_ascend.isa.specs import SPECS

F16, F32 = DType.F16, DType.F32


def affine(value: Affine | int) -> Affine:
    return value if isinstance(value, Affine) else Affine(value)


def slot(number: int, coef: int = 1, const: int = 0) -> Affine:
    """`const + coef * counter[number]` (0: block index, 1: outermost loop)."""
    return Affine(const, ((number, coef),))


def dense(sizes: Sequence[int]) -> tuple[int, ...]:
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides))


class KernelBuilder:
    """Collects buffers and instructions; declare all arguments before on-chip buffers."""

    def __init__(self, name: str = "kernel", block_dim: int = 1) -> None:
        self.name = name
        self.block_dim = block_dim
        self.buffers: list[Buffer] = []
        self.access: list[str] = []
        self.stack: list[list[Node]] = [[]]
        self._free: dict[Space, int] = {}

    def arg(self, nbytes: int, access: str = "r", name: str = "") -> int:
        index = len(self.access)
        self.access.append(access)
        self.buffers.append(Buffer(name or f"arg{index}", Space.GM, index, nbytes))
        return len(self.buffers) - 1

    def alloc(self, space: Space, nbytes: int, versions: int = 1, address: int | None = None, name: str = "") -> int:
        if address is None:
            address = self._free.get(space, 0)
            self._free[space] = address + -(-nbytes * versions // 1024) * 1024
        self.buffers.append(
            Buffer(name or f"{space.name.lower()}{len(self.buffers)}", space, address, nbytes, versions)
        )
        return len(self.buffers) - 1

    def view(
        self,
        buffer: int,
        sizes: Sequence[int],
        dtype: DType = F16,
        offset: Affine | int = 0,
        strides: Sequence[int] | None = None,
        rotate: Rotate | None = None,
    ) -> Operand:
        steps = dense(sizes) if strides is None else tuple(strides)
        return Operand(buffer, dtype, affine(offset), tuple(sizes), steps, rotate)

    def emit(self, opcode: Opcode, *operands: Operand, params: Sequence[Affine | int] = (), **fields: Any) -> None:
        pipe = fields.pop("pipe") if "pipe" in fields else self._pipe(opcode, operands)
        self.stack[-1].append(Instr(opcode, pipe, operands, tuple(affine(p) for p in params), **fields))

    def _pipe(self, opcode: Opcode, operands: Sequence[Operand]) -> Pipe:
        if SPECS[opcode].group in ("move", "img2col"):
            source, target = self.buffers[operands[1].buffer].space, self.buffers[operands[0].buffer].space
            return MOVE_PIPES[source, target]
        return Pipe.M if opcode is Opcode.MMAD else Pipe.V

    def copy(self, dst: Operand, src: Operand) -> None:
        self.emit(Opcode.COPY, dst, src)

    def set(self, src: Pipe, dst: Pipe, event: Affine | int = 0, rotate: Rotate | None = None) -> None:
        self.emit(Opcode.SET_FLAG, params=(src, dst, event), pipe=src, event_rotate=rotate)

    def wait(self, src: Pipe, dst: Pipe, event: Affine | int = 0, rotate: Rotate | None = None) -> None:
        self.emit(Opcode.WAIT_FLAG, params=(src, dst, event), pipe=dst, event_rotate=rotate)

    def sync(self, src: Pipe, dst: Pipe, event: Affine | int = 0) -> None:
        """Set and wait, one after the other: what follows on `dst` comes after what was before on `src`."""
        self.set(src, dst, event)
        self.wait(src, dst, event)

    def barrier(self, pipe: Pipe = Pipe.ALL) -> None:
        self.emit(Opcode.BARRIER, params=(pipe,), pipe=Pipe.S)

    @contextmanager
    def loop(self, trip: int) -> Iterator[None]:
        self.stack.append([])
        yield
        body = tuple(self.stack.pop())
        self.stack[-1].append(Loop(trip, body))

    @contextmanager
    def blocks(self, lo: int, hi: int) -> Iterator[None]:
        self.stack.append([])
        yield
        body = tuple(self.stack.pop())
        self.stack[-1].append(Blocks(lo, hi, body))

    def build(self) -> Kernel:
        (body,) = self.stack
        if not any(isinstance(node, Blocks) for node in body):
            body = [Blocks(0, self.block_dim, tuple(body))]
        return Kernel(self.name, self.block_dim, tuple(self.buffers), tuple(body), tuple(self.access))
