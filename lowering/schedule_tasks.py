"""Turn a graph of kernel calls into a program: symbolic buffers and tasks in streams.

    %y = ascend.task.call @k(%x, %w) {...}   ->   %y = ascend.task.buffer workspace : ...
                                                  ascend.task.launch "conv1" @k(%x, %w) -> (%y) blocks(8) {...}

Operators that have no kernel become AI CPU tasks, views share their operand's buffer, and the parts of a concat lie side
by side where that is possible (`joins.py`); the task that writes the last part then names the concat. What a function returns
is written straight into the output where that is possible. Tasks keep the order of the graph, in one stream.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.program import BufferOp, ProgramOp, StreamOp
from graph_engine.dialects.ascend.task import AicpuOp, CallOp, CopyTaskOp, LaunchOp, task_info
from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import GeOp
from graph_engine.dialects.ge.interning import tensor_type
from graph_engine.dialects.ge.locations import fuse, source_nodes
from graph_engine.dialects.ge.ports import input_names, output_names
from graph_engine.dialects.layout import TransDataOp, groups_of
from graph_engine.lowering.joins import Joins, Piece
from graph_engine.lowering.lower_to_kernels import layout_bytes
from graph_engine.lowering.views import is_whole_view, view_offset
from graph_engine.transforms.pass_base import EXACT, GePass, OperatorError


def name_joined(joined: Sequence[Operation]) -> None:
    """Names each joined concat, in the order of the graph, at the task that writes the last of its parts."""
    places: dict[Operation, int] = {}
    if joined and (block := joined[0].parent_block()) is not None:
        places = {op: i for i, op in enumerate(block.ops)}
    completed: dict[Operation, Operation] = {}
    for concat in joined:
        writers: list[Operation] = []
        for part in concat.operands:
            while isinstance(part.owner, Operation) and view_offset(part.owner) is not None:
                part = part.owner.operands[0]
            assert isinstance(part.owner, Operation)  # what is joined is written by a task
            writers.append(completed.get(part.owner, part.owner))
        last = completed[concat] = max(writers, key=places.__getitem__)
        last.location = fuse(last.location, concat.location)


@dataclass
class _Scheduler:
    func: FuncOp
    program: ProgramOp
    kernels: dict[str, KernelOp]
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    stream: StreamOp = field(default_factory=lambda: StreamOp("s0"))
    joins: Joins = field(default_factory=Joins)
    shared: dict[Piece, SSAValue] = field(default_factory=dict[Piece, SSAValue])

    def buffer(self, op: BufferOp, value: SSAValue) -> SSAValue:
        """Declares the buffer of a value."""
        op.tensor.name_hint = value.name_hint
        self.program.body.block.add_op(op)
        self.buffers[value] = op.tensor
        return op.tensor

    def run(self) -> None:
        """Inputs, then operators in order, then what is left to copy into outputs."""
        block = self.func.body.block
        for i, (arg, label) in enumerate(zip(block.args, input_names(self.func), strict=True)):
            self.buffer(BufferOp("input", arg.type, index=i, label=label), arg)
        last = block.last_op
        assert isinstance(last, ReturnOp)
        outputs = self.outputs(last)
        joined = [op for op in block.ops if self.joins.join(op)]
        name_joined(joined)
        no_tasks = set(joined)
        for op in block.ops:
            if isinstance(op, ConstantOp):
                name = source_nodes(op.location)
                label = name[0].name if name else None
                self.buffer(BufferOp("weight", op.result.type, value=op.value, label=label), op.result)
            elif (offset := view_offset(op)) is not None:
                source = self.buffers[op.operands[0]]
                segment = cast(BufferOp, source.owner).segment.data
                if segment == "weight":
                    raise OperatorError(op, f"{op.name} of a constant is left; run fold-constants first")
                index = cast(BufferOp, source.owner).index.value.data
                self.buffer(
                    BufferOp(segment, op.results[0].type, index=index, alias=source, inside=offset), op.results[0]
                )
            elif not isinstance(op, ReturnOp):
                for result in op.results:
                    self.declare(result, outputs)
                if op not in no_tasks:
                    self.task(op)
        self.finish(last, outputs)
        self.program.body.block.add_op(self.stream)

    def outputs(self, last: ReturnOp) -> dict[SSAValue, list[int]]:
        """Which outputs each returned value, seen through views of the whole, goes to."""
        wanted: dict[SSAValue, list[int]] = {}
        for i, value in enumerate(last.arguments):
            root: SSAValue = value
            while isinstance(root.owner, Operation) and is_whole_view(root.owner):
                root = root.owner.operands[0]
            wanted.setdefault(root, []).append(i)
        return wanted

    def declare(self, value: SSAValue, outputs: dict[SSAValue, list[int]]) -> None:
        """A result's buffer: its place in a piece of memory that it shares with others, or one of its own."""
        place = self.joins.place(value)
        if place is None:
            self.own_buffer(value, outputs)
            return
        piece, inside = place
        if piece not in self.shared:
            if piece.wholes:
                self.own_buffer(piece.wholes[0].value, outputs)
                self.shared[piece] = self.buffers[piece.wholes[0].value]
            else:
                memory = BufferOp("workspace", tensor_type((piece.bytes,), i8))
                self.program.body.block.add_op(memory)
                self.shared[piece] = memory.tensor
        if value not in self.buffers:
            memory = self.shared[piece]
            owner = cast(BufferOp, memory.owner)
            segment, index = owner.segment.data, owner.index.value.data
            self.buffer(BufferOp(segment, value.type, index=index, alias=memory, inside=inside), value)

    def own_buffer(self, value: SSAValue, outputs: dict[SSAValue, list[int]]) -> None:
        """An output if the value or a view of it is returned (as what it is returned), else workspace."""
        if value in outputs:
            last = self.func.body.block.last_op
            assert isinstance(last, ReturnOp)
            index = outputs[value].pop(0)
            output = BufferOp("output", last.arguments[index].type, index=index, label=output_names(self.func)[index])
            if output.tensor.type == value.type:
                self.buffer(output, value)
            else:
                self.program.body.block.add_op(output)
                self.buffer(BufferOp("output", value.type, index=index, alias=output.tensor), value)
        else:
            self.buffer(BufferOp("workspace", value.type), value)

    def finish(self, last: ReturnOp, outputs: dict[SSAValue, list[int]]) -> None:
        """Copies what is returned twice, or is an input or a constant, into its outputs."""
        labels = output_names(self.func)
        for root, left in outputs.items():
            for index in left:
                value = last.arguments[index]
                target = BufferOp("output", value.type, index=index, label=labels[index])
                self.program.body.block.add_op(target)
                copy = CopyTaskOp(self.buffers[value], target.tensor)
                copy.location = root.owner.location if isinstance(root.owner, Operation) else copy.location
                self.stream.body.block.add_op(copy)

    def label(self, op: Operation, kind: str) -> str:
        """A name for the task, unique in the program: the source node's, else the operator's."""
        nodes = source_nodes(op.location)
        name = "trans_TransData" if kind == "TransData" else (nodes[0].name if nodes else kind)
        number = self.labels.get(name, 0)
        self.labels[name] = number + 1
        return name if number == 0 and kind != "TransData" else f"{name}_{number}"

    def task(self, op: Operation) -> None:
        """The task of an operator."""
        inputs = [self.buffers[v] for v in op.operands]
        results = [self.buffers[v] for v in op.results]
        if isinstance(op, CallOp):
            kernel = self.kernels[op.kernel.data]
            kind = op.info.data.get("type")
            label = self.label(op, kind.data if isinstance(kind, StringAttr) else "Kernel")
            task: Operation = LaunchOp(label, op.kernel.data, inputs, results, kernel.block_dim.value.data, op.info)
        elif isinstance(op, GeOp | TransDataOp):
            attributes = op.attribute_values() if isinstance(op, GeOp) else {"groups": groups_of(op)}
            kind_name = "".join(part.capitalize() for part in op.name.removeprefix("ge.").split("_"))
            kind_name = kind_name if isinstance(op, GeOp) else "TransData"
            reason = op.attributes.get("ge.no_kernel")
            why = reason.data if isinstance(reason, StringAttr) else ""
            macs = op.cost().macs if isinstance(op, GeOp) else 0
            info = task_info(kind_name, macs, layout_bytes(op), no_kernel=why)
            text = json.dumps(attributes)
            task = AicpuOp(self.label(op, kind_name), op.name, text, inputs, results, info)
        else:
            raise OperatorError(op, f"{op.name} is no task; run lower-to-kernels first")
        task.location = op.location
        self.stream.body.block.add_op(task)


@dataclass(frozen=True)
class ScheduleTasks(GePass):
    """Turn a graph of kernel calls into a program: symbolic buffers and tasks in streams."""

    name = "schedule-tasks"
    numerics = EXACT

    soc: str = field(default="Ascend310P3", metadata={"help": "chip that the program is for"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {k.sym_name.data: k for k in op.ops if isinstance(k, KernelOp)}
        for func in list(op.ops):
            if isinstance(func, FuncOp):
                program = ProgramOp(func.sym_name.data, self.soc)
                _Scheduler(func, program, kernels).run()
                op.body.block.insert_op_before(program, func)
                func.detach()
                func.erase()
