"""Vector kernels: elementwise groups, reductions, local response normalization, pooling; alone or as the anchor of a `ge.fused`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.interning import shape_of_type
from graph_engine.dialects.ge.normalization import LrnOp
from graph_engine.dialects.ge.pooling import MaxPoolOp
from graph_engine.dialects.layout import NC1HWC0, NDC1HWC0, encoding_of, is_plain
from graph_engine.lowering.kernels.elementwise import Elementwise, build_elementwise
from graph_engine.lowering.kernels.lrn import LrnShape, build_lrn
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.reduction_tail import Tail, stem
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.kernels.streams import Stream
from graph_engine.lowering.kernels.typed_steps import TYPED
from graph_engine.lowering.kernels.vector_steps import STEPS
from graph_engine.lowering.selection.broadcast import strides_over
from graph_engine.lowering.selection.choice import (
    Choice,
    Region,
    dtype_of_tensor,
    elementwise_step,
    operator_type,
    region_of,
    require_float,
    require_static,
    stored_shape,
    tensor,
)
from graph_engine.lowering.selection.pooling import POOLING_OPERATORS, select_pooling
from graph_engine.lowering.selection.reduction import REDUCTION_OPERATORS, select_reduction
from graph_engine.target_ascend.isa.model import DType

ELEMENTWISE_OPERATORS: tuple[str, ...] = (*STEPS, *TYPED)
VECTOR_OPERATORS: tuple[str, ...] = (*ELEMENTWISE_OPERATORS, *REDUCTION_OPERATORS, "ge.lrn", *POOLING_OPERATORS)
"""Operators (or anchors of `ge.fused`) that `select_vector` serves."""


def select_vector(op: Operation) -> Choice:
    """The kernel of a vector operator. Raises NoKernel with the reason if there is none."""
    require_static(*(tensor(v) for v in (*op.operands, *op.results)))
    anchor = op.anchor.data if isinstance(op, FusedOp) else op.name
    if anchor in ELEMENTWISE_OPERATORS:
        return _elementwise(op)
    dtype = dtype_of_tensor(tensor(op.results[0]))
    if anchor == MaxPoolOp.name and dtype in (DType.I8, DType.U8) and not isinstance(op, FusedOp):
        return select_pooling(region_of(op), Tail(dtype, dtype))
    for value in (*op.operands, *op.results):
        require_float(value)
    pooled = anchor in POOLING_OPERATORS and is_feature_map(op)
    if anchor in REDUCTION_OPERATORS and not pooled:
        return select_reduction(op)
    region = region_of(op)
    tail = tail_of(region)
    if isinstance(region.anchor, LrnOp):
        return _lrn(region, region.anchor, tail)
    return select_pooling(region, tail)


def is_feature_map(op: Operation) -> bool:
    """Whether everything is stored in blocks of channels."""
    return all(isinstance(encoding_of(v.type), NC1HWC0 | NDC1HWC0) for v in (*op.operands, *op.results))


def _elementwise(op: Operation) -> Choice:
    """All operators of the group as steps over the stored result, or over several that are stored alike."""
    group, inputs = elementwise_of([op], op.results)
    names = [step.op for step in group.steps]
    like = group.result.shape, group.result.dtype
    return Choice(
        ("elementwise", group),
        names[0].removeprefix("ge.") if len(names) == 1 else stem("elementwise", names),
        operator_type(names[0]) if len(names) == 1 else "Elementwise",
        lambda name, soc: build_elementwise(name, group, soc),
        inputs,
        tuple(i for i in read_by_all(group) if (group.inputs[i].shape, group.inputs[i].dtype) == like),
    )


def read_by_all(group: Elementwise) -> list[int]:
    """The operands on which every result depends: what is written over another one would not wait for its reading."""
    depends = [{number} for number in range(len(group.inputs))]
    for step in group.steps:
        depends.append(set[int]().union(*(depends[number] for number in step.operands)))
    results = [*(len(group.inputs) + number for number in group.kept), len(depends) - 1]
    return sorted(set[int].intersection(*(depends[number] for number in results)))


def elementwise_of(members: Sequence[Operation], results: Sequence[SSAValue]) -> tuple[Elementwise, list[SSAValue]]:
    """One kernel of elementwise operators and `ge.fused` groups of them, in dataflow order, and its operands.

    `results`: those that it writes, in the order of the operators that make them. Raises NoKernel with the reason.
    """
    stands_for: dict[SSAValue, SSAValue] = {}
    operators: list[Operation] = []
    for member in members:
        if isinstance(member, FusedOp):
            stands_for |= zip(member.block.args, member.inputs, strict=True)
            stands_for |= zip(member.results, member.terminator.values, strict=True)
            operators += [o for o in member.block.ops if o is not member.terminator]
        else:
            operators.append(member)

    def seen(value: SSAValue) -> SSAValue:
        while value in stands_for:
            value = stands_for[value]
        return value

    made = {o.results[0] for o in operators}
    read = {seen(v) for o in operators for v in o.operands}
    used = [v for v in dict.fromkeys(seen(v) for m in members for v in m.operands) if v in read and v not in made]
    number_of = {value: i for i, value in enumerate(used)}
    steps: list[Step] = []
    for inner in operators:
        numbers = {v: number_of.get(seen(v), -1) for v in inner.operands}
        if -1 in numbers.values():
            raise NoKernel(f"an operand of {inner.name} is no tensor of the graph")
        steps.append(elementwise_step(inner, numbers))
        number_of[inner.results[0]] = len(used) + len(steps) - 1
    places = [number_of.get(seen(v), -1) - len(used) for v in results]
    if places[-1:] != [len(steps) - 1]:
        raise NoKernel("the result is not the one of the last operator")
    if places != sorted(set(places)) or places[0] < 0:
        raise NoKernel("the results are not those of different operators in their order")
    result = tensor(results[-1])
    if any(not stored_alike(tensor(v), result) for v in results):
        raise NoKernel("the results are not of one shape, format and type")
    streams = [Stream(stored_shape(v), dtype_of_tensor(tensor(v)), strides_over(tensor(v), result)) for v in used]
    return Elementwise.of(streams, stored_shape(results[-1]), dtype_of_tensor(result), steps, places[:-1]), used


def stored_alike(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are of one shape and type and stored in one format, whatever fills their padding."""
    same = encoding_of(one).with_pad("zero") == encoding_of(other).with_pad("zero")
    return same and shape_of_type(one) == shape_of_type(other) and one.element_type == other.element_type


