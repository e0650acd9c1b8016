"""What an elementwise step is, and the buffers that it works in."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels.builder import KernelBuilder
from graph_engine.target_ascend.isa.model import DType


@dataclass(frozen=True)
class Step:
    """`results[i] = op(*operands)`: operands are numbers of earlier values (inputs first, then steps)."""

    op: str
    operands: tuple[int, ...]
    attributes: tuple[tuple[str, float], ...] = ()
    dtype: DType = DType.F16


@dataclass
class Scratch:
    """Temporary UB buffers of one tile shape, handed out by element type and returned when a value dies."""

    allocate: Callable[[DType, int], SSAValue]
    free: dict[DType, list[SSAValue]] = field(default_factory=dict[DType, list[SSAValue]])
    count: int = 0

    def take(self, dtype: DType) -> SSAValue:
        """A buffer whose content nobody needs."""
        pool = self.free.setdefault(dtype, [])
        if pool:
            return pool.pop()
        self.count += 1
        return self.allocate(dtype, self.count - 1)

    def give(self, dtype: DType, value: SSAValue) -> None:
        """Returns a buffer."""
        self.free.setdefault(dtype, []).append(value)


@dataclass
class Value:
    """A value in UB: its view, its type, and whether its buffer may be reused once it is dead."""

    view: SSAValue
    dtype: DType
    reusable: bool = False


@dataclass
class Work:
    """Writes one step: hands out buffers that live as long as it does.

    `target()` gives the buffer of the result; it may be the one of an operand, so it is asked for and written last.
    """

    kb: KernelBuilder
    scratch: Scratch
    target: Callable[[], SSAValue]
    taken: list[tuple[DType, SSAValue]] = field(default_factory=list[tuple[DType, SSAValue]])

    def take(self, dtype: DType = DType.F32) -> SSAValue:
        """A buffer of the step's own."""
        self.taken.append((dtype, self.scratch.take(dtype)))
        return self.taken[-1][1]

    def give_back(self) -> None:
        """Returns all buffers."""
        for dtype, buffer in self.taken:
            self.scratch.give(dtype, buffer)
        self.taken.clear()

    @contextmanager
    def passing(self) -> Generator[None]:
        """Buffers taken inside are free again behind."""
        before = len(self.taken)
        yield
        for dtype, buffer in self.taken[before:]:
            self.scratch.give(dtype, buffer)
        del self.taken[before:]

    def vec(self, mnemonic: str, *sources: SSAValue, imm: float | None = None, dtype: DType = DType.F32) -> SSAValue:
        """An instruction into a buffer of its own."""
        result = self.take(dtype)
        self.kb.vec(mnemonic, result, *sources, imm=imm)
        return result

    def constant(self, number: float, dtype: DType = DType.F32) -> SSAValue:
        """A buffer full of a number."""
        return self.vec("dup", imm=number, dtype=dtype)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """The mask of a predicate."""
        mask = self.take(DType.BOOL)
        self.kb.compare(predicate, mask, a, b)
        return mask
