"""What a selector answers: a kernel to build, its operands, and what the profile calls it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import BlockArgument, Operation, SSAValue

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ge.activation import GeluOp
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, Tensor, elements_of
from graph_engine.dialects.ge.elementwise import CastOp, PowOp
from graph_engine.dialects.ge.fused import FusedOp, YieldOp
from graph_engine.dialects.ge.interning import element_name, shape_of_type
from graph_engine.dialects.ge.logic import CompareOp, ShiftOp
from graph_engine.dialects.ge.quantization import ScaledOp
from graph_engine.dialects.ge.weights import materialize
from graph_engine.dialects.layout import NC1HWC0, NDC1HWC0, Encoding, FractalNZ, encoding_of, is_plain, physical_shape
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.step import Step
from graph_engine.lowering.kernels.vector_steps import takes
from graph_engine.target_ascend.isa.model import PREDICATES, DType
from graph_engine.target_ascend.soc.soc import Soc

if TYPE_CHECKING:
    from graph_engine.lowering.selection.split_k import SplitProduct

LARGEST_PRODUCT = 64
"""Powers up to this one are products."""


@dataclass(frozen=True)
class Choice:
    """A kernel for an operator.

    Equal `key`s mean equal kernels: they are built once. `stem` starts the kernel's name, `type` is the operator
    type of the profile, `inputs` the kernel's arguments before its results. The result may overwrite the inputs
    numbered in `in_place`: the kernel reads each of their elements before it writes the one at its place. The kernel writes the
    result of the last of `instead_of`, each the only reader of the one before, the first that of the operator. `fixpipe_inputs`:
    the arguments where results of the Cube leave by FixPipe, if they are others. `split`: what does the same by two kernels
    on a chip, if that is sooner.
    """

    key: Hashable
    stem: str
    type: str
    build: Callable[[str, Soc], KernelOp]
    inputs: Sequence[SSAValue | ConstantArgument]
    in_place: tuple[int, ...] = ()
    instead_of: tuple[Operation, ...] = ()
    fixpipe_inputs: Sequence[SSAValue | ConstantArgument] | None = None
    split: Callable[[Choice, Soc], SplitProduct | None] | None = None

    def inputs_on(self, soc: Soc) -> Sequence[SSAValue | ConstantArgument]:
        """The kernel's arguments before its results on a chip."""
        return self.inputs if self.fixpipe_inputs is None or not soc.has("fixpipe") else self.fixpipe_inputs


@dataclass(frozen=True, eq=False)
class ConstantArgument:
    """An argument that the lowering makes itself: an attribute for `ge.constant` and its type."""

    value: Any
    type: Tensor


def dtype_of_tensor(ty: Tensor) -> DType:
    """The instruction set's element type. Raises NoKernel for one that no instruction takes."""
    try:
        return DType.from_mlir(element_name(ty.element_type))
    except KeyError:
        raise NoKernel(f"no instruction takes elements of type {ty.element_type}") from None


def tensor(value: SSAValue) -> Tensor:
    """The tensor type of a value."""
    ty = value.type
    return ty  # pyright: ignore[reportReturnType]


def require_static(*types: Tensor) -> None:
    """Raises NoKernel where a size is not known, or nothing is there to move."""
    if any(-1 in shape_of_type(ty) for ty in types):
        raise NoKernel("a size is not known before run time")
    if any(0 in shape_of_type(ty) for ty in types):
        raise NoKernel("a tensor has no elements")


def require_encoding(ty: Tensor, kind: type[Encoding]) -> Encoding:
    """The encoding, if it is of `kind` with c0 = 16. Raises NoKernel otherwise."""
    encoding = encoding_of(ty)
    if not isinstance(encoding, kind):
        raise NoKernel(f"the operand is stored as {encoding.form.name}, the kernel needs {kind.FORM.name}")
    return encoding


@dataclass
class Region:
    """An operator or the region of a `ge.fused`, as anchor and elementwise steps.

    `outer` maps a value inside to the value outside; `operators` are anchor and steps in order.
    """

    anchor: Operation
    rest: list[Operation]
    outer: dict[SSAValue, SSAValue]
    yielded: list[SSAValue] = field(default_factory=list[SSAValue])
    operators: list[Operation] = field(default_factory=list[Operation])

    def outside(self, value: SSAValue) -> SSAValue | None:
        """The value outside that an operand stands for; None if it is computed inside."""
        return self.outer.get(value)


