"""Turn every operator of a laid-out graph into a call of a kernel; equal kernels are built once.

    %y = ge.fused ins(%x, %w) {anchor = "ge.conv2d"} {...}   ->   %y = ascend.task.call @conv2d_relu_0(%x, %w) {...}

Views stay, since they cost nothing, and so do concats whose parts can be written side by side (`lowering/joins.py`).
An operator without a kernel stays as it is and will run on the
AI CPU on ND tensors, with conversions around it; its attribute `ge.no_kernel` says why it has none.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.task import CallOp, task_info
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp, Tensor
from graph_engine.dialects.ge.fused import FusedOp, YieldOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.locations import fuse
from graph_engine.dialects.ge.shape import SliceOp
from graph_engine.dialects.ge.weights import FoldAttr, attribute_type, fold_attr
from graph_engine.dialects.layout import TransDataOp, is_plain, storage_bytes, with_encoding
from graph_engine.lowering.element_types import require_element_types
from graph_engine.lowering.joins import Joins
from graph_engine.lowering.kernel_remarks import fell_apart, kernel_chosen, runs_on_aicpu
from graph_engine.lowering.kernels.decompositions import build_complete
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.selection.choice import Choice, ConstantArgument
from graph_engine.lowering.selection.cube import reads_in_place
from graph_engine.lowering.selection.plain_heads import products_read
from graph_engine.lowering.selection.split_k import SplitProduct
from graph_engine.lowering.selection.table import select
from graph_engine.lowering.static_sizes import require_static_sizes
from graph_engine.lowering.views import is_view
from graph_engine.target_ascend.soc.soc import Soc, load_soc
from graph_engine.transforms.driver import RewriteContext
from graph_engine.transforms.pass_base import APPROXIMATE, FP16_SHARE, GePass
from graph_engine.transforms.remarks import passed


@dataclass
class _Lowering:
    module: ModuleOp
    soc: Soc
    rewrites: RewriteContext
    joins: Joins = field(default_factory=Joins)
    kernels: dict[Hashable, KernelOp] = field(default_factory=dict[Hashable, KernelOp])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    waiting: list[Operation] = field(default_factory=list[Operation])
    """Slices that their readers will take where they lie, unless one has no kernel."""

    def lower(self, op: Operation) -> None:
        """Replaces one operator, or the parts that it falls into."""
        if op.parent is None or isinstance(op, ConstantOp | ReturnOp) or is_view(op):
            return
        if is_read_in_place(op):
            self.waiting.append(op)
            return
        if self.joins.join(op):
            passed("Joined", op, "its parts are written where they belong: nothing is copied")
            return
        try:
            choice = select(op)
            if choice.split is not None and (split := choice.split(choice, self.soc)) is not None:
                self.call_split(op, split)
                return
            kernel = self.kernel(choice)
        except NoKernel as reason:
            self.fall_back(op, str(reason))
            return
        kernel_chosen(op, choice, kernel)
        with self.rewrites.rewrite("call-kernel", [op]):
            self.call(op, choice, kernel)

    def take_waiting(self) -> list[Operation]:
        """The slices that wait no longer for all of their readers."""
        self.waiting = [op for op in self.waiting if op.parent is not None]  # else all readers have it in place
        ready = [op for op in self.waiting if not is_read_in_place(op)]
        self.waiting = [op for op in self.waiting if op not in ready]
        return ready

    def kernel(self, choice: Choice) -> KernelOp:
        """The kernel of a choice, built at its first use. Raises NoKernel if no tile of it fits the chip."""
        if choice.key not in self.kernels:
            number = self.numbers.get(choice.stem, 0)
            kernel = build_complete(choice.build, f"{choice.stem}_{number}", self.soc)
            self.numbers[choice.stem] = number + 1
            self.kernels[choice.key] = kernel
            self.module.body.block.add_op(kernel)
        return self.kernels[choice.key]

    def call_split(self, op: Operation, split: SplitProduct) -> None:
        """Puts the call of the parts, views of each, and the call of their sum in the place of `op`."""
        kernel = self.kernel(split.parts)
        kernel_chosen(op, split.parts, kernel)
        with self.rewrites.rewrite("split-k", [op]):
            info = task_info(split.parts.type, _macs(op), 0)
            parts = CallOp(kernel.sym_name.data, self.operands(op, split.parts), [split.every], info)
            places = range(split.count)
            views = [
                SliceOp(parts.outputs[0], starts=[at], ends=[at + 1], axes=[0], result_type=split.one) for at in places
            ]
            for new in (parts, *views):
                new.location = op.location
                Rewriter.insert_op(new, InsertPoint.before(op))
            choice = split.sum([view.result for view in views])
            self.call(op, choice, self.kernel(choice), macs=0)
        message = (
            f"cores share K in {split.count} parts: {split.us:.1f} us with their sum instead of {split.whole_us:.1f}"
        )
        passed("SplitK", parts, message, parts=split.count, us=split.us, whole_us=split.whole_us)

    def operands(self, op: Operation, choice: Choice) -> list[SSAValue]:
        """The kernel's arguments before its results; constants that are none of the graph's stand in front of `op`."""
        operands: list[SSAValue] = []
        for value in choice.inputs_on(self.soc):
            if isinstance(value, ConstantArgument):
                constant = ConstantOp(value.value, result_type=value.type)
                Rewriter.insert_op(constant, InsertPoint.before(op))
                operands.append(constant.result)
            else:
                operands.append(value)
        return operands

    def call(self, op: Operation, choice: Choice, kernel: KernelOp, macs: int | None = None) -> None:
        """Puts the call in the place of `op`."""
        block = op.parent_block()
        assert block is not None
        operands = self.operands(op, choice)
        macs = _macs(op) if macs is None else macs
        memory = [tensor_type(ty.get_shape(), ty.element_type) for ty in kernel.exchanged]
        info = task_info(choice.type, macs, layout_bytes(op), in_place=tuple(choice.in_place), exchanged=len(memory))
        *done, last = op, *choice.instead_of
        call = CallOp(kernel.sym_name.data, operands, [*(r.type for r in last.results), *memory], info)
        call.location = fuse(op.location, last.location) if done else op.location
        block.insert_op_before(call, op)
        replace(last, list[SSAValue](call.outputs[: len(last.results)]))
        for reader in reversed(done):
            reader.detach()
            reader.erase()

    def fall_back(self, op: Operation, reason: str) -> None:
        """A fused region falls into its operators; a plain operator stays, on ND tensors."""
        if isinstance(op, FusedOp):
            fell_apart(op, reason)
            with self.rewrites.rewrite("split-fused", [op]):
                parts = inline(op)
            for part in [*self.take_waiting(), *parts]:
                self.lower(part)
            return
        op.attributes["ge.no_kernel"] = StringAttr(reason)
        runs_on_aicpu(op, reason)
        for part in self.take_waiting():
            self.lower(part)
        if isinstance(op, TransDataOp) or all(is_plain(v.type) for v in (*op.operands, *op.results)):
            return
        with self.rewrites.rewrite("unpack-for-aicpu", [op]):
            conversions = on_plain_tensors(op)
        for conversion in conversions:
            self.lower(conversion)


def is_read_in_place(op: Operation) -> bool:
    """Whether the readers of a cut take its parts where they lie: attention heads in fractals, products plain ones."""
    return reads_in_place(op) or products_read(op)


def _macs(op: Operation) -> int:
    return op.cost().macs if isinstance(op, GeOp | FusedOp) else 0


def layout_bytes(op: Operation) -> int:
    """Bytes that a layout conversion reads and writes; 0 for every other operator."""
    if not isinstance(op, TransDataOp):
        return 0
    return sum(storage_bytes(cast(Tensor, v.type)) for v in (op.x, op.y))


def replace(op: Operation, values: list[SSAValue]) -> None:
    """Lets `values` take the place of the results of `op`, and erases it."""
    for old, new in zip(op.results, values, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def inline(op: FusedOp) -> list[Operation]:
    """Moves the operators of a fused region to its place; returns them."""
    block = op.parent_block()
    assert block is not None
    body = op.region.block
    for arg, value in zip(body.args, op.inputs, strict=True):
        arg.replace_all_uses_with(value)
    parts = [part for part in body.ops if not isinstance(part, YieldOp)]
    results = list(op.terminator.values)
    for part in parts:
        part.detach()
        block.insert_op_before(part, op)
    replace(op, results)
    return parts


def plain_constant(op: ConstantOp, ty: Tensor) -> ConstantOp:
    """The constant before it was packed: no task ever unpacks a weight."""
    value = op.value
    if isinstance(value, FoldAttr) and value.op.data == "layout.transdata":
        (source,) = value.operands
        if attribute_type(source) == ty:
            value = source
    if attribute_type(value) != ty:
        value = fold_attr("layout.transdata", [value], {}, ty)
    plain = ConstantOp(value, result_type=ty)
    plain.location = op.location
    return plain


def on_plain_tensors(op: Operation) -> list[Operation]:
    """Gives `op` ND operands and results, with conversions around it; returns these."""
    block = op.parent_block()
    assert block is not None
    conversions: list[Operation] = []
    unpacked: dict[SSAValue, SSAValue] = {}
    for i, value in enumerate(op.operands):
        if not is_plain(value.type):
            if value not in unpacked:
                ty = with_encoding(cast(Tensor, value.type), None)
                if isinstance(value.owner, ConstantOp):
                    unpack = plain_constant(value.owner, ty)
                else:
                    unpack = TransDataOp(value, ty)
                    conversions.append(unpack)
                block.insert_op_before(unpack, op)
                unpacked[value] = unpack.results[0]
            op.operands[i] = unpacked[value]
    plain = [with_encoding(cast(Tensor, r.type), None) for r in op.results]
    fresh = type(op).create(
        operands=list(op.operands),
        result_types=plain,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    block.insert_op_before(fresh, op)
    fresh.location = op.location
    finals: list[SSAValue] = []
    for old, new in zip(op.results, fresh.results, strict=True):
        if old.type == new.type:
            finals.append(new)
            continue
        pack = TransDataOp(new, cast(Tensor, old.type))
        block.insert_op_before(pack, op)
        finals.append(pack.y)
        conversions.append(pack)
    for conversion in conversions:
        conversion.location = op.location
    replace(op, finals)
    return conversions


@dataclass(frozen=True)
class LowerToKernels(GePass):
    """Turn every operator of a laid-out graph into a call of a kernel; equal kernels are built once."""

    name = "lower-to-kernels"
    numerics = APPROXIMATE(FP16_SHARE)

    soc: str = field(default="Ascend310P3", metadata={"help": "chip that the kernels are built for"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowering = _Lowering(op, load_soc(self.soc), RewriteContext.current())
        for func in list(op.ops):
            if isinstance(func, FuncOp):
                require_static_sizes(func)
                require_element_types(func, lowering.soc)
                for operator in list(func.body.block.ops):
                    lowering.lower(operator)
