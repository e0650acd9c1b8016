"""Short Loops and Scans, written out: what an iteration computes stands in the graph, and runs on the device.

A loop is written out if the number of its iterations is known, by its limit or by a condition that follows from what is
known, and its iterations together are few nodes. Its counter is then a constant, so that sizes and positions that follow from it are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.shape import ConcatOp, ReshapeOp, SliceOp
from graph_engine.frontend_onnx.extents import has_unknown
from graph_engine.frontend_onnx.node import Node, axis_of, shape_of
from graph_engine.frontend_onnx.topology import reads
from graph_engine.frontend_onnx.values import BranchValues

if TYPE_CHECKING:
    from onnx import GraphProto

UNROLLED_NODES = 512
"""The most nodes that a loop is written out as."""


def unroll(node: Node) -> bool:
    """Binds the results of a Loop or Scan whose iterations are written out; False if it has to stay a loop."""
    if node.op_type == "Loop":
        return _unroll_loop(node)
    return node.op_type == "Scan" and node.opset >= 9 and _unroll_scan(node)


def used_in(graph: GraphProto) -> frozenset[str]:
    """The tensors that something in the body, or outside by its outputs, reads."""
    return frozenset(value.name for value in graph.output).union(*(reads(node) for node in graph.node))


def iteration(node: Node, graph: GraphProto) -> BranchValues:
    """The names of a body that is converted in the node's place."""
    return BranchValues(dict(node.bodies.constants(graph)), used_in(graph), node.values)


def _few(graph: GraphProto, trips: int) -> bool:
    nested = any(inner.op_type in ("Loop", "Scan") for inner in graph.node)
    return not nested and trips > 0 and trips * max(1, len(graph.node)) <= UNROLLED_NODES


def _unroll_loop(node: Node) -> bool:
    import numpy as np

    graph, limit, start = node.graph("body"), node.known(0), node.known(1)
    starts = not node.has(1) or (start is not None and bool(start.item()))
    if limit is None and not node.has(0):  # the condition ends it, if that is known in time
        limit = np.array(UNROLLED_NODES // max(1, len(graph.node)))
    if limit is None or has_unknown(limit) or not starts or not _few(graph, int(limit.item())):
        return False
    counter, condition, *carried = (value.name for value in graph.input)
    going, *outputs = (value.name for value in graph.output)
    bodies: list[BranchValues] = []
    for number in range(int(limit.item())):
        body = iteration(node, graph)
        body.bind_folded(counter, np.array(number, np.int64))
        body.bind_folded(condition, np.array(True))
        _carry(node, body, bodies, carried, node.inputs[2:], outputs)
        node.bodies.convert(graph, body)
        bodies.append(body)
        known = body.known(going)
        if known is None:
            return False
        if not known.item():
            break
    else:
        if not node.has(0):
            return False
    return _finish(node, bodies, len(carried), outputs, [0] * len(outputs), [])


def _unroll_scan(node: Node) -> bool:
    graph, scanned = node.graph("body"), node.int("num_scan_inputs")
    count = len(node.inputs) - scanned
    sequences = [node.operand(index) for index in range(count, len(node.inputs))]
    axes = node.ints("scan_input_axes", []) or [0] * scanned
    axes = [axis_of(axis, len(shape_of(value))) for axis, value in zip(axes, sequences, strict=True)]
    extents = {shape_of(value)[axis] for value, axis in zip(sequences, axes, strict=True)}
    if (
        len(extents) != 1
        or not _few(graph, max(extents))
        or any(shape_of(value).count(DYNAMIC) > 1 for value in sequences)
    ):
        return False
    reverse = node.ints("scan_input_directions", []) or [0] * scanned
    names, outputs = [value.name for value in graph.input], [value.name for value in graph.output]
    trips = max(extents)
    bodies: list[BranchValues] = []
    for number in range(trips):
        body = iteration(node, graph)
        _carry(node, body, bodies, names[:count], node.inputs[:count], outputs)
        for name, value, axis, backwards in zip(names[count:], sequences, axes, reverse, strict=True):
            body.bind(name, _slice(node, value, axis, trips - 1 - number if backwards else number))
        node.bodies.convert(graph, body)
        bodies.append(body)
    stacks = len(outputs) - count
    output_axes = node.ints("scan_output_axes", []) or [0] * stacks
    return _finish(node, bodies, count, outputs, [0] * count + output_axes, node.ints("scan_output_directions", []))


def _slice(node: Node, value: SSAValue, axis: int, position: int) -> SSAValue:
    shape = shape_of(value)
    part = node.emit(SliceOp(value, starts=[position], ends=[position + 1], axes=[axis], steps=[1]))
    return node.emit(ReshapeOp(part, shape=shape[:axis] + shape[axis + 1 :]))


def _carry(
    node: Node,
    body: BranchValues,
    before: Sequence[BranchValues],
    names: Sequence[str],
    first: Sequence[str],
    outputs: Sequence[str],
) -> None:
    """Binds what an iteration gets from the one before it, or the first one from outside."""
    for i, name in enumerate(names):
        if before:
            body.bind_as(name, before[-1], outputs[i])
        else:
            body.bind_as(name, node.values, first[i])


def _finish(
    node: Node,
    bodies: Sequence[BranchValues],
    carried: int,
    outputs: Sequence[str],
    axes: Sequence[int],
    reverse: Sequence[int],
) -> bool:
    """Binds the last carried values, and what each iteration yields beside them, stacked. False if that has no form."""
    stacked: dict[str, SSAValue] = {}
    for i, (name, target) in enumerate(zip(outputs, node.outputs, strict=False)):
        if i < carried or not target:
            continue
        values = [body.operand(name) for body in bodies]
        shapes = {shape_of(value) for value in values}
        if len(shapes) != 1 or max(shapes).count(DYNAMIC) > 1:
            return False
        shape = list(max(shapes))
        axis = axis_of(axes[i], len(shape) + 1)
        shape.insert(axis, 1)
        parts = [node.emit(ReshapeOp(value, shape=shape)) for value in values]
        backwards = bool(reverse) and bool(reverse[i - carried])
        stacked[target] = node.emit(ConcatOp(parts[::-1] if backwards else parts, axis=axis))
    for name, target in list(zip(outputs, node.outputs, strict=False))[:carried]:
        if target:
            node.values.bind_as(target, bodies[-1], name)
    for target, value in stacked.items():
        node.values.bind(target, value)
    return True
