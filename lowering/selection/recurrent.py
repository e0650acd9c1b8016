"""The steps of a recurrent layer, whose weights are constants: they are packed as fractals when they are stored."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.recurrent_steps import RecurrentStepsOp
from graph_engine.dialects.ge.weights import fold_attr
from graph_engine.dialects.layout import fractal_nz, is_plain, with_encoding
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.recurrent_steps import BLOCK, RecurrentShape, build_recurrent_steps
from graph_engine.lowering.selection.choice import Choice, ConstantArgument, dtype_of_tensor, require_static, tensor
from graph_engine.target_ascend.isa.model import DType


def select_recurrent_steps(op: Operation) -> Choice:
    """The kernel. Raises NoKernel where a value is not plain and fp16, weights are none, or units fill no blocks."""
    assert isinstance(op, RecurrentStepsOp)
    values = [*op.operands, *op.results]
    require_static(*map(tensor, values))
    if any(not is_plain(value.type) or dtype_of_tensor(tensor(value)) is not DType.F16 for value in values):
        raise NoKernel("the kernel of recurrent steps works on plain tensors of fp16")
    directions, _, units = tensor(op.r).get_shape()
    if units % BLOCK or not isinstance(op.r.owner, ConstantOp):
        raise NoKernel("the recurrent weights are no constant of whole blocks")
    steps, batch, _ = tensor(op.given).get_shape()
    backwards = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[op.direction.data]
    assert len(backwards) == directions
    shape = RecurrentShape(op.cell.data, steps, batch, units // BLOCK, backwards)
    packed = with_encoding(tensor(op.r), fractal_nz())
    weights = ConstantArgument(fold_attr("layout.transdata", [op.r.owner.value], {}, packed), packed)
    inputs: list[SSAValue | ConstantArgument] = [op.given, weights, *op.operands[2:]]
    return Choice(
        ("recurrent steps", shape),
        op.cell.data,
        {"lstm": "DynamicRNN", "gru": "DynamicGRUV2"}[op.cell.data],
        lambda name, soc: build_recurrent_steps(name, shape, soc),
        inputs,
    )
