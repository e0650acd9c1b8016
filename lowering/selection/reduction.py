"""Kernels of softmax, normalizations and reductions, alone or with elementwise operators around them in a `ge.fused`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.spaces import row_major
from graph_engine.dialects.ge.core import GeOp, Tensor
from graph_engine.dialects.ge.interning import shape_of_type, tensor_type
from graph_engine.dialects.ge.normalization import GroupNormOp, LayerNormOp, RmsNormOp, SoftmaxOp
from graph_engine.dialects.ge.pooling import GlobalPoolOp
from graph_engine.dialects.ge.reduction import ReduceOp
from graph_engine.dialects.layout import NC1HWC0, encoding_of, is_plain, physical_shape
from graph_engine.lowering.kernels import reduction_steps as expand
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.reduction import ReductionGroup
from graph_engine.lowering.kernels.reduction_passes import build_any_reduction
from graph_engine.lowering.kernels.reduction_steps import REDUCTIONS, StepList
from graph_engine.lowering.kernels.reduction_tail import stem
from graph_engine.lowering.kernels.streams import Stream
from graph_engine.lowering.selection.broadcast import origins, strides_over
from graph_engine.lowering.selection.choice import (
    Choice,
    dtype_of_tensor,
    elementwise_step,
    operator_type,
    region_of,
    require_float,
    stored_shape,
    tensor,
)

NORMALIZATIONS = ("ge.softmax", "ge.layer_norm", "ge.rms_norm", "ge.group_norm")
REDUCTION_OPERATORS: tuple[str, ...] = (*NORMALIZATIONS, *REDUCTIONS)
"""Operators (or anchors of `ge.fused`) that `select_reduction` serves."""

_TYPES = {"ge.softmax": "SoftmaxV2", "ge.layer_norm": "LayerNorm", "ge.rms_norm": "RmsNorm"}


@dataclass(frozen=True)
class Space:
    """The iteration space: the main operand as stored, with the channels of a group norm, or their blocks, as (groups,
    of each)."""

    main: Tensor
    sizes: tuple[int, ...]
    reduced: tuple[bool, ...]
    axes: frozenset[int] = frozenset()
    groups: int = 0

    @staticmethod
    def of(op: Operation) -> Space:
        """The space of a reducing operator. Raises NoKernel where padding would be reduced too."""
        main = tensor(op.operands[0])
        shape = shape_of_type(main)
        sizes = physical_shape(main)
        if isinstance(op, GroupNormOp):
            groups, encoding = op.groups.value.data, encoding_of(main)
            if isinstance(encoding, NC1HWC0):
                if encoding.c0.data * sizes[1] != shape[1] or (sizes[1] % groups and groups != shape[1]):
                    raise NoKernel("a group norm in NC1HWC0 takes whole blocks of channels, or single ones")
                if groups == shape[1]:
                    return Space(main, sizes, (False, False, True, True, False))
            elif not is_plain(main):
                raise NoKernel("a group norm takes a plain tensor or NC1HWC0")
            split = (sizes[0], groups, sizes[1] // groups, *sizes[2:])
            return Space(main, split, (False, False, *(True for _ in split[2:])), groups=groups)
        axes = reduced_axes(op)
        sources = origins(encoding_of(main).map, len(shape))
        for axis in axes:
            if prod(n for n, logical in zip(sizes, sources, strict=True) if axis in logical) != shape[axis]:
                raise NoKernel(f"axis {axis} of {list(shape)} has padding, which a reduction must not read")
        return Space(main, sizes, tuple(bool(logical & axes) for logical in sources), axes)

    def drops_axes(self, op: Operation) -> bool:
        """Whether an operator works on statistics that have lost their reduced axes."""
        return len(shape_of_type(tensor(op.results[0]))) < len(shape_of_type(self.main))

    def strides(self, operand: Tensor, *, channels: bool = False, dropped: bool = False) -> tuple[int, ...]:
        """Elements of an operand between neighbours along each axis, 0 where it repeats.

        `channels`: a vector with a value a channel. `dropped`: the reduced axes are not among its own. Raises NoKernel for an operand in a format of its own.
        """
        rank = len(shape_of_type(self.main))
        if dropped:
            kept = [1] * (rank - len(self.axes) - len(shape_of_type(operand))) + list(shape_of_type(operand))
            shape = [1 if axis in self.axes else kept.pop(0) for axis in range(rank)]
            operand = tensor_type(shape, operand.element_type)
        if channels and is_plain(self.main):
            strides = tuple(int(axis == 1) for axis in range(rank))
        elif channels:
            strides = strides_over(tensor_type((*shape_of_type(operand), 1, 1), operand.element_type), self.main)
        else:
            strides = strides_over(operand, self.main)
        if not self.groups:
            return strides
        each = self.sizes[2]
        return (strides[0], strides[1] * each, strides[1], *strides[2:])

    def result(self, value: SSAValue) -> Stream:
        """The stream of the result: a whole tensor in the main operand's format, or a plain statistic."""
        ty = tensor(value)
        if physical_shape(ty) == physical_shape(self.main) and encoding_of(ty).map == encoding_of(self.main).map:
            order = self.sizes
        else:
            order = tuple(1 if role else n for n, role in zip(self.sizes, self.reduced, strict=True))
            if not (is_plain(ty) and is_plain(self.main)) or prod(order) != prod(shape_of_type(ty)):
                raise NoKernel("the result is neither the whole tensor nor a plain statistic")
        strides = tuple(s if n > 1 else 0 for s, n in zip(row_major(order), order, strict=True))
        return Stream(physical_shape(ty), dtype_of_tensor(ty), strides)


