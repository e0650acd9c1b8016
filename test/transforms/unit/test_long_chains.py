"""Attention is not looked for through thousands of elementwise operators: no recursion, no quadratic walk."""

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region

from graph_engine.dialects.ge.elementwise import AddOp
from graph_engine.dialects.ge.interning import element_type, tensor_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.normalization import SoftmaxOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.registry import instantiate
from graph_engine.pipelines.spec import PassSpec


def test_chain_of_sums_between_products() -> None:
    """A product, 3,000 sums with a reshape in the middle, a softmax, a product."""
    ty = tensor_type((2, 16, 16), element_type("f32"))
    block = Block(arg_types=[ty, ty])
    ops: list[Operation] = [MatmulOp(block.args[0], block.args[1], transpose_b=True)]
    for _ in range(1500):
        ops.append(AddOp(ops[-1].results[0], block.args[1]))
    ops.append(ReshapeOp(ops[-1].results[0], shape=(1, 2, 16, 16)))
    for _ in range(1500):
        ops.append(AddOp(ops[-1].results[0], block.args[1]))
    ops.append(SoftmaxOp(ops[-1].results[0], axis=3))
    ops.append(MatmulOp(ops[-1].results[0], block.args[1]))
    block.add_ops([*ops, ReturnOp(ops[-1].results[0])])
    kind = FunctionType.from_lists([ty, ty], [ops[-1].results[0].type])
    module = ModuleOp([FuncOp("main", kind, Region(block))])
    for name in ("simplify-attention", "fuse-attention"):
        instantiate(PassSpec(name, {})).apply(make_context(), module)
    module.verify()
    assert len(list(block.ops)) == len(ops) + 1
