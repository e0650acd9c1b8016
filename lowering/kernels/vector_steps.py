"""Elementwise `ge` operators as vector instructions, shared by Cube epilogues and vector kernels.

A `Step` applies one operator to values in UB. Transcendentals are computed in fp32 whatever the tensors' type and
rounded once, as the reference does; the others in the tensors' own type.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from xdsl.ir import SSAValue

from graph_engine.lowering.kernels import activation_steps as activation
from graph_engine.lowering.kernels.builder import KernelBuilder
from graph_engine.lowering.kernels.step import Scratch, Step, Value, Work
from graph_engine.lowering.kernels.typed_steps import TYPED
from graph_engine.target_ascend.isa.model import DType

Emit = Callable[[KernelBuilder, SSAValue, Sequence[SSAValue], dict[str, float]], None]


def _binary(mnemonic: str) -> Emit:
    def emit(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: dict[str, float]) -> None:
        kb.vec(mnemonic, dst, src[0], src[1])

    return emit


def _unary(mnemonic: str) -> Emit:
    def emit(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: dict[str, float]) -> None:
        kb.vec(mnemonic, dst, src[0])

    return emit


def _neg(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: dict[str, float]) -> None:
    kb.vec("muls", dst, src[0], imm=-1.0)


def _clip(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: dict[str, float]) -> None:
    kb.vec("maxs", dst, src[0], imm=attributes["min"])
    kb.vec("mins", dst, dst, imm=attributes["max"])


def _leaky_relu(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: dict[str, float]) -> None:
    kb.vec("lrelu", dst, src[0], imm=attributes["alpha"])


def _sigmoid(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: dict[str, float]) -> None:
    kb.vec("muls", dst, src[0], imm=-1.0)
    kb.vec("exp", dst, dst)
    kb.vec("adds", dst, dst, imm=1.0)
    kb.vec("rec", dst, dst)


def _tanh(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: dict[str, float]) -> None:
    # tanh x = 2 / (1 + exp(-2x)) - 1
    kb.vec("muls", dst, src[0], imm=-2.0)
    kb.vec("exp", dst, dst)
    kb.vec("adds", dst, dst, imm=1.0)
    kb.vec("rec", dst, dst)
    kb.vec("muls", dst, dst, imm=2.0)
    kb.vec("adds", dst, dst, imm=-1.0)


def _none(attributes: dict[str, float]) -> int:
    return 0


def _one(attributes: dict[str, float]) -> int:
    return 1


def _two(attributes: dict[str, float]) -> int:
    return 2


@dataclass(frozen=True)
class StepSpec:
    """How an operator is emitted; `wide` means in fp32.

    `temporaries` says how many buffers besides operands and result it needs; the sources of `emit` end with them.
    `integers`: i32 operands are taken as well.
    """

    emit: Emit
    wide: bool = False
    temporaries: Callable[[dict[str, float]], int] = _none
    integers: bool = False


STEPS: dict[str, StepSpec] = {
    "ge.add": StepSpec(_binary("add"), integers=True),
    "ge.sub": StepSpec(_binary("sub"), integers=True),
    "ge.mul": StepSpec(_binary("mul"), integers=True),
    "ge.div": StepSpec(_binary("div"), wide=True),
    "ge.maximum": StepSpec(_binary("max"), integers=True),
    "ge.minimum": StepSpec(_binary("min"), integers=True),
    "ge.relu": StepSpec(_unary("relu"), integers=True),
    "ge.neg": StepSpec(_neg, integers=True),
    "ge.clip": StepSpec(_clip),
    "ge.leaky_relu": StepSpec(_leaky_relu),
    "ge.exp": StepSpec(_unary("exp"), wide=True),
    "ge.log": StepSpec(_unary("ln"), wide=True),
    "ge.sqrt": StepSpec(_unary("sqrt"), wide=True),
    "ge.reciprocal": StepSpec(_unary("rec"), wide=True),
    "ge.sigmoid": StepSpec(_sigmoid, wide=True),
    "ge.tanh": StepSpec(_tanh, wide=True),
    "ge.erf": StepSpec(activation.erf, wide=True, temporaries=_two),
    "ge.elu": StepSpec(activation.elu, wide=True, temporaries=_one),
    "ge.gelu": StepSpec(activation.gelu, wide=True, temporaries=activation.gelu_temporaries),
    "ge.hard_sigmoid": StepSpec(activation.hard_sigmoid, wide=True),
    "ge.hard_swish": StepSpec(activation.hard_swish, wide=True, temporaries=_one),
    "ge.mish": StepSpec(activation.mish, wide=True, temporaries=_two),
    "ge.prelu": StepSpec(activation.prelu, temporaries=_one),
    "ge.softplus": StepSpec(activation.softplus, wide=True, temporaries=_one),
    "ge.swish": StepSpec(activation.swish, wide=True, temporaries=_one),
}
"""Operators that the Vector engine can run on UB values of one shape and one element type; the others: `TYPED`."""


def takes(op: str, operands: Sequence[DType], result: DType) -> bool:
    """Whether an operator on these element types has a sequence of instructions; bf16 is computed in fp32."""
    operands, result = [computed(dtype) for dtype in operands], computed(result)
    if op in TYPED and TYPED[op].takes(tuple(operands), result):
        return True
    spec = STEPS.get(op)
    if spec is None:
        return False
    types = (DType.F16, DType.F32, DType.I32) if spec.integers else (DType.F16, DType.F32)
    return all(dtype in types for dtype in (*operands, result))


def _immediate(mnemonic: str) -> Emit:
    def emit(kb: KernelBuilder, dst: SSAValue, src: Sequence[SSAValue], attributes: dict[str, float]) -> None:
        kb.vec(mnemonic, dst, src[0], imm=attributes["imm"])

    return emit


IMMEDIATE_STEPS: dict[str, StepSpec] = {name: StepSpec(_immediate(name)) for name in ("adds", "muls", "maxs", "mins")}
"""Instructions with a number, of which composite operators are made."""


def computed(dtype: DType) -> DType:
    """The type that a step computes in: the Vector unit converts bf16 and does nothing else with it."""
    return DType.F32 if dtype is DType.BF16 else dtype


def unrounded(steps: Sequence[Step], kept: Collection[int] = ()) -> tuple[Step, ...]:
    """Steps whose bf16 values stay in fp32 up to those that are results or casts."""
    last = len(steps) - 1
    return tuple(
        step if number in kept or number == last or step.op == "ge.cast" else replace(step, dtype=computed(step.dtype))
        for number, step in enumerate(steps)
    )


NOTHING_KEPT: Mapping[int, SSAValue] = MappingProxyType({})


def emit_steps(
    kb: KernelBuilder,
    steps: Sequence[Step],
    inputs: Sequence[Value],
    out: SSAValue,
    out_dtype: DType,
    scratch: Scratch,
    kept: Mapping[int, SSAValue] = NOTHING_KEPT,
) -> None:
    """Emits `steps` over `inputs` into `out`, in place where a value dies; no steps means a conversion or copy.

    `kept`: buffers of their own for earlier steps whose values are results as well.
    """
    values, steps = list(inputs), unrounded(steps, kept)
    for number, value in enumerate(inputs):
        readers = sum(number in step.operands for step in steps)
        if value.dtype is DType.BF16 and readers > 1:  # widened once for all of them
            wide = scratch.take(DType.F32)
            kb.vec("conv", wide, value.view)
            values[number] = Value(wide, DType.F32, reusable=True)
    last_use = [-1] * (len(inputs) + len(steps))
    for number, step in enumerate(steps):
        for operand in step.operands:
            last_use[operand] = number
    if not steps:
        if values[0].view is not out:
            kb.vec("conv", out, values[0].view)
        return
    for number, step in enumerate(steps):
        final = number == len(steps) - 1

        def target(number: int = number, step: Step = step, final: bool = final) -> SSAValue:
            for i in dict.fromkeys(step.operands):
                if last_use[i] == number and values[i].reusable:
                    scratch.give(values[i].dtype, values[i].view)
            return out if final else kept[number] if number in kept else scratch.take(step.dtype)

        view = emit_step(kb, step, [values[i] for i in step.operands], target, scratch)
        values.append(Value(view, step.dtype, reusable=number not in kept))


def emit_step(
    kb: KernelBuilder, step: Step, operands: Sequence[Value], target: Callable[[], SSAValue], scratch: Scratch
) -> SSAValue:
    """Emits one step; `target` gives the buffer of the result, asked for when all temporaries are taken.

    It may be the buffer of an operand.
    """
    if DType.BF16 in (step.dtype, *(operand.dtype for operand in operands)):
        return _emit_in_fp32(kb, step, operands, target, scratch)
    if step.op in TYPED and TYPED[step.op].takes(tuple(operand.dtype for operand in operands), step.dtype):
        work = Work(kb, scratch, target)
        result = TYPED[step.op].emit(work, step, operands)
        work.give_back()
        return result
    spec = STEPS.get(step.op) or IMMEDIATE_STEPS[step.op]
    compute = DType.F32 if spec.wide else operands[0].dtype
    sources: list[SSAValue] = []
    borrowed: list[SSAValue] = []
    for operand in operands:
        if operand.dtype is compute:
            sources.append(operand.view)
        else:
            wide = scratch.take(compute)
            kb.vec("conv", wide, operand.view)
            sources.append(wide)
            borrowed.append(wide)
    attributes = dict(step.attributes)
    temporaries = [scratch.take(compute) for _ in range(spec.temporaries(attributes))]
    result = target()
    if compute is step.dtype:
        spec.emit(kb, result, [*sources, *temporaries], attributes)
    else:
        work = borrowed[0] if borrowed else scratch.take(compute)
        spec.emit(kb, work, [*sources, *temporaries], attributes)
        kb.vec("conv", result, work)
        if not borrowed:
            scratch.give(compute, work)
    for buffer in (*borrowed, *temporaries):
        scratch.give(compute, buffer)
    return result


def _emit_in_fp32(
    kb: KernelBuilder, step: Step, operands: Sequence[Value], target: Callable[[], SSAValue], scratch: Scratch
) -> SSAValue:
    """A step with bf16 among its types: those operands widened, the result rounded at the end."""
    if step.op == "ge.cast" and {step.dtype, operands[0].dtype} == {DType.BF16, DType.F32}:
        result = target()
        kb.vec("conv", result, operands[0].view)
        return result
    wide: dict[SSAValue, SSAValue] = {}
    for operand in operands:
        if operand.dtype is DType.BF16 and operand.view not in wide:
            wide[operand.view] = scratch.take(DType.F32)
            kb.vec("conv", wide[operand.view], operand.view)
    numbers = [Value(wide[o.view], DType.F32) if o.view in wide else o for o in operands]
    if step.dtype is not DType.BF16:

        def in_place() -> SSAValue:
            while wide:
                scratch.give(DType.F32, wide.popitem()[1])
            return target()

        result = emit_step(kb, step, numbers, in_place, scratch)
    else:
        buffers = list(wide.values())
        middle = buffers[0] if buffers else scratch.take(DType.F32)
        emit_step(kb, replace(step, dtype=DType.F32), numbers, lambda: middle, scratch)
        result = target()
        kb.vec("conv", result, middle)
        if not buffers:
            scratch.give(DType.F32, middle)
    for buffer in wide.values():
        scratch.give(DType.F32, buffer)
    return result