def tail_of(region: Region) -> Tail:
    """The steps behind a reduction. Raises NoKernel where they are not elementwise over its result alone."""
    result = region.anchor.results[0]
    number_of: dict[SSAValue, int] = {result: 0}
    steps: list[Step] = []
    for op in region.rest:
        if any(v not in number_of for v in op.operands):
            raise NoKernel(f"{op.name} in the kernel of {region.anchor.name} has an operand of its own")
        require_float(op.results[0])
        steps.append(elementwise_step(op, number_of))
        number_of[op.results[0]] = len(steps)
    if len(region.yielded) != 1 or number_of.get(region.yielded[0]) != len(steps):
        raise NoKernel("the result is not the one of the last operator")
    return Tail(require_float(result), require_float(region.yielded[0]), tuple(steps))


def operand_of(region: Region, value: SSAValue) -> SSAValue:
    """The value outside that the anchor reads. Raises NoKernel if it is computed inside."""
    outside = region.outside(value)
    if outside is None:
        raise NoKernel("the operand of the anchor is computed inside the region")
    return outside


def _lrn(region: Region, op: LrnOp, tail: Tail) -> Choice:
    ends = [tensor(v) for v in (op.x, *region.yielded)]
    halves = all(dtype_of_tensor(end) is DType.F16 for end in ends)
    blocked = halves and all(isinstance(encoding_of(end), NC1HWC0) for end in ends)
    if not blocked and not all(map(is_plain, ends)):
        raise NoKernel("local response normalization takes a plain tensor or fp16 in NC1HWC0")
    batch, channels, *positions = shape_of_type(tensor(op.x))
    lrn = LrnShape(batch, channels, prod(positions), tail=tail, blocked=blocked, **op.attribute_values())
    return Choice(
        ("lrn", lrn),
        stem("lrn", [step.op for step in tail.steps]),
        "LRN",
        lambda name, soc: build_lrn(name, lrn, soc),
        [operand_of(region, op.x)],
        (0,) if tail.out_dtype is tail.dtype else (),
    )
