"""A pooling in NC1HWC0 as its kernels see it, and what ends each of them: mean, rounding, tail."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.reduction_tail import Tail
from graph_engine.lowering.kernels.vector_steps import computed
from graph_engine.lowering.kernels.window_axis import WindowAxis
from graph_engine.target_ascend.isa.model import DType, Space

LOWEST = {DType.F16: -65504.0, DType.F32: -3.4028234663852886e38}
"""What a maximum starts from."""


@dataclass(frozen=True)
class PoolShape:
    """`planes` of rows x columns positions with `lanes` channels each.

    `mean` is None for a maximum; for an average it is 1 / (elements of a window), or 0 where that differs between
    windows and the kernel takes a table of it, one fp32 value an output position.
    """

    planes: int
    rows: WindowAxis
    columns: WindowAxis
    lanes: int
    mean: float | None
    tail: Tail

    @property
    def mnemonic(self) -> str:
        """The instruction that combines two positions."""
        return "max" if self.mean is None else "add"

    @property
    def accumulator(self) -> DType:
        """Element type of the reduction; the Vector compares no bytes."""
        if self.mean is None:
            return {DType.I8: DType.F16, DType.U8: DType.F16}.get(self.tail.dtype, computed(self.tail.dtype))
        return DType.F32

    @property
    def start(self) -> float:
        """The neutral value."""
        return LOWEST[self.accumulator] if self.mean is None else 0.0

    @property
    def table(self) -> bool:
        """Whether the kernel takes a table of means."""
        return self.mean == 0

    @property
    def input_bytes(self) -> int:
        """Bytes of the operand."""
        return self.planes * self.rows.inputs * self.columns.inputs * self.lanes * self.tail.dtype.bytes

    @property
    def in_place(self) -> bool:
        """Whether the reduction's result is already the kernel's."""
        return self.tail.plain and self.accumulator is self.tail.out_dtype

    @property
    def whole_plane(self) -> bool:
        """Whether there is one window, which covers the plane and nothing else."""
        axes = (self.rows, self.columns)
        return all(
            a.outputs == 1 and a.kernel == a.inputs and not a.pad and (a.dilation == 1 or a.kernel == 1) for a in axes
        )

    @property
    def two_passes(self) -> bool:
        """Whether rows first, columns then, takes fewer operations than the window's positions one by one."""
        kh, kw = self.rows.kernel, self.columns.kernel
        return kh * self.columns.stride + kw < kh * kw

    def args(self) -> list[Arg]:
        """Launch arguments: x, [table], y."""
        x = Arg("x", (self.planes, self.rows.inputs, self.columns.inputs, self.lanes), self.tail.dtype, "r")
        plane = (self.rows.outputs, self.columns.outputs)
        y = Arg("y", (self.planes, *plane, self.lanes), self.tail.out_dtype, "w")
        return [x, Arg("table", plane, DType.F32, "r"), y] if self.table else [x, y]


def finish(kb: KernelBuilder, shape: PoolShape, values: SSAValue, table: SSAValue | None, out: Buf) -> None:
    """Mean and tail, from the reduced `values` (which may be `out`) to `out`."""
    if shape.in_place and shape.mean is None:
        return

    def allocate(slot: str, dtype: DType) -> SSAValue:
        return kb.view(kb.alloc(slot, Space.UB, out.shape, dtype))

    result = kb.view(out)
    target = result if shape.in_place else values
    if table is not None:
        kb.vec("mul", target, values, table)
    elif shape.mean is not None:
        kb.vec("muls", target, values, imm=shape.mean)
    if not shape.in_place:
        shape.tail.emit(kb, values, shape.accumulator, result, allocate)
