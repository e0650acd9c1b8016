"""What a graph computes on seeded inputs, how far two answers are apart, and which operators begin to differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.fused import FusedOp, YieldOp
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.reference import ReferenceGraph, graph_functions
from graph_engine.target_ascend.runtime.tensor_files import Array, Port, fill_inputs, read_inputs

Answers = dict[str, list[list[Array]]]
"""Function name -> for each set of inputs the outputs."""


@dataclass(frozen=True)
class Feeds:
    """Which inputs a graph is run on: `inputs` seeded sets (the seed counts up), or the files `input`, read once.

    A dimension of unknown extent becomes `extent`. With `inner`, tensors inside the graph have to agree as well as its
    outputs, which may not show what happens far in front of them.
    """

    seed: int = 0
    inputs: int = 1
    input: str = ""
    extent: int = 2
    inner: bool = False

    def __post_init__(self) -> None:
        if self.inputs < 1 or self.extent < 1 or self.seed < 0:
            raise GraphEngineError("inputs and extent are at least 1, a seed is at least 0")

    def arrays(self, ports: Sequence[Port]) -> list[list[Array]]:
        """The sets of inputs for a graph with these `ports`."""
        if self.input:
            return [read_inputs(ports, self.input)]
        fixed = [
            Port(port.name, port.dtype, tuple(self.extent if dim < 0 else dim for dim in port.shape)) for port in ports
        ]
        return [fill_inputs(fixed, "random", self.seed + number) for number in range(self.inputs)]

    @property
    def title(self) -> str:
        """`1 input (seed 0)`, for reports."""
        if self.input:
            return self.input
        return f"{self.inputs} seeded input{'s' if self.inputs > 1 else ''} (seed {self.seed})"


def answers(module: ModuleOp, feeds: Feeds) -> Answers:
    """What every function of the graph computes. Raises GraphEngineError if the reference cannot run one."""
    found: Answers = {}
    for function in graph_functions(module):
        graph = ReferenceGraph(module, "the module", function.sym_name.data)
        found[function.sym_name.data] = [graph.run(arrays) for arrays in feeds.arrays(graph.inputs)]
    return found


def chip_answers(module: ModuleOp, feeds: Feeds) -> Answers:
    """What a module at phase `tasks` computes on the modelled chip."""
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.target_ascend.runtime.device import Device

    device = Device(emit_program(module))
    ports = [Port.of(tensor) for tensor in device.point.inputs]
    return {"main": [device.run(arrays, mode="functional").outputs for arrays in feeds.arrays(ports)]}


def deviation(old: Array, new: Array) -> float:
    """How far `new` is from `old`: the largest difference over the range of `old`, 0 if they are equal.

    Infinite for another shape or type, and where NaN and infinities are not at the same places. Of integers and
    booleans the average difference counts: a rounding may turn one index of many, or a quantised number by one.
    """
    if old.shape != new.shape or old.dtype != new.dtype:
        return float("inf")
    if old.size == 0:
        return 0.0
    a, b = old.astype(np.float64), new.astype(np.float64)
    if old.dtype.kind in "biu":
        return float(np.abs(a - b).mean()) / (float(np.ptp(a)) or 1.0)
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(b[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    a, b = a[finite], b[finite]
    apart = float(np.abs(a - b).max())
    return apart / (float(np.ptp(a)) or float(np.abs(a).max()) or 1.0) if apart else 0.0


@dataclass(frozen=True)
class Difference:
    """The output of a graph that moved furthest: `share` of its range."""

    function: str
    output: int
    share: float

    def __str__(self) -> str:
        far = "shape, type or NaN" if np.isinf(self.share) else f"{self.share:.2g} of its range"
        return f"output {self.output} of @{self.function} by {far}"


def largest_difference(old: Answers, new: Answers) -> Difference:
    """The output with the largest deviation over all inputs; functions that only one side has are left out."""
    worst = Difference("", 0, -1.0)
    for name in [name for name in old if name in new]:
        for before, after in zip(old[name], new[name], strict=True):
            if len(before) != len(after):
                return Difference(name, 0, float("inf"))
            for number, (a, b) in enumerate(zip(before, after, strict=True)):
                share = deviation(a, b)
                if share > worst.share:
                    worst = Difference(name, number, share)
    return worst


def has_16_bits(*modules: ModuleOp) -> bool:
    """Whether a 16-bit float is computed with anywhere."""
    types = (type_ for module in modules for op in module.walk() for type_ in op.result_types)
    elements = (type_.element_type for type_ in types if isinstance(type_, TensorType))
    return any(isinstance(element, AnyFloat) and element.bitwidth == 16 for element in elements)


def first_different(old: ModuleOp, new: ModuleOp, feeds: Feeds, bound: float) -> list[Operation]:
    """The operators of `new` that give something else than `old` although all that they read is the same.

    Tensors correspond by the last ONNX output that their operators' locations name (or by SSA name where there is
    none); of several with one name the last in program order counts. What has no counterpart is passed over, so that
    the operator behind it may be named.
    """
    for function in graph_functions(old):
        name = function.sym_name.data
        if not any(other.sym_name.data == name for other in graph_functions(new)):
            continue
        before, after = (ReferenceGraph(module, "the module", name) for module in (old, new))
        for arrays in feeds.arrays(before.inputs):
            known: dict[str, Array] = {}

            def keep(op: Operation, results: Sequence[Array], known: dict[str, Array] = known) -> None:
                known.update(zip(_tensor_names(op), results, strict=False))

            before.run(arrays, keep)
            apart: dict[str, tuple[Operation, float]] = {}

            def compare(
                op: Operation,
                results: Sequence[Array],
                known: dict[str, Array] = known,
                apart: dict[str, tuple[Operation, float]] = apart,
            ) -> None:
                for tensor, result in zip(_tensor_names(op), results, strict=False):
                    if tensor in known and known[tensor].shape == result.shape:
                        cast = result.astype(known[tensor].dtype, copy=False)
                        if tensor not in apart or not isinstance(op, FusedOp):
                            apart[tensor] = op, deviation(known[tensor], cast)

            after.run(arrays, compare)
            same = {op for op, share in apart.values() if share <= bound}
            bad = {op for op, share in apart.values() if share > bound}
            if found := _without_cause(after.function.body.block, bad, same):
                return found
    return []


def _tensor_names(op: Operation) -> list[str]:
    """One name a result."""
    if isinstance(op, ConstantOp):
        return []
    nodes = source_nodes(op.location)
    outputs = nodes[-1].outputs if nodes else ()
    return [
        outputs[number] if number < len(outputs) else f"%{result.name_hint or id(result)}"
        for number, result in enumerate(op.results)
    ]


def _without_cause(block: Block, bad: Collection[Operation], same: Collection[Operation]) -> list[Operation]:
    """Those of the `bad` operators that read nothing from another one, inside of `ge.fused` too.

    If all readers of a result come out the `same`, it is another tensor under an old name: a pass moved operators
    across each other.
    """
    found: list[Operation] = []
    tainted: set[SSAValue] = set()

    def visit(block: Block) -> None:
        for op in block.ops:
            spoilt = not tainted.isdisjoint(op.operands)
            if isinstance(op, FusedOp):
                pairs = zip(op.operands, op.block.args, strict=True)
                tainted.update(inner for outer, inner in pairs if outer in tainted)
                visit(op.block)
                last = op.block.last_op
                spoilt = last is not None and not tainted.isdisjoint(last.operands)
            elif op in bad and not spoilt and any(reader not in same for reader in _readers(op)):
                found.append(op)
                spoilt = True
            if spoilt:
                tainted.update(op.results)

    visit(block)
    return found


def _readers(op: Operation) -> Iterator[Operation]:
    """The operators that read a result, those inside and behind a `ge.fused` too, and the return."""
    pending: list[SSAValue] = list(op.results)
    while pending:
        for use in pending.pop().uses:
            user = use.operation
            outer = user.parent_op()
            if isinstance(user, FusedOp):
                pending.append(user.block.args[use.index])
            elif isinstance(user, YieldOp) and isinstance(outer, FusedOp):
                pending.append(outer.results[use.index])
            else:
                yield user


def operator_title(op: Operation) -> str:
    """`ge.conv2d of node 'conv1' (Conv)`, with all the nodes whose work the operator does."""
    nodes = [f"'{node.name}' ({node.op_type})" for node in source_nodes(op.location)]
    return f"{op.name} of node{'s' if len(nodes) > 1 else ''} {', '.join(nodes)}" if nodes else op.name