def region_of(op: Operation) -> Region:
    """`op` itself as its own anchor, or what a `ge.fused` holds."""
    if not isinstance(op, FusedOp):
        return Region(op, [], {v: v for v in op.operands}, list(op.results), [op])
    block = op.region.block
    outer: dict[SSAValue, SSAValue] = dict(zip(block.args, op.inputs, strict=True))
    inner = [o for o in block.ops if not isinstance(o, YieldOp)]
    last = block.last_op
    assert last is not None
    anchors = [o for o in inner if o.name == op.anchor.data]
    if not anchors:
        raise NoKernel(f"the fused region has no {op.anchor.data}")
    anchor = anchors[0]
    return Region(anchor, [o for o in inner if o is not anchor], outer, list(last.operands), inner)


def elementwise_step(op: Operation, number_of: dict[SSAValue, int]) -> Step:
    """The step of an elementwise operator. Raises NoKernel if the Vector engine has none for it."""
    assert isinstance(op, GeOp)
    types, dtype = [dtype_of_tensor(tensor(v)) for v in op.operands], dtype_of_tensor(tensor(op.results[0]))
    if not takes(op.name, types, dtype):
        named = " and ".join(dict.fromkeys(one.mlir for one in (*types, dtype)))
        raise NoKernel(f"the Vector engine has no instruction sequence for {op.name} of {named}")
    if isinstance(op, ScaledOp) and elements_of(op.operands[1]) != 1:
        raise NoKernel("each channel is quantised by a scale of its own")
    attributes = tuple(sorted(_step_attributes(op).items()))
    return Step(op.name, tuple(number_of[v] for v in op.operands), attributes, dtype)


def _step_attributes(op: GeOp) -> dict[str, float]:
    """The properties of an elementwise operator as numbers."""
    if isinstance(op, CastOp | ScaledOp):
        return {}
    if isinstance(op, GeluOp):
        return {"tanh": float(op.approximate.data == "tanh")}
    if isinstance(op, CompareOp):
        return {"predicate": float(PREDICATES.index(op.predicate.data))}
    if isinstance(op, ShiftOp):
        return {"left": float(op.direction.data == "left")}
    if isinstance(op, PowOp):
        return _whole_exponent(op.rhs)
    return {name: float(value) for name, value in op.attribute_values().items()}


def _whole_exponent(value: SSAValue) -> dict[str, float]:
    """The exponent of a power, if it is one whole number that is known, maybe outside of the region it stands in."""
    if isinstance(value, BlockArgument) and isinstance(group := value.owner.parent_op(), FusedOp):
        value = group.inputs[value.index]
    owner = value.owner
    if not isinstance(owner, ConstantOp) or prod(shape_of_type(owner.result.type)) != 1:
        return {}
    exponent = float(materialize(owner.value, owner.result.type).reshape(()))
    return {"exponent": exponent} if exponent.is_integer() and abs(exponent) <= LARGEST_PRODUCT else {}


def require_float(value: SSAValue) -> DType:
    """The element type. Raises NoKernel for one that is no float of 16 or 32 bits."""
    dtype = dtype_of_tensor(tensor(value))
    if dtype not in (DType.F16, DType.BF16, DType.F32):
        raise NoKernel(f"vector kernels compute in fp16 and fp32, not in {dtype.mlir}")
    return dtype


def operator_type(name: str) -> str:
    """The profile's name of a single operator: "ge.leaky_relu" is LeakyRelu."""
    return "".join(part.capitalize() for part in name.removeprefix("ge.").split("_"))


def stored_shape(value: SSAValue) -> tuple[int, ...]:
    """Physical shape of a value."""
    return physical_shape(tensor(value))


def is_channel_vector(ty: Tensor, of: Tensor) -> bool:
    """Whether `ty` has one value a channel of `of`, both feature maps or volumes in blocks of channels."""
    shape = ty.get_shape()
    if not isinstance(encoding_of(ty), NC1HWC0 | NDC1HWC0) or len(shape) != len(of.get_shape()):
        return False
    return shape[0] == prod(shape[2:]) == 1 and shape[1] == of.get_shape()[1]


def is_column_vector(ty: Tensor, of: Tensor) -> bool:
    """Whether `ty` is a plain vector with one value a column of `of`, a plain matrix or a FRACTAL_NZ one of whole blocks."""
    shape, columns = ty.get_shape(), of.get_shape()[-1]
    whole = is_plain(of) or (isinstance(encoding_of(of), FractalNZ) and columns % 16 == 0)
    return whole and is_plain(ty) and bool(shape) and prod(shape) == shape[-1] == columns
