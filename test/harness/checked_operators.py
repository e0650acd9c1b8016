"""Runs the kernel of one `ge` operator on the functional chip, checked: logical arrays in, logical array out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from harness.kernels import SOC, compile_kernel, exchanged
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.test_value import create_ssa_value

from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.fused import FusedOp, YieldOp
from graph_engine.dialects.ge.interning import element_type, tensor_type
from graph_engine.dialects.ge.weights import materialize
from graph_engine.dialects.layout import Encoding, pack, physical_shape, unpack, with_encoding
from graph_engine.lowering.kernels.decompositions import build_complete
from graph_engine.lowering.selection.choice import Choice, ConstantArgument, tensor
from graph_engine.lowering.selection.table import select
from graph_engine.target_ascend.chip.checker import Checker
from graph_engine.target_ascend.chip.functional import FunctionalEngine
from graph_engine.target_ascend.chip.memory import GlobalMemory
from graph_engine.target_ascend.isa.model import DType, Instr, Kernel, Node, Opcode, Walker
from graph_engine.target_ascend.om.program import Location, Segment
from graph_engine.target_ascend.soc.soc import Soc

Array = np.ndarray[Any, Any]


def value(shape: Sequence[int], dtype: str = "f16", encoding: Encoding | None = None) -> SSAValue:
    """An operand."""
    return create_ssa_value(typed(shape, dtype, encoding))


def typed(shape: Sequence[int], dtype: str = "f16", encoding: Encoding | None = None) -> Tensor:
    """A tensor type."""
    return cast(Tensor, with_encoding(tensor_type(tuple(shape), element_type(dtype)), encoding))


def encode(op: Operation, encoding: Encoding | None) -> Operation:
    """Stores the results in a format."""
    for result in op.results:
        result._type = with_encoding(tensor(result), encoding)  # pyright: ignore[reportAttributeAccessIssue]
    return op


def fused(
    operands: Sequence[SSAValue],
    body: Callable[..., list[Operation]],
    anchor: str,
    encoding: Encoding | None = None,
    results: Sequence[int] = (-1,),
) -> FusedOp:
    """A `ge.fused` of what `body` makes of the operands; every operator's result is stored as `encoding`.

    `results`: numbers of the operators whose results leave.
    """
    block = Block(arg_types=[v.type for v in operands])
    ops = [encode(op, encoding) for op in body(*block.args)]
    block.add_ops(ops)
    block.add_op(YieldOp(*(ops[number].results[0] for number in results)))
    return FusedOp(list(operands), Region(block), anchor=anchor)


def kernel_of(op: Operation, soc: Soc = SOC) -> tuple[Choice, Kernel]:
    """The kernel that selection gives an operator, through all passes. None may copy a view onto itself."""
    choice = select(op)
    kernel = compile_kernel(build_complete(choice.build, choice.stem, soc), soc)
    idle = [instr for instr in every_instruction(kernel.body) if instr.opcode in (Opcode.COPY, Opcode.VCONV)]
    assert not [instr for instr in idle if instr.operands[0] == instr.operands[1]], "a copy that changes nothing"
    return choice, kernel


def every_instruction(nodes: Sequence[Node]) -> Iterator[Instr]:
    """The instructions of a kernel as they are written, each once."""
    for node in nodes:
        if isinstance(node, Instr):
            yield node
        else:
            yield from every_instruction(node.body)


def instructions(kernel: Kernel) -> int:
    """Executed instructions of a launch, synchronisation aside."""
    return sum(bool(instr.operands) for block in range(kernel.block_dim) for instr, _ in Walker(kernel, block))


def run_operator(op: Operation, inputs: Sequence[Array], *, in_place: int | None = None) -> Array:
    """The result on logical `inputs`, in checking mode, which must stay silent.

    `in_place`: number of the kernel argument that the result overwrites.
    """
    return unpack(run_stored(op, inputs, in_place=in_place), tensor(op.results[0]))


def run_stored(op: Operation, inputs: Sequence[Array], *, in_place: int | None = None, soc: Soc = SOC) -> Array:
    """The same as it lies in memory, padding included."""
    choice, kernel = kernel_of(op, soc)
    stored = {v: pack(array, tensor(v)) for v, array in zip(op.operands, inputs, strict=True)}
    arrays = [materialize(v.value, v.type) if isinstance(v, ConstantArgument) else stored[v] for v in choice.inputs]
    result = tensor(op.results[0])
    return launch(kernel, arrays, physical_shape(result), numpy_type(result), in_place, soc)


def numpy_type(ty: Tensor) -> np.dtype[Any]:
    """numpy's type of the elements."""
    return np.dtype(DType.from_mlir(str(ty.element_type)).numpy)


