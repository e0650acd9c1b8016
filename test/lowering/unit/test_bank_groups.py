"""Where the sources of vector instructions lie in the bank groups: what the chip's cost model says of finished kernels."""

from __future__ import annotations

import pytest
from harness.checked_operators import SOC, every_instruction, fused, kernel_of, value
from xdsl.ir import Operation

from graph_engine.dialects.ge.activation import GeluOp
from graph_engine.dialects.ge.elementwise import AddOp, MaximumOp, MulOp
from graph_engine.target_ascend.chip.costs import never_meet
from graph_engine.target_ascend.isa.model import Kernel
from graph_engine.target_ascend.isa.specs import SPECS

SHAPE = (64, 1024)


def pairs(kernel: Kernel) -> list[tuple[str, bool]]:
    """(mnemonic, whether its sources never meet) of the instructions that are faster then."""
    found = [(SPECS[instr.opcode].mnemonic, instr) for instr in every_instruction(kernel.body)]
    return [
        (mnemonic, never_meet(SOC, kernel.buffers, *instr.operands[-2:]))
        for mnemonic, instr in found
        if f"v{mnemonic}" in SOC.vector.conflict_free
    ]


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_one_addition(dtype: str) -> None:
    _, kernel = kernel_of(AddOp(value(SHAPE, dtype), value(SHAPE, dtype)), SOC)
    assert pairs(kernel)
    assert all(apart for _, apart in pairs(kernel))


def test_exact_gelu() -> None:
    _, kernel = kernel_of(GeluOp(value(SHAPE, "f16")), SOC)
    assert {"mul", "sub"} <= {mnemonic for mnemonic, _ in pairs(kernel)}
    assert all(apart for _, apart in pairs(kernel))


def test_an_odd_cycle_keeps_all_but_one() -> None:
    def group(a: Operation, b: Operation, c: Operation) -> list[Operation]:
        return [s := AddOp(a, b), t := MulOp(b, c), u := MaximumOp(a, c), v := AddOp(s, t), AddOp(v, u)]

    op = fused([value(SHAPE, "f16") for _ in range(3)], group, "ge.add")
    found = pairs(kernel_of(op, SOC)[1])
    assert len(found) >= 5
    assert sum(not apart for _, apart in found) <= len(found) // 5 + 1
