"""Runs the kernel that an operator gets on the functional chip, and compares it with numpy's answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from harness.kernels import SOC, compile_kernel, run_kernel
from xdsl.ir import Operation, SSAValue
from xdsl.utils.test_value import create_ssa_value

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.weights import materialize
from graph_engine.dialects.layout import pack, physical_shape, unpack
from graph_engine.lowering.selection.choice import ConstantArgument
from graph_engine.lowering.selection.table import select
from graph_engine.target_ascend.isa.model import DType


def value(ty: Any) -> SSAValue:
    """An operand of a tensor type."""
    return create_ssa_value(ty)


def run_operator(op: Operation, logical: Sequence[np.ndarray[Any, Any]], **options: Any) -> np.ndarray[Any, Any]:
    """The logical result of `op`'s kernel on logical inputs (one an operand; constants come by themselves)."""
    choice = select(op)
    kernel = compile_kernel(choice.build("k", SOC))
    given = {id(v): pack(np.asarray(a), v.type) for v, a in zip(op.operands, logical, strict=False)}
    inputs: list[np.ndarray[Any, Any]] = []
    for argument in choice.inputs:
        if isinstance(argument, ConstantArgument):
            inputs.append(materialize(argument.value, argument.type))
        elif isinstance(argument.owner, ConstantOp):
            inputs.append(materialize(argument.owner.value, argument.type))
        else:
            inputs.append(given[id(argument)])
    ty: Any = op.results[0].type
    dtype = np.dtype(DType.from_mlir(str(ty.element_type)).numpy)
    stored = run_kernel(kernel, inputs, physical_shape(ty), dtype, **options)
    run_operator.stored = stored  # type: ignore[attr-defined]
    return unpack(stored, ty)