def run_results(op: Operation, inputs: Sequence[Array], *, in_place: Mapping[int, int] | None = None) -> list[Array]:
    """All results on logical `inputs`, in checking mode; `in_place`: argument that the result of a number overwrites."""
    choice, kernel = kernel_of(op)
    stored = {v: pack(array, tensor(v)) for v, array in zip(op.operands, inputs, strict=True)}
    arrays = [stored[v] for v in choice.inputs if isinstance(v, SSAValue)]
    results = [tensor(v) for v in op.results]
    forms = [(physical_shape(ty), numpy_type(ty)) for ty in results]
    got = launch_results(kernel, arrays, forms, in_place or {})
    return [unpack(array, ty) for array, ty in zip(got, results, strict=True)]


def launch(
    kernel: Kernel, arrays: Sequence[Array], shape: tuple[int, ...], dtype: np.dtype[Any], in_place: int | None = None,
    soc: Soc = SOC,
) -> Array:  # fmt: skip
    """The last argument after a checked launch."""
    return launch_results(kernel, arrays, [(shape, dtype)], {} if in_place is None else {0: in_place}, soc)[0]


def launch_results(
    kernel: Kernel, arrays: Sequence[Array], results: Sequence[tuple[tuple[int, ...], np.dtype[Any]]],
    in_place: Mapping[int, int], soc: Soc = SOC,
) -> list[Array]:  # fmt: skip
    """The last arguments after a checked launch, each of a stored shape and type."""
    gm = GlobalMemory()
    locations: list[Location] = []
    for i, array in enumerate(arrays):
        gm.add(Segment.INPUT, i, np.ascontiguousarray(array).copy())
        locations.append(Location(Segment.INPUT, i, 0))
    outs: list[Location] = []
    for i, (shape, dtype) in enumerate(results):
        if i in in_place:
            outs.append(locations[in_place[i]])
        else:
            fill = np.nan if dtype.kind == "f" else 77
            gm.add(Segment.OUTPUT, i, np.full(int(np.prod(shape)), fill).astype(dtype))
            outs.append(Location(Segment.OUTPUT, i, 0))
    places = (*locations, *outs, *exchanged(kernel, gm))
    checker = Checker(soc, gm)
    FunctionalEngine(soc, gm, checker=checker).launch(kernel, places)
    sizes = [int(np.prod(shape)) * dtype.itemsize for shape, dtype in results]
    for out, count in zip(outs, sizes, strict=True):
        checker.check_output(out, count)
    assert not checker.findings, "\n".join(map(str, checker.findings[:5]))
    return [
        gm.read(out, count).view(dtype).reshape(shape)
        for out, count, (shape, dtype) in zip(outs, sizes, results, strict=True)
    ]


def assert_close(got: Array, want: Array, ulps: float = 1.0, absolute: float = 0.0) -> None:
    """Every element within so many units in the last place of `want`, which is in fp64, rounded to the type of `got`."""
    rounded = want.astype(got.dtype)
    largest = np.finfo(got.dtype).max / 2
    spacing = np.spacing(np.minimum(np.abs(rounded), largest)).astype(np.float64)
    error = np.abs(got.astype(np.float64) - rounded.astype(np.float64))
    wrong = error > ulps * spacing + absolute
    places = np.argwhere(wrong)[:3].tolist()
    assert not wrong.any(), "; ".join(f"{got[tuple(p)]} instead of {want[tuple(p)]} at {p}" for p in places)
