"""Kernels from data back to IR: encoding the decoded gives the same kernel, and its text round-trips."""

from dataclasses import replace

import pytest
from harness.kernels import SOC, compile_kernel
from xdsl.dialects.builtin import ModuleOp

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.errors import GraphEngineError
from graph_engine.lowering.decode_kernel import decode_kernel
from graph_engine.lowering.encode_kernel import encode_kernel
from graph_engine.lowering.kernels.conv2d import build_conv2d
from graph_engine.lowering.kernels.conv_shape import ConvShape
from graph_engine.lowering.kernels.epilogue import Epilogue, EpilogueInput
from graph_engine.lowering.kernels.matmul import MatmulShape, build_matmul
from graph_engine.lowering.kernels.step import Step
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.printing import to_text
from graph_engine.pipelines.source import Chunk, parse
from graph_engine.pipelines.verification import verify
from graph_engine.target_ascend.isa.model import Blocks, Instr, Kernel, Loop, Node
from graph_engine.target_ascend.soc.soc import load_soc

SPLIT = load_soc("Ascend910B3")
RESIDUAL = Epilogue((Step("ge.add", (0, 1)), Step("ge.relu", (2,))), (EpilogueInput("tile"),))
KERNELS = {
    "conv": build_conv2d(
        "conv", ConvShape(1, 1, 4, 28, 28, 8, 28, 28, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), True), RESIDUAL, SOC
    ),
    "conv of odd shape": build_conv2d(
        "odd", ConvShape(2, 1, 2, 11, 9, 2, 12, 5, (2, 3), (1, 2), (2, 1), (0, 2, 3, 0), False), Epilogue(), SOC
    ),
    "matmul": build_matmul("matmul", MatmulShape(2, 128, 63, bias=True), Epilogue(), SOC),
    "team with turns": build_conv2d(
        "team",
        ConvShape(1, 1, 36, 75, 75, 7, 75, 75, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), False),
        Epilogue((Step("ge.erf", (0,)), Step("ge.add", (0, 1)), Step("ge.mul", (0, 2)), Step("ge.tanh", (3,)))),
        SPLIT,
    ),
}


def renumbered(kernel: Kernel) -> Kernel:
    """The kernel with its on-chip buffers in the order of their names: the order of the table carries no meaning."""
    arguments = len(kernel.arg_access)
    order = [*range(arguments), *sorted(range(arguments, len(kernel.buffers)), key=lambda i: kernel.buffers[i].name)]
    number = {old: new for new, old in enumerate(order)}

    def node(value: Node) -> Node:
        if isinstance(value, Instr):
            operands = tuple(replace(operand, buffer=number[operand.buffer]) for operand in value.operands)
            return replace(value, operands=operands)
        assert isinstance(value, Loop | Blocks)
        return replace(value, body=tuple(map(node, value.body)))

    return replace(kernel, buffers=tuple(kernel.buffers[i] for i in order), body=tuple(map(node, kernel.body)))


@pytest.mark.parametrize("name", KERNELS)
def test_decoding_is_the_inverse_of_encoding(name: str):
    kernel = compile_kernel(KERNELS[name].clone(), SPLIT if name.startswith("team") else SOC)
    module = ModuleOp([decode_kernel(kernel)])
    verify(module)
    (decoded,) = module.ops
    assert isinstance(decoded, KernelOp)
    assert ("turns(" in to_text(module)) is ("turns" in name)
    assert renumbered(encode_kernel(decoded)) == renumbered(kernel)
    again = parse(make_context(), Chunk("k.mlir", to_text(module)))
    verify(again)
    assert again.is_structurally_equivalent(module)


def test_a_rotation_that_no_loop_gives_is_refused():
    kernel = compile_kernel(KERNELS["conv"].clone())

    def spoil(value: Node) -> Node:
        if isinstance(value, Instr):
            return replace(
                value,
                operands=tuple(
                    replace(operand, rotate=replace(operand.rotate, index=operand.rotate.index * 3))
                    if operand.rotate
                    else operand
                    for operand in value.operands
                ),
            )
        return replace(value, body=tuple(map(spoil, value.body)))

    with pytest.raises(GraphEngineError, match="does not rotate with the loops around it"):
        decode_kernel(replace(kernel, body=tuple(map(spoil, kernel.body))))
