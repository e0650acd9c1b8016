"""If, Loop and Scan: a branch chosen by a constant takes the node's place; otherwise operators with bodies.

Short loops do not come here: `unrolling` writes them out.

Optionals are known while importing: their operators become constants or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue

from graph_engine.dialects.ge.control_flow import IfOp, LoopOp, ScanOp, common_type
from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.fused import YieldOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.frontend_onnx.extents import has_unknown
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, axis_of, dtype_of, shape_of
from graph_engine.frontend_onnx.unrolling import iteration, used_in
from graph_engine.frontend_onnx.values import BodyValues

if TYPE_CHECKING:
    from onnx import GraphProto

Tensor = TensorType[Attribute]
FOREVER = 2**63 - 1
"""The number of iterations of a Loop that states none."""


def inline_branch(node: Node, condition: bool) -> None:
    """Converts the branch that a constant condition of If chooses, in the node's place."""
    graph = node.graph("then_branch" if condition else "else_branch")
    inner = iteration(node, graph)
    node.bodies.convert(graph, inner)
    for output, value in zip(node.outputs, graph.output, strict=False):
        if output:
            node.values.bind_as(output, inner, value.name)


def _body(node: Node, graph: GraphProto, types: Sequence[Tensor]) -> BodyValues:
    """The body converted for arguments of these types; it ends in its yield."""
    values = BodyValues(dict(node.bodies.constants(graph)), used_in(graph), node.values)
    if len(graph.input) != len(types):
        raise Unsupported(f"its body takes {len(graph.input)} values, {len(types)} are given")
    for value, type_ in zip(graph.input, types, strict=True):
        values.bind(value.name, values.block.insert_arg(type_, len(values.block.args)))
    node.bodies.convert(graph, values)
    outputs = [values.operand(value.name) for value in graph.output]
    values.block.add_op(YieldOp(*outputs))
    return values


def _on(values: BodyValues, captured: Sequence[SSAValue]) -> Block:
    """The body of an If with one argument for each of `captured`, whether or not it needs it."""
    block = Block(arg_types=[value.type for value in captured])
    for outer, argument in zip(captured, block.args, strict=True):
        if outer in values.captured:
            values.captured[outer].replace_all_uses_with(argument)
    for op in list(values.block.ops):
        op.detach()
        block.add_op(op)
    return block


def if_(node: Node) -> list[SSAValue]:
    """If: `ge.if` on the host; a constant condition leaves one branch."""
    bodies = [_body(node, node.graph(name), []) for name in ("then_branch", "else_branch")]
    condition = node.operand(0)
    captured = list(dict.fromkeys(value for body in bodies for value in body.captured))
    return node.emit_all(IfOp(condition, captured, *(_on(body, captured) for body in bodies)))


def loop(node: Node) -> list[SSAValue]:
    """Loop: written out if it is short and of known length, else `ge.loop` on the host."""
    import numpy as np

    graph = node.graph("body")
    limit = node.optional(0) or node.keep_constant(np.array(FOREVER, np.int64), f"{node.name}.limit")
    condition = node.optional(1) or node.keep_constant(np.array(True), f"{node.name}.condition")
    carried = [node.operand(index) for index in range(2, len(node.inputs))]
    fixed = [tensor_type((), "i64"), tensor_type((), "i1")]

    def build(types: list[Tensor]) -> BodyValues:
        return _body(node, graph, [*fixed, *types])

    body = _settled(build, [cast(Tensor, value.type) for value in carried], 1)
    trips = _trips(node, graph, body)
    return node.emit_all(LoopOp(limit, condition, carried, list(body.captured), body.block, trips=trips))


def _settled(build: Callable[[list[Tensor]], BodyValues], types: list[Tensor], first: int) -> BodyValues:
    """The body for types of the carried values that an iteration keeps: extents that it changes are unknown."""
    while True:
        body = build(types)
        last = body.block.last_op
        assert isinstance(last, YieldOp)
        after = [cast(Tensor, value.type) for value in last.values[first : first + len(types)]]
        both = [common_type(a, b) for a, b in zip(types, after, strict=True)]
        for before, now, kept in zip(types, after, both, strict=True):
            if kept is None:
                raise Unsupported(f"a carried value is {before} before and {now} after an iteration")
        if both == types:
            return body
        types = [kept for kept in both if kept is not None]


def _trips(node: Node, graph: GraphProto, body: BodyValues) -> int:
    """The number of iterations if it is known: the limit is, and no condition ends the loop earlier."""
    limit, start = node.known(0), node.known(1)
    going = body.known(graph.output[0].name)
    kept = body.operand(graph.output[0].name) is body.block.args[1]
    forever = kept or (going is not None and bool(going.item()))
    starts = not node.has(1) or (start is not None and bool(start.item()))
    if limit is None or has_unknown(limit) or not (forever and starts):
        return DYNAMIC
    return max(0, int(limit.item()))


def scan(node: Node) -> list[SSAValue]:
    """Scan: written out if it is short and of known length, else `ge.scan` on the host. Opset 8's batch must be 1."""
    if node.opset < 9:
        return _scan_of_batches(node)
    return _scan(node, node.operands(), node.ints("scan_input_axes", []), node.ints("scan_input_directions", []))


def _scan(node: Node, operands: list[SSAValue], axes: list[int], directions: list[int]) -> list[SSAValue]:
    graph = node.graph("body")
    scanned = node.int("num_scan_inputs")
    count = len(operands) - scanned
    states, sequences = operands[:count], operands[count:]
    axes = axes or [0] * scanned
    slices: list[Tensor] = []
    for value, axis in zip(sequences, axes, strict=True):
        shape = list(shape_of(value))
        del shape[axis_of(axis, len(shape))]
        slices.append(tensor_type(shape, dtype_of(value)))

    def build(types: list[Tensor]) -> BodyValues:
        return _body(node, graph, [*types, *slices])

    body = _settled(build, [cast(Tensor, value.type) for value in states], 0)
    stacks = len(graph.output) - count
    op = ScanOp(
        states,
        sequences,
        list(body.captured),
        body.block,
        input_axes=axes,
        input_reverse=directions or [0] * scanned,
        output_axes=node.ints("scan_output_axes", []) or [0] * stacks,
        output_reverse=node.ints("scan_output_directions", []) or [0] * stacks,
    )
    return node.emit_all(op)


def _scan_of_batches(node: Node) -> list[SSAValue]:
    if node.has(0):
        raise Unsupported("sequence_lens (opset 8)")
    operands = [node.operand(index) for index in range(1, len(node.inputs))]
    if any(shape_of(value)[:1] != (1,) for value in operands):
        raise Unsupported("a batch other than 1 (opset 8)")
    single = [node.emit(ReshapeOp(value, shape=shape_of(value)[1:])) for value in operands]
    results = _scan(node, single, [], node.ints("directions", []))
    return [node.emit(ReshapeOp(value, shape=(1, *shape_of(value)))) for value in results]


def optional_has_element(node: Node) -> SSAValue:
    """OptionalHasElement of a tensor: true; of nothing: false."""
    import numpy as np

    return node.keep_constant(np.array(node.has(0)), node.outputs[0])


def optional_get_element(node: Node) -> SSAValue:
    """OptionalGetElement of a tensor: the tensor."""
    return node.operand(0)


CONVERTERS: dict[str, Converter] = {
    "If": if_,
    "Loop": loop,
    "Scan": scan,
    "OptionalHasElement": optional_has_element,
    "OptionalGetElement": optional_get_element,
}
