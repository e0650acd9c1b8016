"""Short words for building kernels by hand from the instruction set's dataclasses."""

from __future__ import annotations

from collections.abc import Sequence

from graph_engine.target_ascend.isa.model import (
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
from graph_engine.target_ascend.om.program import Launch, Location, Segment

BUFFERS = (
    Buffer("x", Space.GM, 0, 1 << 30),
    Buffer("y", Space.GM, 1, 1 << 30),
    Buffer("ub", Space.UB, 0, 65536, 2),
    Buffer("l1", Space.L1, 0, 262144, 2),
    Buffer("l0a", Space.L0A, 0, 32768, 2),
    Buffer("l0b", Space.L0B, 0, 32768, 2),
    Buffer("l0c", Space.L0C, 0, 131072, 2),
)
X, Y, UB, L1, L0A, L0B, L0C = range(7)


def affine(const: int = 0, **slots: int) -> Affine:
    """`affine(3, s1=16)` is 3 + 16 * counter of slot 1."""
    return Affine(const, tuple(sorted((int(name[1:]), coef) for name, coef in slots.items() if coef)))


def view(
    buffer: int,
    sizes: int | Sequence[int],
    *,
    dtype: DType = DType.F16,
    offset: Affine | None = None,
    strides: Sequence[int] | None = None,
    rotate: Rotate | None = None,
) -> Operand:
    """A view of BUFFERS[buffer], contiguous unless `strides` are given."""
    shape = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if strides is None:
        step, steps = 1, list[int]()
        for size in reversed(shape):
            steps.insert(0, step)
            step *= size
        strides = steps
    return Operand(buffer, dtype, offset or Affine(), shape, tuple(strides), rotate)


def copy(target: Operand, source: Operand, pipe: Pipe) -> Instr:
    """A plain move."""
    return Instr(Opcode.COPY, pipe, (target, source))


def load_ub(elements: int, *, offset: Affine | None = None, rotate: Rotate | None = None) -> Instr:
    """fp16 elements from x to UB."""
    return copy(view(UB, elements, rotate=rotate), view(X, elements, offset=offset), Pipe.MTE2)


def store_ub(elements: int, *, offset: Affine | None = None) -> Instr:
    """fp16 elements from UB to y."""
    return copy(view(Y, elements, offset=offset), view(UB, elements), Pipe.MTE3)


def vector(opcode: Opcode, elements: int, dtype: DType = DType.F16, rotate: Rotate | None = None) -> Instr:
    """A contiguous vector instruction on UB."""
    operand = view(UB, elements, dtype=dtype, rotate=rotate)
    return Instr(opcode, Pipe.V, (operand,) * SPECS[opcode].operands)


def mmad(m: int, k: int, n: int) -> Instr:
    """fp16 mmad over whole fractals."""
    m1, k1, n1 = (-(-size // 16) for size in (m, k, n))
    operands = (
        view(L0C, (n1, m1, 16, 16), dtype=DType.F32),
        view(L0A, (m1, k1, 16, 16)),
        view(L0B, (k1, n1, 16, 16)),
    )
    return Instr(Opcode.MMAD, Pipe.M, operands, (Affine(m), Affine(k), Affine(n)))


def set_flag(source: Pipe, target: Pipe, event: int = 0, rotate: Rotate | None = None) -> Instr:
    """Signals `target` when all that `source` was given is done."""
    return Instr(Opcode.SET_FLAG, source, params=(Affine(source), Affine(target), Affine(event)), event_rotate=rotate)


def wait_flag(source: Pipe, target: Pipe, event: int = 0, rotate: Rotate | None = None) -> Instr:
    """Holds `target` until the flag was set."""
    return Instr(Opcode.WAIT_FLAG, target, params=(Affine(source), Affine(target), Affine(event)), event_rotate=rotate)


def sync(source: Pipe, target: Pipe, event: int = 0) -> tuple[Instr, Instr]:
    """`target` continues when `source` has done what it was given."""
    return set_flag(source, target, event), wait_flag(source, target, event)


def barrier(pipe: Pipe = Pipe.ALL) -> Instr:
    """A barrier on one pipe or all."""
    return Instr(Opcode.BARRIER, Pipe.S if pipe == Pipe.ALL else pipe, params=(Affine(pipe),))


def kernel(*body: Node, block_dim: int = 1, buffers: tuple[Buffer, ...] = BUFFERS) -> Kernel:
    """A kernel whose blocks all run `body`, or whose body is `Blocks`."""
    whole = body if any(isinstance(node, Blocks) for node in body) else (Blocks(0, block_dim, body),)
    return Kernel("k", block_dim, buffers, whole, ("r", "w"))


def launch(block_dim: int = 1, *, x: int = 0, y: int = 0, name: str = "task") -> Launch:
    """A launch of that kernel with x at an offset of the weights and y at one of the workspace."""
    args = Location(Segment.WEIGHT, 0, x), Location(Segment.WORKSPACE, 0, y)
    return Launch(name, "Test", "k", block_dim, args)


def loop(trip: int, *body: Node) -> Loop:
    """A counted loop."""
    return Loop(trip, body)