def reduced_axes(op: Operation) -> frozenset[int]:
    """The logical axes of its main operand that an operator reduces."""
    rank = len(shape_of_type(tensor(op.operands[0])))
    match op:
        case SoftmaxOp():
            return frozenset({op.axis.value.data % max(1, rank)} if rank else ())
        case LayerNormOp():
            return frozenset(op.axes())
        case RmsNormOp():
            return frozenset(range(op.axis.value.data % rank, rank))
        case GlobalPoolOp():
            return frozenset(range(2, rank))
        case ReduceOp():
            return frozenset(axis % rank for axis in op.ints("axes"))
        case _:
            raise NoKernel(f"{op.name} reduces nothing")


def select_reduction(op: Operation) -> Choice:
    """The kernel of a reduction and what is fused with it. Raises NoKernel with the reason if there is none."""
    region = region_of(op)
    operators = region.operators
    reducing = [inner for inner in operators if inner.name in REDUCTION_OPERATORS]
    space = Space.of(reducing[0])
    if any(Space.of(other).reduced != space.reduced or Space.of(other).sizes != space.sizes for other in reducing[1:]):
        raise NoKernel("reductions over different axes are kernels of their own")
    if len(region.yielded) != 1 or region.yielded[0] is not operators[-1].results[0]:
        raise NoKernel("the result is not the one of the last operator")
    used = list(dict.fromkeys(v for inner in operators for v in inner.operands if region.outside(v) is not None))
    channels = {v for inner in operators if isinstance(inner, GroupNormOp) for v in inner.operands[1:]}
    others = [inner for inner in operators if inner.name not in REDUCTION_OPERATORS]
    dropped = {v for inner in others if space.drops_axes(inner) for v in inner.operands}
    if any(
        v in dropped
        for inner in operators
        if inner not in others or not space.drops_axes(inner)
        for v in inner.operands
        if region.outside(v) is not None
    ):
        raise NoKernel("an operand is read with and without the reduced axes")
    streams = [
        Stream(
            stored_shape(v),
            require_float(v),
            space.strides(tensor(v), channels=v in channels, dropped=v in dropped),
        )
        for v in used
    ]
    elements = prod(n for n, role in zip(space.sizes, space.reduced, strict=True) if role)
    steps = StepList(len(used), elements, [s.dtype for s in streams])
    number_of: dict[SSAValue, int] = {value: i for i, value in enumerate(used)}
    for inner in operators:
        if any(v not in number_of for v in inner.operands):
            raise NoKernel(f"an operand of {inner.name} is no tensor of the graph")
        number_of[inner.results[0]] = _steps_of(inner, steps, number_of)
    result = space.result(region.yielded[0])
    if not steps.steps:
        raise NoKernel("nothing is computed")
    group = ReductionGroup.of(space.sizes, space.reduced, streams, result, steps.steps)
    anchor = reducing[0] if region.anchor not in reducing else region.anchor
    tail = [inner.name for inner in operators if inner is not anchor]
    return Choice(
        ("reduction", group),
        stem(anchor.name.removeprefix("ge."), tail),
        _TYPES.get(anchor.name, operator_type(anchor.name)),
        lambda name, soc: build_any_reduction(name, group, soc),
        [region.outer[v] for v in used],
        tuple(i for i, s in enumerate(streams) if (s.shape, s.dtype) == (result.shape, result.dtype)),
    )


def _steps_of(op: Operation, steps: StepList, number_of: dict[SSAValue, int]) -> int:
    """Adds the steps of one operator; returns the number of its result."""
    dtype = require_float(op.results[0])
    numbers = [number_of[v] for v in op.operands]
    match op:
        case SoftmaxOp():
            return expand.softmax(steps, numbers[0], dtype)
        case LayerNormOp() | GroupNormOp():
            y = expand.standardise(steps, numbers[0], op.epsilon.value.data)
            return expand.scaled(steps, y, numbers[1], numbers[2] if len(numbers) > 2 else None, dtype)
        case RmsNormOp():
            y = expand.root_mean_square(steps, numbers[0], op.epsilon.value.data)
            return expand.scaled(steps, y, numbers[1], None, dtype)
        case ReduceOp() | GlobalPoolOp():
            return steps.rounded(REDUCTIONS[op.name](steps, steps.wide(numbers[0])), dtype)
        case GeOp():
            return steps.append(elementwise_step(op, number_of))
        case _:
            raise NoKernel(f"{op.name} is no operator of the Vector unit")
