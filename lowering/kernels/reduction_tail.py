"""What follows a reduction in the same kernel: rounding to the result's type, elementwise steps on it alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels.builder import KernelBuilder
from graph_engine.lowering.kernels.step import Scratch, Step, Value
from graph_engine.lowering.kernels.vector_steps import computed, emit_steps
from graph_engine.lowering.kernels.vector_tiling import buffer_bytes, temporaries
from graph_engine.target_ascend.isa.model import DType


@dataclass(frozen=True)
class Tail:
    """Steps over value 0, the reduction's result in `dtype`; the kernel's result is in `out_dtype`."""

    dtype: DType
    out_dtype: DType
    steps: tuple[Step, ...] = ()

    def bytes(self, elements: int, accumulator: DType) -> int:
        """UB of the buffers that `emit` takes for that many elements of the result."""
        if not self.steps:
            return 0
        dtype = computed(self.dtype)
        rounded = buffer_bytes(elements, dtype) if accumulator is not dtype else 0
        taken = temporaries(self.steps, ((dtype, True),), self.out_dtype)
        return rounded + sum(buffer_bytes(elements, dtype) for dtype in taken)

    def emit(
        self,
        kb: KernelBuilder,
        values: SSAValue,
        accumulator: DType,
        out: SSAValue,
        allocate: Callable[[str, DType], SSAValue],
    ) -> None:
        """From `values`, which may be overwritten, to `out`; `allocate(slot, dtype)` gives a buffer of that size."""
        if not self.steps:
            kb.vec("conv", out, values)
            return
        dtype = computed(self.dtype)
        if accumulator is not dtype:
            rounded = allocate("rounded", dtype)
            kb.vec("conv", rounded, values)
            values = rounded

        def temporary(dtype: DType, number: int) -> SSAValue:
            return allocate(f"tmp{number}_{dtype.mlir}", dtype)

        emit_steps(kb, self.steps, [Value(values, dtype, reusable=True)], out, self.out_dtype, Scratch(temporary))

    @property
    def plain(self) -> bool:
        """Whether nothing follows the reduction."""
        return not self.steps


def stem(kind: str, operators: Sequence[str]) -> str:
    """A kernel's name by its operators; long groups are called by their number of operators."""
    names = [name.removeprefix("ge.") for name in operators]
    return "_".join([kind, *names] if len(names) <= 4 else [kind, f"and_{len(names)}"])
